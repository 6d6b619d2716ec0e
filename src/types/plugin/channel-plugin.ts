/** The object with which plugins of the field add a channel, as far as this gateway uses it. Other members are ignored. */

// oxlint-disable-next-line typescript/no-explicit-any -- the account is the plugin's own type
export interface ChannelPlugin<Account = any> {
  /** As in `channels.<id>`. */
  readonly id: string;
  readonly meta?: { readonly label?: string; readonly [key: string]: unknown };
  /** JSON Schema of the channel's section of the config. */
  readonly configSchema?: { readonly schema?: Readonly<Record<string, unknown>> };
  readonly config: ChannelConfigAdapter<Account>;
  readonly outbound?: ChannelOutboundAdapter;
  readonly gateway?: ChannelGatewayAdapter<Account>;
  readonly [key: string]: unknown;
}

export interface ChannelConfigAdapter<Account> {
  listAccountIds(config: OpenClawConfig): readonly string[];
  resolveAccount(config: OpenClawConfig, accountId?: string): Account;
  isConfigured?(account: Account, config: OpenClawConfig): boolean | Promise<boolean>;
  readonly [key: string]: unknown;
}

export interface ChannelOutboundAdapter {
  /** UTF-16 units of one message; 4000 when unset. */
  readonly textChunkLimit?: number;
  /** Throws when the platform did not take the message. */
  sendText?(context: ChannelOutboundContext): Promise<OutboundDeliveryResult>;
  /** As `sendText`, with a file: `mediaUrl` is a path of this machine. */
  sendMedia?(context: ChannelOutboundContext): Promise<OutboundDeliveryResult>;
  readonly [key: string]: unknown;
}

export interface ChannelOutboundContext {
  readonly cfg: OpenClawConfig;
  /** The chat, as `OriginatingTo` or `To` of the chat's messages. */
  readonly to: string;
  readonly text: string;
  readonly mediaUrl?: string;
  readonly accountId?: string | null;
  readonly replyToId?: string | null;
  readonly threadId?: string | number | null;
}

export interface OutboundDeliveryResult {
  readonly messageId?: string;
  readonly [key: string]: unknown;
}

export interface ChannelGatewayAdapter<Account> {
  /** Receives messages until the signal aborts; pending all the while. */
  startAccount?(context: ChannelGatewayContext<Account>): Promise<unknown>;
  stopAccount?(context: ChannelGatewayContext<Account>): Promise<void>;
  readonly [key: string]: unknown;
}

export interface ChannelGatewayContext<Account> {
  readonly cfg: OpenClawConfig;
  readonly accountId: string;
  readonly account: Account;
  readonly runtime: { log(message: string): void; error(message: string): void };
  readonly abortSignal: AbortSignal;
  readonly log: PluginLogger;
  getStatus(): ChannelAccountSnapshot;
  setStatus(next: ChannelAccountSnapshot): void;
  // oxlint-disable-next-line typescript/no-explicit-any -- plugins compile against members of many shapes
  readonly channelRuntime: any;
}

/** Report of an account. `lastError` with `connected: false` is a problem; any other report is a sign of life. */
export interface ChannelAccountSnapshot {
  readonly accountId?: string;
  readonly running?: boolean;
  readonly connected?: boolean;
  readonly lastError?: string | null;
  readonly [key: string]: unknown;
}

export interface PluginLogger {
  debug(message: string, ...more: readonly unknown[]): void;
  info(message: string, ...more: readonly unknown[]): void;
  warn(message: string, ...more: readonly unknown[]): void;
  error(message: string, ...more: readonly unknown[]): void;
}

/** The config as `openclaw.json` has it, with defaults; secrets of others are masked. */
// oxlint-disable-next-line typescript/no-explicit-any -- plugins of the field read keys of many shapes
export type OpenClawConfig = Record<string, any>;

/** A message that a channel received, in the field's form. */
export interface MsgContext {
  Body?: string;
  From?: string;
  To?: string;
  SessionKey?: string;
  AccountId?: string;
  MessageSid?: string;
  ChatType?: string;
  MediaPath?: string;
  MediaType?: string;
  CommandAuthorized?: boolean;
  [key: string]: unknown;
}

/** A part of an answer. */
export interface ReplyPayload {
  readonly text?: string;
  readonly mediaUrl?: string;
  readonly mediaUrls?: readonly string[];
  readonly replyToId?: string;
  readonly isError?: boolean;
}
