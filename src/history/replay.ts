import { policyFor, policyWithTools, type TranscriptPolicy } from "../providers/quirks.ts";
import { messageOf, refusedThinkingIn } from "../sessions/transcript/entries.ts";
import { estimateAll, estimateTextTokens } from "../sessions/transcript/tokens.ts";
import { type ChatMessage, modelName, type ModelRef } from "../types/run/model.ts";
import type { PromptRecord } from "../types/run/run.ts";
import type { SessionWindow, TranscriptEntry } from "../types/session.ts";
import type { PruneRules } from "../types/settings.ts";
import { assemble } from "./assemble.ts";
import { applyFit, requestTokens } from "./fit.ts";
import { applyPasses } from "./passes.ts";
import { applyCuts, PRUNE_DEFAULTS } from "./prune.ts";

export interface Replayed {
  readonly messages: ChatMessage[];
  /** The transcript entry of each message. Undefined for one that a pass added. For joined messages the last one's. */
  readonly entryIds: readonly (string | undefined)[];
  /** The summary at the start. */
  readonly summary?: string;
  /** False when the transcript does not match the figures of the record. */
  readonly faithful: boolean;
  /** The reason in a person's words. */
  readonly why?: string;
}

type Row = SessionWindow["messages"][number];
type Compaction = Extract<TranscriptEntry, { type: "compaction" }>;

/**
 * The messages that a model was shown, made again out of the entries of its transcript, whatever was appended since.
 * Pure. `model` and `rules` are those of that run. Messages that an engine made are not in the transcript.
 */
export function replay(
  record: PromptRecord,
  entries: readonly TranscriptEntry[],
  model: ModelRef,
  rules?: PruneRules,
): Replayed {
  const path = pathTo(record.lastEntryId, entries);
  const rows = windowRows(path, record.firstEntryId);
  if (rows === undefined) return gone(record);
  const said = rows.map((row) => row.message);
  const shown = requestTokens(said);
  // Records of older versions counted the content of the messages alone.
  const sums = [shown, estimateAll(said)];
  const fits = (summary: string | undefined) => sums.includes(record.estimatedTokens - tokensOf(summary));
  const inForce = record.hasSummary ? summaries(path, entries) : [];
  const summary = inForce.find(fits) ?? inForce.at(-1);
  const recorded = policyOf(record, model);
  const policy = { ...recorded, model: { ...recorded.model, refusedThinking: refusedIn(path, entries, model) } };
  const window: SessionWindow = {
    messages: rows,
    estimatedTokens: shown,
    older: false,
    ...(summary !== undefined && { summary }),
  };
  const messages = withCuts(assemble(window, policy).messages, record, { model, rules });
  const entryIds = assemble({ ...window, messages: rows.map(named) }, policy).messages.map(nameOf);
  const why = mismatch(record, { messages, summary, fits: fits(summary) });
  return { messages, entryIds, ...(summary && { summary }), faithful: why === undefined, ...(why && { why }) };
}

/** Messages as they were sent: cut to fit the window, and pruned where the model's provider has a cache. */
export function withCuts(
  messages: readonly ChatMessage[],
  record: PromptRecord,
  { model, rules = PRUNE_DEFAULTS }: { readonly model: ModelRef; readonly rules?: PruneRules | undefined },
): ChatMessage[] {
  const { cuts, fit } = record;
  const policy = policyOf(record, model);
  const fitted = fit ? applyPasses(applyFit(messages, fit, ""), policy) : messages;
  return [...(policy.promptCache ? applyCuts(fitted, cuts, rules) : fitted)];
}

function policyOf(record: PromptRecord, model: ModelRef): TranscriptPolicy {
  const { api, input, images, earlierImages, strict, earlierTurns } = record;
  const policy = policyWithTools(policyFor({ ...model, api, input }), record.tools.length);
  return { ...policy, images, earlierImages, strict, earlierTurns };
}

/** Passes copy the messages that they change, with all fields. */
const NAME = Symbol("entry");

const named = ({ entryId, message }: Row): Row => ({
  entryId,
  message: Object.assign({}, message, { [NAME]: entryId }),
});

const nameOf = (message: object): string | undefined =>
  NAME in message && typeof message[NAME] === "string" ? message[NAME] : undefined;

function mismatch(
  record: PromptRecord,
  made: { messages: readonly ChatMessage[]; summary: string | undefined; fits: boolean },
): string | undefined {
  if (record.hasSummary && made.summary === undefined) return "The summary in front of it is not in the transcript.";
  if (made.messages.length !== record.messages)
    return `It had ${record.messages} messages; the transcript gives ${made.messages.length}.`;
  return made.fits ? undefined : `Its ${record.estimatedTokens} tokens are not what the transcript gives.`;
}

const gone = ({ lastEntryId = "none" }: PromptRecord): Replayed => ({
  messages: [],
  entryIds: [],
  faithful: false,
  why: `The transcript has no entries up to ${lastEntryId} any more.`,
});

/** The path from the root to the entry; empty when the entry is not there. */
function pathTo(lastId: string | undefined, entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  const path: TranscriptEntry[] = [];
  let wanted: string | null | undefined = lastId;
  // The loop runs from the end, as a transcript is read: of a repeated id, the last entry before its child counts.
  for (const entry of entries.toReversed()) {
    if (wanted === null || wanted === undefined) break;
    if (entry.id !== wanted) continue;
    path.push(entry);
    wanted = entry.parentId;
  }
  return path.reverse();
}

/** Undefined when the first or the last entry of the window is not there. A window without entries is empty. */
function windowRows(path: readonly TranscriptEntry[], firstId: string | undefined): readonly Row[] | undefined {
  if (firstId === undefined) return [];
  const at = path.findIndex((entry) => entry.id === firstId);
  if (at < 0) return undefined;
  return path.slice(at).flatMap((entry) => {
    const message = messageOf(entry);
    return message ? [{ entryId: entry.id, message }] : [];
  });
}

/**
 * Summaries that may have been in force, the likeliest last: the last one on the path, unless a compaction came between the
 * last message and the request, as after an overflow.
 */
function summaries(path: readonly TranscriptEntry[], entries: readonly TranscriptEntry[]): readonly string[] {
  const isCompaction = (entry: TranscriptEntry): entry is Compaction => entry.type === "compaction";
  const before = path.findLast(isCompaction);
  const after = behind(path, entries).filter(isCompaction);
  return [...after, ...(before ? [before] : [])].map((entry) => entry.summary);
}

/**
 * The entries between the last one of the path and the next message, which were written before the request was made.
 */
function behind(path: readonly TranscriptEntry[], entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  const known = new Set(path.slice(-1).map((entry) => entry.id));
  return entries.filter((entry) => {
    if (entry.parentId === null || !known.has(entry.parentId) || messageOf(entry)) return false;
    known.add(entry.id);
    return true;
  });
}

/** Milliseconds until which the model's thinking was refused; undefined where it was not. */
function refusedIn(
  path: readonly TranscriptEntry[],
  entries: readonly TranscriptEntry[],
  model: ModelRef,
): number | undefined {
  const refusals = [...path, ...behind(path, entries)].flatMap((entry) => refusedThinkingIn(entry) ?? []);
  const own = refusals.flatMap((one) => (one.model === modelName(model) ? [one.until] : []));
  return own.length === 0 ? undefined : Math.max(...own);
}

const tokensOf = (summary: string | undefined): number => (summary === undefined ? 0 : estimateTextTokens(summary));
