import { findImagePaths } from "../../history/images/paths.ts";
import { replay, withCuts } from "../../history/replay.ts";
import { textsOf } from "../../prompt/parts.ts";
import { earlierFiles, readBackTo } from "../../sessions/transcript/read-back.ts";
import { estimateTextTokens } from "../../sessions/transcript/tokens.ts";
import type { RunSource } from "../../store/journal/read-only.ts";
import type { PromptMessage, ShownPrompt } from "../../types/answers/runs.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { RunRecord } from "../../types/journal.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type { PromptRecord } from "../../types/run/run.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import type { PruneRules } from "../../types/settings.ts";
import { engineMessages, showMessage } from "./message.ts";

/** The stores of runs and of the conversations that they were part of. */
export interface RunPlace {
  readonly journal: RunSource;
  readonly sessionsDir: string;
  /** The transcript that a key has now; undefined when it has none. */
  currentFile(key: SessionKey): Promise<string | undefined>;
  /** Rules by which the agent of a key prunes tool results; undefined when it prunes none. */
  pruningOf(key: SessionKey): PruneRules | undefined;
}

/**
 * The prompt of a run; undefined when the run kept no record of it. Rejects when the journal or a transcript cannot be
 * read.
 */
export async function promptOf(place: RunPlace, run: RunRecord): Promise<Omit<ShownPrompt, "runId"> | undefined> {
  const record = run.receipt.prompt;
  if (!record) return undefined;
  const { tools, bodyParts, budget } = record;
  const named = { tools, ...(budget && { toolTokens: budget.reserveTools }), bodyParts };
  return { system: await systemOf(place, record), ...named, ...(await messagesOf(place, run, record)) };
}

async function systemOf({ journal }: RunPlace, { system, systemParts }: PromptRecord): Promise<ShownPrompt["system"]> {
  const whole = await journal.texts.get(system);
  if (whole === undefined) return systemParts;
  const source = "the parts of it are not known";
  const parts = textsOf(systemParts, whole) ?? [{ name: "system prompt", source, text: whole }];
  return parts.map((part) => ({ ...part, tokens: estimateTextTokens(part.text), chars: part.text.length }));
}

type Messages = Pick<ShownPrompt, "messages" | "imageFiles" | "faithful" | "why">;

async function messagesOf(place: RunPlace, run: RunRecord, record: PromptRecord): Promise<Messages> {
  const { receipt, sessionKey } = run;
  const model = receipt.tries?.at(-1)?.model ?? receipt.model;
  const rules = place.pruningOf(sessionKey);
  if (record.engineMessages !== undefined) {
    const made = await fromEngine(place, record.engineMessages);
    if (!made) return NOT_KEPT;
    const messages = withCuts(made, record, { model, rules }).map((message) => showMessage(message));
    return { messages, imageFiles: [], faithful: true };
  }
  const again = replay(record, await entriesOf(place, sessionKey, record), model, rules);
  const { faithful, why } = again;
  const messages = again.messages.map((message, index) => showMessage(message, again.entryIds[index]));
  const imageFiles = record.images ? filesIn(messages) : [];
  return { messages, imageFiles, faithful, ...(why !== undefined && { why }) };
}

const NOT_KEPT: Messages = {
  messages: [],
  imageFiles: [],
  faithful: false,
  why: "What the context engine made is not kept any more.",
};

async function fromEngine({ journal }: RunPlace, key: string): Promise<readonly ChatMessage[] | undefined> {
  const text = await journal.texts.get(key);
  return text === undefined ? undefined : engineMessages(text, (one) => journal.texts.get(one));
}

/**
 * Image files that the turns of people name. If a turn has images, the files in the gateway's note are already part of
 * it.
 */
function filesIn(messages: readonly PromptMessage[]): readonly string[] {
  const found = messages
    .filter(({ role }) => role === "user")
    .flatMap(({ content }) => {
      const hasImages = content.some((part) => part.type === "image");
      const named = content.flatMap((part) => (part.type === "text" ? findImagePaths(part.text ?? "") : []));
      return named.filter(({ noted }) => !(noted && hasImages)).map(({ path }) => path);
    });
  return [...new Set(found)];
}

/** The entries of the key's current file, or of a renamed earlier one; empty when no file has them. */
async function entriesOf(
  place: RunPlace,
  key: SessionKey,
  { firstEntryId: firstId, lastEntryId: lastId, hasSummary }: PromptRecord,
): Promise<readonly TranscriptEntry[]> {
  if (firstId === undefined || lastId === undefined) return [];
  const stretch = { firstId, lastId, hasSummary };
  const present = await place.currentFile(key);
  const found = present === undefined ? undefined : await readBackTo(present, stretch);
  if (found) return found;
  for (const path of await earlierFiles(place.sessionsDir, key)) {
    const entries = path === present ? undefined : await readBackTo(path, stretch);
    if (entries) return entries;
  }
  return [];
}
