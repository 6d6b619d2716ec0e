import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import type { StatePaths } from "../config/paths.ts";
import { installedRoot } from "../package-root.ts";
import { launchd } from "./launchd.ts";
import type { ServiceManager, ServicePlan, ServiceScene } from "./manager.ts";
import { systemd } from "./systemd.ts";
import { taskScheduler } from "./task-scheduler.ts";

/** The manager of this system. Throws SERVICE_UNSUPPORTED where there is none. */
export function managerFor(
  platform: NodeJS.Platform,
  plan: Pick<ServicePlan, "profile" | "stateDir">,
  scene: ServiceScene,
): ServiceManager {
  if (platform === "linux") return systemd(plan, scene);
  if (platform === "darwin") return launchd(plan, scene);
  if (platform === "win32") return taskScheduler(plan, scene);
  throw new OpenClawError("SERVICE_UNSUPPORTED", {
    message: `The gateway has no service for ${platform}.`,
    fix: "Let the system's own service manager run: openclaw gateway run",
  });
}

/** Choices of a person for the service. */
export interface ServiceChoices {
  /** Port on the command line, as earlier versions wrote it; `gateway install` writes `gateway.port` instead. */
  readonly port?: number | undefined;
  /** Program that runs the gateway's script instead of this Node. */
  readonly runtimePath?: string | undefined;
  /** Program that is given the whole command line. */
  readonly wrapper?: string | undefined;
}

/** The service of a state directory. */
export function servicePlan(
  paths: StatePaths,
  { env, home }: Pick<ServiceScene, "env" | "home">,
  choices: ServiceChoices = {},
): ServicePlan {
  const { stateDir, configPath } = paths;
  if (/\p{Cc}/u.test(stateDir + configPath + home))
    throw new OpenClawError("SERVICE_UNSUPPORTED", {
      message: "The path of the state directory has a line break or another control character.",
      fix: "Move the directory to a path without one.",
    });
  const profile = profileOf(stateDir, home);
  const port = choices.port === undefined ? [] : ["--port", String(choices.port)];
  const node = choices.runtimePath === undefined ? realpathSync(process.execPath) : resolve(choices.runtimePath);
  const argv = [node, join(installedRoot(), "bin", "openclaw.mjs"), "gateway", "run", ...port];
  const isOwnConfig = resolve(configPath) !== join(stateDir, "openclaw.json");
  const { NODE_EXTRA_CA_CERTS: certificates } = env;
  return {
    ...(profile !== undefined && { profile }),
    stateDir,
    argv: choices.wrapper === undefined ? argv : [resolve(choices.wrapper), ...argv],
    env: {
      HOME: home,
      PATH: pathFor(node, home),
      OPENCLAW_STATE_DIR: stateDir,
      ...(isOwnConfig && { OPENCLAW_CONFIG_PATH: configPath }),
      ...(certificates !== undefined && { NODE_EXTRA_CA_CERTS: certificates }),
      OPENCLAW_SERVICE_MARKER: "openclaw",
      NODE_OPTIONS: "",
    },
    secretsFile: join(stateDir, "service-env", "gateway.env"),
  };
}

/** `try` for `~/.openclaw-try`; another directory than `~/.openclaw` gets a short name from its path. */
export function profileOf(stateDir: string, home: string): string | undefined {
  if (stateDir === join(home, ".openclaw")) return undefined;
  const named = /^\.openclaw-([\w-]{1,40})$/.exec(basename(stateDir))?.[1];
  if (named !== undefined && dirname(stateDir) === home) return named;
  return createHash("sha256").update(stateDir).digest("hex").slice(0, 8);
}

/** Folders of programs that a service finds: those of this Node and of the system. */
function pathFor(node: string, home: string): string {
  const own = [dirname(node), join(home, ".local", "bin"), join(home, "bin")].filter((dir) => existsSync(dir));
  return [...new Set([...own, "/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"])].join(
    ":",
  );
}
