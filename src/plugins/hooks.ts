import type {
  AgentEnd,
  HookCalls,
  HookContext,
  HookName,
  PromptAdditions,
  PromptEvent,
  RunHooks,
} from "../types/run/hooks.ts";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import { background } from "../utils/background.ts";
import type { AddedHook } from "./hook-table.ts";

/** 15 s for hooks that a run waits for, 30 s for the others. */
const TIMEOUT_MS: Readonly<Record<HookName, number>> = {
  before_prompt_build: 15_000,
  before_agent_start: 15_000,
  agent_end: 30_000,
};

/** The hooks that contributors have added. */
interface HookSource {
  hooksOf<N extends HookName>(name: N): readonly AddedHook<N>[];
}

/** Calls the hooks of all contributors. Logs and skips a hook that throws or is late. */
export class Hooks implements RunHooks {
  readonly #source: HookSource;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(source: HookSource, clock: Clock, log: Log) {
    this.#source = source;
    this.#clock = clock;
    this.#log = log;
  }

  get shapesPrompts(): boolean {
    return (
      this.#source.hooksOf("before_prompt_build").length > 0 || this.#source.hooksOf("before_agent_start").length > 0
    );
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
    for (const hook of this.#source.hooksOf(name)) {
      const answer = await this.#call(hook, () => hook.handler(event, context));
      if (answer) answers.push(answer);
    }
    return answers;
  }

  async #call<T>({ name, owner, options }: Called, run: () => T | Promise<T>): Promise<T | undefined> {
    const { timeoutMs = TIMEOUT_MS[name] } = options;
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

type Called = Pick<AddedHook, "name" | "owner" | "options">;

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
