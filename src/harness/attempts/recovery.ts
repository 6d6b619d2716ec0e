import { hasImages } from "../../history/passes/images.ts";
import { truncateResults } from "../../history/truncate-results.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import { REFUSED_THINKING, type RefusedThinking } from "../../sessions/transcript/entries.ts";
import type { Clock } from "../../types/clock.ts";
import type { ThinkLevel } from "../../types/run/model.ts";
import type { Failure, FailureKind } from "../../types/run/run.ts";
import { THINK_LEVELS } from "../../types/run/model.ts";
import type { AttemptOutcome } from "./attempt.ts";
import { withWindow } from "../context/budget.ts";
import type { Compacted } from "../compaction/compact.ts";
import { failedBecause } from "../compaction/compaction-failure.ts";
import { askForRest, isContinued } from "../failover/continuation.ts";
import type { ModelSelector } from "../failover/model-selector.ts";
import type { RunLog } from "../log/run-log.ts";
import {
  FRESH,
  next,
  type PolicyState,
  type Remedy,
  progressed,
  type PolicyStep,
  without,
  movedTo,
} from "../failover/policy.ts";
import type { Attempt } from "../run/plan.ts";
import { limitShownBy, RefusedRequests, type SentRequest } from "../failover/refused.ts";
import type { RunRequest } from "../request.ts";
import { pause } from "../../utils/pause.ts";

export interface RecoveryParts {
  readonly request: RunRequest;
  readonly log: RunLog;
  readonly selector: ModelSelector;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with the model's window when a refusal shows it. */
  learned(window: number): void;
  compact(): Promise<Compacted>;
  /** Whether an owner allows the call that the budget refused. */
  askOwner(): Promise<boolean>;
}

type Failed = Extract<AttemptOutcome, { kind: "failed" }>;
type Retry = Extract<PolicyStep, { kind: "retry" }>;

/** The smallest window in tokens: no conversation fits a smaller one. */
const LEAST_WINDOW = 1000;

/** The reasons for the model why images are left out, by the kind of the failure. */
const WHY_NO_IMAGES: Readonly<Partial<Record<FailureKind, string>>> = {
  image_size: "left out, because it is too large for this model",
  request_size: "left out, because the request was too large with it",
  context_overflow: "left out, because the request was too large with it",
  compaction_failure: "left out, because the request was too large with it",
  image_broken: "left out, because the model's provider cannot read it",
};

const TIMED_OUT: Failure = { kind: "timeout", message: "" };

/** Decides by the policy how the next attempt differs from the attempts that failed. */
export class Recovery {
  /** The requests that a provider refused for their content; none of them is sent twice. */
  readonly refused = new RefusedRequests();
  readonly #parts: RecoveryParts;
  #state: PolicyState = FRESH;
  #thinking: ThinkLevel;
  #carried = "";
  #maxOutput: number | undefined;
  #sent: SentRequest | undefined;
  /** Whether the last refusal named the model's limit. */
  #isLimitNamed = false;
  /** Tokens of the model's window, as requests that were sent and refused show. */
  #window: number | undefined;
  /**
   * Tokens to which a request is cut after refusals that show no limit. The figure is a guess, from which nothing but
   * the next request follows.
   */
  #guess: number | undefined;
  #handle: ModelHandle | undefined;
  /** The failure because of which images are left out. */
  #imageFailure: Failure | undefined;
  /** Why a compaction that was needed failed. */
  #uncompacted: string | undefined;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
    this.#thinking = parts.request.thinking;
  }

  /** The model and the key that are next. */
  get place(): Pick<PolicyState, "candidate" | "profile"> {
    return this.#state;
  }

  get plan(): Omit<Attempt, "number" | "handle" | "signal"> {
    const { used } = this.#state;
    return {
      thinking: this.#thinking,
      images: this.#imagesShown,
      whyNoImages: this.#imageFailure && WHY_NO_IMAGES[this.#imageFailure.kind],
      strict: used.strict_history !== undefined,
      truncate: used.truncate_results !== undefined,
      mostTokens: this.#guess,
      maxOutput: this.#maxOutput,
      carried: this.#carried,
    };
  }

  get #imagesShown(): Attempt["images"] {
    const dropped = this.#state.used.drop_images ?? 0;
    if (dropped === 0) return "all";
    return dropped === 1 && this.#imagesAsked ? "of_turn" : "none";
  }

  /** The remedies that would change nothing in the last request. */
  get #useless(): ReadonlySet<Remedy> {
    const useless = new Set<Remedy>();
    const sent = this.#sent;
    if (!sent) return useless;
    const windowTokens = Math.min(this.#window ?? Infinity, this.#guess ?? Infinity, sent.window);
    if (truncateResults(sent.messages, { windowTokens }) === sent.messages) useless.add("truncate_results");
    if (sent.messages.every(({ role }) => role !== "assistant")) useless.add("drop_thinking");
    if (sent.thinking === "off") useless.add("lower_thinking");
    return useless;
  }

  get #imagesAsked(): boolean {
    return this.#parts.request.turn.images.length > 0;
  }

  /** Makes the next attempt continue the answer that an earlier process began. */
  carry(text: string): void {
    this.#carried = text;
  }

  /** Moves to a model and key; the selector may have skipped others before them. */
  use(place: Pick<PolicyState, "candidate" | "profile">): void {
    if (place.candidate !== this.#state.candidate) this.#begin();
    this.#state = movedTo(this.#state, place);
  }

  /** Another model begins with the settings of the run. */
  #begin(): void {
    this.#thinking = this.#parts.request.thinking;
    this.#maxOutput = undefined;
    this.#window = undefined;
    this.#guess = undefined;
    this.#imageFailure = undefined;
  }

  progressed(): void {
    this.#state = progressed(this.#state);
    this.#carried = "";
  }

  /**
   * Prepares the next attempt. Returns the failure that the run ends with when the policy gives up. Rejects when the
   * transcript cannot be written.
   */
  async from({ failure, broken, sent, isUnsent }: Failed): Promise<Failure | undefined> {
    this.#sent = sent;
    this.#isLimitNamed = isUnsent === undefined && failure.limitTokens !== undefined;
    const limit = sent && isUnsent === undefined ? limitShownBy(failure, sent) : undefined;
    if (limit !== undefined) this.#lower(limit);
    // Nothing is left to cut, so a smaller guess would change nothing either.
    if (isUnsent && this.#state.used.shrink_window !== undefined) this.#state = without(this.#state, "shrink_window");
    const named = this.#named(failure);
    const step = await this.#next(named);
    if (!step) return named;
    const continues = await this.#continueFrom(named, broken);
    return this.#take(step, named, continues);
  }

  /** Whether `passOn` can give the time of a run to another model, or once to the model's next key. */
  async canPassOn(): Promise<boolean> {
    const { candidates, profiles, rotations = 1 } = await this.#parts.selector.chances(this.#state, TIMED_OUT);
    const { candidate, profile, used } = this.#state;
    if (candidate + 1 < candidates) return true;
    return profile + 1 < profiles && (used.rotate_profile ?? 0) < Math.min(1, rotations);
  }

  /**
   * Called when the model used up the time of a run: another model gets that time, else the model's next key, and the
   * present model and key are not asked again. Returns the failure that the run ends with when nothing is left to try.
   */
  async passOn(failure: Failure): Promise<Failure | undefined> {
    const { candidates } = await this.#parts.selector.chances(this.#state, failure);
    this.#state = without(this.#state, "wait");
    if (this.#state.candidate + 1 < candidates) this.#state = without(this.#state, "rotate_profile");
    return this.from({ kind: "failed", failure });
  }

  /** The model with the window that refusals in this conversation show. */
  fitted(handle: ModelHandle): ModelHandle {
    this.#handle = handle;
    return withWindow(withWindow(handle, handle.limits.shownTo(this.#sessionId)), this.#window);
  }

  get #sessionId(): string {
    return this.#parts.request.facts.sessionId;
  }

  /** Why images that the person sent are left out of the request. Undefined while the images are shown. */
  get imagesLeftOut(): Failure | undefined {
    return this.#imagesAsked && this.#imagesShown === "none" ? this.#imageFailure : undefined;
  }

  /** Lowers the window after a request was sent and refused. Later runs of this session know the window, too. */
  #lower(window: number): void {
    const now = Math.min(this.#window ?? Infinity, this.#sent?.window ?? Infinity);
    if (window >= now) return;
    this.#window = Math.max(LEAST_WINDOW, window);
    this.#parts.learned(this.#window);
    this.#handle?.limits.refused(this.#sessionId, this.#window);
  }

  /**
   * Cuts the next request to the limit that the provider named; where that changes nothing, to half of the refused
   * request.
   */
  #shrink(): void {
    const sent = this.#sent;
    if (!sent || (this.#isLimitNamed && (this.#window ?? Infinity) < sent.window)) return;
    this.#guess = Math.max(LEAST_WINDOW, Math.floor(Math.min(sent.tokens, sent.window) / 2));
  }

  /**
   * The failure by its cause: when the window stays too full because the compaction failed, the operator has to mend
   * that.
   */
  #named(failure: Failure): Failure {
    if (failure.kind !== "context_overflow" || this.#uncompacted === undefined) return failure;
    return { ...failure, kind: "compaction_failure", message: `${failure.message} (${this.#uncompacted})` };
  }

  async #take(step: Retry, failure: Failure, continues: boolean): Promise<Failure | undefined> {
    const { log } = this.#parts;
    const { kind: because, message } = failure;
    log.account.remedied(step.remedy);
    log.emit({ type: "retry", because, remedy: step.remedy, message, continues });
    if (step.state.candidate !== this.#state.candidate) this.#begin();
    else if (step.remedy === "rotate_profile") this.#thinking = this.#parts.request.thinking;
    if (step.remedy === "drop_images") this.#imageFailure = failure;
    if (step.remedy === "lower_output") this.#maxOutput = failure.maxOutputTokens;
    this.#state = step.state;
    if (step.remedy === "shrink_window") this.#shrink();
    if (step.remedy === "drop_thinking") await this.#leaveThinkingOut();
    if (step.remedy === "compact") return this.#compactOrElse(failure, continues);
    if (step.remedy === "ask_owner") return this.#askOrElse(failure, continues);
    await pause(step.waitMs, this.#parts);
    return undefined;
  }

  /**
   * Notes in the transcript, for later turns too, that the model's thinking up to now is refused: its signatures are of
   * another key, or are too old. Where the same happens once more, the model's later thinking is refused as well.
   */
  async #leaveThinkingOut(): Promise<void> {
    const sent = this.#sent;
    const answers = sent?.messages.filter((message) => message.role === "assistant") ?? [];
    if (!sent || answers.length === 0) return;
    const newest = Math.max(...answers.map(({ timestamp }) => timestamp));
    // OpenAI's chat API has no signatures: a server that refuses the field always does.
    const isOfField = this.#handle?.pi.api === "openai-completions";
    const until = sent.refusedThinking === undefined && !isOfField ? newest : Number.MAX_SAFE_INTEGER;
    const data: RefusedThinking = { model: sent.model, until };
    await this.#parts.request.conversation.append(
      { type: "custom", customType: REFUSED_THINKING, data },
      { durable: true },
    );
  }

  async #next(failure: Failure): Promise<Retry | undefined> {
    const chances = await this.#parts.selector.chances(this.#state, failure);
    const step = next(this.#state, failure, {
      ...chances,
      imagesAsked: this.#imagesAsked,
      hasImages: this.#sent?.messages.some(hasImages) !== false,
      useless: this.#useless,
    });
    if (step.kind === "give_up") return undefined;
    if (step.remedy !== "lower_thinking") return step;
    const lower = THINK_LEVELS[THINK_LEVELS.indexOf(this.#thinking) - 1];
    if (lower === undefined) {
      this.#state = without(this.#state, "lower_thinking");
      return this.#next(failure);
    }
    this.#thinking = lower;
    return step;
  }

  /**
   * Whether the next attempt continues a broken answer. The first part of the answer is in the transcript and perhaps
   * in the chat, so the model is asked for the rest.
   */
  async #continueFrom({ kind }: Failure, broken: Failed["broken"]): Promise<boolean> {
    if (!broken || !isContinued(kind, broken)) return false;
    const { request, log, clock } = this.#parts;
    await request.conversation.append({ type: "message", message: askForRest(clock.now()) }, { durable: true });
    this.#carried = log.lastText;
    return true;
  }

  /** Compacts the conversation. A compaction that makes nothing smaller ends the series: the next remedy follows. */
  async #compactOrElse(failure: Failure, continues: boolean): Promise<Failure | undefined> {
    const done = await this.#parts.compact();
    if (done.kind !== "nothing") return undefined;
    this.#state = without(this.#state, "compact");
    this.#uncompacted = failedBecause(done);
    const named = this.#named(failure);
    const step = await this.#next(named);
    return step ? this.#take(step, named, continues) : named;
  }

  /**
   * Asks an owner. An owner who said no, or could not be asked, is not asked again in this run: the next remedy
   * follows.
   */
  async #askOrElse(failure: Failure, continues: boolean): Promise<Failure | undefined> {
    if (await this.#parts.askOwner()) return undefined;
    this.#state = without(this.#state, "ask_owner");
    const step = await this.#next(failure);
    return step ? this.#take(step, failure, continues) : failure;
  }
}
