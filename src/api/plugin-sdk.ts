/** Main module for plugins: `openclaw/plugin-sdk`. */
export type {
  AccountNotes,
  ButtonLimits,
  ChannelAdapter,
  ChannelHost,
  ChannelLimits,
  ChannelLink,
  ChatActions,
  Looked,
  CommandForm,
  ChannelLog,
  FetchedFile,
  FetchRequest,
  NativeStream,
  StreamOptions,
  LinkReport,
  LoginHost,
  LoginStep,
  MenuCommand,
  SendOptions,
  SendResult,
  WebhookAnswer,
  WebhookRequest,
} from "../types/chat/channel.ts";
export type {
  ChatFacts,
  NewThread,
  Poll,
  ReactionCount,
  ReadQuery,
  SearchQuery,
  SeenMessage,
  SeenThread,
} from "../types/chat/actions.ts";
export type {
  ChatNews,
  InboundMessage,
  MediaItem,
  MediaKind,
  MessageContext,
  Peer,
  QuotedMessage,
  ReactionFacts,
  Sender,
} from "../types/chat/message.ts";
export type {
  OutboundFiles,
  OutboundPart,
  OutboundText,
  ReplyButton,
  TextFormat,
  TextStyle,
} from "../types/chat/reply.ts";
export { mediaKindOf } from "../types/chat/media-kind.ts";
export { webEventKey } from "../types/chat/web-clients.ts";
export type { WebMessage, WebNote, WebClientPort } from "../types/chat/web-clients.ts";
export { accountId, channelId, DEFAULT_ACCOUNT, mediaId } from "../types/ids.ts";
export type { AccountId, ChannelId, MediaId } from "../types/ids.ts";
export { OpenClawError } from "../types/errors.ts";
export { NotNow } from "../types/not-now.ts";
export { Secret } from "../types/secret.ts";
export { about, milliseconds, ofLogin, secretField } from "../utils/config.ts";
export { accountInputs, historyScope, readAccounts } from "../channels/config.ts";
export { fileNameOf } from "../channels/file-name.ts";
export { mediaTooLarge, mediaUnavailable } from "../channels/media-errors.ts";
export type {
  AskedContribution,
  ChannelContribution,
  CheckContribution,
  CheckScene,
  CliAction,
  CliContribution,
  CliIo,
  ChannelSetup,
  CommandContribution,
  ConfigContribution,
  ContributionRegistry,
  Contributor,
  ContributorPlace,
  SetupFlag,
  SetupValues,
  MemoryContribution,
  ModelProviderContribution,
} from "../types/contribution.ts";
export type { Backends, CommandEnd, ExecBackend, FileBackend, Launch, PreparedLaunch } from "../types/run/backend.ts";
export type {
  ContainedCommand,
  EngineFacts,
  EnginePlace,
  EngineSettings,
  EngineTrial,
  Mount,
  SandboxEngine,
  SandboxEngineContribution,
  Unusable,
  View,
} from "../types/sandbox-engine.ts";
export type { Tool, ToolContext, ToolContribution, ToolResult, ToolScene } from "../types/run/tool.ts";
export { buildMemorySystemPromptAddition, delegateCompactionToRuntime } from "./core.ts";
export { definePluginEntry, emptyPluginConfigSchema } from "./plugin-entry.ts";
export type { OpenClawPluginApi } from "./plugin-entry.ts";
export type { AgentInternalEvent } from "../types/engine/internal-event.ts";
export type { InputProvenance } from "../types/run/model.ts";
export type {
  AssembleParams,
  AssembleResult,
  CompactParams,
  CompactResult,
  ContextEngine,
  ContextEngineFactory,
  ContextEngineInfo,
  ContextEngineRuntimeContext,
} from "../types/engine/context-engine.ts";
export { answeredOutcome, isPassingStatus, retryAfterMs, thrownOutcome } from "../channels/connection/outcome.ts";
export type { RefusedCall } from "../channels/connection/outcome.ts";
export { RequestedReconnects } from "../channels/connection/requested-reconnects.ts";
export { backoff } from "../utils/backoff.ts";
export { wait } from "../utils/pause.ts";
export { processStart } from "../store/lock/process-start.ts";
export { readOwnNote } from "../channels/own-notes.ts";
export { openingMentionEnd } from "../utils/text/opening-mention.ts";
export { isInside } from "../utils/real-path.ts";
export { unlessMissing } from "../utils/missing.ts";
export { background } from "../utils/background.ts";
export { loadUndici } from "../utils/net/undici.ts";
export { BoundedMap } from "../utils/bounded-map.ts";
export { JobThread, programUrl } from "../utils/thread/job-thread.ts";
export type { JobFailure } from "../utils/thread/job-thread.ts";
export { emptyUsage } from "../types/run/usage.ts";
export { hasOwnerRights, isOfGroup, isOwnersAlone } from "../types/run/principal.ts";
export { modelName, parseModelName, THINK_LEVELS } from "../types/run/model.ts";
export type { ModelRef } from "../types/run/model.ts";
export { fromJsonSchema } from "../utils/json-schema/from-json-schema.ts";
