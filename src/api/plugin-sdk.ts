/** What a plugin may import: `openclaw/plugin-sdk`. */
export type {
  ChannelAdapter,
  ChannelHost,
  ChannelLimits,
  ChannelLink,
  ChannelLog,
  LinkReport,
  SendOptions,
  SendResult,
} from "../types/channel.ts";
export type { InboundMessage, MediaItem, MediaKind, Peer, QuotedMessage, Sender } from "../types/message.ts";
export type { OutboundPart, ReplyButton, TextFormat } from "../types/reply.ts";
export { accountId, channelId, DEFAULT_ACCOUNT, mediaId } from "../types/ids.ts";
export type { AccountId, ChannelId, MediaId } from "../types/ids.ts";
export { OpenClawError } from "../types/errors.ts";
export { Secret } from "../types/secret.ts";
export { about, milliseconds, secretField } from "../utils/config.ts";
export { accountInputs } from "../channels/config.ts";
