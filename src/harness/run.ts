import type { OpenClawError } from "../types/errors.ts";
import type { CompactionEvent } from "../types/run/events.ts";
import type { AssistantMessage, ToolCallContent, ToolResultMessage } from "../types/run/model.ts";
import type { Failure, Receipt, RunResult, SideCost } from "../types/run/run.ts";
import type { Compacted } from "./compaction/compact.ts";
import { RunMemory } from "./compaction/run-memory.ts";
import type { Fill } from "./compaction/summarizer-models.ts";
import { writtenByHooks } from "./context/hooked-conversation.ts";
import { WithPrompts } from "./context/volatile.ts";
import { RunLog } from "./log/run-log.ts";
import type { RunDeps, RunRequest, UserTurn } from "./request.ts";
import { Attempts } from "./attempts/attempts.ts";
import { Deadline } from "./deadline.ts";
import {
  addToRun,
  addToTurn,
  askHooks,
  boundHooks,
  historyFor,
  notifyEnd,
  whyBlocked,
  type HistoryReader,
} from "./context/hooks.ts";
import { openTurn, progressOf, repeat, repeatPart, userMessage, type Progress } from "./run/progress.ts";
import { Steering } from "./run/steering.ts";
import { StopSwitch, type AbortCause } from "./run/stop-switch.ts";
import { resultOfThrown, stoppable, Stopped } from "./run/until-stopped.ts";
import { pausing, reporting, type ToolSetting } from "./tools/tools.ts";
import { UntrustedContent } from "./tools/untrusted.ts";
import type { FixedCall, Tool } from "../types/run/tool.ts";
import { emptyUsage } from "../types/run/usage.ts";
import { isFields } from "../utils/fields.ts";
import type { Clock } from "../types/clock.ts";
import { checkCall } from "./tools/single-call.ts";

export type { AbortCause } from "./run/stop-switch.ts";

/** A run under way. */
export interface Run {
  readonly stream: RunLog;
  /** Ends the run within a second. */
  abort(by: AbortCause): void;
  /** Puts a turn before the next model call. False when the run ended first: the message needs a run of its own. */
  steer(turn: UserTurn): Promise<boolean>;
  /**
   * Called after the run, while the session is still the run's own: the context engine takes the turn in. Never
   * rejects.
   */
  settle(): Promise<void>;
  /** How full the conversation's window is after the run; undefined when no model was asked. */
  fill(): Promise<Fill | undefined>;
  /** The disk error that ended the run, whose turn is to be tried again; undefined for every other end. */
  diskError(): OpenClawError | undefined;
  /** Whether the context engine compacts by itself. */
  ownsCompaction(): boolean;
  /**
   * Called after `settle`: compacts a conversation that fills its window. An abort ends the compaction. Undefined when
   * there was nothing to do. Rejects when the transcript cannot be written. `emit` gets the events, since the run's
   * stream has ended by then.
   */
  compactWhenFull(emit?: (event: CompactionEvent) => void): Promise<Compacted | undefined>;
}

/** Starts a run of one agent over one user turn. Never throws; everything that happens is in the stream. */
export function startRun(request: RunRequest, deps: RunDeps, log = new RunLog(request.facts)): Run {
  const runner = new Runner(request, deps, log);
  runner.run().catch((error: unknown) => deps.log.error("run broke", { error }));
  return runner;
}

class Runner implements Run {
  readonly stream: RunLog;
  readonly #memory: RunMemory;
  readonly #stop = new StopSwitch();
  #diskError: OpenClawError | undefined;
  #request: RunRequest;
  readonly #prompts: WithPrompts;
  readonly #deps: RunDeps;
  readonly #startedAt: number;
  readonly #steering = new Steering();
  readonly #untrusted = new UntrustedContent(
    () => this.#request.conversation,
    () => this.#request.untrusted,
  );
  readonly #attempts: Attempts;
  readonly #history: HistoryReader;

  constructor(request: RunRequest, deps: RunDeps, log: RunLog) {
    const stop = this.#stop;
    const parts = stoppable(request, deps, stop.signal);
    const written = writtenByHooks(parts.request, deps);
    this.#prompts = new WithPrompts(written.conversation);
    this.#request = { ...written, conversation: this.#prompts };
    this.#deps = parts.deps;
    this.#history = historyFor(this.#request, this.#deps.models);
    this.#startedAt = deps.clock.now();
    this.stream = log;
    log.facts = request.facts;
    const spent = (cost: SideCost) => this.#spent(cost);
    const shared = { request: () => this.#request, deps: this.#deps, log, spent };
    this.#memory = new RunMemory({
      ...shared,
      signal: stop.signal,
      summarizers: () => this.#attempts.remaining,
    });
    this.#attempts = new Attempts({ ...shared, memory: this.#memory, steering: this.#steering, stop });
  }

  async run(): Promise<void> {
    this.stream.emit({ type: "run_start", facts: this.#request.facts, startedAt: this.#startedAt });
    const deadline = new Deadline(this.#deps.clock, this.#request.timeoutMs, () => this.#expire());
    try {
      this.#end(await this.#work(deadline));
    } catch (error) {
      this.#end(this.#resultOf(error));
    } finally {
      deadline.stop();
      this.#attempts.close();
      this.#steering.close();
    }
  }

  #expire(): void {
    if (!this.#attempts.expire()) this.#stop.stop("timeout");
  }

  #resultOf(thrown: unknown): RunResult {
    const { result, diskError } = resultOfThrown(thrown, this.#stop.cause, this.#deps.log);
    this.#diskError = diskError;
    return result;
  }

  /** Continues where an earlier process stopped, if one began this turn. */
  async #work(deadline: Deadline): Promise<RunResult> {
    const { conversation, turn } = this.#request;
    const progress = await progressOf(conversation, turn.entryId, this.#request);
    if (progress.kind !== "fresh") repeat(progress.said, this.stream);
    if (progress.kind === "underway") this.#attempts.carry(repeatPart(progress.carried, this.stream));
    if (progress.kind === "finished")
      return { kind: "replied", stop: progress.last.stopReason === "length" ? "length" : "stop" };
    const { call } = this.#request;
    if (call) return this.#callOnly(call, progress, deadline);
    const blocked = progress.kind === "fresh" ? await whyBlocked(this.#request, this.#deps, this.#history) : undefined;
    const claimed = blocked === undefined ? await claimedAnswer(progress, this.#request, this.#deps) : undefined;
    const unusable = await this.#prepare(progress);
    if (blocked) return { kind: "failed", failure: blocked };
    if (claimed) return this.#say(claimed);
    if (progress.kind === "underway") this.#prompts.show({ entryId: turn.entryId, message: userMessage(turn) });
    if (unusable) return { kind: "failed", failure: unusable };
    return this.#attempts.run(this.#toolSetting(deadline), deadline);
  }

  /** Makes one call of a tool, whose result is the answer. */
  async #callOnly(call: FixedCall, progress: Progress, deadline: Deadline): Promise<RunResult> {
    if (this.#stop.isOn) throw new Stopped();
    await openTurn(this.#request.conversation, this.#request.turn, progress);
    const parts = {
      request: this.#request,
      setting: this.#toolSetting(deadline),
      log: this.stream,
      clock: this.#deps.clock,
    };
    const answer = await fixedAnswer(call, parts);
    if (this.#stop.isOn) throw new Stopped();
    return "kind" in answer ? { kind: "failed", failure: answer } : this.#say(answer);
  }

  /** Gives an answer that no model wrote. */
  async #say(message: AssistantMessage): Promise<RunResult> {
    const entryId = await this.#request.conversation.append({ type: "message", message }, { durable: true });
    repeat([{ entryId, message, before: "" }], this.stream);
    return { kind: "replied", stop: "stop" };
  }

  /**
   * Prepares the run and writes the user's turn. The turn stays in the conversation when the run is stopped here; after
   * a shutdown the turn begins anew.
   */
  async #prepare(progress: Progress): Promise<Failure | undefined> {
    const { conversation } = this.#request;
    try {
      if (this.#stop.isOn) throw new Stopped();
      await this.#applyHooks(progress.kind === "fresh");
      // The engine is opened before the turn is written, because an engine reads the conversation as it was.
      const unusable = this.#request.choice.unusable ?? (await this.#memory.openEngine());
      await openTurn(conversation, this.#request.turn, progress);
      await this.#untrusted.began(this.#request.turn.provenance);
      return unusable;
    } catch (error) {
      if (error instanceof Stopped && this.#stop.cause !== "shutdown")
        await openTurn(conversation, this.#request.turn, progress);
      throw error;
    }
  }

  async #applyHooks(isFresh: boolean): Promise<void> {
    const added = await askHooks(this.#request, this.#deps, this.#history);
    if (!added) return;
    if (isFresh) this.#request = addToTurn(this.#request, added);
    this.#request = addToRun(this.#request, added);
  }

  #toolSetting(deadline: Deadline): ToolSetting {
    const { facts, settings, conversation } = this.#request;
    return {
      runId: facts.runId,
      sessionKey: facts.sessionKey,
      agentId: facts.agentId,
      workspace: settings.workspace,
      signal: this.#stop.signal,
      log: this.#deps.log,
      untrusted: { content: this.#untrusted, confirm: settings.tools.confirmUntrusted },
      before: this.#deps.waits?.beforeTool,
      hooks: boundHooks(this.#request, this.#deps),
      approvals: reporting(pausing(this.#deps.approvals, deadline), this.stream),
      note: (customType, data) => conversation.append({ type: "custom", customType, data }, { durable: true }),
    };
  }

  abort(by: AbortCause): void {
    this.#stop.stop(by);
  }

  settle(): Promise<void> {
    return this.#memory.settle();
  }

  fill(): Promise<Fill | undefined> {
    return this.#memory.fill();
  }

  diskError(): OpenClawError | undefined {
    return this.#diskError;
  }

  ownsCompaction(): boolean {
    return this.#memory.engine?.ownsCompaction === true;
  }

  compactWhenFull(emit?: (event: CompactionEvent) => void): Promise<Compacted | undefined> {
    return this.#memory.compactWhenFull(emit);
  }

  async steer(turn: UserTurn): Promise<boolean> {
    const isTaken = await this.#steering.offer(turn);
    if (isTaken) this.stream.account.steered(turn.parts ?? []);
    return isTaken;
  }

  /** Counts a model call that is not part of the conversation. */
  #spent(cost: SideCost): void {
    if (this.stream.ended) this.#deps.spentAfterEnd?.(cost);
    else this.stream.addSideCost(cost);
  }

  #end(result: RunResult): void {
    const endedAt = this.#deps.clock.now();
    const receipt = this.#receipt(endedAt);
    const { engineDegraded: text, durationMs } = receipt;
    if (text !== undefined) this.stream.emit({ type: "notice", because: "engine", text });
    this.stream.emit({ type: "run_end", result, receipt, endedAt });
    const { hooks } = this.#deps;
    if (!hooks) return;
    const messages = this.#memory.shown?.messages() ?? [];
    notifyEnd(this.#request, hooks, { result, durationMs, messages });
  }

  #receipt(endedAt: number): Receipt {
    const { choice, facts, openEngine } = this.#request;
    const { engine } = this.#memory;
    return {
      model: this.#attempts.model,
      ...this.stream.cost,
      durationMs: endedAt - this.#startedAt,
      trigger: facts.trigger,
      ...(facts.principal && { principal: facts.principal }),
      ...(facts.plugin !== undefined && { plugin: facts.plugin }),
      // An engine that could not be loaded has no name here; the failure names it.
      ...((engine || !openEngine) && { engine: engine?.id ?? "legacy" }),
      ...(engine?.degraded !== undefined && { engineDegraded: engine.degraded }),
      ...(this.#untrusted.sources.length > 0 && { untrusted: this.#untrusted.sources }),
      ...this.stream.account.close(choice.candidates, this.#attempts.skipped),
    };
  }
}

/**
 * The answer that a plugin gives instead of the models. Plugins are asked while nothing was answered yet, so also again
 * after a restart.
 */
async function claimedAnswer(
  progress: Progress,
  request: RunRequest,
  deps: Pick<RunDeps, "clock" | "hooks">,
): Promise<AssistantMessage | undefined> {
  const hooks = boundHooks(request, deps);
  if (hooks?.runner.has("before_agent_reply") !== true || isBegun(progress)) return undefined;
  const event = { cleanedBody: request.turn.text };
  return hooks.runner.first({ name: "before_agent_reply", event, context: hooks.context }, (answer, owner) => {
    if (!isFields(answer) || answer["handled"] !== true) return undefined;
    return answerBy(owner, textIn(answer["reply"]), deps.clock.now());
  });
}

const isBegun = (progress: Progress): boolean =>
  progress.kind !== "fresh" && (progress.said.length > 0 || (progress.kind === "underway" && progress.carried !== ""));

/**
 * The text of a plugin's reply `{text, mediaUrl, mediaUrls}`; a file becomes the directive by which models send files.
 */
function textIn(reply: unknown): string {
  if (!isFields(reply)) return "";
  const { text, mediaUrl, mediaUrls } = reply;
  const files = [mediaUrl, ...(Array.isArray(mediaUrls) ? mediaUrls : [])].filter((file) => typeof file === "string");
  return [typeof text === "string" ? text : "", ...files.map((file) => `[[media: ${file}]]`)]
    .filter((line) => line !== "")
    .join("\n");
}

const answerBy = (owner: string, text: string, timestamp: number): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "openclaw",
  provider: "openclaw",
  model: `plugin:${owner}`,
  usage: emptyUsage(),
  stopReason: "stop",
  timestamp,
});

interface Calling {
  readonly request: RunRequest;
  readonly setting: ToolSetting;
  readonly log: RunLog;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Makes the only call of a run, unless an earlier process began the call: then its result is the one in the transcript.
 * Returns the answer that is made of the result, or the failure when the call cannot be made. Rejects when the
 * transcript cannot be written.
 */
async function fixedAnswer(call: FixedCall, calling: Calling): Promise<AssistantMessage | Failure> {
  const { conversation, turn } = calling.request;
  const known = (await conversation.after(turn.entryId))?.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "toolResult" ? [entry.message] : [],
  );
  const result = known?.at(-1) ?? (await resultOf(call, calling));
  if (!("role" in result)) return result;
  return message([{ type: "text", text: call.answer(result) }], "stop", calling);
}

async function resultOf(call: FixedCall, calling: Calling): Promise<ToolResultMessage | Failure> {
  const { request, setting } = calling;
  const tool = request.tools.find(({ name }) => name === call.tool);
  if (!tool) return blocked(`the tool ${call.tool} is not there for it${whyRemoved(call, request)}`);
  const checked = await checkCall(tool, call.args, setting);
  if (checked.kind === "invalid") return blocked(`the call of ${call.tool} cannot be made: ${checked.why}`);
  return made({ ...call, run: checked.run }, tool, calling);
}

const blocked = (text: string): Failure => ({ kind: "blocked", message: text });

function whyRemoved({ tool }: FixedCall, { removed }: RunRequest): string {
  const why = removed?.(tool);
  return why ? `: the policy removed it at the step "${why.stage}": ${why.key}` : "";
}

async function made(
  {
    args,
    run,
  }: Pick<FixedCall, "args"> & Pick<Extract<Awaited<ReturnType<typeof checkCall>>, { kind: "fits" }>, "run">,
  { name }: Tool,
  calling: Calling,
): Promise<ToolResultMessage> {
  const { log, clock, request } = calling;
  const { conversation } = request;
  const id = `call_${request.turn.entryId}`;
  const part: ToolCallContent = { type: "toolCall", id, name, arguments: { ...args } };
  await conversation.append({ type: "message", message: message([part], "toolUse", calling) }, { durable: true });
  log.emit({ type: "tool_start", callId: id, name, args: { ...args } });
  const startedAt = clock.now();
  const {
    content,
    details,
    isError = false,
  } = await run(id, (partial) => log.emit({ type: "tool_update", callId: id, name, partial }));
  const timestamp = clock.now();
  const text = content.map((one) => (one.type === "text" ? one.text : `[${one.mimeType}]`)).join("\n");
  log.emit({ type: "tool_end", callId: id, name, isError, text, durationMs: timestamp - startedAt });
  const result = { role: "toolResult" as const, toolCallId: id, toolName: name, content, details, isError, timestamp };
  // A stopped call is closed by whoever continues the turn.
  if (!calling.setting.signal.aborted)
    await conversation.append({ type: "message", message: result }, { durable: true });
  return result;
}

const message = (
  content: AssistantMessage["content"],
  stopReason: AssistantMessage["stopReason"],
  { clock }: Pick<Calling, "clock">,
): AssistantMessage => ({
  role: "assistant",
  content,
  api: "openclaw",
  provider: "openclaw",
  model: "none",
  usage: emptyUsage(),
  stopReason,
  timestamp: clock.now(),
});
