import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate, setTimeout as pause } from "node:timers/promises";
import { textOf } from "../../testing/conversation.ts";
import { CompactionDesk } from "../../src/history/engines/compaction-desk.ts";
import type { EngineJob, EnginePorts } from "../../src/history/engines/options.ts";
import { openEngineTurn } from "../../src/history/engines/turn/turn.ts";
import type { Clock } from "../../src/types/clock.ts";
import type { ContextEngine } from "../../src/types/engine/context-engine.ts";
import type { EngineAsk, EngineCompaction, EngineTurn, EngineTurnEnd } from "../../src/types/engine/engine-turn.ts";
import type { Log } from "../../src/types/log.ts";
import type { ChatMessage, ModelInfo } from "../../src/types/run/model.ts";
import { emptyUsage } from "../../src/types/run/usage.ts";
import { KeyedQueue } from "../../src/utils/keyed-queue.ts";

export { answer, result, textOf, turns, user } from "../../testing/conversation.ts";

export const MODEL: ModelInfo = {
  provider: "anthropic",
  id: "claude-sonnet-4-5",
  name: "Claude",
  contextWindow: 200_000,
  maxTokens: 8000,
  reasoning: true,
  input: ["text", "image"],
};

/** Time that passes when told so. */
export class TestClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Set<{ at: number; call: () => void }>();
  now = (): number => this.#now;
  after = (ms: number, call: () => void): (() => void) => {
    const timer = { at: this.#now + ms, call };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };
  get waiting(): number {
    return this.#timers.size;
  }
  /** Until something that waits for time has come about; gives back how long that took. */
  async until(promise: Promise<unknown>): Promise<number> {
    const begun = this.#now;
    let done = false;
    void promise.finally(() => (done = true));
    while (!done) {
      await setImmediate();
      const next = [...this.#timers].toSorted((a, b) => a.at - b.at)[0];
      if (done) continue;
      if (!next) {
        // It waits for another program, not for time.
        await pause(1);
        continue;
      }
      this.#now = next.at;
      this.#timers.delete(next);
      next.call();
    }
    return this.#now - begun;
  }
}

export class Lines implements Log {
  readonly lines: Record<string, unknown>[] = [];
  readonly #keep = (message: string, fields?: object): void => void this.lines.push({ message, ...fields });
  debug = this.#keep;
  info = this.#keep;
  warn = this.#keep;
  error = this.#keep;
  with = (): Log => this;
}

/**
 * The engine with these methods in place of its own. They may return anything, as an engine that others wrote in JavaScript may,
 * so the compiler does not check them.
 */
export const uncheckedEngine = (engine: ContextEngine, methods: Readonly<Record<string, unknown>>): ContextEngine =>
  Object.assign(engine, methods);

export type EngineOptions = EngineJob & EnginePorts;

export interface EngineFixture {
  readonly options: EngineOptions;
  readonly clock: TestClock;
  readonly log: Lines;
  readonly background: KeyedQueue;
  readonly desk: CompactionDesk;
  /** What the built-in compaction was asked. */
  readonly builtIn: EngineCompaction[];
  open(more?: Partial<EngineOptions>): Promise<EngineTurn>;
}

export const TIMEOUTS = {
  bootstrap: 60_000,
  assemble: 15_000,
  afterTurn: 60_000,
  compact: 180_000,
  maintain: 300_000,
  dispose: 5000,
};

const dir = mkdtempSync(join(tmpdir(), "engine-"));
let sessions = 0;

/** A session whose file is there, and an engine registered for it. */
export function engineFixture(engine: ContextEngine, { hasFile = true } = {}): EngineFixture {
  sessions += 1;
  const sessionId = `session-${sessions}`;
  const sessionFile = join(dir, `${sessionId}.jsonl`);
  if (hasFile) writeFileSync(sessionFile, `${JSON.stringify({ type: "session", version: 3, id: sessionId })}\n`);
  const [clock, log, background, desk] = [new TestClock(), new Lines(), new KeyedQueue(), new CompactionDesk()];
  const builtIn: EngineCompaction[] = [];
  const options: EngineOptions = {
    id: engine.info.id,
    engines: {
      get: (id) => (id === engine.info.id ? Promise.resolve(() => engine) : undefined),
      whyMissing: () => undefined,
    },
    session: { sessionId, sessionKey: `webchat:default:${sessionId}`, sessionFile, agentId: "main", workspace: dir },
    turn: { key: "entry-1" },
    services: {
      complete: async () => ({ text: "A summary.", provider: MODEL.provider, model: MODEL.id }),
      compact: async (job) => {
        builtIn.push(job);
        return { kind: "done", tokensBefore: 1000, tokensAfter: 100 };
      },
    },
    timeouts: TIMEOUTS,
    background,
    desk,
    clock,
    log,
  };
  return {
    options,
    clock,
    log,
    background,
    desk,
    builtIn,
    open: (more = {}) => {
      const all = { ...options, ...more };
      return openEngineTurn(all, all);
    },
  };
}

export const never = new AbortController().signal;

/** What is asked about a turn that begins at `from`. */
export const ask = (messages: readonly ChatMessage[], from: number, more: Partial<EngineAsk> = {}): EngineAsk => ({
  messages,
  prePromptMessageCount: from,
  tokenBudget: 100_000,
  model: MODEL,
  availableTools: new Set(["read", "exec"]),
  prompt: messages[from] ? textOf(messages[from]) : "",
  signal: never,
  ...more,
});

export const ending = (messages: readonly ChatMessage[], from: number): EngineTurnEnd => ({
  messages,
  prePromptMessageCount: from,
  tokenBudget: 180_000,
  currentTokenCount: 1234,
  lastCallUsage: { ...emptyUsage(), input: 10, output: 5, cacheRead: 900, cacheWrite: 40, totalTokens: 955 },
  model: MODEL,
});

export const compaction = (why: EngineCompaction["why"]): EngineCompaction => ({
  why,
  tokenBudget: 100_000,
  currentTokenCount: 90_000,
  model: MODEL,
  signal: never,
});
