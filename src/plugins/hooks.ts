import { hookFacts, type HookName } from "../types/hook/hook-table.ts";
import type { CalledHook, HookEvents } from "../types/hook/events.ts";
import type { HookCall, HookContext, HookRunner, LateCalls, NextEvent, ReadAnswer } from "../types/hook/hooks.ts";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import { background } from "../utils/background.ts";
import { errorText } from "../utils/text/error-text.ts";
import { ownCopy } from "./hook-event.ts";
import type { AddedHook } from "./hook-table.ts";

const WAITED_MS = 15_000;
const UNWAITED_MS = 30_000;
/** Late calls of one plugin for one reply. The reply does not wait for its hooks any more after these. */
const MOST_LATE = 3;

/** Arguments of a hook's call. */
interface Asked {
  readonly event: object;
  readonly context: HookContext;
  readonly lateCalls?: LateCalls | undefined;
}

/** The hooks that contributors have added. */
interface HookSource {
  hooksOf(name: HookName): readonly AddedHook[];
}

type Answer<T> = { readonly kind: "ok"; readonly value: T } | { readonly kind: "failed"; readonly why: string };

/**
 * Calls the hooks of all contributors. Logs a hook that throws or is late, or whose answer cannot be read. Each hook
 * gets a copy of the event, so that its changes reach nobody else.
 */
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

  async ask<N extends CalledHook, T>(
    { name, event, context }: HookCall<N>,
    read: ReadAnswer<T>,
  ): Promise<readonly T[]> {
    const answers: T[] = [];
    for (const hook of this.#source.hooksOf(name)) {
      const answer = await this.#call(hook, { event, context }, read);
      if (answer.kind === "ok" && answer.value !== undefined) answers.push(answer.value);
    }
    return answers;
  }

  async first<N extends CalledHook, T>({ name, event, context }: HookCall<N>, accepts: ReadAnswer<T>) {
    for (const hook of this.#source.hooksOf(name)) {
      const answer = await this.#call(hook, { event, context }, accepts);
      if (answer.kind === "ok" && answer.value !== undefined) return answer.value;
    }
    return undefined;
  }

  async gate<N extends CalledHook, T>(
    { name, event, context }: HookCall<N>,
    rules: { accepts(answer: unknown): T | undefined; refused(reason: string): T; next?(): HookEvents[N] },
  ): Promise<T | undefined> {
    let current = event;
    for (const hook of this.#source.hooksOf(name)) {
      const answer = await this.#call(hook, { event: current, context }, rules.accepts);
      const ended = answer.kind === "ok" ? answer.value : rules.refused(answer.why);
      if (ended !== undefined) return ended;
      current = rules.next?.() ?? current;
    }
    return undefined;
  }

  async chain<N extends CalledHook>(call: HookCall<N>, next: NextEvent<N>): Promise<void> {
    const { name, event, context, lateCalls } = call;
    let current: HookEvents[N] | undefined = event;
    for (const hook of this.#source.hooksOf(name)) {
      if (lateCalls && this.#isSkipped(hook, lateCalls)) continue;
      const before: HookEvents[N] = current;
      const read = (answer: unknown) => next(before, answer, hook.owner);
      const asked = { event: before, context, lateCalls };
      const answer: Answer<HookEvents[N] | undefined> = await this.#call(hook, asked, read);
      if (answer.kind === "ok") current = answer.value;
      if (current === undefined) return;
    }
  }

  chainNow<N extends CalledHook>({ name, event, context }: HookCall<N>, next: NextEvent<N>): void {
    let current: HookEvents[N] | undefined = event;
    for (const hook of this.#source.hooksOf(name)) {
      const before: HookEvents[N] = current;
      const read = (given: unknown) => next(before, given, hook.owner);
      const answer: Answer<HookEvents[N] | undefined> = this.#callNow(hook, { event: before, context }, read);
      if (answer.kind === "ok") current = answer.value;
      if (current === undefined) return;
    }
  }

  notify<N extends CalledHook>(name: N, event: HookEvents[N], context: HookContext): void {
    if (this.has(name)) background(`${name} hook`, this.ask({ name, event, context }, unread), this.#log);
  }

  /** Whether the plugin was late so often that the rest of the reply does without its hooks. The log says so once. */
  #isSkipped({ name, owner }: AddedHook, lateCalls: LateCalls): boolean {
    const late = lateCalls.get(owner) ?? 0;
    if (late < MOST_LATE) return false;
    if (late > MOST_LATE) return true;
    lateCalls.set(owner, late + 1);
    this.#log.warn("the rest of a reply is sent without the hooks of a plugin: they were late too often", {
      hook: name,
      owner,
      late,
      fix: `If the plugin stays slow, turn it off with: openclaw plugins disable ${owner}`,
    });
    return true;
  }

  /** The answer of a hook that nobody waits for. A promise counts as no answer. */
  #callNow<T>({ name, owner, handler }: AddedHook, asked: Asked, read: (answer: unknown) => T): Answer<T> {
    try {
      const answer = handler(ownCopy(asked.event), { ...asked.context });
      if (!(answer instanceof Promise)) return { kind: "ok", value: read(answer) };
      answer.catch((error: unknown) => this.#log.error("hook failed", { hook: name, owner, error }));
      this.#log.warn("the answer of a hook is ignored: it is a promise, and nobody waits for it", {
        hook: name,
        owner,
      });
      return { kind: "failed", why: `the plugin ${owner} answered with a promise` };
    } catch (error) {
      this.#log.error("hook failed", { hook: name, owner, error });
      return { kind: "failed", why: `the plugin ${owner} failed: ${errorText(error)}` };
    }
  }

  async #call<T>(
    { name, owner, options, handler }: AddedHook,
    { event, context, lateCalls }: Asked,
    read: (answer: unknown, owner: string) => T,
  ): Promise<Answer<T>> {
    const timeoutMs = options.timeoutMs ?? timeoutOf(name);
    const hook = options.shownAs?.(event) ?? name;
    const late = Promise.withResolvers<Answer<T>>();
    const cancel = this.#clock.after(timeoutMs, () => {
      this.#log.warn("hook is late", { hook, owner, ms: timeoutMs });
      lateCalls?.set(owner, (lateCalls.get(owner) ?? 0) + 1);
      late.resolve({ kind: "failed", why: `the plugin ${owner} did not answer within ${timeoutMs / 1000} s` });
    });
    const failed = (error: unknown) => this.#log.error("hook failed", { hook, owner, error });
    try {
      const asked = Promise.resolve().then(async () => {
        const answer = { given: await handler(ownCopy(event), { ...context }) };
        return { kind: "given" as const, answer };
      });
      const first = await Promise.race([asked, late.promise]);
      if (first.kind === "given") return { kind: "ok", value: read(first.answer.given, owner) };
      asked.catch(failed);
      return first;
    } catch (error) {
      failed(error);
      return { kind: "failed", why: `the plugin ${owner} failed: ${errorText(error)}` };
    } finally {
      cancel();
    }
  }
}

function timeoutOf(name: HookName): number {
  const { kind, timeoutMs } = hookFacts(name);
  return timeoutMs ?? (kind === "observe" ? UNWAITED_MS : WAITED_MS);
}

/** Reads answers of hooks whose answers have no effect. */
const unread = (): undefined => undefined;
