/** Module for context engines: `openclaw/plugin-sdk/core`. */
import { fromPlugin } from "../plugins/exchanged-keys.ts";
import { pluginHost } from "../plugins/host-slot.ts";
import type { CompactParams, CompactResult } from "../types/engine/context-engine.ts";

export type {
  AfterTurnParams,
  AgentMessage,
  AssembleParams,
  AssembleResult,
  BootstrapParams,
  BootstrapResult,
  CommitTurnParams,
  CommitTurnResult,
  CompactParams,
  CompactResult,
  ContextEngine,
  ContextEngineFactory,
  ContextEngineFactoryContext,
  ContextEngineInfo,
  ContextEngineRuntimeContext,
  HostRequirement,
  IngestBatchParams,
  IngestBatchResult,
  IngestParams,
  IngestResult,
  LlmCompletion,
  LlmCompletionRequest,
  MaintainParams,
  MaintainResult,
  PromptCacheFacts,
  SubagentEndedParams,
  SubagentSpawnParams,
  SubagentSpawnPreparation,
  TranscriptRewrite,
  TranscriptRewriteResult,
} from "../types/engine/context-engine.ts";
export type { AgentInternalEvent } from "../types/engine/internal-event.ts";
export type { InputProvenance } from "../types/run/model.ts";
export type {
  ChannelGatewayContext,
  ChannelPlugin,
  OpenClawConfig,
  PluginLogger,
} from "../types/plugin/channel-plugin.ts";
export type { OpenClawPluginApi } from "./plugin-entry.ts";
export { definePluginEntry, emptyPluginConfigSchema } from "./plugin-entry.ts";
export { DEFAULT_ACCOUNT_ID, normalizeAccountId } from "./account-id.ts";
export { defineChannelPluginEntry } from "./parts/channel-core.ts";
export { buildChannelConfigSchema } from "./channel-config-schema.ts";
export { readNumberParam, readStringArrayParam, readStringParam } from "./parts/param-readers.ts";
export { extractToolSend } from "./parts/tool-send.ts";
export { jsonResult, stringEnum, textResult } from "./parts/tool-results.ts";

/** `api.runtime`; docs/reference/plugins.md lists its members. */
// oxlint-disable-next-line typescript/no-explicit-any -- plugins of the field compile against members of many shapes
export type PluginRuntime = any;

/**
 * The built-in compaction for an engine that does not own compaction: hand on what `compact` was called with. A session
 * without a turn under way, or a process without a gateway, is answered with `ok: false`. Rejects as the compaction does.
 */
export async function delegateCompactionToRuntime(params: CompactParams): Promise<CompactResult> {
  const host = pluginHost();
  if (!host) return { ok: false, compacted: false, reason: "no gateway runs in this process" };
  return host.compact(fromPlugin(params, host.keys));
}

/** The memory plugin's part of the system prompt, to be put before it; undefined when there is none. */
export function buildMemorySystemPromptAddition(request: {
  availableTools: ReadonlySet<string>;
  citationsMode?: string | undefined;
}): string | undefined {
  const { availableTools, citationsMode } = request;
  const sections = pluginHost()?.memoryPrompt({
    availableTools,
    ...(citationsMode !== undefined && { citationsMode }),
  });
  const text = (sections ?? []).join("\n").trim();
  return text === "" ? undefined : text;
}
