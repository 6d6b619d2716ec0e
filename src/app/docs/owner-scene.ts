import { hostBackends } from "../../tools/host/host.ts";
import { agentId, sessionKey } from "../../types/ids.ts";
import { OPERATOR } from "../../types/run/principal.ts";
import type { ToolScene } from "../../types/run/tool.ts";

const MODELS = { models: [{ provider: "any", id: "any" }] };

/** A run with an owner's rights, with a config that leaves no tool out. */
export function ownerScene(): ToolScene {
  const settings = {
    id: agentId("main"),
    workspace: "/workspace",
    tools: { global: { key: "tools" }, workspaceOnly: true },
    media: { image: MODELS, draw: MODELS, pdfMaxBytes: 10_485_760, pdfMaxPages: 20 },
    exec: { security: "full", ask: "off", timeoutMs: 0, safeBins: [], pathPrepend: [] },
  } as const;
  return {
    ...hostBackends({ settings, rights: "owner", deniedPaths: [] }),
    agent: settings,
    acting: { principal: OPERATOR, sessionKey: sessionKey("docs") },
  };
}
