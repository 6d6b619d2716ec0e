import type { Keyring } from "../types/auth.ts";
import type { Clock } from "../types/clock.ts";
import type { ModelProviderContribution } from "../types/contribution.ts";
import type { Log } from "../types/log.ts";
import type { ModelInfo, ModelRef } from "../types/run/model.ts";
import type { ModelMeter } from "../types/run/model-meter.ts";
import type { ProviderSettings } from "../types/run/model-provider.ts";
import type { Cooldowns } from "./auth/cooldowns.ts";
import type { Credentials } from "./auth/credentials.ts";
import type { FoundProfile } from "./auth/profiles.ts";
import type { SeenWindows } from "./usage-windows.ts";
import type { AuthConfig } from "./config.ts";
import type { AuthProfile } from "../types/auth.ts";
import type { FailedCall } from "../types/run/model-provider.ts";
import type { FailureKind } from "../types/run/run.ts";
import type { RequestLimits } from "./request-limits.ts";
import type { PiModel, StreamModel } from "./pi.ts";
import type { ThoughtHabit } from "./thought-habits.ts";
import type { ThoughtHabits } from "./thought-habits.ts";

/** A model that can be called. */
export interface ModelHandle {
  /** The window is that of the config, the catalogue or the server. */
  readonly info: ModelInfo;
  /** The window and the answers are within `limits`. */
  readonly pi: PiModel;
  readonly limits: RequestLimits;
  /** The profile of the key. */
  readonly profile: AuthProfile;
  readonly apiKey: string;
  /** Only `callModel` may use this, because every call goes through the meter. */
  readonly openStream: StreamModel;
  readonly meter: ModelMeter;
  /** How the model writes its thoughts; unknown when unset. */
  readonly habit?: ThoughtHabit;
  /** The SDK reads no more of an answer's body than `PlainBody` has. */
  readonly takesPlainBodies?: boolean;
  /** Called with the headers of each answer. Must not throw. */
  answered?(headers: ReadonlyMap<string, string>): void;
  /** The kind of a failure, where the plugin of the provider knows it. */
  classify?(failure: FailedCall): FailureKind | undefined;
}

/** Why a model cannot be called, in a person's words. `because` is `auth` when unset. */
export interface Missing {
  readonly missing: string;
  readonly because?: FailureKind;
}

export interface Models {
  /**
   * The model with the key of that profile. Without an id: with the first key that may be asked now, or else the key
   * whose cooldown ends first. A login that is about to expire is renewed first.
   */
  find(ref: ModelRef, profileId?: string): Promise<ModelHandle | Missing>;
  /** The model when the config names none: by the available keys, then a local server, then the demo. */
  choose(): Promise<ModelRef>;
  /** The models that can be used; with `all` the whole catalogue. */
  list(which?: "usable" | "all"): Promise<readonly (ModelInfo & { available: boolean })[]>;
  /** The profiles of a model's provider. Claims no probe. */
  profiles(ref: ModelRef): Promise<readonly Pick<FoundProfile, "profile" | "expires" | "coolsAs">[]>;
  readonly keys: Keyring;
  /** The models of one agent: its own keys come before the keys of all agents. */
  of(agent: string): Models;
}

interface KeyFiles {
  /** When unset, only keys of the config and the environment are used. */
  readonly credentials?: Credentials;
  /** The keys that only this agent uses; no agent has any when unset. Asked once for each agent. */
  readonly ownCredentials?: (agent: string) => Credentials | undefined;
}

/** Facts learned from the answers of models. They survive a change of the config. */
interface Learned {
  /** Kept in memory when unset. */
  readonly cooldowns?: Cooldowns;
  /** How models write their thoughts. Learned by each object of models when unset. */
  readonly habits?: ThoughtHabits;
  /** The limits that answers report; not kept when unset. */
  readonly windows?: SeenWindows;
}

export interface ModelOptions extends KeyFiles, Learned {
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  /** `replace`: only the models that `providers` name exist, without the SDK's catalogue. */
  readonly mode?: "merge" | "replace";
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Servers on this machine are asked only when no other model is available. Tests switch it off. */
  readonly probeLocal?: boolean;
  /** The usual ports when unset. */
  readonly localServers?: readonly { provider: string; baseUrl: string }[];
  /** Milliseconds in which nearby servers must answer. When unset, 300 for their models and 1000 for a model's limits. */
  readonly probeMs?: number;
  readonly auth?: AuthConfig;
  readonly clock?: Pick<Clock, "now">;
  readonly log?: Log;
  /** Asked before every call of these models. Allows all calls when unset. */
  readonly meter?: ModelMeter;
}

/** Additions of extensions and plugins. `options.providers` takes precedence, key by key. */
export interface FromPlugins {
  readonly contributed?: readonly ModelProviderContribution[];
  /** A sentence that says why there is no such provider, and what to do. Undefined when the reason is unknown. */
  absenceOf?(provider: string): string | undefined;
}
