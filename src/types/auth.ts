import type { Failure, FailureKind } from "./run/run.ts";
import type { ModelRef } from "./run/model.ts";

/** `api_key`, a `token` that is sent as it is, `oauth` (refreshed here), `aws-sdk` (AWS finds its own), `none`. */
export type AuthMode = "api_key" | "token" | "oauth" | "aws-sdk" | "none";

/** A login or key for one provider. The secret is never part of the profile. */
export interface AuthProfile {
  /** `<provider>:<name>`; `config`, `env` and `plugin` as names for keys that come from there. */
  readonly id: string;
  readonly provider: string;
  readonly mode: AuthMode;
  readonly email?: string;
  readonly displayName?: string;
}

/** Whether a profile may be used for a model now. Times are epoch milliseconds. */
export type ProfileState =
  | { readonly kind: "ready" }
  /** The cooldown is over and this run is the probe: other runs see a cooldown until this one reports. */
  | { readonly kind: "probe" }
  | { readonly kind: "cooling"; readonly until: number; readonly because: FailureKind };

export interface ProfileTurn {
  readonly profile: AuthProfile;
  readonly state: ProfileState;
}

/**
 * Wishes of a session: the key that its user pinned (then no other is used), or the key that served the session last.
 */
export interface ProfileWish {
  readonly pinned?: string;
  readonly last?: string;
}

/** Facts of a failure about the key that met it, and about the limits of its model. */
export type FailureOfKey = Pick<Failure, "kind" | "retryAfterMs" | "limitTokens" | "maxOutputTokens" | "isOfRequest">;

/** The keys of all providers. Cooldowns are kept per (profile, model, reason), never wider; nothing here throws. */
export interface Keyring {
  /** The profiles of a model's provider in the order in which they are tried. Empty when there is none. */
  order(ref: ModelRef, wish: ProfileWish): Promise<readonly ProfileTurn[]>;
  /** How many further keys one run asks after such a failure; all keys when undefined. */
  rotations(kind: FailureKind): number | undefined;
  /** Milliseconds before the next try after such a failure; as the policy has it when undefined. */
  backoffMs(kind: FailureKind): number | undefined;
  succeeded(ref: ModelRef, profileId: string): void;
  /** Failures that say nothing about the key change nothing. */
  failed(ref: ModelRef, profileId: string, failure: FailureOfKey): void;
  /** A run that took a probe ended without a model call: another run may probe. */
  released(ref: ModelRef, profileId: string): void;
}
