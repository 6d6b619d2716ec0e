import { hostBackends } from "../../src/tools/host/host.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { OPERATOR } from "../../src/types/run/principal.ts";
import type { ToolScene } from "../../src/types/run/tool.ts";

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
