import { homedir } from "node:os";
import { join } from "node:path";
import { isCareful } from "../../store/lock/boots.ts";
import { changeInstance } from "../../store/lock/instance.ts";
import { readStateLock } from "../../store/lock/lock.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import { exists } from "../../utils/exists.ts";
import { copyNote, isForeign } from "../gateway/parts/foreign.ts";
import { removeConfigValue } from "../config/edit/write.ts";
import { loadConfig, type LoadOptions } from "../config/load.ts";
import type { StatePaths } from "../config/paths.ts";
import type { Config } from "../config/schema/schema.ts";
import { excessOf, growthOf, growthText, sizeOf, THOROUGH, type GrowthRow } from "../growth/growth.ts";
import type { Env } from "../../utils/env.ts";

/** The first Node with everything that the gateway uses. */
const LEAST_NODE = [22, 19] as const;

export function nodeCheck(version: string = process.versions.node): Check {
  return {
    id: "app.node",
    title: "Node",
    run: async () => {
      const [major = 0, minor = 0] = version.split(".").map(Number);
      const isOld = major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1]);
      if (!isOld) return [{ status: "ok", message: version }];
      return [
        { status: "fail", message: `${version} is too old.`, fix: `Install Node ${LEAST_NODE.join(".")} or newer.` },
      ];
    },
  };
}

/** State directories of OpenClaw and of its earlier names. */
const STATE_DIRS = [".openclaw", ".clawdbot", ".moltbot"];
const SYNCED = /\/(Dropbox|OneDrive[^/]*|Google Drive|iCloud Drive|Mobile Documents)\//;

/** Whether there is one state directory, on a local disk: a second one splits sessions, a synced one corrupts them. */
export function stateDirCheck(paths: StatePaths, env: Env): Check {
  return {
    id: "app.statedir",
    title: "State directory",
    async run() {
      const home = env["HOME"] ?? homedir();
      const others = STATE_DIRS.map((name) => join(home, name)).filter((dir) => dir !== paths.stateDir);
      const there = await Promise.all(others.map(async (dir) => ((await exists(dir)) ? [dir] : [])));
      const synced = SYNCED.test(`${paths.stateDir}/`);
      return [
        { status: "ok", message: paths.stateDir },
        ...there.flat().map((dir) => ({
          status: "warn" as const,
          message: `${dir} is there as well and is not used.`,
          fix: "Set OPENCLAW_STATE_DIR to the one that you mean, or move the other away.",
        })),
        ...(synced
          ? [
              {
                status: "warn" as const,
                message: "It lies in a synced folder, which breaks databases.",
                fix: "Move it to a local disk.",
              },
            ]
          : []),
      ];
    },
  };
}

/**
 * Whether another program keeps the state directory: the channels of this gateway stay off in such a directory. Repairs a mark in the
 * config, which the other program does not know.
 */
export function foreignCheck(paths: StatePaths, load: LoadOptions): Check {
  return {
    id: "app.adopted",
    title: "Directory is ours",
    async run() {
      const loaded = await loadConfig(load);
      if (loaded.config.gateway.adopt) return [inConfig(paths, load)];
      const why = await isForeign({ config: loaded.config, loaded, paths });
      if (why === undefined) return [{ status: "ok", message: "No other program keeps it." }];
      const fix = "Stop the other program before: two programs with one bot's token end each other's connections.";
      return [{ status: "warn", message: `Channels stay off: ${why}.`, fix }];
    },
  };
}

const inConfig = ({ stateDir, configPath }: StatePaths, load: LoadOptions): CheckResult => ({
  status: "warn",
  message: `gateway.adopt is in ${configPath}. OpenClaw does not know the key and starts no more with it.`,
  fix: "Run: openclaw doctor --fix",
  repair: {
    describe: "keep in the state directory that it is adopted, and take gateway.adopt out of the config",
    async apply() {
      await changeInstance(stateDir, { isAdopted: true });
      await removeConfigValue(load, ["gateway", "adopt"]);
    },
  },
});

/** Whether the gateway that runs is in safe mode. */
export const safeModeCheck = ({ stateDir }: Pick<StatePaths, "stateDir">, env: Env): Check => ({
  id: "app.safe-mode",
  title: "Starts",
  async run() {
    const lock = await readStateLock(stateDir);
    if (lock?.alive !== true || env["OPENCLAW_SAFE_MODE"] === "off" || !(await isCareful(stateDir)))
      return [{ status: "ok", message: "The gateway is not in safe mode." }];
    return [
      {
        status: "warn",
        message:
          "The gateway is in safe mode, with channels and jobs off: several starts of five minutes ended without a stop.",
        fix: "See why in openclaw logs. Then: openclaw gateway restart --normal (in a terminal: openclaw gateway run --normal)",
      },
    ];
  },
});

/** Whether the gateway of the directory that this one is a copy of runs. */
export const copyCheck = ({ stateDir }: Pick<StatePaths, "stateDir">): Check => ({
  id: "app.copy",
  title: "Copy",
  async run() {
    const told = await copyNote(stateDir);
    return [told ? { status: "warn", ...told } : { status: "ok", message: "No gateway runs on an original of it." }];
  },
});

/** Whether all that grows has a bound, and keeps it. */
export const growthCheck =
  (env: Env) =>
  (config: Config, { stateDir }: Pick<StatePaths, "stateDir">): Check => ({
    id: "app.growth",
    title: "Growth",
    async run() {
      const all = await growthOf({ config, stateDir, home: env["HOME"] ?? homedir(), env }, THOROUGH);
      const excess = excessOf(all).map(resultOf);
      return excess.length > 0 ? excess : [{ status: "ok", message: `${growthText(all) ?? "Nothing has grown"}.` }];
    },
  });

function resultOf(growth: GrowthRow): CheckResult {
  const { name, path, bound, keys, fix } = growth;
  const of = keys.length === 0 ? "" : ` (${keys.join(", ")})`;
  const size = `${path} has ${sizeOf(growth)} of ${name}`;
  return {
    status: "warn",
    message: bound === undefined ? `${size}, and nothing bounds it${of}.` : `${size}; the bound is ${bound}${of}.`,
    fix,
  };
}
