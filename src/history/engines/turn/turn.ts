import type {
  EngineTurn,
  EngineAnswer,
  EngineAsk,
  EngineCompacted,
  EngineCompaction,
  EngineTurnEnd,
} from "../../../types/engine/engine-turn.ts";
import { BuiltInTurn } from "./built-in-turn.ts";
import { LEGACY, openEngine } from "../open-engine.ts";
import type { EngineJob, EnginePorts } from "../options.ts";
import { estimateAll } from "../../../sessions/transcript/tokens.ts";
import type {
  AfterTurnParams,
  CompactParams,
  CompactResult,
  ContextEngine,
} from "../../../types/engine/context-engine.ts";
import type { ModelInfo, ChatMessage } from "../../../types/run/model.ts";
import { exists } from "../../../utils/exists.ts";
import { bounded, type BoundedOutcome } from "../bounded.ts";
import { compactBy } from "../compaction/compact-by.ts";
import { compactResultOf } from "../compaction-desk.ts";
import { copiesOf, forEngine, newSince, signalsOf, copyOf, type EngineMessages } from "./copies.ts";
import { withTurn, withTurnKept } from "./coverage.ts";
import { readAnswer } from "./read-answer.ts";
import { RUNTIME_SETTINGS, runtimeContext, type EngineCallFacts } from "../runtime-context.ts";
import type { EngineTimeouts } from "../settings.ts";
import { background } from "../../../utils/background.ts";
import { isVolatile } from "../../../prompt/internal-events.ts";

/**
 * The selected engine's part in one run. Rejects with ENGINE_MISSING or ENGINE_UNUSABLE when it cannot be used. The caller must
 * call `end`, however the run ended: it releases the engine.
 */
export async function openEngineTurn(job: EngineJob, ports: EnginePorts): Promise<EngineTurn> {
  const { id, timeouts, factory: context = {}, signal } = job;
  const { engines, clock, cooldowns, services, log } = ports;
  if (id === LEGACY) return new BuiltInTurn(LEGACY, services.compact);
  const resting = cooldowns?.claim(id, timeouts.bootstrap + timeouts.assemble);
  if (resting) {
    const why = `it hung before and is in cooldown until ${new Date(resting.until).toISOString()}`;
    log.info("context engine skipped in this turn", { code: "ENGINE_DEGRADED", engine: id, why });
    const degraded = `The context engine ${id} was skipped: ${why}`;
    return new BuiltInTurn(id, services.compact, { degraded, ownsCompaction: resting.ownsCompaction });
  }
  const engine = await openEngine(id, { engines, context, clock, ms: timeouts.bootstrap, signal, log });
  return new PluginEngineTurn(engine, job, ports);
}

/**
 * A run with a plugin's engine: calls the engine in the order that engines expect, and shields the run from its
 * failures.
 */
class PluginEngineTurn implements EngineTurn {
  readonly id: string;
  readonly #engine: ContextEngine;
  readonly #job: EngineJob;
  readonly #ports: EnginePorts;
  readonly #takeBack: () => void;
  readonly #ownsCompaction: boolean;
  readonly #isForeground: boolean;
  #degraded: string | undefined;
  /** Whether the engine hangs or could not begin; it is then not called again in this run. */
  #isSilent = false;
  /** Number of the current turn's messages that the engine received. */
  #sentCount = 0;
  #observation: EngineCallFacts["observation"];
  #last: { readonly model: ModelInfo; readonly tokenBudget: number } | undefined;

  constructor(engine: ContextEngine, job: EngineJob, ports: EnginePorts) {
    this.id = job.id;
    this.#engine = engine;
    this.#job = job;
    this.#ports = ports;
    this.#ownsCompaction = engine.info.ownsCompaction === true;
    this.#isForeground = engine.info.turnMaintenanceMode === "foreground";
    this.#takeBack = ports.desk.lend(job.session.sessionId, (params) => this.#compactBuiltIn(params));
  }

  /** True also while the engine is skipped: it would later find summaries of others in the transcript. */
  get ownsCompaction(): boolean {
    return this.#ownsCompaction;
  }

  get degraded(): string | undefined {
    return this.#degraded;
  }

  async begin(signal: AbortSignal): Promise<void> {
    const engine = this.#engine;
    const { session } = this.#job;
    if (!(await exists(session.sessionFile))) return;
    if (engine.bootstrap) {
      const done = await this.#call("bootstrap", signal, (end) =>
        engine.bootstrap?.(this.#ofTranscript({ signal: end })),
      );
      if (done.kind !== "ok") return this.#giveUp("bootstrap", done);
      if (done.value !== undefined && typeof done.value !== "object")
        return this.#degrade("bootstrap", "answered no object");
    }
    // Maintenance of the previous turn may still be running; it does the same work.
    if (!engine.maintain || this.#ports.background.isBusy(session.sessionKey)) return;
    const done = await this.#call("maintain", signal, (end) => engine.maintain?.(this.#ofTranscript({ signal: end })), {
      ms: this.#job.timeouts.bootstrap,
    });
    this.#note("maintain", done);
    // A late maintenance delays the answer, so the next turns skip the engine. This turn may still be assembled.
    if (done.kind === "late") this.#coolDown();
  }

  assemble(ask: EngineAsk): Promise<EngineAnswer | undefined> {
    return this.#assemble(ask, { isFirst: true });
  }

  async reassemble(ask: EngineAsk): Promise<EngineAnswer | undefined> {
    if (!this.#ownsCompaction || this.#degraded !== undefined) return undefined;
    const tokenBudget = ask.window ?? ask.tokenBudget;
    await this.#sendMessages({ ...ask, tokenBudget, currentTokenCount: undefined }, ask.signal);
    return this.#assemble(ask, { isFirst: false });
  }

  async #assemble(ask: EngineAsk, { isFirst }: { isFirst: boolean }): Promise<EngineAnswer | undefined> {
    const { model, authProfile, tokenBudget, signal } = ask;
    this.#last = { model, tokenBudget };
    if (this.#isSilent && this.#degraded === undefined) this.#degrade("assemble", "it hung in a call before");
    if (this.#degraded !== undefined) return undefined;
    const sent = forEngine(ask.messages, ask.prePromptMessageCount);
    const copies = copiesOf(sent.messages);
    const done = await this.#call("assemble", signal, (end) =>
      this.#engine.assemble({
        ...this.#ofSession(),
        ...this.#conversation(sent),
        messages: [...copies],
        tokenBudget,
        model: model.id,
        ...(isFirst && {
          prompt: ask.prompt,
          availableTools: new Set(ask.availableTools),
          citationsMode: this.#job.turn.citationsMode ?? "auto",
        }),
        runtimeContext: this.#runtime({ model, authProfile, tokenBudget, signal: end }),
      }),
    );
    if (done.kind !== "ok") return this.#giveUp("assemble", done);
    const answer = readAnswer(done.value, {
      given: sent.messages,
      earlier: sent.boundary,
      copies,
      turn: ask.messages.slice(ask.prePromptMessageCount),
      tokenBudget,
      cover: isFirst ? withTurn : withTurnKept,
    });
    if (!("unfit" in answer)) return answer;
    this.#degrade("assemble", answer.unfit);
    return undefined;
  }

  #conversation(sent: EngineMessages) {
    return {
      prePromptMessageCount: sent.boundary,
      ...signalsOf(sent.messages),
      currentTokenCount: estimateAll(sent.messages),
    };
  }

  async end(turn: EngineTurnEnd | undefined): Promise<void> {
    if (turn) return this.#endTurn(turn);
    this.#takeBack();
    await this.#dispose();
  }

  async #endTurn(turn: EngineTurnEnd): Promise<void> {
    const { lastCallUsage, model } = turn;
    const { session } = this.#job;
    const { cache, background: queue } = this.#ports;
    this.#observation = lastCallUsage && cache?.observe(session.sessionId, model, lastCallUsage);
    try {
      await this.#sendMessages(turn);
      if (!this.#isSilent) this.#ports.cooldowns?.answered(this.id);
      if (this.#isForeground) await this.#maintainAfter(turn, { isDeferred: false });
      const rest = queue.run(session.sessionKey, async () => {
        if (!this.#isForeground) await this.#maintainAfter(turn, { isDeferred: true });
        await this.#dispose();
      });
      background("context engine maintenance", rest);
    } finally {
      this.#takeBack();
    }
  }

  /** Sends the engine the new messages of the turn. */
  async #sendMessages(turn: TurnSoFar, signal?: AbortSignal): Promise<void> {
    if (this.#isSilent) return;
    const sent = forEngine(turn.messages, turn.prePromptMessageCount);
    const { messages } = sent;
    const boundary = newSince(sent);
    const start = Math.min(boundary + this.#sentCount, messages.length);
    const isEnd = signal === undefined;
    const done = await this.#call("afterTurn", signal, (end) =>
      sendMessages(this.#engine, {
        messages,
        start,
        boundary,
        commitAs: isEnd ? this.#job.turn.key : undefined,
        params: this.#afterTurnParams(turn, end),
      }),
    );
    this.#note("afterTurn", done);
    if (done.kind === "ok") this.#sentCount = messages.length - boundary;
  }

  #afterTurnParams(turn: TurnSoFar, signal: AbortSignal): Omit<AfterTurnParams, "messages" | "prePromptMessageCount"> {
    const { tokenBudget, currentTokenCount, autoCompactionSummary, lastCallUsage, model, authProfile } = turn;
    const facts = { model, authProfile, tokenBudget, currentTokenCount, lastCallUsage, signal };
    return {
      ...this.#ofTranscript(facts),
      isHeartbeat: this.#job.turn.isHeartbeat ?? false,
      tokenBudget,
      ...(currentTokenCount !== undefined && { currentTokenCount }),
      ...(autoCompactionSummary !== undefined && { autoCompactionSummary }),
    };
  }

  async #maintainAfter(turn: EngineTurnEnd, { isDeferred }: { isDeferred: boolean }): Promise<void> {
    const engine = this.#engine;
    if (!engine.maintain || this.#isSilent) return;
    const { tokenBudget, currentTokenCount, lastCallUsage, model, authProfile } = turn;
    const facts = { tokenBudget, currentTokenCount, lastCallUsage, model, authProfile, isDeferred };
    const done = await this.#call("maintain", this.#ports.stopping, (signal) =>
      engine.maintain?.(this.#ofTranscript({ ...facts, signal })),
    );
    this.#note("maintain", done);
  }

  async #dispose(): Promise<void> {
    this.#note("dispose", await this.#call("dispose", undefined, () => this.#engine.dispose?.()));
  }

  async compact(job: EngineCompaction): Promise<EngineCompacted> {
    this.#last = job;
    const isGone = this.#degraded !== undefined || this.#isSilent;
    if (isGone && this.#ownsCompaction) return { kind: "nothing", reason: this.#degraded ?? `${this.id} hung before` };
    if (isGone) return this.#ports.services.compact(job);
    const done = await this.#call("compact", job.signal, (signal) =>
      compactBy(this.#engine, job, (facts) => ({ ...this.#ofTranscript({ ...facts, signal }), abortSignal: signal })),
    );
    if (done.kind === "ok") return done.value;
    this.#note("compact", done);
    return { kind: "nothing", reason: done.kind === "aborted" ? "aborted" : `${this.id}: ${done.why}` };
  }

  /** Compacts for an engine that leaves compaction to the gateway. */
  async #compactBuiltIn(params: CompactParams): Promise<CompactResult> {
    if (!this.#last) return { ok: false, compacted: false, reason: "no model has been chosen yet" };
    if (this.#ownsCompaction && this.#degraded !== undefined)
      return { ok: false, compacted: false, reason: this.#degraded };
    const { tokenBudget = this.#last.tokenBudget, currentTokenCount, customInstructions, abortSignal } = params;
    const done = await this.#ports.services.compact({
      tokenBudget,
      model: this.#last.model,
      why: params.compactionTarget === "budget" ? "overflow" : "asked",
      signal: abortSignal ?? new AbortController().signal,
      ...(currentTokenCount !== undefined && { currentTokenCount }),
      ...(customInstructions !== undefined && { instructions: customInstructions }),
    });
    return compactResultOf(done);
  }

  #ofSession() {
    const { sessionId, sessionKey } = this.#job.session;
    return { sessionId, sessionKey, runtimeSettings: RUNTIME_SETTINGS };
  }

  #ofTranscript(call: EngineCallFacts) {
    const { sessionFile } = this.#job.session;
    return { ...this.#ofSession(), sessionFile, runtimeContext: this.#runtime(call) };
  }

  #runtime = (call: EngineCallFacts) =>
    runtimeContext(this.#job, this.#ports, { ...call, observation: this.#observation });

  #call<T>(
    method: keyof EngineTimeouts,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => T | Promise<T>,
    { ms = this.#job.timeouts[method] }: { ms?: number } = {},
  ): Promise<BoundedOutcome<T>> {
    return bounded(call, { clock: this.#ports.clock, ms, signal });
  }

  /** Handles a failure before the model call: the run continues without the engine. */
  #giveUp(method: string, done: Exclude<BoundedOutcome<unknown>, { kind: "ok" }>): undefined {
    if (done.kind === "aborted") return undefined;
    if (done.kind === "late") this.#hang();
    if (method === "bootstrap") this.#isSilent = true;
    this.#degrade(method, done.why);
    return undefined;
  }

  #hang(): void {
    this.#isSilent = true;
    this.#coolDown();
  }

  #coolDown(): void {
    this.#ports.cooldowns?.hung(this.id, { ownsCompaction: this.#ownsCompaction });
  }

  #degrade(method: string, why: string): void {
    this.#degraded = `The context engine ${this.id} was skipped: ${method}: ${why}`;
    this.#ports.log.warn("context engine skipped in this turn", {
      code: "ENGINE_DEGRADED",
      engine: this.id,
      method,
      why,
    });
  }

  /** Handles a failure after the model call: the reply does not change. */
  #note(method: string, done: BoundedOutcome<unknown>): void {
    if (done.kind === "ok" || done.kind === "aborted") return;
    if (done.kind === "late" && method !== "maintain" && method !== "dispose") this.#hang();
    this.#ports.log.warn("context engine failed", { code: "ENGINE_FAILED", engine: this.id, method, why: done.why });
  }
}

/** A turn, complete or up to the present. */
type TurnSoFar = Omit<EngineTurnEnd, "currentTokenCount"> & { readonly currentTokenCount: number | undefined };

/** The messages to send, and the facts that an engine gets with them. */
interface MessagesToSend {
  readonly messages: readonly ChatMessage[];
  /** Index of the first message that the engine has not received. */
  readonly start: number;
  /** Index of the first message that is new with the current turn. */
  readonly boundary: number;
  /** Set after a run: the key under which the turn is committed. */
  readonly commitAs: string | undefined;
  readonly params: Omit<AfterTurnParams, "messages" | "prePromptMessageCount">;
}

/** Sends an engine the new messages: by `commitTurn`, then by `afterTurn`, `ingestBatch` or `ingest`. Rejects if the engine does. */
async function sendMessages(engine: ContextEngine, toSend: MessagesToSend): Promise<void> {
  const { messages, start, params } = toSend;
  const isCommitted = await commit(engine, toSend);
  if (engine.afterTurn)
    return engine.afterTurn({ ...params, messages: copiesOf(messages), prePromptMessageCount: start });
  if (isCommitted) return;
  const fresh = messages.slice(start).filter(isKept);
  await ingest(engine, fresh, params);
}

/** An engine must not keep a prompt that the transcript does not keep: another session has its content. */
const isKept = (message: ChatMessage): boolean => message.role !== "user" || !isVolatile(message);

async function commit(
  engine: ContextEngine,
  { messages, boundary, commitAs, params }: MessagesToSend,
): Promise<boolean> {
  if (!engine.commitTurn || !engine.info.transcriptSemantics || commitAs === undefined) return false;
  const { sessionId, sessionKey, sessionFile, runtimeContext, runtimeSettings, isHeartbeat } = params;
  await engine.commitTurn({
    sessionId,
    ...(sessionKey !== undefined && { sessionKey }),
    sessionFile,
    ...(runtimeContext && { runtimeContext }),
    ...(runtimeSettings && { runtimeSettings }),
    ...(isHeartbeat !== undefined && { isHeartbeat }),
    advancementKey: `${sessionId}:${commitAs}`,
    messages: copiesOf(messages.slice(boundary)),
    prePromptMessageCount: boundary,
  });
  return true;
}

async function ingest(
  engine: ContextEngine,
  fresh: readonly ChatMessage[],
  params: MessagesToSend["params"],
): Promise<void> {
  const { sessionId, sessionKey, isHeartbeat, runtimeSettings } = params;
  const shared = {
    sessionId,
    ...(sessionKey !== undefined && { sessionKey }),
    ...(isHeartbeat !== undefined && { isHeartbeat }),
    ...(runtimeSettings && { runtimeSettings }),
  };
  if (fresh.length === 0) return;
  if (engine.ingestBatch) {
    await engine.ingestBatch({ ...shared, messages: copiesOf(fresh) });
    return;
  }
  for (const message of fresh) await engine.ingest({ ...shared, message: copyOf(message) });
}
