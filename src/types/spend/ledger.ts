import type { AgentId, RunId, SessionKey } from "../ids.ts";
import type { ModelRef, Usage } from "../run/model.ts";
import type { CallCause } from "../run/model-meter.ts";

/**
 * Kinds of sums, each kept per day: everything, an agent, a session's own calls, the calls of a session's subagents
 * (`family`, by the session above all of them), a scheduled job, a person who wrote, a model; and of the tree of a run,
 * for as long as it lasts.
 */
export type SpendScope = "all" | "agent" | "session" | "family" | "job" | "sender" | "model" | "run";

/** Groups for each of which a report can have one row. */
export const USAGE_GROUPS = ["day", "agent", "session", "job", "model", "sender"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Tokens, and US dollars. */
export interface Amount {
  readonly tokens: number;
  readonly usd: number;
}

/** Whose budgets a call draws from. A subagent's call draws from the run, session, job and person that its root has. */
export interface SpendAccount {
  readonly agent?: string;
  readonly session?: string;
  /** The run at the top of the tree. */
  readonly root?: string;
  readonly rootSession?: string;
  readonly job?: string;
  /** As `channel:id`; unset for operator clients and for turns that nobody wrote. */
  readonly sender?: string;
}

/** A call for which a cost is to be held. */
export interface HoldRequest {
  readonly cause: CallCause;
  readonly model: ModelRef;
  readonly profileId: string;
  readonly isPriced: boolean;
  /** Epoch milliseconds. */
  readonly at: number;
  /** As `2026-11-27`, in the zone of the budgets. */
  readonly day: string;
  readonly agentId?: AgentId | undefined;
  readonly sessionKey?: SessionKey | undefined;
  readonly runId?: RunId | undefined;
  readonly plugin?: string | undefined;
}

/** Whose account is wanted. */
export type AccountRequest = Pick<HoldRequest, "agentId" | "sessionKey" | "runId">;

/** Sums over the days `since` to `until`, both included; a run's tree has none. */
export interface SpendPlace {
  readonly scope: SpendScope;
  readonly name: string;
  readonly since?: string;
  readonly until?: string;
}

/** Amount that is spent and held at a place, and by how much its limit was raised for that time. */
export interface Balance {
  readonly taken: Amount;
  readonly raised: Amount;
}

/** The worst case of a call, which is held until the call ends. */
export interface HoldAmount extends Amount {
  readonly input: number;
  readonly output: number;
}

export type BalanceOf = (place: SpendPlace) => Balance;

/** Decides about a call by the balances of this moment. Must be pure: it may be asked twice. */
export type DecideHold<Refusal> = (
  account: SpendAccount,
  balanceOf: BalanceOf,
) => { readonly hold: HoldAmount } | { readonly refusal: Refusal };

export interface SettledCall {
  readonly usage: Usage;
  readonly isEstimate: boolean;
  readonly at: number;
}

/** More for one place and time. `key` names the limit. */
export interface SpendRaise extends Amount {
  readonly place: SpendPlace;
  readonly at: number;
}

/** Sums of calls. `unknown`: what calls of a killed process may have cost at most; it is in no other figure. */
export interface SpendSum {
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly costUsd: number;
  /** US dollars of each kind of tokens; 0 for calls of versions that did not record them. */
  readonly costs: Readonly<Record<"input" | "output" | "cacheRead" | "cacheWrite", number>>;
  /** Calls of models whose price is not known. */
  readonly unpriced: number;
  readonly unknown: Amount;
}

/** A call that has ended, as the ledger keeps it. */
export interface SpentCall extends Pick<SpendSum, "input" | "output" | "cacheRead" | "cacheWrite" | "costUsd"> {
  readonly at: number;
  readonly endedAt: number;
  readonly model: ModelRef;
}

/** The sum of one day and name. */
export interface SpendLine extends SpendSum {
  readonly day: string;
  readonly name: string;
}

export interface SpendAsk {
  readonly scope: SpendScope;
  readonly since: string;
  readonly until: string;
  /** Only the sums of this name. */
  readonly name?: string | undefined;
}

/**
 * The ledger of model calls: each is held at its worst case before it is made, and settled after it. Sums are rows that are kept up to
 * date, so that no question reads calls. Writes outlive the process when they resolve.
 */
export interface SpendLedger {
  hold<Refusal>(
    request: HoldRequest,
    decide: DecideHold<Refusal>,
  ): Promise<
    | { readonly id: number; readonly account: SpendAccount }
    | { readonly refusal: Refusal; readonly account: SpendAccount }
  >;
  /** The first settlement of a hold is final. */
  settle(id: number, call: SettledCall): Promise<void>;
  /** Decides by the same facts as `hold`, and writes nothing. */
  look<T>(of: AccountRequest, look: (account: SpendAccount, balanceOf: BalanceOf) => T): Promise<T>;
  /**
   * The holds that other processes left open count as spent at their worst case from now on, in state `unknown`: nobody knows what
   * became of their calls. Returns how many there were. Only for the process that owns the state directory, before its first call.
   */
  resolveAbandoned(): Promise<number>;
  raise(raise: SpendRaise): Promise<void>;
  balance(place: SpendPlace): Promise<Balance>;
  /** Sorted by day, then by name. */
  lines(ask: SpendAsk): Promise<readonly SpendLine[]>;
  /** The newest calls of a session, the oldest first. Calls are kept for as long as the journal's records are. */
  calls(session: SessionKey, limit: number): Promise<readonly SpentCall[]>;
  /** Amount that is held now, by calls that have not ended. */
  held(): Promise<Amount & { readonly calls: number }>;
}
