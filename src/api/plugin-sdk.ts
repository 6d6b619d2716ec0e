/** What a plugin may import: `openclaw/plugin-sdk`. */
export type {
  AccountNotes,
  ChannelAdapter,
  ChannelHost,
  ChannelLimits,
  ChannelLink,
  CommandForm,
  ChannelLog,
  FetchedFile,
  FetchRequest,
  Growth,
  GrowOptions,
  LinkReport,
  LoginDesk,
  LoginStep,
  MenuCommand,
  SendOptions,
  SendResult,
  WebhookAnswer,
  WebhookRequest,
} from "../types/channel.ts";
export type {
  InboundMessage,
  MediaItem,
  MediaKind,
  Peer,
  QuotedMessage,
  ReactionFacts,
  Sender,
} from "../types/message.ts";
export type { OutboundFiles, OutboundPart, OutboundText, ReplyButton, TextFormat, TextStyle } from "../types/reply.ts";
export { webEventKey } from "../types/web-room.ts";
export type { WebMessage, WebNote, WebRoom } from "../types/web-room.ts";
export { accountId, channelId, DEFAULT_ACCOUNT, mediaId } from "../types/ids.ts";
export type { AccountId, ChannelId, MediaId } from "../types/ids.ts";
export { OpenClawError } from "../types/errors.ts";
export { NotNow } from "../types/not-now.ts";
export { Secret } from "../types/secret.ts";
export { about, milliseconds, secretField } from "../utils/config.ts";
export { accountInputs, readAccounts } from "../channels/config.ts";
export type {
  ChannelContribution,
  ChannelSetup,
  ContributionRegistry,
  Contributor,
  SetupFlag,
  SetupValues,
} from "../types/contribution.ts";
export { buildMemorySystemPromptAddition, delegateCompactionToRuntime } from "./core.ts";
export type { AgentInternalEvent } from "../types/internal-event.ts";
export type { InputProvenance } from "../types/model.ts";
export type {
  AssembleParams,
  AssembleResult,
  CompactParams,
  CompactResult,
  ContextEngine,
  ContextEngineFactory,
  ContextEngineInfo,
  ContextEngineRuntimeContext,
} from "../types/context-engine.ts";
export { answeredOutcome, isPassingStatus, retryAfterMs, thrownOutcome } from "../channels/outcome.ts";
export type { RefusedCall } from "../channels/outcome.ts";
export { backoff, wait } from "../utils/backoff.ts";
export { readOwnNote } from "../channels/own-notes.ts";
export { background } from "../utils/background.ts";
