import { timestamp } from "../prompt/timestamp.ts";
import { withRun } from "../tools/lazy-tool.ts";
import { SILENT_TOKEN } from "../types/chat/reply.ts";
import { WHOLE_MESSAGES, type RunStream } from "../types/run/events.ts";
import type { Receipt, RunResult } from "../types/run/run.ts";
import type { Session, SessionEntry } from "../types/session.ts";
import type { AgentSettings, MemoryFlushSettings } from "../types/settings.ts";
import type { ApprovalDesk, Tool } from "../types/run/tool.ts";
import { roomIn } from "./context/budget.ts";
import type { RunDeps, RunRequest, UserTurn } from "./request.ts";
import { type AbortCause, startRun, type Run } from "./run.ts";
import { type Fill, fullAt } from "./compaction/summarizer-models.ts";

/** The prompt of a memory flush when the config has none. */
const PROMPT = `This is no message of the user. The older part of this conversation is about to be replaced by a summary.
Write down now, in files of your workspace, what you will still need and what is not there yet: what the day brought in memory/YYYY-MM-DD.md (add to it, do not replace it), lasting facts in MEMORY.md. Answer nothing that was asked and begin nothing new.
When that is done, or when there is nothing to write down, your whole answer is ${SILENT_TOKEN}.`;

/** The part of the system prompt that only the turn of a flush has. */
export const FLUSH_SYSTEM_PROMPT = `The present turn is housekeeping before a compaction: save what must last to files, and answer ${SILENT_TOKEN}. Nobody reads its answer.`;

/** The most milliseconds of a flush: the next message of the session waits no longer for it. */
const FLUSH_MS = 60_000;
/** In a small window the flush comes at most this share of the conversation's room before the compaction. */
const MOST_THRESHOLD_SHARE = 0.25;

type Settings = Pick<AgentSettings, "contextTokens" | "compaction">;
const WRITERS: ReadonlySet<string> = new Set(["write", "edit", "apply_patch"]);

export interface FlushState {
  readonly entry: Readonly<SessionEntry>;
  readonly tools: readonly Tool[];
}

/** Whether the agent may save its notes now: once per cycle of compaction, and only when it can write at all. */
export const mayFlush = ({ entry, tools }: FlushState, { compaction }: Settings): boolean =>
  compaction?.memoryFlush !== undefined && !isFlushed(entry) && tools.some(isNoteTool);

/** Whether the conversation is so full that a compaction comes soon. */
export function isFlushDue(fill: Fill, settings: Settings): boolean {
  const threshold = settings.compaction?.memoryFlush?.softThresholdTokens ?? 0;
  const room = roomIn(fill.window, fill.fixed, settings);
  return fill.filled > fullAt(fill, settings) - Math.min(threshold, room * MOST_THRESHOLD_SHARE);
}

const isFlushed = ({ memoryFlushCompactionCount, compactionCount }: FlushState["entry"]): boolean =>
  memoryFlushCompactionCount === (compactionCount ?? 0);

const isNoteTool = ({ name, hasSideEffects }: Tool): boolean =>
  WRITERS.has(name) || (hasSideEffects && name.startsWith("memory_"));

export interface Flush {
  /**
   * The request of the turn before the flush, with `FLUSH_SYSTEM_PROMPT` or the configured text in the system prompt.
   */
  readonly request: Omit<RunRequest, "turn" | "conversation">;
  readonly session: Pick<Session, "window" | "after" | "append" | "leafId" | "branch">;
  readonly deps: RunDeps;
  readonly settings: MemoryFlushSettings;
  /** Ends the flush within a second. */
  readonly signal: AbortSignal;
  /** Why the signal ends the flush. */
  stoppedBy(): AbortCause;
  /** Called with the run's stream, which has no other watcher. */
  began?(stream: RunStream): void;
}

/** The end of a flush. `interrupted`: the signal ended the flush, so that it is due again. */
export interface Flushed {
  readonly kind: "flushed" | "interrupted" | "failed";
  readonly result: RunResult;
  readonly receipt: Receipt;
}

/**
 * Runs a silent turn over the same conversation, in which the agent may write files and nothing else. Its answer is not
 * delivered. A turn that does not end well leaves the conversation as it was. Never compacts. Rejects when the
 * transcript cannot be written.
 */
export async function flushMemory({
  request,
  session,
  deps,
  settings,
  signal,
  stoppedBy,
  began,
}: Flush): Promise<Flushed> {
  const before = session.leafId;
  const turn = await openFlush(session, request.settings, { now: deps.clock.now(), prompt: settings.prompt ?? PROMPT });
  const timeoutMs = Math.min(FLUSH_MS, request.timeoutMs);
  const own = { ...withNotesAlone(request), conversation: session, turn, timeoutMs };
  const run = startRun(own, { ...deps, approvals: NOBODY });
  began?.(run.stream);
  const stop = () => run.abort(stoppedBy());
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const { result, receipt } = await endOf(run);
  await run.settle();
  signal.removeEventListener("abort", stop);
  if (result.kind === "replied") return { kind: "flushed", result, receipt };
  await leave(session, before, result.kind);
  return { kind: signal.aborted ? "interrupted" : "failed", result, receipt };
}

/** Writes the turn before its run begins, so that its entry names where it comes from. */
async function openFlush(
  session: Flush["session"],
  { timezone }: AgentSettings,
  { now, prompt }: { now: number; prompt: string },
): Promise<UserTurn> {
  const dated = prompt.replaceAll("YYYY-MM-DD", timestamp(now, timezone).slice(0, 10));
  const text = dated.includes(SILENT_TOKEN) ? dated : `${dated}\n\nYour whole answer is ${SILENT_TOKEN}.`;
  const provenance = { kind: "internal_system" as const, sourceTool: "memory_flush" };
  const message = { role: "user" as const, content: [{ type: "text" as const, text }], timestamp: now, provenance };
  const entryId = await session.append({ type: "message", message }, { durable: true });
  return { entryId, text, images: [], at: now };
}

async function endOf(run: Run) {
  for await (const event of run.stream.watch(1, WHOLE_MESSAGES)) {
    // A flush that itself overflows ends, so that the compaction can begin.
    if (event.type === "retry" && event.remedy === "compact") run.abort("timeout");
    if (event.type === "run_end") return event;
  }
  throw new Error("a run's log ended without run_end");
}

/** Branches back before an unfinished turn, so that no reader of the file takes it for a turn of the user. */
async function leave(session: Flush["session"], leafId: string | null, ended: string): Promise<void> {
  session.branch(leafId);
  await session.append({ type: "custom", customType: "openclaw.memory_flush", data: { ended } });
}

const NOBODY: ApprovalDesk = { ask: async () => "unattended" };

/**
 * The request in which only the tools that write notes may change something: the tools of any model, and the tools of
 * each.
 */
function withNotesAlone<R extends Pick<RunRequest, "tools" | "toolsOn">>(request: R): R {
  const { toolsOn } = request;
  const shutOthers = (tools: readonly Tool[]) =>
    tools.map((tool) => (!tool.hasSideEffects || isNoteTool(tool) ? tool : shut(tool)));
  return {
    ...request,
    tools: shutOthers(request.tools),
    ...(toolsOn && { toolsOn: (model: Parameters<typeof toolsOn>[0]) => shutOthers(toolsOn(model)) }),
  };
}

/**
 * A tool that only answers that it is not available. The tool is still described to the model, since another list of
 * tools would cost the provider's cache of the conversation.
 */
const shut = (tool: Tool): Tool =>
  withRun(tool, async () => {
    throw new Error(`${tool.name} is not available in this turn, which only writes files.`);
  });
