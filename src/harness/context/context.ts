import { assemble, type Assembled } from "../../history/assemble.ts";
import { applyFit, fitFor, requestTokens, WHOLE } from "../../history/fit.ts";
import { isWhole } from "../../history/parts.ts";
import { canThink } from "../../history/can-think.ts";
import { applyPasses } from "../../history/passes.ts";
import { RESULT_SHARE } from "../../history/truncate-results.ts";
import { thinkingSent } from "../../providers/call/output.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import { policyFor, policyWithTools, type TranscriptPolicy } from "../../providers/quirks.ts";
import type { EngineAnswer } from "../../types/engine/engine-turn.ts";
import { type ChatMessage, modelName, type ModelRef } from "../../types/run/model.ts";
import type { Failure, Fit, PromptRecord } from "../../types/run/run.ts";
import type { SessionWindow } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { estimatePromptTokens } from "../../sessions/transcript/tokens.ts";
import { budgetIn, softLimitOf, fixedTokens, hardLimitOf, sendWindowOf, windowOf } from "./budget.ts";
import { EngineView } from "./engine-view.ts";
import type { Attempt, ContextPorts } from "../run/plan.ts";
import { type Made, promptRecord } from "./prompt-record.ts";
import type { SentRequest } from "../failover/refused.ts";
import type { RunRequest } from "../request.ts";

/** The beginning of an attempt. */
export interface AttemptOpening {
  readonly systemPrompt: string;
  readonly messages: ChatMessage[];
  readonly estimatedTokens: number;
}

/** A request of this many times the tokens of the window is refused by every provider, however the provider counts. */
const CERTAINLY_TOO_LARGE = 2;

/** The requests of one model in one attempt. */
export class ModelContext {
  readonly #plan: Attempt;
  readonly #request: RunRequest;
  readonly #run: ContextPorts;
  #policy: TranscriptPolicy;
  #window: SessionWindow | undefined;
  #said: () => readonly ChatMessage[] = () => [];
  #record: PromptRecord | undefined;
  #fixed = 0;
  /** Size of the messages that the loop begins with. */
  #opened = { tokens: 0, count: 0 };
  /** The messages that the loop begins with, which went through the passes already. */
  #valid: readonly ChatMessage[] = [];
  #calls = 0;
  #sent: SentRequest | undefined;
  #unsent: Failure | undefined;
  /** Whether the messages did not fit before they were cut. */
  #isOver = false;
  #view: EngineView | undefined;
  #system = "";
  /** The engine's text before the system prompt; it applies until the engine gives another one. */
  #addition: string | undefined;
  readonly #uncut: Fit;
  #fit: Fit;

  constructor(plan: Attempt, request: RunRequest, run: ContextPorts) {
    this.#plan = plan;
    this.#request = request;
    this.#run = run;
    const policy = policyWithTools(policyFor(plan.handle.pi), request.tools.length);
    const { images, strict } = plan;
    const seesImages = images !== "none" && policy.images;
    const whyNoImages = policy.images ? plan.whyNoImages : undefined;
    this.#policy = { ...policy, images: seesImages, earlierImages: images === "all", strict, whyNoImages };
    this.#uncut = plan.truncate ? { ...WHOLE, eachResult: Math.floor(this.#sendTokens() * RESULT_SHARE) } : WHOLE;
    this.#fit = this.#uncut;
  }

  get policy(): TranscriptPolicy {
    return this.#policy;
  }

  /** Reads the conversation and asks the engine. Throws when the transcript or the prompt cannot be read. */
  async open(): Promise<AttemptOpening> {
    const { handle } = this.#plan;
    const system = await this.#request.systemPrompt(handle.info, this.#request.tools);
    this.#fixed = fixedTokens(system.text, this.#request.tools);
    const { window, view, answer } = await this.#openView();
    const history = await this.#assembled(window, answer);
    view.begin(history.messages.length);
    this.#opened = { tokens: history.estimatedTokens, count: history.messages.length };
    this.#valid = history.messages;
    this.#system = system.text;
    this.#addition = answer?.systemAddition;
    const opening = { systemPrompt: this.systemPrompt, ...history };
    await this.#announce(window, view, answer);
    await this.#keep(opening, { system, answer });
    return opening;
  }

  /** Tokens of the fixed part of each request, with the engine's text once there is one. */
  get #fixedNow(): number {
    return this.#fixed + estimatePromptTokens(this.#addition ?? "");
  }

  /** The system prompt of the next call, with the engine's text before it. */
  get systemPrompt(): string {
    return this.#addition ? `${this.#addition}\n\n${this.#system}` : this.#system;
  }

  /**
   * The conversation and the engine's version of it. Without an engine, older turns that do not fit and that no summary
   * covers are summarised first; with one, the size of its answer decides whether there is too much.
   */
  async #openView() {
    const read = async () => {
      const window = await this.#request.conversation.window(this.#budget());
      this.#window = window;
      const { provider, id } = this.#plan.handle.info;
      const refusedThinking = window.refusedThinking?.[modelName({ provider, id })];
      this.#policy = { ...this.#policy, model: { ...this.#policy.model, refusedThinking } };
      this.#view = new EngineView(window, this.#viewParts());
      return { window, view: this.#view };
    };
    const first = await read();
    const answer = await first.view.assemble();
    if (answer || !first.window.older || !(await this.#run.compactBeforeAnswer(this.#plan.handle)))
      return { ...first, answer };
    return { ...(await read()), answer };
  }

  /** A valid request made of the conversation, or of the engine's version of it. */
  async #assembled(window: SessionWindow, answer: EngineAnswer | undefined): Promise<Assembled> {
    const { dmHistoryLimit: earlierTurns } = this.#request.settings;
    const policy = { ...this.#policy, earlierTurns };
    if (answer) {
      const seen = await this.#run.withImages(answer.messages, this.#policy);
      return { messages: [...applyPasses(seen, policy)], estimatedTokens: answer.estimatedTokens, trimmed: false };
    }
    const history = assemble(await this.#seen(window), policy);
    if (history.trimmed) this.#run.log.emit(TRIMMED);
    return history;
  }

  #viewParts() {
    const { handle, signal } = this.#plan;
    const window = this.#windowTokens();
    const budget = engineBudget(handle, this.#request.settings, this.#fixed);
    return { engine: this.#run.engine, request: this.#request, handle, signal, window, budget };
  }

  /** The window with the images that its turns mention. */
  async #seen(window: SessionWindow): Promise<SessionWindow> {
    const given = window.messages.map((row) => row.message);
    const shown = await this.#run.withImages(given, this.#policy);
    if (shown === given) return window;
    const messages = window.messages.map((row, at) => ({ ...row, message: shown[at] ?? row.message }));
    return { ...window, messages };
  }

  /** The loop's messages as the next call sends them: valid, and the same bytes as the next run will send. */
  async send(messages: readonly ChatMessage[]): Promise<ChatMessage[]> {
    this.#calls += 1;
    const answer = this.#calls > 1 ? await this.#view?.reassemble(messages) : undefined;
    this.#addition = answer?.systemAddition ?? this.#addition;
    const seen = await this.#run.withImages(answer?.messages ?? messages, this.#policy);
    const added = requestTokens(messages.slice(this.#opened.count));
    const fitting = this.#cut(seen, answer ? undefined : this.#opened.tokens + added);
    const shown = this.#prune(this.#isValid(fitting) ? fitting : applyPasses(fitting, this.#policy));
    if (this.#calls === 1) this.#emitPrompt();
    this.#noteSent(shown);
    return [...shown];
  }

  /**
   * Whether the passes would change nothing. Where earlier images are left out, the passes count a moved image as an
   * earlier one the second time.
   */
  #isValid(messages: readonly ChatMessage[]): boolean {
    return this.#policy.earlierImages !== false && areSame(messages, this.#valid);
  }

  /** The last request, sent or about to be; undefined before the first. */
  get sent(): SentRequest | undefined {
    return this.#sent;
  }

  /** Why the request is not sent: the same request was refused before, or this one cannot fit. */
  get unsent(): Failure | undefined {
    return this.#unsent;
  }

  /**
   * Notes the request of the next call. Throws, so that the SDK makes no call, when the same request of an earlier
   * attempt was refused, or this one cannot fit.
   */
  #noteSent(messages: readonly ChatMessage[]): void {
    const { handle, maxOutput } = this.#plan;
    const { provider, id } = handle.info;
    const fixed = this.#fixedNow;
    const thinking = canThink(messages, this.#policy) ? this.#plan.thinking : "off";
    this.#sent = {
      model: modelName({ provider, id }),
      systemPrompt: this.systemPrompt,
      messages,
      thinking,
      thinkingSent: thinkingSent(handle.pi, thinking),
      maxOutput,
      refusedThinking: this.#policy.model.refusedThinking,
      // The tokens are counted when they are read, because only a refusal needs them.
      get tokens() {
        return fixed + requestTokens(messages);
      },
      window: this.#sendTokens(),
    };
    const repeated = this.#calls === 1 ? this.#run.refused.failureOf(this.#sent) : undefined;
    this.#unsent = repeated ?? this.#tooLarge(this.#sent);
    if (this.#unsent) throw new Error(this.#unsent.message);
  }

  /**
   * The failure of a request that is certainly too large. All parts that can be cut were cut: the rest is the person's
   * text, the newest results, the system prompt and the tools.
   */
  #tooLarge(sent: SentRequest): Failure | undefined {
    const { handle } = this.#plan;
    const limitTokens = sendWindowOf(handle, this.#request.settings);
    if (!this.#isOver || sent.tokens <= limitTokens * CERTAINLY_TOO_LARGE) return undefined;
    const requestedTokens = sent.tokens;
    const message = `The request has about ${requestedTokens} tokens, and the model's window has ${limitTokens}.`;
    return { kind: "context_overflow", message, limitTokens, requestedTokens };
  }

  /**
   * Cuts the oldest parts of a long turn, which may outgrow the window, from the request. `tokens`: the estimated size,
   * when the messages continue those of the previous call; undefined for other messages, which are cut anew.
   */
  #cut(seen: readonly ChatMessage[], tokens: number | undefined): readonly ChatMessage[] {
    const window = this.#sendTokens();
    const asked = this.#request.turn.text;
    const mostTokens = Math.floor(hardLimitOf(window, this.#request.settings) - this.#fixedNow);
    const last = this.#fit;
    const before = tokens === undefined ? this.#uncut : last;
    this.#isOver = tokens === undefined || tokens > mostTokens;
    this.#fit = this.#isOver ? fitFor(seen, { mostTokens, window, asked, before }) : before;
    if (this.#fit !== this.#uncut && !isSameFit(this.#fit, last)) this.#run.log.emit(cutNotice(this.#fit));
    return applyFit(seen, this.#fit, asked);
  }

  /** Prunes old tool results, where the provider has a cache and the cache has expired. */
  #prune(messages: readonly ChatMessage[]): readonly ChatMessage[] {
    const { settings, facts } = this.#request;
    const { pruned } = this.#run;
    if (!pruned || !settings.pruning || !this.#policy.promptCache) return messages;
    const contextWindow = this.#windowTokens();
    return pruned.prune(facts.sessionId, { messages, contextWindow, now: this.#run.now() }, settings.pruning);
  }

  #emitPrompt(): void {
    if (!this.#record) return;
    const { settings, facts } = this.#request;
    const isPruned = settings.pruning !== undefined && this.#policy.promptCache;
    const cuts = isPruned ? (this.#run.pruned?.cutsOf(facts.sessionId) ?? {}) : {};
    const fit = this.#fit === WHOLE ? {} : { fit: this.#fit };
    this.#run.log.emit({ type: "prompt", record: { ...this.#record, cuts, ...fit } });
  }

  /** Sets the function that returns the loop's messages, as far as the loop has come. */
  follow(messages: () => readonly ChatMessage[]): void {
    this.#said = messages;
  }

  #announce(window: SessionWindow, view: EngineView, answer: EngineAnswer | undefined): Promise<void> {
    return this.#run.shown({
      handle: this.#plan.handle,
      tokens: (answer ?? window).estimatedTokens + this.#fixedNow,
      isByEngine: answer !== undefined,
      fixed: this.#fixedNow,
      lastId: window.messages.at(-1)?.entryId,
      isCut: window.older && !answer,
      lastModel: lastModelIn(window),
      budget: this.#budget(),
      window: this.#windowTokens(),
      before: view.before,
      messages: () => view.messages(this.#said()),
    });
  }

  #windowTokens(): number {
    return windowOf(this.#plan.handle.info, this.#request.settings);
  }

  /**
   * The tokens that requests are cut to. Nothing else is cut to this limit: a refusal may have taught it to another
   * conversation, or show no figure.
   */
  #sendTokens(): number {
    const { handle, mostTokens = Infinity } = this.#plan;
    return Math.min(sendWindowOf(handle, this.#request.settings), mostTokens);
  }

  #budget(): number {
    return budgetOf(this.#plan.handle, this.#request.settings, this.#fixed);
  }

  /** Records the prompt. The record is emitted with the attempt's first call, when the pruned results are known. */
  async #keep(opening: AttemptOpening, made: Made): Promise<void> {
    const { texts } = this.#run;
    const window = this.#window;
    if (!texts || !window) return;
    const policy = this.#policy;
    this.#record = await promptRecord(
      {
        request: this.#request,
        engine: this.#run.engine?.id,
        pi: this.#plan.handle.pi,
        info: this.#plan.handle.info,
        policy,
        window,
        opening,
        ...made,
      },
      texts,
    );
  }
}

function lastModelIn({ messages }: SessionWindow): ModelRef | undefined {
  const last = messages.findLast(({ message }) => message.role === "assistant" && isWhole(message))?.message;
  return last?.role === "assistant" ? { provider: last.provider, id: last.model } : undefined;
}

/**
 * The conversation before a turn, as far as it fits the model's window. The system prompt is not counted: making it
 * costs more than the rest.
 */
export async function historyWindow(handle: ModelHandle, request: RunRequest): Promise<readonly ChatMessage[]> {
  const { settings, tools, conversation } = request;
  const budget = budgetOf(handle, settings, fixedTokens("", tools));
  return (await conversation.window(budget)).messages.map((row) => row.message);
}

function budgetOf({ info }: ModelHandle, settings: AgentSettings, fixed: number): number {
  return Math.max(1000, Math.floor(softLimitOf(windowOf(info, settings), settings) - fixed));
}

/**
 * The tokens that an engine may fill. The whole reserve is left free, so that an engine that fills its budget is not
 * followed by a compaction after every turn.
 */
const engineBudget = ({ info }: ModelHandle, settings: AgentSettings, fixed: number): number =>
  Math.max(1000, Math.floor(budgetIn(windowOf(info, settings), settings) - fixed));

const areSame = (one: readonly ChatMessage[], other: readonly ChatMessage[]): boolean =>
  one.length === other.length && one.every((message, at) => message === other[at]);

const isSameFit = (one: Fit, other: Fit): boolean =>
  one.eachResult === other.eachResult &&
  one.cleared === other.cleared &&
  one.turns === other.turns &&
  one.steps === other.steps;

/** The notice that explains to people why the model did not know something. */
function cutNotice({ eachResult, cleared, turns, steps }: Fit) {
  const what = [
    ...(eachResult === undefined ? [] : [`tool results above ${eachResult} tokens shortened`]),
    ...(cleared === 0 ? [] : [`${cleared} old tool results cleared`]),
    ...(turns === 0 ? [] : [`${turns} earlier turns left out`]),
    ...(steps === 0 ? [] : [`the first ${steps} steps of this turn left out`]),
  ];
  const text = `Cut from what the model is shown, because it does not fit its window: ${what.join(", ")}.`;
  return { type: "notice", because: "window", text } as const;
}

const TRIMMED = {
  type: "notice",
  because: "window",
  text: "Older turns do not fit the model's window and were left out.",
} as const;
