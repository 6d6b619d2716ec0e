import type { Secret } from "../secret.ts";

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
}
