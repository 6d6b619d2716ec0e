import { assemble, type Assembled } from "../history/assemble.ts";
import { applyPasses } from "../history/passes.ts";
import { truncateResults } from "../history/truncate-results.ts";
import type { ModelHandle } from "../providers/catalog.ts";
import { policyFor, policyWithTools, type TranscriptPolicy } from "../providers/quirks.ts";
import { estimateTokens } from "../sessions/tokens.ts";
import type { EngineAnswer } from "../types/engine-turn.ts";
import type { AssistantMessage, ChatMessage, ModelRef } from "../types/model.ts";
import type { PromptRecord } from "../types/run.ts";
import type { SessionWindow } from "../types/session.ts";
import type { AgentSettings } from "../types/settings.ts";
import { brimOf, fixedTokens, windowOf } from "./budget.ts";
import { EngineView } from "./engine-view.ts";
import type { Attempt, RunParts } from "./plan.ts";
import { type Made, promptRecord } from "./prompt-record.ts";
import type { RunRequest } from "./request.ts";

/** What an attempt begins with. */
export interface Opening {
  readonly systemPrompt: string;
  readonly messages: ChatMessage[];
  readonly estimatedTokens: number;
}

/** What one model is shown in one attempt. */
export class ModelContext {
  readonly #plan: Attempt;
  readonly #request: RunRequest;
  readonly #run: RunParts;
  readonly #policy: TranscriptPolicy;
  #window: SessionWindow | undefined;
  #said: () => readonly ChatMessage[] = () => [];
  #record: PromptRecord | undefined;
  #fixed = 0;
  /** What the loop begins with. */
  #opened = { tokens: 0, count: 0 };
  #calls = 0;
  #view: EngineView | undefined;

  constructor(plan: Attempt, request: RunRequest, run: RunParts) {
    this.#plan = plan;
    this.#request = request;
    this.#run = run;
    const policy = policyWithTools(policyFor(plan.handle.pi), request.tools.length);
    this.#policy = { ...policy, images: plan.images && policy.images, strict: plan.strict };
  }

  get policy(): TranscriptPolicy {
    return this.#policy;
  }

  /** Reads the conversation and lets the engine have its say. Throws when the transcript or the prompt cannot be read. */
  async open(): Promise<Opening> {
    const { handle } = this.#plan;
    const system = await this.#request.systemPrompt(handle.info);
    this.#fixed = fixedTokens(system.text, this.#request.tools);
    const window = await this.#request.conversation.window(this.#budget());
    this.#window = window;
    const view = new EngineView(window, this.#viewParts());
    this.#view = view;
    const answer = await view.assemble();
    const history = await this.#assembled(window, answer);
    view.begin(history.messages.length);
    this.#opened = { tokens: history.estimatedTokens, count: history.messages.length };
    const opening = { systemPrompt: withAddition(system.text, answer), ...history };
    await this.#tell(window, view);
    await this.#keep(opening, { system, answer });
    return opening;
  }

  /** A valid request out of the conversation, or out of what the engine makes of it. */
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
    const window = windowOf(handle.info, this.#request.settings);
    return { engine: this.#run.engine, request: this.#request, handle, signal, window, budget: this.#budget() };
  }

  /** With the images that its turns speak of. */
  async #seen(window: SessionWindow): Promise<SessionWindow> {
    const given = window.messages.map((row) => row.message);
    const shown = await this.#run.withImages(given, this.#policy);
    if (shown === given) return window;
    const messages = window.messages.map((row, at) => ({ ...row, message: shown[at] ?? row.message }));
    return { ...window, messages };
  }

  /** What the next call sends of the loop's messages: valid, and the same bytes as the next run will send. */
  async send(messages: readonly ChatMessage[]): Promise<ChatMessage[]> {
    this.#calls += 1;
    const answer = this.#calls > 1 ? await this.#view?.reassemble(messages) : undefined;
    const seen = await this.#run.withImages(answer?.messages ?? messages, this.#policy);
    const shown = this.#prune(applyPasses(seen, this.#policy));
    if (this.#calls === 1) this.#tellPrompt();
    return [...this.#fit(shown, messages)];
  }

  /** What tools brought in this very run may fill the window: their largest results are cut in what is sent. */
  #fit(shown: readonly ChatMessage[], loop: readonly ChatMessage[]): readonly ChatMessage[] {
    const windowTokens = windowOf(this.#plan.handle.info, this.#request.settings);
    const first = this.#plan.truncate ? truncateResults(shown, { windowTokens }) : shown;
    const { tokens, count } = this.#opened;
    if (tokens + this.#fixed + tokensOf(loop.slice(count)) <= windowTokens) return first;
    const room = windowTokens - this.#fixed;
    for (const share of [0.3, 0.1]) {
      const cut = truncateResults(first, { windowTokens, share });
      if (tokensOf(cut) <= room) return cut;
    }
    return truncateResults(first, { windowTokens, share: 0.03 });
  }

  /** Old results of tools, where the provider has a cache and has forgotten it. */
  #prune(messages: readonly ChatMessage[]): readonly ChatMessage[] {
    const { settings, facts } = this.#request;
    const { pruned } = this.#run;
    if (!pruned || !settings.pruning || !this.#policy.promptCache) return messages;
    const contextWindow = windowOf(this.#plan.handle.info, settings);
    return pruned.prune(facts.sessionId, { messages, contextWindow, now: this.#run.now() }, settings.pruning);
  }

  #tellPrompt(): void {
    if (!this.#record) return;
    const { settings, facts } = this.#request;
    const isPruned = settings.pruning !== undefined && this.#policy.promptCache;
    const cuts = isPruned ? (this.#run.pruned?.cutsOf(facts.sessionId) ?? {}) : {};
    const truncated = this.#plan.truncate && { truncatedFor: windowOf(this.#plan.handle.info, settings) };
    this.#run.log.emit({ type: "prompt", record: { ...this.#record, cuts, ...truncated } });
  }

  /** The loop's messages, as far as it has come. */
  follow(messages: () => readonly ChatMessage[]): void {
    this.#said = messages;
  }

  #tell(window: SessionWindow, view: EngineView): Promise<void> {
    return this.#run.shown({
      handle: this.#plan.handle,
      tokens: window.estimatedTokens + this.#fixed,
      lastId: window.messages.at(-1)?.entryId,
      isCut: window.older,
      lastModel: lastModelIn(window),
      budget: this.#budget(),
      window: windowOf(this.#plan.handle.info, this.#request.settings),
      before: view.before,
      messages: () => view.messages(this.#said()),
    });
  }

  #budget(): number {
    return budgetOf(this.#plan.handle, this.#request.settings, this.#fixed, this.#plan.share);
  }

  /** Kept so that it can be shown again; told with the attempt's first call, when it is known what was pruned. */
  async #keep(opening: Opening, made: Made): Promise<void> {
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
  const last = messages.findLast(({ message }) => message.role === "assistant" && isAnswer(message))?.message;
  return last?.role === "assistant" ? { provider: last.provider, id: last.model } : undefined;
}

const isAnswer = ({ stopReason }: AssistantMessage): boolean => stopReason !== "error" && stopReason !== "aborted";

/** The conversation before a turn, as far as a model will be shown it. */
export async function readHistory(handle: ModelHandle, request: RunRequest): Promise<readonly ChatMessage[]> {
  const { text } = await request.systemPrompt(handle.info);
  const { settings, tools, conversation } = request;
  const budget = budgetOf(handle, settings, fixedTokens(text, tools));
  return (await conversation.window(budget)).messages.map((row) => row.message);
}

function budgetOf({ info }: ModelHandle, settings: AgentSettings, fixed: number, share = 1): number {
  return Math.max(1000, Math.floor((brimOf(windowOf(info, settings), settings) - fixed) * share));
}

const TRIMMED = {
  type: "notice",
  because: "window",
  text: "Older turns do not fit the model's window and were left out.",
} as const;

const tokensOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message), 0);

const withAddition = (system: string, answer: EngineAnswer | undefined): string =>
  answer?.systemAddition === undefined || answer.systemAddition === ""
    ? system
    : `${answer.systemAddition}\n\n${system}`;
