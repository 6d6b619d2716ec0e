import type { AuthMode } from "../auth.ts";
import type { Secret } from "../secret.ts";
import type { FailureKind } from "./run.ts";

/** A provider as the config gives it (`models.providers.<id>`). */
export interface ProviderSettings {
  readonly baseUrl?: string | undefined;
  readonly apiKey?: Secret | string | undefined;
  readonly api?: string | undefined;
  readonly headers?: Readonly<Record<string, string | Secret>> | undefined;
  /** Tokens, of models that do not say their own. */
  readonly contextWindow?: number | undefined;
  readonly contextTokens?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly models?: readonly ModelSettings[] | undefined;
}

export interface ModelSettings {
  readonly id: string;
  readonly name?: string | undefined;
  readonly reasoning?: boolean | undefined;
  readonly input?: readonly ("text" | "image")[] | undefined;
  readonly cost?: { input: number; output: number; cacheRead: number; cacheWrite: number } | undefined;
  readonly contextWindow?: number | undefined;
  /** Tokens of the window that are used. */
  readonly contextTokens?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly compat?: Record<string, unknown> | undefined;
  /** Settings that differ from the provider's. */
  readonly api?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly headers?: Record<string, string> | undefined;
}

/** Decisions of a provider's code, each part optional. No method throws or rejects. */
export interface ModelProviderMethods {
  /** Address, API, key and models as they are now. Undefined when the provider cannot be used. */
  discover?(access: ProviderAccess | undefined): Promise<ProviderSettings | undefined>;
  /** The id of the model that is meant by this one. */
  modelId?(id: string): string;
  /** A model that neither the config nor `discover` names. */
  findModel?(id: string, settings: ProviderSettings | undefined): Promise<ModelSettings | undefined>;
  /** The last changes of a model, which comes in the SDK's form. */
  adjustModel?(model: object): ModelSettings | undefined;
  /** Another key, or another address, for one call. */
  exchangeKey?(access: ProviderAccess, model: object): Promise<ExchangedKey | undefined>;
  /** Streams a call in place of the gateway, or changes it and passes it on to `next`. */
  stream?(next: StreamCall): StreamCall;
  /** The kind of a failure that the gateway itself might take for another one. */
  classify?(failure: FailedCall): FailureKind | undefined;
  /** A sentence for the person who has not set a key. */
  missingKey?(): string | undefined;
}

/** The key of a provider, and where it comes from. */
export interface ProviderAccess {
  readonly key: Secret;
  readonly mode: AuthMode;
  readonly profile: string;
}

export interface ExchangedKey {
  readonly key: Secret;
  readonly baseUrl?: string;
}

/** A call of a model in the SDK's form. Gives the events of its stream, or a promise of them; may throw. */
export type StreamCall = (model: object, context: object, options: object) => unknown;

export interface FailedCall {
  readonly model: string;
  readonly message: string;
  readonly status?: number;
}
