import { replay } from "../../history/replay.ts";
import { textsOf } from "../../prompt/parts.ts";
import { earlierFiles, readBackTo } from "../../sessions/read-back.ts";
import { estimateTextTokens } from "../../sessions/tokens.ts";
import type { RunSource } from "../../store/read-only.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { RunRecord } from "../../types/journal.ts";
import type { PromptPart, PromptRecord } from "../../types/run.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import type { PruneRules } from "../../types/settings.ts";
import { engineMessages, showMessage, type PromptMessage } from "./message.ts";

/** Where runs and the conversations that they were part of are kept. */
export interface RunPlace {
  readonly journal: RunSource;
  readonly sessionsDir: string;
  /** The transcript that a key has now; undefined when it has none. */
  currentFile(key: SessionKey): Promise<string | undefined>;
  /** How the agent of a key prunes tool results. */
  pruningOf(key: SessionKey): PruneRules | undefined;
}

/** What a model saw: of the last attempt of a run, as it began. */
export interface ShownPrompt {
  readonly system: readonly (PromptPart & { readonly text?: string })[];
  readonly messages: readonly PromptMessage[];
  readonly tools: readonly string[];
  readonly bodyParts: readonly PromptPart[];
  /** The messages are those that were sent. */
  readonly faithful: boolean;
  /** Why they are not, or are not known to be. */
  readonly why?: string;
}

/** Undefined when the run kept no record of its prompt. Throws when the journal or a transcript cannot be read. */
export async function promptOf(place: RunPlace, run: RunRecord): Promise<ShownPrompt | undefined> {
  const record = run.receipt.prompt;
  if (!record) return undefined;
  const { tools, bodyParts } = record;
  return { system: await systemOf(place, record), tools, bodyParts, ...(await messagesOf(place, run, record)) };
}

async function systemOf({ journal }: RunPlace, { system, systemParts }: PromptRecord): Promise<ShownPrompt["system"]> {
  const whole = await journal.texts.get(system);
  if (whole === undefined) return systemParts;
  const source = "the parts of it are not known";
  const parts = textsOf(systemParts, whole) ?? [{ name: "system prompt", source, text: whole }];
  return parts.map((part) => ({ ...part, tokens: estimateTextTokens(part.text), chars: part.text.length }));
}

type Messages = Pick<ShownPrompt, "messages" | "faithful" | "why">;

async function messagesOf(place: RunPlace, run: RunRecord, record: PromptRecord): Promise<Messages> {
  if (record.engineMessages !== undefined) return fromEngine(place, record.engineMessages);
  const { receipt, sessionKey } = run;
  const model = receipt.tries?.at(-1)?.model ?? receipt.model;
  const entries = await entriesOf(place, sessionKey, record);
  const again = replay(record, entries, model, place.pruningOf(sessionKey));
  const messages = again.messages.map((message, index) => showMessage(message, again.entryIds[index]));
  return { messages, faithful: again.faithful, ...(again.why !== undefined && { why: again.why }) };
}

async function fromEngine({ journal }: RunPlace, key: string): Promise<Messages> {
  const text = await journal.texts.get(key);
  const messages = text === undefined ? undefined : engineMessages(text);
  if (messages) return { messages: messages.map((message) => showMessage(message)), faithful: true };
  return { messages: [], faithful: false, why: "What the context engine made is not kept any more." };
}

/** Out of the key's present file, or out of one that was set aside; empty when the entries are in none. */
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
