import { agentId } from "../../src/types/ids.ts";
import type { AgentSettings } from "../../src/types/settings.ts";
import { MODEL } from "./models.ts";

export function settingsFor(workspace: string): AgentSettings {
  return {
    id: agentId("main"),
    workspace,
    model: { primary: MODEL, fallbacks: [] },
    thinking: "off",
    timeoutMs: 60_000,
    timezone: "UTC",
    prompt: { bootstrapMaxChars: 1000, bootstrapTotalMaxChars: 1000, skipBootstrap: true },
    tools: { global: { key: "tools" }, workspaceOnly: true },
    exec: { security: "deny", ask: "off", timeoutMs: 1000, safeBins: [], pathPrepend: [] },
    streaming: {
      blocks: false,
      breakAt: "text_end",
      chunk: { minChars: 40, maxChars: 200, breakPreference: "paragraph" },
    },
  };
}
