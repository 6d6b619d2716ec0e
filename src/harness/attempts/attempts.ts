import type { Compacted } from "../compaction/compact.ts";
import type { RunMemory } from "../compaction/run-memory.ts";
import { imagesFor } from "../context/images.ts";
import { ModelSelector, type Selection } from "../failover/model-selector.ts";
import { ModelWatch } from "../failover/model-watch.ts";
import { Recovery } from "./recovery.ts";
import type { RunLog } from "../log/run-log.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { LoopGuard } from "../tools/loops/guard.ts";
import type { ToolSetting } from "../tools/tools.ts";
import { parseImageSize, classifyFailure } from "../../providers/failure.ts";
import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { Failure, FailureKind, RunResult, SideCost, Skipped } from "../../types/run/run.ts";
import type { ApprovalDesk } from "../../types/run/tool.ts";
import { sizeText } from "../../utils/text/size-text.ts";
import { attempt, type AttemptOutcome } from "./attempt.ts";
import type { Deadline } from "../deadline.ts";
import type { Attempt, RunParts } from "../run/plan.ts";
import { Revisions } from "./revisions.ts";
import type { Steering } from "../run/steering.ts";
import type { StopSwitch } from "../run/stop-switch.ts";
import type { Aside, DrawAside, Drawing, DrawQuestion } from "../../types/media/drawing.ts";
import { askAsideIn } from "../aside/ask.ts";
import { drawImages } from "../../providers/images/draw.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import { callOriginOf } from "../../types/run/model-meter.ts";
import { hasTokens } from "../../types/run/usage.ts";
import { askInTurn, type UnansweredCall } from "../aside/keys.ts";

export interface AttemptsParts {
  /** The current request: hooks and volatile prompts change it. */
  request(): RunRequest;
  readonly deps: RunDeps;
  readonly log: RunLog;
  readonly memory: RunMemory;
  readonly steering: Steering;
  readonly stop: StopSwitch;
  /** Called with the tokens of each model call of a tool. */
  spent(cost: SideCost): void;
}

type Chosen = Extract<Selection, { handle: unknown }>;

/** The attempts of one run, one after the other, until a model answers or nothing is left to try. */
export class Attempts {
  /** The model that was asked last, or is asked first. */
  model: ModelRef;
  readonly #parts: AttemptsParts;
  readonly #selector: ModelSelector;
  readonly #recovery: Recovery;
  readonly #watch: ModelWatch;
  readonly #guard: LoopGuard;
  readonly #revisions = new Revisions();
  #lastFailure: Failure | undefined;
  /** The desk that pauses the time of the run while it asks. */
  #approvals: ApprovalDesk;
  /** The switch that ends the attempt under way, and not the run. */
  #current: AbortController | undefined;
  /** Whether another model or key may get the time of the run. */
  #canPassOn = false;

  constructor(parts: AttemptsParts) {
    const { log, deps, memory, stop } = parts;
    const request = parts.request();
    const { candidates, keys, askedBefore } = request.choice;
    this.#parts = parts;
    this.#approvals = deps.approvals;
    this.#guard = new LoopGuard(request.settings.tools.loops);
    this.model = candidates[0] ?? { provider: "none", id: "none" };
    this.#selector = new ModelSelector(candidates, deps.models, keys ?? {});
    this.#watch = new ModelWatch(request.conversation, askedBefore);
    this.#recovery = new Recovery({
      request,
      log,
      selector: this.#selector,
      clock: deps.clock,
      signal: stop.signal,
      learned: (window) => memory.learned(window),
      compact: async () => this.#compacted(await memory.compact()),
      askOwner: () => askForBudget(this.#parts.request(), deps, this.#approvals, stop.signal),
    });
  }

  /** Candidates and keys that were not asked. */
  get skipped(): readonly Skipped[] {
    return this.#selector.skipped;
  }

  /** The model that is asked and the candidates after it. */
  get remaining(): readonly ModelRef[] {
    return this.#candidates.slice(this.#recovery.place.candidate);
  }

  get #candidates(): readonly ModelRef[] {
    return this.#parts.request().choice.candidates;
  }

  /** Makes the first attempt continue the answer that an earlier process began. */
  carry(text: string): void {
    this.#recovery.carry(text);
  }

  /**
   * Ends the attempt under way so that the next model, or the next key, gets the time of a run. False when the run
   * itself has to end: a tool takes too long, or no model and no key is left.
   */
  expire(): boolean {
    if (!this.#current || this.#parts.log.account.isToolRunning || !this.#mayPassOn()) return false;
    this.#current.abort();
    return true;
  }

  /** Whether the time of the run may be given again. A memory flush has a short time limit and gets it only once. */
  #mayPassOn(): boolean {
    return this.#parts.request().facts.trigger !== "memory" && this.#canPassOn;
  }

  close(): void {
    this.#selector.close();
  }

  /** Makes attempts until the run ends. Rejects when the transcript cannot be written. */
  async run(setting: ToolSetting, deadline: Deadline): Promise<RunResult> {
    const { stop } = this.#parts;
    this.#approvals = setting.approvals;
    for (let number = 1; ; number += 1) {
      const chosen = await this.#selector.at(this.#recovery.place);
      if (stop.isOn) return { kind: "aborted", by: stop.cause };
      if ("failure" in chosen) return { kind: "failed", failure: this.#lastFailure ?? chosen.failure };
      this.#recovery.use(chosen.place);
      this.#canPassOn = await this.#recovery.canPassOn();
      const current = new AbortController();
      this.#current = current;
      // A listener costs less than `AbortSignal.any`, which makes weak references and registers them with the garbage
      // collector.
      const abort = (): void => current.abort();
      stop.signal.addEventListener("abort", abort, { once: true });
      if (stop.isOn) abort();
      const outcome = await this.#attempt(number, chosen, setting, current.signal).finally(() => {
        this.#current = undefined;
        stop.signal.removeEventListener("abort", abort);
      });
      const isLate = current.signal.aborted && !stop.isOn;
      const end = isLate ? await this.#passOn(deadline) : await this.#endAfter(outcome, setting);
      if (end) return end;
    }
  }

  #attempt(number: number, chosen: Chosen, given: ToolSetting, signal: AbortSignal): Promise<AttemptOutcome> {
    const { log, steering, deps, spent } = this.#parts;
    const setting = { ...given, asideFor: asidesIn(this.#parts.request(), deps, spent) };
    const handle = this.#recovery.fitted(chosen.handle);
    const { provider, id } = handle.info;
    this.model = { provider, id };
    const plan: Attempt = { number, handle, ...this.#recovery.plan, signal };
    const progressed = () => this.#recovery.progressed();
    const parts = { log, setting, steering, guard: this.#guard, progressed, context: this.#contextPorts() };
    return attempt(plan, this.#parts.request(), parts);
  }

  #contextPorts(): RunParts["context"] {
    const { request, deps, log, memory } = this.#parts;
    return {
      log,
      engine: memory.engine,
      texts: deps.texts,
      pruned: deps.pruned,
      refused: this.#recovery.refused,
      now: () => deps.clock.now(),
      withImages: imagesFor(request(), deps),
      compactBeforeAnswer: async (asked) => {
        const isSmaller = await memory.compactBeforeAnswer(asked);
        if (isSmaller) this.#guard.compacted();
        return isSmaller;
      },
      shown: async (what) => {
        memory.shown = what;
        await this.#watch.asks(this.model, what.lastModel);
      },
    };
  }

  #compacted(done: Compacted): Compacted {
    if (done.kind !== "nothing") this.#guard.compacted();
    return done;
  }

  /** The end of the run after an attempt; undefined when another attempt follows. */
  async #endAfter(outcome: AttemptOutcome, { hooks }: ToolSetting): Promise<RunResult | undefined> {
    this.#record(outcome);
    if (outcome.kind === "aborted") return { kind: "aborted", by: this.#parts.stop.cause };
    if (outcome.kind === "replied") return (await this.#isRevised(hooks)) ? undefined : this.#replied(outcome);
    this.#lastFailure = outcome.failure;
    const end = await this.#recovery.from(outcome);
    return end && { kind: "failed", failure: this.#withContext(end) };
  }

  /**
   * The end of the run after its time is over; undefined when another attempt follows. The model let the time of a run
   * pass, and the next one has all of it again.
   */
  async #passOn(deadline: Deadline): Promise<RunResult | undefined> {
    const { timeoutMs } = this.#parts.request();
    const message = `No answer came within the ${Math.round(timeoutMs / 1000)} seconds of a run.`;
    const failure: Failure = { kind: "timeout", message };
    this.#record({ kind: "failed", failure });
    this.#lastFailure = failure;
    deadline.restart(timeoutMs);
    const end = await this.#recovery.passOn(failure);
    return end && { kind: "aborted", by: "timeout" };
  }

  #record(outcome: AttemptOutcome): void {
    const { log, deps } = this.#parts;
    const now = deps.clock.now();
    if (outcome.kind !== "failed") return log.account.ended({ outcome: outcome.kind }, now);
    const { kind, message } = outcome.failure;
    if (outcome.isUnsent) return log.account.ended({ outcome: kind, message: `not sent: ${message}` }, now);
    log.account.ended({ outcome: kind, message }, now);
    if (outcome.sent) this.#recovery.refused.note(outcome.sent, outcome.failure);
    this.#selector.failed(outcome.failure);
    this.#watch.failed(this.model, kind);
  }

  /** Marks the failure of a message that is too long by itself, for which a new conversation is no help. */
  #withContext(failure: Failure): Failure {
    const isAlone = TOO_LARGE.has(failure.kind) && this.#parts.memory.shown?.before === 0;
    return isAlone ? { ...failure, isAlone } : failure;
  }

  /** Whether a hook wants another pass. Then its wish is in the transcript, and the next attempt answers it. */
  async #isRevised(hooks: BoundHooks | undefined): Promise<boolean> {
    const { request, memory } = this.#parts;
    const messages = memory.shown?.messages() ?? [];
    const message = await this.#revisions.after(request(), this.model, messages, hooks);
    if (!message) return false;
    this.#selector.succeeded();
    await request().conversation.append({ type: "message", message }, { durable: true });
    return true;
  }

  #replied(outcome: Extract<AttemptOutcome, { kind: "replied" }>): RunResult {
    this.#selector.succeeded();
    const leftOut = this.#recovery.imagesLeftOut;
    if (leftOut) this.#parts.log.emit({ type: "notice", because: "image", text: leftOutText(leftOut) });
    const change = this.#watch.change(this.#candidates, this.#selector.skipped);
    if (change) this.#parts.log.emit({ type: "model_change", ...change });
    return outcome;
  }
}

/** Failures of a request because of its size. */
const TOO_LARGE: ReadonlySet<FailureKind> = new Set(["context_overflow", "request_size"]);

/** The notice that the answer is to the text alone, and why. */
function leftOutText({ kind, message, requestBytes }: Failure): string {
  const because = IMAGE_REASONS[kind] ?? "the request was too large with it";
  const { maxBytes, maxDimensionPx } = (kind === "image_size" ? parseImageSize(message) : undefined) ?? {};
  const figures = [
    ...(requestBytes === undefined ? [] : [`it had ${sizeText(requestBytes)}`]),
    ...(maxBytes === undefined ? [] : [`at most ${sizeText(maxBytes)}`]),
    ...(maxDimensionPx === undefined ? [] : [`at most ${maxDimensionPx} pixels a side`]),
  ].join(", ");
  return `🖼️ Answered without the image: ${because}${figures === "" ? "" : ` (${figures})`}.`;
}

const IMAGE_REASONS: Readonly<Partial<Record<FailureKind, string>>> = {
  image_size: "it is too large for the model",
  image_broken: "the model cannot read it",
  request_size: "the model's provider, or a proxy before it, refuses a request of so many bytes",
};

/**
 * Asks an owner whether the call that a budget refused may be made, and raises the budget so that it can be made. False
 * when the owner says no, when nobody answers or could answer, and when no raise would help.
 */
async function askForBudget(
  { facts, settings }: Pick<RunRequest, "facts" | "settings">,
  { budgets, log }: Pick<RunDeps, "budgets" | "log">,
  approvals: ApprovalDesk,
  signal: AbortSignal,
): Promise<boolean> {
  const refused = budgets?.refusedIn(facts.runId);
  if (!budgets || refused?.raise === undefined) return false;
  const { text, raise } = refused;
  const question = {
    askedBy: "budget",
    command: `raise the budget by ${raise}`,
    reason: `${text} A yes raises it by ${raise}, and I go on.`,
    cwd: settings.workspace,
  } as const;
  if ((await approvals.ask(question, signal)) !== "allow-once") return false;
  try {
    await budgets.allow(facts.runId);
    return true;
  } catch (error) {
    log.error("budget not raised", { run: facts.runId, error });
    return false;
  }
}

/**
 * How each tool of a run asks models outside of the conversation. `spent` gets the cost of each call, also of a call
 * that failed.
 */
function asidesIn(request: RunRequest, deps: RunDeps, spent: (cost: SideCost) => void): (tool: string) => Aside {
  const [ask, draw] = [askAsideIn(request, deps, spent), drawAsideIn(request, deps, spent)];
  return (tool) => ({ ask: ask(tool), draw: draw(tool) });
}

/** How a tool of a run has models draw. `spent` gets the cost of each request, also of a request that failed. */
const drawAsideIn =
  ({ facts }: RunRequest, { models, clock }: RunDeps, spent: (cost: SideCost) => void) =>
  (tool: string): DrawAside =>
  (question, signal) =>
    askInTurn(question.models, {
      models,
      signal,
      ask: (handle) =>
        draw(handle, question, {
          signal,
          drawWith: (inTime) =>
            drawImages(handle, question.ask, {
              origin: callOriginOf(facts),
              signal: inTime,
              clock,
              onSettled({ usage }) {
                const model = { provider: handle.info.provider, id: handle.info.id };
                if (hasTokens(usage)) spent({ what: "tool", tool, model, calls: 1, usage });
              },
            }),
        }),
    });

interface Drawer {
  readonly signal: AbortSignal;
  drawWith(inTime: AbortSignal): ReturnType<typeof drawImages>;
}

async function draw(
  { info }: ModelHandle,
  { timeoutMs }: DrawQuestion,
  { signal, drawWith }: Drawer,
): Promise<Drawing | UnansweredCall> {
  const late = AbortSignal.timeout(timeoutMs);
  const drawn = await drawWith(AbortSignal.any([signal, late]));
  if (!("why" in drawn)) return { ...drawn, model: { provider: info.provider, id: info.id } };
  if (!late.aborted || signal.aborted) return signal.aborted ? { why: "it was stopped" } : drawn;
  const failure = classifyFailure(`The model timed out: there was no image within ${timeoutMs / 1000} s.`);
  return { why: failure.message, failure };
}
