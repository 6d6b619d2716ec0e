/** Plugins that come with OpenClaw, and whose work this gateway does itself. */
const BUILT_IN = `anthropic openai google openrouter xai github-copilot ollama lmstudio litellm vllm sglang together
  huggingface nvidia minimax opencode opencode-go amazon-bedrock cerebras deepseek fireworks groq kimi-coding mistral moonshot
  vercel-ai-gateway zai elevenlabs browser webhooks device-pair web-readability document-extract image-generation-core
  session-memory`;

/** Plugins that come or came with OpenClaw, and whose work nothing does here. */
const NO_COUNTERPART = `a2a acpx active-memory admin-http-rpc alibaba apple-fm azure-speech beam bluebubbles bonjour canvas
  clawrouter clickclack code-mode-quickjs copilot-proxy crabbox cua-computer deepgram diagnostics-otel diagnostics-prometheus
  diffs fal feishu file-transfer geolocation github google-antigravity-auth google-gemini-cli-auth googlechat imap imessage irc
  line linux-node lobster logbook matrix mattermost memory-lancedb memory-wiki microsoft microsoft-foundry migrate-claude
  migrate-hermes msteams nextcloud-talk nostr oc-path onepassword open-prose openshell phone-control policy qqbot
  qwen-portal-auth reef runway senseaudio session-share synology-chat talk-voice thread-ownership tlon tts-local-cli twitch
  vault voice-call workboard zalo zalouser`;

const words = (text: string): readonly string[] => text.split(/\s+/);

const ALL: ReadonlyMap<string, "built in" | "no counterpart"> = new Map([
  ...words(NO_COUNTERPART).map((id) => [id, "no counterpart"] as const),
  ...words(BUILT_IN).map((id) => [id, "built in"] as const),
]);

/**
 * What stands here for a plugin that comes with OpenClaw: the gateway itself, or nothing. Undefined for any other plugin,
 * which has to be installed.
 */
export const standsFor = (id: string): "built in" | "no counterpart" | undefined => ALL.get(id);

/** Said of a plugin of OpenClaw that has no counterpart. */
export const NO_COUNTERPART_HERE = "comes with OpenClaw and has no counterpart here; its entry has no effect";
