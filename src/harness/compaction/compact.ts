import { isListSummary, listConversation } from "../../history/compaction/fallback.ts";
import { chunk, cutAt, type CompactionCut } from "../../history/compaction/plan.ts";
import { readFilesIn } from "../../history/compaction/reads.ts";
import { shortenResult } from "../../history/compaction/render.ts";
import { summarise } from "../../history/compaction/summarise.ts";
import type { ModelHandle, Models } from "../../providers/catalog.ts";
import { estimateTextTokens } from "../../sessions/transcript/tokens.ts";
import { roomIn } from "../context/budget.ts";
import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { Clock } from "../../types/clock.ts";
import type { EngineCompacted } from "../../types/engine/engine-turn.ts";
import type { CompactionEvent } from "../../types/run/events.ts";
import type { Log } from "../../types/log.ts";
import type { CallOrigin } from "../../types/run/model-meter.ts";
import type { SideCost } from "../../types/run/run.ts";
import { addUsage, emptyUsage } from "../../types/run/usage.ts";
import type { SessionWindow } from "../../types/session.ts";
import type { CompactionSettings } from "../../types/settings.ts";
import type { Conversation } from "../request.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { Summarizer } from "./summarizer.ts";
import type { HookEvents } from "../../types/hook/events.ts";

export interface Compaction extends CompactionWatchers {
  readonly conversation: Conversation;
  /** The models that may write the summary, in the order in which they are tried. */
  readonly summarizers: readonly ModelHandle[];
  /** Finds the models' other keys; each model has one key when unset. */
  readonly models?: Pick<Models, "find" | "keys"> | undefined;
  /** Tokens of the window of the conversation's model. */
  readonly window: number;
  /** Tokens of the system prompt and the tools, which take their part of the window; unknown when unset. */
  readonly fixed?: number | undefined;
  readonly settings: CompactionSettings;
  /** The origin of the model calls. */
  readonly origin: CallOrigin;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * `full`: the window is nearly full. `before_answer`: a message waits, and older turns do not fit with it.
   * `overflow`: the model refused the window, so the window is smaller than assumed, and the model is asked again.
   * `asked`: a person wants the compaction, whatever the figures. All but `full` keep less. Nothing is done when the
   * models are busy (`full`) or write nothing (`before_answer`).
   */
  readonly why: "full" | "before_answer" | "overflow" | "asked";
  /** The first entry of the turn under way, which stays. */
  readonly keepFrom?: string | undefined;
  /** A person's wishes for this summary. */
  readonly instructions?: string | undefined;
}

/** The watchers of a compaction. */
interface CompactionWatchers {
  emit(event: CompactionEvent): void;
  /** The hooks of plugins; none when unset. */
  readonly hooks?: BoundHooks | undefined;
}

export type Compacted =
  | {
      readonly kind: "done";
      /** Tokens; undefined when a context engine does not report them. */
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      readonly isListed: boolean;
      /** The summary of the built-in compaction. */
      readonly summary?: string;
    }
  | {
      readonly kind: "nothing";
      readonly because: "small" | "unchanged" | "no_gain" | "no_model" | "no_engine" | "later" | "off";
      /** The text of a context engine. */
      readonly reason?: string;
      /** Set when the models that write failed in a way that passes. */
      readonly isBusy?: true;
    }
  | { readonly kind: "aborted" };

/** A compaction must make the conversation at least a tenth smaller. */
const LEAST_GAIN = 0.1;
/** The summary's shares of the window and of the conversation's room, and its most tokens. */
const SUMMARY_SHARE = 1 / 8;
const SUMMARY_ROOM = 1 / 4;
const MOST_SUMMARY_TOKENS = 8000;
/** Tokens that are read back towards the last compaction: all of them, within the memory of the machine. */
const READ_TOKENS = 4_000_000;
/**
 * The largest part of the window, or of the tokens that the conversation may use, for one turn. The first steps of a
 * larger turn are summarised, too.
 */
const MOST_TURN = 0.5;
/**
 * Small windows keep at most this part of themselves, and this part of the conversation's room, so that several turns
 * fit again.
 */
const KEPT_SHARE = 0.25;
const KEPT_ROOM = 1 / 3;

/**
 * Replaces the older part of a conversation by a summary: appends one `compaction` entry, durably, and the file keeps
 * all. When no model writes the summary in time, a plain list of the messages replaces it. Rejects only when the
 * transcript cannot be read or written.
 */
export async function compact(job: Compaction): Promise<Compacted> {
  const { conversation, window } = job;
  const shown = await conversation.window(READ_TOKENS);
  if (shown.messages.length === 0) return { kind: "nothing", because: "small" };
  if (!(await hasGrown(conversation, shown))) return { kind: "nothing", because: "unchanged" };
  const before = shown.estimatedTokens;
  const room = roomOf(job);
  const recent = Math.min(job.settings.keepRecentTokens, window * KEPT_SHARE, room * KEPT_ROOM);
  const keepTokens = job.why === "full" ? recent : Math.min(recent, before * KEPT_SHARE);
  const mostTurn = job.why === "full" ? Math.min(window, room) * MOST_TURN : undefined;
  const cut = cutAt(shown.messages, { keepTokens, keepFrom: job.keepFrom, mostTurn });
  if (!cut || cut.keptTokens > before * (1 - LEAST_GAIN)) return { kind: "nothing", because: "small" };
  return carryOut(cut, shown, job);
}

/** Tokens that the conversation may take. */
const roomOf = ({ window, fixed = 0, settings }: Compaction): number => roomIn(window, fixed, { compaction: settings });

async function carryOut(cut: CompactionCut, shown: SessionWindow, job: Compaction): Promise<Compacted> {
  const tokensBefore = shown.estimatedTokens;
  job.emit({ type: "compaction", phase: "start", tokensBefore });
  const messageCount = shown.messages.length;
  const compactedCount = cut.before.length;
  notifyCompaction(job, { messageCount, compactingCount: compactedCount, tokenCount: tokensBefore });
  const written = await write(cut, shown, job);
  const tokensAfter = cut.keptTokens + estimateTextTokens(written.summary);
  const isLater = mayWait(written, job);
  const ok = tokensAfter <= tokensBefore * (1 - LEAST_GAIN) && !isLater && !job.signal.aborted;
  if (ok) await append(job.conversation, written, { cut, shown });
  const { costs, failure, passedOver } = written;
  const willRetry = ok && (job.why === "overflow" || job.why === "before_answer");
  const sizes = { tokensBefore, ...(ok && { tokensAfter }) };
  const listed = failure !== undefined && { listedBecause: failure };
  job.emit({
    type: "compaction",
    phase: "end",
    ok,
    ...sizes,
    willRetry,
    ...listed,
    passedOver,
    costs,
  });
  const { summary } = written;
  if (ok)
    notifyCompacted(job, { messageCount: messageCount - compactedCount, compactedCount, tokenCount: tokensAfter });
  if (ok) return { kind: "done", tokensBefore, tokensAfter, isListed: failure !== undefined, summary };
  if (job.signal.aborted) return { kind: "aborted" };
  return {
    kind: "nothing",
    because: isLater ? "later" : "no_gain",
    ...(isLater && written.isBusy && { isBusy: true }),
  };
}

/**
 * Whether a list in place of a summary may wait. A list loses the rest of the messages for good: it is the last resort,
 * not for the time in which a model may still write.
 */
const mayWait = ({ isBusy, failure }: Written, { why }: Compaction): boolean =>
  why === "before_answer" ? failure !== undefined : why === "full" && isBusy;

/** The result of the built-in compaction, as a context engine that delegated to it gets it. */
export const compactedSizes = ({
  tokensBefore,
  tokensAfter,
}: Extract<Compacted, { kind: "done" }>): EngineCompacted => ({
  kind: "done",
  ...(tokensBefore !== undefined && { tokensBefore }),
  ...(tokensAfter !== undefined && { tokensAfter }),
});

/**
 * Whether the conversation may be compacted. A conversation in memory never is, nor one in which nothing was said since
 * its last compaction.
 */
async function hasGrown(conversation: Conversation, shown: SessionWindow): Promise<boolean> {
  const last = shown.messages.at(-1);
  const later = last && (await conversation.after(last.entryId));
  return later !== undefined && later.every((entry) => entry.type !== "compaction");
}

interface Written {
  readonly summary: string;
  /** Why the summary is a list. */
  readonly failure?: string;
  /** Whether the failure is one that passes. */
  readonly isBusy: boolean;
  readonly author?: ModelHandle | undefined;
  readonly passedOver: readonly string[];
  readonly costs: readonly SideCost[];
}

async function write(cut: CompactionCut, shown: SessionWindow, job: Compaction): Promise<Written> {
  const { settings } = job;
  const mostTokens = summaryTokens(job);
  const late = new AbortController();
  const cancel = job.clock.after(settings.timeoutMs, () => late.abort());
  const { summarizers, origin, clock, models } = job;
  const summarizer = new Summarizer({ summarizers, maxTokens: mostTokens, origin, clock, models });
  const chunks = chunk(cut.before.map(shortenResult), sizeOf(job, shown, summarizer), settings);
  const instructions = [settings.instructions, job.instructions].filter((text) => text !== undefined).join("\n");
  try {
    const said = await summarise(
      {
        chunks,
        earlier: shown.summary,
        instructions,
        identifiers: settings.identifiers,
      },
      summarizer.complete,
      AbortSignal.any([job.signal, late.signal]),
    );
    if (typeof said === "string") {
      const summary = job.instructions === undefined ? withLost(said, shown.summary, mostTokens) : said;
      return { summary, isBusy: false, ...summarizer.spent };
    }
    const failure = late.signal.aborted ? "the time was over" : said.failure;
    const earlier = said.soFar ?? shown.summary;
    const summary = listConversation(chunks.slice(said.done).flat(), { earlier, mostTokens });
    return { summary, failure, isBusy: summarizer.isBusy && !late.signal.aborted, ...summarizer.spent };
  } finally {
    cancel();
  }
}

/**
 * The tokens of the window that a chunk must fit: the window of the model that writes. A model that refused the
 * conversation takes less than all of it.
 */
const sizeOf = ({ why, window }: Compaction, shown: SessionWindow, summarizer: Summarizer): number =>
  Math.min(summarizer.window ?? window, why === "overflow" ? Math.min(window, shown.estimatedTokens) : window);

const summaryTokens = (job: Compaction): number =>
  Math.floor(Math.min(MOST_SUMMARY_TOKENS, job.window * SUMMARY_SHARE, roomOf(job) * SUMMARY_ROOM));

/** A summary has lost something when it is shorter than this part of the earlier summary. */
const LEAST_OF_EARLIER = 0.25;

/**
 * The summary, with the earlier summary before it when the model has lost most of that: nothing else has the content of
 * the earlier one.
 */
function withLost(summary: string, earlier: string | undefined, mostTokens: number): string {
  // An earlier list is left out, because a list is the last resort, and long.
  if (earlier === undefined || isListSummary(earlier) || summary.length >= earlier.length * LEAST_OF_EARLIER)
    return summary;
  const tokensLeft = mostTokens - estimateTextTokens(summary);
  if (tokensLeft <= 0) return summary;
  const share = Math.min(1, tokensLeft / estimateTextTokens(earlier));
  return `${shorten(earlier, Math.floor(earlier.length * share))}\n\n${summary}`;
}

async function append(
  conversation: Conversation,
  { summary, author }: Written,
  { cut, shown }: { cut: CompactionCut; shown: SessionWindow },
): Promise<void> {
  const by = author ? { provider: author.info.provider, model: author.info.id } : { provider: "openclaw" };
  const details = { ...by, readFiles: lostReads(cut, shown) };
  const { firstKeptEntryId } = cut;
  const tokensBefore = shown.estimatedTokens;
  await conversation.append(
    { type: "compaction", summary, firstKeptEntryId, tokensBefore, details },
    { durable: true },
  );
}

/** Files whose contents the model had before the compaction and has no more. */
function lostReads({ before }: CompactionCut, { messages }: SessionWindow): readonly string[] {
  const kept = new Set(readFilesIn(messages.slice(before.length).map((row) => row.message)));
  return readFilesIn(before).filter((path) => !kept.has(path));
}

/** One line per compaction, for the operator. */
export function logCompaction(event: CompactionEvent, log: Log): void {
  if (event.phase === "start") return log.info("compaction begins", { tokens: event.tokensBefore });
  const { ok, tokensBefore, tokensAfter, costs, listedBecause, passedOver } = event;
  const calls = costs.reduce((sum, cost) => sum + cost.calls, 0);
  const { input, output } = costs.reduce((sum, { usage }) => addUsage(sum, usage), emptyUsage());
  const over = passedOver && passedOver.length > 0 ? { passedOver } : {};
  const fields = { before: tokensBefore, after: tokensAfter, calls, input, output, ...over };
  if (!ok) log.warn("compaction gained nothing", fields);
  else if (listedBecause !== undefined) log.warn("compacted without a model", { ...fields, why: listedBecause });
  else log.info("compacted", fields);
}

interface Watched {
  readonly conversation: Pick<Conversation, "file">;
  readonly hooks?: BoundHooks | undefined;
}

/** Calls `before_compaction`; nobody waits for the hooks. */
function notifyCompaction({ hooks, conversation }: Watched, event: HookEvents["before_compaction"]): void {
  hooks?.runner.notify("before_compaction", { ...event, ...fileOf(conversation) }, hooks.context);
}

/** Calls `after_compaction`; nobody waits for the hooks. */
function notifyCompacted({ hooks, conversation }: Watched, event: HookEvents["after_compaction"]): void {
  hooks?.runner.notify("after_compaction", { ...event, ...fileOf(conversation) }, hooks.context);
}

/** Calls both hooks around the compaction of a context engine, whose counts of messages nobody knows (-1). */
export async function withCompactionHooks(
  watched: Watched,
  tokenCount: number | undefined,
  compact: () => Promise<EngineCompacted>,
): Promise<EngineCompacted> {
  notifyCompaction(watched, { messageCount: -1, ...(tokenCount !== undefined && { tokenCount }) });
  const done = await compact();
  if (done.kind === "nothing") return done;
  const { tokensAfter } = done;
  const size = tokensAfter !== undefined && { tokenCount: tokensAfter };
  notifyCompacted(watched, { messageCount: -1, compactedCount: -1, ...size });
  return done;
}

const fileOf = ({ file }: Pick<Conversation, "file">) => (file === undefined ? {} : { sessionFile: file });
