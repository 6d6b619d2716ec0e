import { Browsers } from "../../browser/browsers.ts";
import { browserTools } from "../../browser/tool/tool.ts";
import { daemonTools } from "./daemon-tools.ts";
import { hostBackends } from "../../tools/host/host.ts";
import { ACTIONS, inputFor } from "../../tools/message/fields.ts";
import { MESSAGE_TOOL } from "../../tools/message/message-result.ts";
import { Processes } from "../../tools/process/processes.ts";
import { toolSchema } from "../../tools/schema.ts";
import { sessionTools } from "../../tools/session/session-tools.ts";
import { backendTools } from "../../tools/tools.ts";
import { shownWebTools } from "./shown-web-tools.ts";
import { systemClock } from "../../types/clock.ts";
import { agentId, sessionKey } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import { OPERATOR } from "../../types/run/principal.ts";
import type { ToolScene } from "../../types/run/tool.ts";
import type { Config } from "../config/schema.ts";

/** A tool of the gateway itself, with the JSON Schema of its arguments. */
export interface BuiltInTool {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** No tool of this list is ever called. */
async function unused(): Promise<never> {
  throw new Error("this tool only describes itself");
}

/** The gateway's own tools as a run with an owner's rights has them, by name. */
export function builtInTools(browser: Config["browser"]): readonly BuiltInTool[] {
  const contributions = [
    ...backendTools({ isAllowed: unused }, new Processes({ clock: systemClock, exited: () => undefined })),
    ...sessionTools({
      keepPlan: unused,
      status: unused,
      chooseModel: unused,
      agents: () => ({ all: [], mayStart: [] }),
    }),
    ...daemonTools,
    ...shownWebTools(),
    ...browserTools(browsersFor(browser)),
  ];
  const scene = sceneOf();
  const made = contributions.flatMap(
    (one) => one.forRun({ ...scene, names: contributions.map(({ name }) => name) }) ?? [],
  );
  const message = { name: MESSAGE_TOOL, ...inputFor(ACTIONS, true) };
  return [...made, message]
    .map((tool) => ({ name: tool.name, schema: toolSchema(tool) }))
    .toSorted((a, b) => a.name.localeCompare(b.name, "en"));
}

const ignore = (): void => undefined;

const NO_LOG: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore, with: () => NO_LOG };

const browsersFor = (config: Config["browser"]): Browsers =>
  new Browsers({
    clock: systemClock,
    log: NO_LOG,
    config: () => ({ ...config, enabled: true }),
    profiles: "/",
    files: "/",
    env: {},
    load: unused,
  });

function sceneOf(): ToolScene {
  const settings = {
    id: agentId("main"),
    workspace: "/workspace",
    tools: { global: { key: "tools" }, workspaceOnly: true },
    exec: { security: "full", ask: "off", timeoutMs: 0, safeBins: [], pathPrepend: [] },
  } as const;
  return {
    ...hostBackends({ settings, rights: "owner", deniedPaths: [] }),
    agent: settings,
    acting: { principal: OPERATOR, sessionKey: sessionKey("docs") },
  };
}
