/** Keys below `tools.exec`, and below `exec` in the tools of one agent. */
const EXEC = `host security ask node pathPrepend safeBins
  strictInlineEval commandHighlighting safeBinTrustedDirs safeBinProfiles{*} backgroundMs timeoutSec cleanupMs
  notifyOnExit notifyOnExitEmptySuccess applyPatch{enabled workspaceOnly allowModels}
  approvalRunningNoticeMs grantExpiryDays reviewer{model{primary fallbacks} thinking fastMode timeoutMs}`;

const LOOPS = `enabled historySize warningThreshold unknownToolThreshold criticalThreshold
  globalCircuitBreakerThreshold detectors{genericRepeat knownPollNoProgress pingPong}
  postCompactionGuard{windowSize}`;

const MESSAGE = `allowCrossContextSend
  crossContext{allowWithinProvider allowAcrossProviders marker} actions{allow} broadcast{enabled}`;

const TOOLS = `profile allow alsoAllow deny byProvider{*{allow alsoAllow deny profile}} toolsBySender{*{allow alsoAllow
  deny}} web{search{enabled provider maxResults timeoutSeconds cacheTtlMinutes apiKey openaiCodex} fetch{enabled
  provider maxChars maxCharsCap maxResponseBytes timeoutSeconds cacheTtlMinutes maxRedirects userAgent readability
  useTrustedEnvProxy ssrfPolicy{allowedHostnames hostnameAllowlist blockedHostnames dangerouslyAllowPrivateNetwork allowRfc2544BenchmarkRange allowIpv6UniqueLocalRange} firecrawl} x_search{enabled model inlineCitations maxTurns timeoutSeconds
  cacheTtlMinutes}} media{models{*} concurrency asyncCompletion{directSend} image{enabled scope maxBytes maxChars
  prompt timeoutSeconds language providerOptions deepgram baseUrl headers request attachments models echoTranscript
  echoFormat} audio{enabled scope maxBytes maxChars prompt timeoutSeconds language providerOptions deepgram baseUrl
  headers request attachments models echoTranscript echoFormat} video{enabled scope maxBytes maxChars prompt
  timeoutSeconds language providerOptions deepgram baseUrl headers request attachments models echoTranscript
  echoFormat}} links{enabled scope{default rules} maxLinks timeoutSeconds models{*}} sessions{visibility}
  loopDetection{${LOOPS}} toolSearch{enabled mode codeTimeoutMs searchDefaultLimit maxSearchLimit}
  codeMode{enabled runtime mode languages timeoutMs memoryLimitBytes maxOutputBytes maxSnapshotBytes
  maxPendingToolCalls snapshotTtlSeconds searchDefaultLimit maxSearchLimit} message{${MESSAGE}}
  agentToAgent{enabled allow} elevated{enabled allowFrom} exec{${EXEC}} fs{workspaceOnly}
  subagents{tools{allow alsoAllow deny}} sandbox{tools{allow alsoAllow deny}} sessions_spawn{attachments{enabled
  maxTotalBytes maxFiles maxFileBytes retainOnSessionKeep}} experimental{planTool}`;

/** Keys below the tools of one agent. `policy` is from older descriptions. */
const AGENT_TOOLS = `profile allow alsoAllow deny policy{allow deny}
  byProvider{*{allow alsoAllow deny profile}} toolsBySender{*{allow alsoAllow deny}} elevated{enabled allowFrom}
  exec{${EXEC}} fs{workspaceOnly} loopDetection{${LOOPS}} subagents{tools{allow alsoAllow deny}}
  sandbox{tools{allow alsoAllow deny}} message{${MESSAGE}} codeMode experimental{planTool}`;

const SUBAGENTS = `delegationMode allowAgents maxConcurrent maxSpawnDepth maxChildrenPerAgent archiveAfterMinutes model thinking runTimeoutSeconds announceTimeoutMs requireAgentId`;

const SANDBOX = `mode backend workspaceAccess sessionToolsVisibility scope workspaceRoot
  docker{image containerPrefix workdir readOnlyRoot tmpfs network user capDrop env setupCommand pidsLimit memory
  memorySwap cpus gpus ulimits seccompProfile apparmorProfile dns extraHosts binds
  dangerouslyAllowReservedContainerTargets dangerouslyAllowExternalBindSources
  dangerouslyAllowContainerNamespaceJoin}
  ssh{target command workspaceRoot strictHostKeyChecking updateHostKeys identityFile certificateFile knownHostsFile
  identityData certificateData knownHostsData}
  browser{enabled image containerPrefix network cdpPort cdpSourceRange vncPort noVncPort headless enableNoVnc noVncEnabled
  allowHostControl autoStart autoStartTimeoutMs binds}
  prune{idleHours maxAgeDays}`;

/** The keys of one agent. */
const AGENT = `id default name description workspace
  agentDir systemPromptOverride agentRuntime embeddedHarness model models{*{alias agentRuntime streaming params{temperature topP maxTokens cacheRetention transport serviceTier fastMode extra_body extraBody topK}}} thinkingDefault verboseDefault
  toolProgressDetail reasoningDefault fastModeDefault contextInjection bootstrapMaxChars bootstrapTotalMaxChars
  experimental skills memorySearch humanDelay tts skillsLimits contextLimits contextTokens heartbeat identity
  groupChat{mentionPatterns historyLimit unmentionedInbound visibleReplies} subagents{${SUBAGENTS}} runRetries
  embeddedPi{projectSettingsPolicy executionContract} sandbox{${SANDBOX}} params{temperature topP maxTokens cacheRetention transport serviceTier fastMode extra_body extraBody topK} tools{${AGENT_TOOLS}} runtime`;

/**
 * Every key of OpenClaw configs as of 2026.5.20, and keys that older descriptions name. A key that our own schema lacks
 * has no effect and is reported in a warning instead of refused. Spaces separate the keys, braces contain the nested
 * keys, `*` matches any name or index. A key without braces allows any nested key.
 */
export const FIELD_KEYS = `
meta{lastTouchedVersion lastTouchedAt}
env{shellEnv vars}
wizard{lastRunAt lastRunVersion lastRunCommit lastRunCommand lastRunMode}
diagnostics{enabled flags stuckSessionWarnMs stuckSessionAbortMs memoryPressureSnapshot otel cacheTrace}
logging{level file maxFileBytes consoleLevel consoleStyle redactSensitive redactPatterns}
cli{banner{taglineMode}}
crestodian{rescue}
update{channel checkOnStart auto}
browser{enabled evaluateEnabled cdpUrl remoteCdpTimeoutMs remoteCdpHandshakeTimeoutMs localLaunchTimeoutMs
  localCdpReadyTimeoutMs actionTimeoutMs color executablePath headless noSandbox attachOnly cdpPortRangeStart
  defaultProfile snapshotDefaults ssrfPolicy{allowedHostnames hostnameAllowlist blockedHostnames dangerouslyAllowPrivateNetwork allowRfc2544BenchmarkRange allowIpv6UniqueLocalRange} profiles extraArgs tabCleanup}
ui{seamColor assistant}
secrets{providers{*{allowInsecurePath allowSymlinkCommand}} defaults resolution egressProxy{enabled allowedHosts bypassHosts}}
auth{profiles{*{provider mode email displayName}} order cooldowns{billingBackoffHours billingBackoffHoursByProvider
  billingMaxHours authPermanentBackoffMinutes authPermanentMaxMinutes failureWindowHours overloadedProfileRotations
  overloadedBackoffMs rateLimitedProfileRotations}}
accessGroups{*{type guildId channelId membership members}}
acp{enabled dispatch backend fallbacks defaultAgent allowedAgents maxConcurrentSessions stream runtime}
models{mode providers{*{baseUrl apiKey auth api contextWindow contextTokens maxTokens timeoutSeconds
  injectNumCtxForOpenAICompat params agentRuntime localService headers authHeader request models}} pricing{enabled}}
nodeHost{browserProxy}
agents{defaults{params{temperature topP maxTokens cacheRetention transport serviceTier fastMode extra_body extraBody topK} agentRuntime{id} embeddedHarness{runtime} model{primary fallbacks} imageModel{primary
  fallbacks timeoutMs} imageGenerationModel{primary fallbacks timeoutMs} videoGenerationModel{primary fallbacks
  timeoutMs} musicGenerationModel{primary fallbacks timeoutMs} mediaGenerationAutoProviderFallback pdfModel{primary
  fallbacks timeoutMs} pdfMaxBytesMb pdfMaxPages models{*{alias agentRuntime streaming params{temperature topP maxTokens cacheRetention transport serviceTier fastMode extra_body extraBody topK}}} workspace skills silentReply{group internal} repoRoot
  systemPromptOverride promptOverlays{gpt5} skipBootstrap skipOptionalBootstrapFiles contextInjection
  bootstrapMaxChars bootstrapTotalMaxChars experimental{localModelLean} bootstrapPromptTruncationWarning
  userTimezone startupContext{enabled applyOn dailyMemoryDays maxFileBytes maxFileChars maxTotalChars}
  contextLimits{memoryGetMaxChars memoryGetDefaultLines toolResultMaxChars postCompactionMaxChars} timeFormat
  envelopeTimezone envelopeTimestamp envelopeElapsed contextTokens cliBackends{*} memorySearch{enabled sources
  extraPaths qmd multimodal experimental provider remote fallback model inputType queryInputType documentInputType
  outputDimensionality local store chunking sync query cache} contextPruning{mode ttl keepLastAssistants
  softTrimRatio hardClearRatio minPrunableToolChars tools softTrim hardClear} compaction{enabled mode provider reserveTokens
  keepRecentTokens reserveTokensFloor maxHistoryShare customInstructions identifierPolicy identifierInstructions
  recentTurnsPreserve qualityGuard midTurnPrecheck postIndexSync postCompactionSections model timeoutSeconds
  memoryFlush truncateAfterCompaction maxActiveTranscriptBytes notifyUser} runRetries{base perProfile min max}
  embeddedPi{projectSettingsPolicy executionContract} thinkingDefault verboseDefault toolProgressDetail
  reasoningDefault elevatedDefault blockStreamingDefault blockStreamingBreak blockStreamingChunk{minChars maxChars
  breakPreference} blockStreamingCoalesce{minChars maxChars idleMs} humanDelay{mode minMs maxMs} timeoutSeconds
  mediaMaxMb imageMaxDimensionPx typingIntervalSeconds typingMode heartbeat{every activeHours model session
  includeReasoning target directPolicy to accountId prompt includeSystemPromptSection ackMaxChars
  suppressToolErrorWarnings timeoutSeconds lightContext isolatedSession skipWhenBusy} maxConcurrent
  subagents{${SUBAGENTS}} sandbox{${SANDBOX}}} list{*{${AGENT}}} entries{*{${AGENT}}}}
tools{${TOOLS}}
security{audit{suppressions{*}}}
bindings{*{type agentId comment match{channel accountId peer{kind id} guildId teamId roles} session{dmScope groupScope}
  acp{mode label cwd backend}}}
broadcast{strategy}
compaction{enabled reserveTokens keepRecentTokens reserveTokensFloor}
audio{transcription}
media{preserveFilenames ttlHours}
messages{messagePrefix visibleReplies responsePrefix groupChat{mentionPatterns historyLimit unmentionedInbound
  visibleReplies} queue{mode byChannel{whatsapp telegram discord irc googlechat slack mattermost signal imessage
  msteams webchat matrix} debounceMs debounceMsByChannel cap drop} inbound{debounceMs byChannel} ackReaction
  ackReactionScope removeAckAfterReply statusReactions{enabled emojis{thinking tool coding web deploy build
  concierge done error stallSoft stallHard compacting} timing{debounceMs stallSoftMs stallHardMs doneHoldMs
  errorHoldMs}} suppressToolErrors tts{auto enabled mode provider persona personas{*{label description provider
  fallbackPolicy prompt providers}} summaryModel modelOverrides{enabled allowText allowProvider allowVoice
  allowModelId allowVoiceSettings allowNormalization allowSeed} providers{*} prefsPath maxTextLength
  timeoutMs}}
commands{native nativeSkills text bash bashForegroundMs config mcp plugins debug restart useAccessGroups
  ownerAllowFrom ownerDisplay ownerDisplaySecret allowFrom}
approvals{exec{enabled mode agentFilter sessionFilter targets{*}} plugin{enabled mode agentFilter sessionFilter
  targets{*}}}
session{scope dmScope identityLinks resetTriggers idleMinutes reset{mode atHour idleMinutes} resetByType{direct{mode
  atHour idleMinutes} dm{mode atHour idleMinutes} group{mode atHour idleMinutes} thread{mode atHour idleMinutes}}
  resetByChannel{*{mode atHour idleMinutes}} store typingIntervalSeconds typingMode mainKey sendPolicy{default
  rules{*{action match}}} writeLock{acquireTimeoutMs staleMs maxHoldMs} agentToAgent{maxPingPongTurns}
  threadBindings{enabled idleHours maxAgeHours spawnSessions defaultSpawnContext} maintenance{mode pruneAfter
  maxEntries rotateBytes resetArchiveRetention maxDiskBytes highWaterBytes}}
cron{enabled store maxConcurrentRuns retry{maxAttempts backoffMs retryOn} webhook webhookToken sessionRetention
  runLog{maxBytes keepLines} failureAlert{enabled after cooldownMs includeSkipped mode accountId}
  failureDestination{channel to accountId mode}}
commitments{enabled maxPerDay}
hooks{enabled path token defaultSessionKey allowRequestSessionKey allowedSessionKeyPrefixes allowedAgentIds
  maxBodyBytes presets transformsDir mappings{*{id match action wakeMode name agentId sessionKey messageTemplate
  textTemplate deliver allowUnsafeExternalContent channel to model thinking timeoutSeconds transform}} gmail{account
  label topic subscription pushToken hookUrl includeBody maxBytes renewEveryMinutes allowUnsafeExternalContent
  serve{bind port path} tailscale{mode path target} model thinking} internal{enabled entries{*} load{extraDirs}
  installs{*}}}
web{enabled heartbeatSeconds reconnect whatsapp}
channels{clickclack discord{name capabilities markdown{tables} enabled commands{native nativeSkills} configWrites
  token applicationId proxy gatewayInfoTimeoutMs gatewayReadyTimeoutMs gatewayRuntimeReadyTimeoutMs allowBots
  botLoopProtection{enabled maxEventsPerWindow windowSeconds cooldownSeconds} dangerouslyAllowNameMatching
  mentionAliases groupPolicy contextVisibility historyLimit dmHistoryLimit dms{*} textChunkLimit suppressEmbeds
  streaming{mode chunkMode preview progress block} maxLinesPerMessage mediaMaxMb retry{attempts minDelayMs
  maxDelayMs jitter} actions{reactions stickers emojiUploads stickerUploads polls permissions messages threads pins
  search memberInfo roleInfo roles channelInfo voiceStatus events moderation channels presence} replyToMode
  thread{inheritParent} dmPolicy allowFrom defaultTo dm{enabled policy allowFrom groupEnabled groupChannels}
  guilds{*} heartbeat{showOk showAlerts useIndicator} healthMonitor{enabled} execApprovals{enabled approvers
  agentFilter sessionFilter cleanupAfterResolve target} agentComponents{enabled} ui{components}
  slashCommand{ephemeral} threadBindings{enabled idleHours maxAgeHours spawnSessions defaultSpawnContext
  spawnSubagentSessions spawnAcpSessions} intents{presence guildMembers voiceStates} voice{enabled mode agentSession
  model realtime autoJoin followUsersEnabled followUsers allowedChannels daveEncryption decryptionFailureTolerance
  connectTimeoutMs reconnectGraceMs captureSilenceGraceMs tts} pluralkit{enabled token} responsePrefix ackReaction
  ackReactionScope activity status autoPresence{enabled intervalMs minUpdateIntervalMs healthyText degradedText
  exhaustedText} activityType activityUrl inboundWorker{runTimeoutMs} eventQueue{listenerTimeout maxQueueSize
  maxConcurrency} accounts{*} defaultAccount} feishu googlechat imessage irc line matrix mattermost msteams
  nextcloud-talk nostr qqbot signal{name capabilities markdown{tables} enabled configWrites account accountUuid
  httpUrl httpHost httpPort cliPath autoStart startupTimeoutMs receiveMode ignoreAttachments ignoreStories
  sendReadReceipts dmPolicy allowFrom defaultTo groupAllowFrom groupPolicy contextVisibility groups{*} historyLimit
  dmHistoryLimit dms{*} textChunkLimit chunkMode blockStreaming blockStreamingCoalesce{minChars maxChars idleMs}
  mediaMaxMb reactionNotifications reactionAllowlist actions{reactions} reactionLevel heartbeat{showOk showAlerts
  useIndicator} healthMonitor{enabled} responsePrefix apiMode accounts{*} defaultAccount} slack{name mode
  socketMode{clientPingTimeout serverPingTimeout pingPongLoggingEnabled} signingSecret webhookPath
  capabilities{interactiveReplies} execApprovals{enabled approvers agentFilter sessionFilter target}
  markdown{tables} enabled commands{native nativeSkills} configWrites botToken appToken userToken userTokenReadOnly
  allowBots botLoopProtection{enabled maxEventsPerWindow windowSeconds cooldownSeconds} dangerouslyAllowNameMatching
  requireMention groupPolicy contextVisibility historyLimit dmHistoryLimit dms{*} textChunkLimit unfurlLinks
  unfurlMedia streaming{mode chunkMode preview progress block nativeTransport} mediaMaxMb reactionNotifications
  reactionAllowlist replyToMode replyToModeByChatType{direct group channel} thread{historyScope inheritParent
  initialHistoryLimit requireExplicitMention} actions{reactions messages pins search permissions memberInfo
  channelInfo emojiList} slashCommand{enabled name sessionPrefix ephemeral} dmPolicy allowFrom defaultTo dm{enabled
  policy allowFrom groupEnabled groupChannels replyToMode} channels{*} heartbeat{showOk showAlerts useIndicator}
  healthMonitor{enabled} responsePrefix ackReaction typingReaction accounts{*} defaultAccount} synology-chat
  telegram{name capabilities{inlineButtons} execApprovals{enabled approvers agentFilter sessionFilter target}
  markdown{tables} enabled commands{native nativeSkills} customCommands{*} configWrites dmPolicy botToken tokenFile
  replyToMode dm{threadReplies} groups{*} allowFrom defaultTo groupAllowFrom groupPolicy contextVisibility
  historyLimit dmHistoryLimit dms{*} direct{*} textChunkLimit streaming{mode chunkMode preview progress block}
  mediaMaxMb timeoutSeconds mediaGroupFlushMs pollingStallThresholdMs retry{attempts minDelayMs maxDelayMs jitter}
  network{autoSelectFamily dnsResultOrder dangerouslyAllowPrivateNetwork} proxy webhookUrl webhookSecret webhookPath
  webhookHost webhookPort webhookCertPath actions{reactions sendMessage poll deleteMessage editMessage sticker
  createForumTopic editForumTopic} threadBindings{enabled idleHours maxAgeHours spawnSessions defaultSpawnContext
  spawnSubagentSessions spawnAcpSessions} reactionNotifications reactionLevel heartbeat{showOk showAlerts
  useIndicator} healthMonitor{enabled} linkPreview silentErrorReplies responsePrefix ackReaction errorPolicy
  errorCooldownMs apiRoot trustedLocalFileRoots autoTopicLabel{enabled prompt} accounts{*} defaultAccount} tlon
  twitch whatsapp{enabled capabilities markdown{tables} configWrites sendReadReceipts messagePrefix responsePrefix
  dmPolicy selfChatMode allowFrom defaultTo groupAllowFrom groupPolicy contextVisibility historyLimit dmHistoryLimit
  dms{*} textChunkLimit chunkMode blockStreaming blockStreamingCoalesce{minChars maxChars idleMs} groups{*}
  direct{*} ackReaction{emoji direct group} reactionLevel debounceMs replyToMode heartbeat{showOk showAlerts
  useIndicator} healthMonitor{enabled} accounts{*} defaultAccount mediaMaxMb actions{reactions sendMessage polls}}
  zalo zalouser}
discovery{wideArea mdns}
talk
gateway{port mode bind customBindHost controlUi{enabled basePath root embedSandbox allowExternalEmbedUrls
  chatMessageMaxWidth allowedOrigins dangerouslyAllowHostHeaderOriginFallback allowInsecureAuth
  dangerouslyDisableDeviceAuth} auth{mode token password allowTailscale rateLimit{maxAttempts windowMs lockoutMs
  exemptLoopback} trustedProxy{userHeader requiredHeaders allowUsers allowLoopback}} trustedProxies
  allowRealIpFallback tools{deny allow} webchat{chatHistoryMaxChars} handshakeTimeoutMs channelHealthCheckMinutes
  channelStaleEventThresholdMinutes channelMaxRestartsPerHour tailscale{mode resetOnExit preserveFunnel}
  remote{enabled url transport remotePort token password tlsFingerprint sshTarget sshIdentity} reload{mode
  debounceMs deferralTimeoutMs} tls{enabled autoGenerate certPath keyPath caPath} http{endpoints{chatCompletions
  responses} securityHeaders{strictTransportSecurity}} push{apns{relay}} nodes{browser{mode node}
  pairing{autoApproveCidrs} allowCommands denyCommands}}
memory{backend citations qmd{command mcporter{enabled serverName startDaemon} searchMode searchTool
  includeDefaultMemory paths{*} sessions{enabled exportDir retentionDays} update{interval debounceMs onBoot startup
  startupDelayMs waitForBootSync embedInterval commandTimeoutMs updateTimeoutMs embedTimeoutMs} limits{maxResults
  maxSnippetChars maxInjectedChars timeoutMs} scope{default rules}}}
mcp{servers sessionIdleTtlMs}
skills{allowBundled load{extraDirs allowSymlinkTargets watch watchDebounceMs} install{preferBrew nodeManager
  allowUploadedArchives} limits{maxCandidatesPerRoot maxSkillsLoadedPerSource maxSkillsInPrompt maxSkillsPromptChars
  maxSkillFileBytes} entries{*{enabled apiKey env config}}}
plugins{enabled allow deny load{paths} slots{memory contextEngine} entries{*{enabled config
  hooks{allowConversationAccess allowPromptInjection timeoutMs timeouts} llm{allowModelOverride allowedModels}
  subagent{allowModelOverride allowedModels} env apiKey}} installs}
surfaces{*}
proxy{enabled proxyUrl tls loopbackMode}
tui audit media
gateway{auth{identityScopes trustedProxy{cloudflareAccessOidc deviceAutoApprove}} controlUi{experimental environment
communityInvite github sessionObserver automaticallyFetchFavicons} publicOrigin portals cliAgents terminal
remote{edgeAuth sshHostKeyPolicy} nodes{pairing{autoApproveLocal sshVerify} pluginTools allowSkills commands}}
agents{defaults{compaction{thinkingLevel} 
heartbeat{agentId} utilityModel decisionModel mediaModels voiceModel pdfMaxMb cwd
embeddedAgent fastModeDefault imageQuality systemAgent sessionStore modelSelectionScope authInheritance silentReplyRewrite
memorySearch{rememberAcrossConversations}} entries{*{
tools{swarm github} cwd utilityModel decisionModel embeddedAgent typingMode}} ownership} models{providers{*{region}}
catalogRefresh bedrockDiscovery} tools{web{fetch{headers}} github
media{image{preferredModel} audio{preferredModel} video{preferredModel}} codeMode{executor} swarm}
browser{extensionRelay allowSystemProfileImport relayBindHost controlUrl controlToken driver} mcp{apps} session{parentForkMaxTokens heartbeatIdleMinutes threadBindings{ttlHours} notifyOnCreate sharing
maintenance{coldStorage archiveDashboardAfter preserveRecent}} messages{usageTemplate responseUsage tts{providers{*}}}
cron{webhookSsrfPolicy{allowRfc2544BenchmarkRange allowIpv6UniqueLocalRange} failureAlert{channel to}
triggers} skills{workshop} logging{audit} meta{migrations} wizard{accessMode
appRecommendations securityAcknowledgedAt} telemetry ui{prefs} nodeHost{autoUpdate agentRuns workerRuns mcp skills}
canvasHost bridge plugins{bundledDiscovery} commands{modelsWrite}
channels{telegram{heartbeatVisibility{showOk showAlerts useIndicator} joinIntro richMessages} discord{heartbeatVisibility{showOk
showAlerts useIndicator} joinIntro activities{clientSecret applicationId}} slack{heartbeatVisibility{showOk showAlerts useIndicator}
joinIntro postAs relay{url authToken gatewayId} implicitMentions{replyToBot quotedBot threadParticipation} presenceEvents{mode
prompt}} signal{heartbeatVisibility{showOk showAlerts useIndicator} streaming{block} aliases{*} configPath socketPath}
whatsapp{heartbeatVisibility{showOk showAlerts useIndicator} streaming{block} pluginHooks{messageReceived}}}
diagnostics{memoryPressure memoryPressureBundle} worktreeRoot worktreeAcceleration transcripts  cloudWorkers desktop
`;
