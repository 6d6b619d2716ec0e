import { conversationLines } from "../../dispatch/commands/reports/conversation.ts";
import { searchFiles } from "../../sessions/search/search-files.ts";
import type { SessionRow, Sessions } from "../../types/session.ts";
import type { SessionHit, SessionHits, SessionSearch } from "../../types/subagent/search.ts";

const MOST_WORDS = 8;
/** Most words that are pairs of characters of scripts without spaces. */
const MOST_PAIRS = 16;
/** Three or more characters in a row of a script without spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{3,}/gu;
const SNIPPET_CHARS = 300;
/** Characters of a snippet before the first found word. */
const BEFORE_CHARS = 80;

/** The words of a query that transcripts are searched for, without characters that JSON escapes. Pure. */
function wordsOf(query: string): readonly string[] {
  const words = query.toLowerCase().split(/[\s"\\\p{Cc}]+/u);
  const plain = words.map((word) => word.replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ""));
  const all = [...new Set(plain)].filter((word) => word !== "").slice(0, MOST_WORDS);
  const pairs = all.flatMap((word) => word.match(UNSPACED) ?? []).flatMap(pairsOf);
  // A text has some words of a sentence without spaces, and hardly ever the whole sentence.
  const whole = all.filter((word) => word.search(UNSPACED) < 0);
  return [...whole, ...new Set(pairs)].slice(0, MOST_WORDS + MOST_PAIRS);
}

function pairsOf(run: string): readonly string[] {
  const characters = Array.from(run);
  return characters.slice(1).map((last, at) => `${characters[at]}${last}`);
}

/**
 * Lines of people and agents in these sessions with words of the query: lines with most of the words first, then the
 * latest.
 */
export async function searchSessions(
  { query, limit, signal }: SessionSearch,
  rows: readonly SessionRow[],
  sessions: Pick<Sessions, "fileOf">,
): Promise<SessionHits> {
  const words = wordsOf(query);
  const byFile = new Map(rows.map((row) => [sessions.fileOf(row.key) ?? "", row] as const));
  byFile.delete("");
  const { found, isPartial } = await searchFiles([...byFile.keys()], words, signal);
  const phrase = query.toLowerCase().trim();
  const hits = found.flatMap(({ file, entry }): readonly SessionHit[] => {
    const row = byFile.get(file);
    const said = conversationLines([entry], true).find(({ by }) => by !== "tool");
    const score = said ? scoreOf(said.text, words, phrase) : 0;
    if (!row || !said || score === 0) return [];
    return [
      {
        sessionKey: row.key,
        sessionId: row.entry.sessionId,
        messageId: entry.id,
        role: said.by === "agent" ? "assistant" : "user",
        timestamp: said.at,
        snippet: snippetOf(said.text, words),
        score,
      },
    ];
  });
  const best = hits.toSorted((one, other) => other.score - one.score || other.timestamp - one.timestamp);
  return { results: best.slice(0, limit), ...((isPartial || best.length > limit) && { truncated: true }) };
}

/** The share of the words that a text has, plus 1 when the text has the whole query as it was written. Pure. */
function scoreOf(text: string, words: readonly string[], phrase: string): number {
  const low = text.toLowerCase();
  const share = words.filter((word) => low.includes(word)).length / words.length;
  return Number((share + (share > 0 && low.includes(phrase) ? 1 : 0)).toFixed(3));
}

function snippetOf(text: string, words: readonly string[]): string {
  const plain = text.replaceAll(/\s+/g, " ").trim();
  const places = words.map((word) => plain.toLowerCase().indexOf(word)).filter((at) => at >= 0);
  const from = Math.max(0, Math.min(...places, plain.length) - BEFORE_CHARS);
  const part = plain.slice(from, from + SNIPPET_CHARS).toWellFormed();
  return `${from > 0 ? "…" : ""}${part}${from + SNIPPET_CHARS < plain.length ? "…" : ""}`;
}
