import type { Notice } from "../../types/chat/channel.ts";
import type { Clock } from "../../types/clock.ts";
import { OpenClawError } from "../../types/errors.ts";
import { NotNow } from "../../types/not-now.ts";
import { Secret } from "../../types/secret.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { ownKeys } from "../own-keys.ts";
import type { ConfiguredAccount } from "../ports.ts";

/**
 * `starting` → `running` ⇄ `trouble`. A link that gives no sign of life is closed and opened again; it stays in `trouble` until it
 * gives a sign beyond that of its opening. `dead`: only a person can solve the problem. It is tried again rarely, or only by `restart`.
 */
export type Lifecycle = "stopped" | "starting" | "running" | "trouble" | "dead";

/** A problem, and the step that a person can take. */
export interface AccountTrouble {
  readonly reason: string;
  readonly fix?: string | undefined;
}

export interface AccountStatus {
  readonly lifecycle: Lifecycle;
  /** Since when the account has this lifecycle, in epoch milliseconds. */
  readonly since: number;
  /** When the next attempt is due, while in trouble. */
  readonly retryAt: number | undefined;
  readonly problem: string | undefined;
  /** The step that a person can take about `problem`. */
  readonly fix: string | undefined;
  readonly notices: readonly Notice[];
  /** Cause of a wait before the account can connect. */
  readonly activity: string | undefined;
  readonly configured: boolean;
  /** Failures in a row. */
  readonly attempts: number;
  readonly self: { id: string; name: string } | undefined;
}

type Place = Pick<ConfiguredAccount, "adapter" | "account" | "isNamed">;

/** State of one account's connection, in texts for people: with the account's own config keys, and without secrets. */
export class AccountState {
  readonly #clock: Pick<Clock, "now">;
  readonly #place: () => Place;
  #status: AccountStatus = {
    lifecycle: "stopped",
    since: 0,
    retryAt: undefined,
    problem: undefined,
    fix: undefined,
    notices: [],
    activity: undefined,
    configured: true,
    attempts: 0,
    self: undefined,
  };

  constructor(clock: Pick<Clock, "now">, place: () => Place) {
    this.#clock = clock;
    this.#place = place;
  }

  get status(): AccountStatus {
    return this.#status;
  }

  get lifecycle(): Lifecycle {
    return this.#status.lifecycle;
  }

  /** Records that a connection begins. The problem of the connection before stays until this one works. */
  start(): void {
    this.enter("starting");
    this.#set({ configured: true, notices: [], activity: undefined });
  }

  enter(lifecycle: Lifecycle, retryInMs?: number): void {
    const now = this.#clock.now();
    const since = lifecycle === this.lifecycle ? this.#status.since : now;
    this.#set({ lifecycle, since, retryAt: retryInMs === undefined ? undefined : now + retryInMs });
  }

  /** The connection broke, and is tried again. Returns the problem as people see it. */
  fail(trouble: AccountTrouble, retryInMs: number | undefined): AccountTrouble & { readonly isNew: boolean } {
    const clean = this.#clean(trouble);
    const isNew = this.#status.problem !== clean.reason;
    this.enter("trouble", retryInMs);
    this.#set({ attempts: this.#status.attempts + 1, problem: clean.reason, fix: clean.fix });
    return { ...clean, isNew };
  }

  /** Only a person can solve the problem. Returns it as people see it. */
  giveUp(
    trouble: AccountTrouble,
    isMisconfigured: boolean,
    retryInMs?: number,
  ): AccountTrouble & { readonly isNew: boolean } {
    const clean = this.#clean(trouble);
    const isNew = this.#status.problem !== clean.reason;
    this.enter("dead", retryInMs);
    this.#set({ problem: clean.reason, fix: clean.fix, configured: !isMisconfigured });
    return { ...clean, isNew };
  }

  /** The connection works, or an operator wants a new beginning. */
  forgetProblem(): void {
    this.#set({ problem: undefined, fix: undefined, attempts: 0 });
  }

  setNotices(notices: readonly Notice[]): void {
    const own = (text: string): string => ownKeys(text, this.#place());
    this.#set({ notices: notices.map(({ problem, fix }) => ({ problem: own(problem), fix: own(fix) })) });
  }

  setActivity(activity: string | undefined): void {
    this.#set({ activity });
  }

  setSelf(self: AccountStatus["self"]): void {
    this.#set({ self: self ?? this.#status.self });
  }

  #set(changes: Partial<AccountStatus>): void {
    this.#status = { ...this.#status, ...changes };
  }

  #clean({ reason, fix }: AccountTrouble): AccountTrouble {
    const clean = (text: string): string => Secret.mask(ownKeys(text, this.#place()));
    return { reason: clean(reason), fix: fix === undefined ? undefined : clean(fix) };
  }
}

/** Problem that a person sees for an error that ended a connection. */
export function troubleOf(error: unknown): AccountTrouble {
  if (error instanceof OpenClawError) return { reason: error.message, fix: error.fix };
  return { reason: errorText(error), fix: error instanceof NotNow ? error.fix : undefined };
}
