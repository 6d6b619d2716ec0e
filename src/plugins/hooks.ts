import { factsOf, type HookName } from "../types/hook/hook-table.ts";
import type { CalledHook, HookEvents } from "../types/hook/events.ts";
import type { HookCall, HookContext, HookRunner, NextEvent } from "../types/hook/hooks.ts";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import { background } from "../utils/background.ts";
import { errorText } from "../utils/text/error-text.ts";
import type { AddedHook } from "./hook-table.ts";

const WAITED_MS = 15_000;
const UNWAITED_MS = 30_000;

/** The hooks that contributors have added. */
interface HookSource {
  hooksOf(name: HookName): readonly AddedHook[];
}

type Answer = { readonly kind: "ok"; readonly value: unknown } | { readonly kind: "failed"; readonly why: string };

/** Calls the hooks of all contributors. Logs a hook that throws or is late. */
export class Hooks implements HookRunner {
  readonly #source: HookSource;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(source: HookSource, clock: Clock, log: Log) {
    this.#source = source;
    this.#clock = clock;
    this.#log = log;
  }

  has(name: HookName): boolean {
    return this.#source.hooksOf(name).length > 0;
  }

  async ask<N extends CalledHook>(name: N, event: HookEvents[N], context: HookContext): Promise<readonly unknown[]> {
    const answers: unknown[] = [];
    for (const hook of this.#source.hooksOf(name)) {
      const answer = await this.#call(hook, event, context);
      if (answer.kind === "ok" && answer.value !== undefined && answer.value !== null) answers.push(answer.value);
    }
    return answers;
  }

  async first<N extends CalledHook, T>(
    { name, event, context }: HookCall<N>,
    accepts: (answer: unknown, owner: string) => T | undefined,
  ): Promise<T | undefined> {
    for (const hook of this.#source.hooksOf(name)) {
      const answer = await this.#call(hook, event, context);
      const taken = answer.kind === "ok" ? accepts(answer.value, hook.owner) : undefined;
      if (taken !== undefined) return taken;
    }
    return undefined;
  }

  async gate<N extends CalledHook, T>(
    { name, event, context }: HookCall<N>,
    rules: { accepts(answer: unknown): T | undefined; refused(reason: string): T; next?(): HookEvents[N] },
  ): Promise<T | undefined> {
    let current = event;
    for (const hook of this.#source.hooksOf(name)) {
      const answer = await this.#call(hook, current, context);
      const ended = answer.kind === "ok" ? rules.accepts(answer.value) : rules.refused(answer.why);
      if (ended !== undefined) return ended;
      current = rules.next?.() ?? current;
    }
    return undefined;
  }

  async chain<N extends CalledHook>({ name, event, context }: HookCall<N>, next: NextEvent<N>): Promise<void> {
    let current: HookEvents[N] | undefined = event;
    for (const hook of this.#source.hooksOf(name)) {
      const answer = await this.#call(hook, current, context);
      if (answer.kind === "ok") current = next(current, answer.value, hook.owner);
      if (current === undefined) return;
    }
  }

  chainNow<N extends CalledHook>({ name, event, context }: HookCall<N>, next: NextEvent<N>): void {
    let current: HookEvents[N] | undefined = event;
    for (const hook of this.#source.hooksOf(name)) {
      current = next(current, this.#callNow(hook, current, context), hook.owner);
      if (current === undefined) return;
    }
  }

  notify<N extends CalledHook>(name: N, event: HookEvents[N], context: HookContext): void {
    if (this.has(name)) background(`${name} hook`, this.ask(name, event, context), this.#log);
  }

  /** The answer of a hook that nobody waits for; undefined when it fails. */
  #callNow({ name, owner, handler }: AddedHook, event: unknown, context: HookContext): unknown {
    try {
      const answer = handler(event, context);
      if (!(answer instanceof Promise)) return answer;
      answer.catch((error: unknown) => this.#log.error("hook failed", { hook: name, owner, error }));
      this.#log.warn("the answer of a hook is ignored: it is a promise, and nobody waits for it", {
        hook: name,
        owner,
      });
    } catch (error) {
      this.#log.error("hook failed", { hook: name, owner, error });
    }
    return undefined;
  }

  async #call({ name, owner, options, handler }: AddedHook, event: unknown, context: HookContext): Promise<Answer> {
    const timeoutMs = options.timeoutMs ?? timeoutOf(name);
    const late = Promise.withResolvers<Answer>();
    const cancel = this.#clock.after(timeoutMs, () => {
      this.#log.warn("hook is late", { hook: name, owner, ms: timeoutMs });
      late.resolve({ kind: "failed", why: `the plugin ${owner} did not answer within ${timeoutMs / 1000} s` });
    });
    try {
      const asked = Promise.resolve().then(async (): Promise<Answer> => ({
        kind: "ok",
        value: await handler(event, context),
      }));
      return await Promise.race([asked, late.promise]);
    } catch (error) {
      this.#log.error("hook failed", { hook: name, owner, error });
      return { kind: "failed", why: `the plugin ${owner} failed: ${errorText(error)}` };
    } finally {
      cancel();
    }
  }
}

function timeoutOf(name: HookName): number {
  const { kind, timeoutMs } = factsOf(name);
  return timeoutMs ?? (kind === "observe" ? UNWAITED_MS : WAITED_MS);
}
