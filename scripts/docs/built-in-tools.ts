import { sessionKey } from "../../src/types/ids.ts";
import { Browsers } from "../../src/browser/browsers.ts";
import { browserTools } from "../../src/browser/tool.ts";
import { daemonTools } from "./daemon-tools.ts";
import { ttsContribution } from "../../src/tools/media/tts.ts";
import { mediaTools } from "../../src/tools/media-tools.ts";
import { ACTIONS, inputFor } from "../../src/tools/message/fields.ts";
import { MESSAGE_TOOL } from "../../src/tools/message/message-result.ts";
import { Processes } from "../../src/tools/process/processes.ts";
import { toolSchema } from "../../src/tools/schema.ts";
import { sessionTools } from "../../src/tools/session/session-tools.ts";
import { backendTools } from "../../src/tools/tools.ts";
import { webFetchConfig } from "../../src/tools/web/config.ts";
import { shownWebTools } from "./shown-web-tools.ts";
import { systemClock } from "../../src/types/clock.ts";
import type { Log } from "../../src/types/log.ts";
import type { Config } from "../../src/app/config/schema/schema.ts";
import { ownerScene } from "./owner-scene.ts";

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
      named: sessionKey,
      shown: (key) => key,
      status: unused,
      chooseModel: unused,
      whyHidden: () => undefined,
      agents: () => ({ all: [], mayStart: [] }),
    }),
    ...daemonTools,
    ...shownWebTools(),
    ...mediaTools({ web: () => webFetchConfig.parse({}), mediaDir: "/media", keep: unused }),
    ttsContribution({ levelOf: () => "off", services: ["local"], speak: unused, keep: unused }),
    ...browserTools(browsersFor(browser)),
  ];
  const scene = ownerScene();
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
