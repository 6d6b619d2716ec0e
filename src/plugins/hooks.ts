import type {
  AgentEnd,
  HookCalls,
  HookContext,
  HookHandler,
  HookName,
  HookOptions,
  PromptAdditions,
  PromptEvent,
  RunHooks,
} from "../types/run/hooks.ts";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import { background } from "../utils/background.ts";

/** 15 s for hooks that a run waits for, 30 s for the others. */
const TIMEOUT_MS: Readonly<Record<HookName, number>> = {
  before_prompt_build: 15_000,
  before_agent_start: 15_000,
  agent_end: 30_000,
};

interface Registered<N extends HookName> extends HookOptions {
  readonly handler: HookHandler<N>;
}
type Table = { [N in HookName]: Registered<N>[] };

/** Calls the hooks of all contributors. Logs and skips a hook that throws or is late. */
export class Hooks implements RunHooks {
  readonly #table: Table = { before_prompt_build: [], before_agent_start: [], agent_end: [] };
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Registers a handler; the returned function removes it. */
  on<N extends HookName>(name: N, handler: HookHandler<N>, options: HookOptions = {}): () => void {
    const list: Registered<N>[] = this.#table[name];
    const one = { ...options, handler };
    const at = list.findIndex((other) => (other.priority ?? 0) < (options.priority ?? 0));
    list.splice(at < 0 ? list.length : at, 0, one);
    return () => {
      const place = list.indexOf(one);
      if (place >= 0) list.splice(place, 1);
    };
  }

  get shapesPrompts(): boolean {
    return this.#table.before_prompt_build.length > 0 || this.#table.before_agent_start.length > 0;
  }

  async beforePrompt(event: PromptEvent, context: HookContext): Promise<PromptAdditions> {
    const now = await this.#ask("before_prompt_build", event, context);
    const before = await this.#ask("before_agent_start", event, context);
    return [...now, ...before].reduce(join, {});
  }

  agentEnd(event: AgentEnd, context: HookContext): void {
    background("agent_end hook", this.#ask("agent_end", event, context));
  }

  async #ask<N extends HookName>(
    name: N,
    event: HookCalls[N]["event"],
    context: HookContext,
  ): Promise<NonNullable<HookCalls[N]["answer"]>[]> {
    const answers: NonNullable<HookCalls[N]["answer"]>[] = [];
    const list: readonly Registered<N>[] = this.#table[name];
    for (const one of list) {
      const answer = await this.#call(name, one, () => one.handler(event, context));
      if (answer) answers.push(answer);
    }
    return answers;
  }

  async #call<N extends HookName, T>(
    name: N,
    { owner, timeoutMs = TIMEOUT_MS[name] }: HookOptions,
    run: () => T | Promise<T>,
  ): Promise<T | undefined> {
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#clock.after(timeoutMs, () => {
      this.#log.warn("hook is late", { hook: name, owner, ms: timeoutMs });
      late.resolve(undefined);
    });
    try {
      return await Promise.race([Promise.resolve().then(run), late.promise]);
    } catch (error) {
      this.#log.error("hook failed", { hook: name, owner, error });
      return undefined;
    } finally {
      cancel();
    }
  }
}

function join(all: PromptAdditions, one: PromptAdditions): PromptAdditions {
  const text = (a: string | undefined, b: string | undefined) =>
    [a, b].filter((part) => part !== undefined && part !== "").join("\n\n");
  const joined = {
    prependContext: text(all.prependContext, one.prependContext),
    appendContext: text(all.appendContext, one.appendContext),
    prependSystemContext: text(all.prependSystemContext, one.prependSystemContext),
    appendSystemContext: text(all.appendSystemContext, one.appendSystemContext),
  };
  const set = Object.fromEntries(Object.entries(joined).filter(([, value]) => value !== ""));
  const systemPrompt = one.systemPrompt ?? all.systemPrompt;
  return { ...set, ...(systemPrompt !== undefined && { systemPrompt }) };
}
