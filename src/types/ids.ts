/** A string that cannot be mixed up with another kind of string. */
export type Brand<T, Name extends string> = T & { readonly __brand: Name };

/** Names one conversation; owns one transcript and one lane. Written as in `sessions/keys.ts`. */
export type SessionKey = Brand<string, "SessionKey">;
/** Id of one run of an agent. For web clients it is their idempotency key. */
export type RunId = Brand<string, "RunId">;
/** An agent of `agents.list`; `main` when the config names none. */
export type AgentId = Brand<string, "AgentId">;
/** A channel adapter: `telegram`, `webchat`, … */
export type ChannelId = Brand<string, "ChannelId">;
/** Id of one account (bot, phone number) of a channel; `default` when the config names none. */
export type AccountId = Brand<string, "AccountId">;
/** Bytes in the media store. */
export type MediaId = Brand<string, "MediaId">;

// The only place where a brand is made.
export const sessionKey = (text: string): SessionKey => text as SessionKey;
export const runId = (text: string): RunId => text as RunId;
export const agentId = (text: string): AgentId => text as AgentId;
export const channelId = (text: string): ChannelId => text as ChannelId;
export const accountId = (text: string): AccountId => text as AccountId;
export const mediaId = (text: string): MediaId => text as MediaId;

export const DEFAULT_AGENT: AgentId = agentId("main");
export const DEFAULT_ACCOUNT: AccountId = accountId("default");
