import type { PluginScope } from "./scope.ts";

/** Members of the field's API that this gateway does not have. Calling one throws an error that names it. */
const REFUSED = {
  api: [
    "registerNodeCliFeature",
    "registerGatewayDiscoveryService",
    "registerGatewayAccessPolicy",
    "registerInteractiveHandler",
    "onConversationBindingResolved",
    "registerModelCatalogProvider",
    "registerCliBackend",
    "registerEmbeddingProvider",
    "registerWebSearchProvider",
    "registerWebFetchProvider",
    "registerSpeechProvider",
    "registerRealtimeTranscriptionProvider",
    "registerRealtimeVoiceProvider",
    "registerMediaUnderstandingProvider",
    "registerTranscriptSourceProvider",
    "registerImageGenerationProvider",
    "registerMusicGenerationProvider",
    "registerVideoGenerationProvider",
    "registerWorkerProvider",
    "registerMigrationProvider",
    "registerDecisionProvider",
    "registerCompactionProvider",
    "registerAgentHarness",
    "registerTrustedToolPolicy",
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
  ],
  "api.session.state": ["registerSessionExtension"],
  "api.session.workflow": [
    "enqueueNextTurnInjection",
    "registerSessionSchedulerJob",
    "sendSessionAttachment",
    "scheduleSessionTurn",
    "unscheduleSessionTurnsByTag",
  ],
  "api.runtime.subagent": ["run", "waitForRun", "getSessionMessages", "deleteSession"],
  "api.runtime.tts": ["textToSpeech", "textToSpeechTelephony"],
  "api.runtime.media": ["loadWebMedia", "detectMime", "saveMediaBuffer", "fetchRemoteMedia"],
  "api.runtime.modelAuth": ["getApiKeyForModel", "resolveApiKeyForProvider"],
  "api.runtime.config": ["writeConfigFile", "mutateConfigFile", "replaceConfigFile"],
} as const satisfies Record<string, readonly string[]>;

/** One throwing function for each member. */
export function refused(scope: PluginScope, path: keyof typeof REFUSED): Record<string, () => never> {
  return Object.fromEntries(REFUSED[path].map((name) => [name, () => scope.refuse(`${path}.${name}`)]));
}
