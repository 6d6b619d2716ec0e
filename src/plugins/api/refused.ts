import type { PluginScope } from "./scope.ts";

const WORKFLOW = [
  "enqueueNextTurnInjection",
  "registerSessionSchedulerJob",
  "sendSessionAttachment",
  "scheduleSessionTurn",
  "unscheduleSessionTurnsByTag",
] as const;
const AGENT_EVENTS = ["registerAgentEventSubscription", "emitAgentEvent"] as const;
const RUN_CONTEXT = ["setRunContext", "getRunContext", "clearRunContext"] as const;

/** Members of the field's API that this gateway does not have. Calling one throws an error that names it. */
const REFUSED = {
  api: [
    "registerNodeCliFeature",
    "registerGatewayDiscoveryService",
    "registerGatewayAccessPolicy",
    "registerInteractiveHandler",
    "onConversationBindingResolved",
    "registerCliBackend",
    "registerWorkerProvider",
    "registerDecisionProvider",
    "registerCompactionProvider",
    "registerAgentHarness",
    "registerAgentToolResultMiddleware",
    "registerReload",
    "registerConfigMigration",
    "registerAutoEnableProbe",
    "registerTextTransforms",
    "registerSecurityAuditCollector",
    "registerNodeHostCommand",
    "registerNodeInvokePolicy",
    "registerHostedMediaResolver",
    "registerWidgetPresenter",
    "registerBoardWidgetContentKind",
    "registerSessionCatalog",
    "registerMcpServerConnectionResolver",
    "registerDetachedTaskRuntime",
    // The older names of members of api.session, api.agent and api.runContext.
    "registerSessionExtension",
    ...WORKFLOW,
    ...AGENT_EVENTS,
    ...RUN_CONTEXT,
  ],
  "api.agent.events": AGENT_EVENTS,
  "api.runContext": RUN_CONTEXT,
  "api.session.state": ["registerSessionExtension"],
  "api.session.workflow": WORKFLOW,
  "api.runtime.tts": ["textToSpeech", "textToSpeechStream", "textToSpeechTelephony", "listVoices"],
  "api.runtime.stt": ["transcribeAudioFile"],
  "api.runtime.mediaUnderstanding": [
    "runFile",
    "describeImageFile",
    "describeImageFileWithModel",
    "extractStructuredWithModel",
    "describeVideoFile",
    "transcribeAudioFile",
  ],
  "api.runtime.imageGeneration": ["generate"],
  "api.runtime.webSearch": ["search"],
  "api.runtime.media": ["resizeToJpeg", "saveMediaBuffer", "fetchRemoteMedia"],
  "api.runtime.agent": ["runEmbeddedAgent", "runEmbeddedPiAgent"],
  "api.runtime.agent.session": ["patchSessionEntry", "upsertSessionEntry", "saveSessionStore", "updateSessionStore"],
  "api.runtime.system": ["runHeartbeatOnce"],
  "api.runtime.channel.reply": ["dispatchReplyWithDispatcher", "resolveInboundDebounceMs"],
  "api.runtime.channel.text": [
    "chunkMarkdownText",
    "chunkMarkdownTextWithMode",
    "chunkTextWithMode",
    "convertMarkdownTables",
    "hasControlCommand",
    "resolveChunkMode",
    "resolveMarkdownTableMode",
    "resolveTextChunkLimit",
  ],
  "api.runtime.channel.media": ["fetchRemoteMedia", "readRemoteMediaBuffer"],
  "api.runtime.modelAuth": ["getApiKeyForModel", "getRuntimeAuthForModel", "resolveApiKeyForProvider"],
  "api.runtime.config": ["writeConfigFile", "mutateConfigFile", "replaceConfigFile"],
} as const satisfies Record<string, readonly string[]>;

/** Providers of abilities that agents of this gateway do not have. A plugin may register them, and they are never asked. */
const NEVER_ASKED = [
  "registerModelCatalogProvider",
  "registerEmbeddingProvider",
  "registerMemoryEmbeddingProvider",
  "registerMemoryFlushPlan",
  "registerMemoryRuntime",
  "registerWebFetchProvider",
  "registerSpeechProvider",
  "registerRealtimeTranscriptionProvider",
  "registerRealtimeVoiceProvider",
  "registerMediaUnderstandingProvider",
  "registerTranscriptSourceProvider",
  "registerImageGenerationProvider",
  "registerMusicGenerationProvider",
  "registerVideoGenerationProvider",
  "registerMigrationProvider",
];

/** Functions that note the registration. */
export const neverAsked = (scope: PluginScope): Record<string, () => void> =>
  Object.fromEntries(NEVER_ASKED.map((name) => [name, () => void scope.neverCalled.add(name)]));

/** Why a group is missing, where its name does not say it. */
const REASONS: Readonly<Partial<Record<keyof typeof REFUSED, string>>> = {
  "api.runtime.tts": "only its own tool and command speak (messages.tts)",
  "api.runtime.stt": "it transcribes recordings itself, before a turn (audio.transcription)",
};

/** A function for each member that returns a rejected promise: a plugin that only keeps the function can be loaded. */
export const rejecting = (scope: PluginScope, path: keyof typeof REFUSED): Record<string, () => Promise<never>> =>
  Object.fromEntries(REFUSED[path].map((name) => [name, async () => scope.refuse(`${path}.${name}`, REASONS[path])]));

/** A throwing function for each member. */
export function refusedMembers(scope: PluginScope, path: keyof typeof REFUSED): Record<string, () => never> {
  return Object.fromEntries(REFUSED[path].map((name) => [name, () => scope.refuse(`${path}.${name}`)]));
}
