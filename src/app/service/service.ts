import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import type { StatePaths } from "../config/paths.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { installedRoot, oldestNode } from "../package-root.ts";
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

/** Throws USAGE for a program of the service that cannot be run. */
export async function refuseUnusable({ runtimePath, wrapper }: ServiceChoices): Promise<void> {
  for (const [flag, given] of [
    ["--runtime-path", runtimePath],
    ["--wrapper", wrapper],
  ]) {
    if (given === undefined) continue;
    const path = resolve(given);
    const isProgram = (await unlessMissing(stat(path)))?.isFile() === true;
    const runs =
      isProgram &&
      (await access(path, constants.X_OK).then(
        () => true,
        () => false,
      ));
    if (runs) continue;
    throw new OpenClawError("USAGE", {
      message: `${flag} ${path} is ${isProgram ? "not executable" : "no file"}, so the service could not start.`,
      fix: isProgram ? `Run: chmod +x ${path}` : "Give the path of a program, such as the output of: which node",
    });
  }
  if (runtimePath !== undefined) await refuseNoNode(resolve(runtimePath));
}

/** Milliseconds in which a Node says its version. */
const VERSION_MS = 20_000;

/** Throws USAGE for a program that is no Node, or one that is too old for the gateway. */
async function refuseNoNode(path: string): Promise<void> {
  const { promise, resolve: answered } = Promise.withResolvers<{ readonly said: string; readonly error?: Error }>();
  execFile(path, ["--version"], { timeout: VERSION_MS }, (error, stdout) =>
    answered({ said: stdout.trim(), ...(error && { error }) }),
  );
  const { said, error } = await promise;
  const version = error ? undefined : /^v(\d+)\.(\d+)\.\d+$/.exec(said);
  const [major = 0, minor = 0] = oldestNode().split(".").map(Number);
  if (version && (Number(version[1]) > major || (Number(version[1]) === major && Number(version[2]) >= minor))) return;
  const why = version
    ? `is Node ${said}, and the gateway needs Node ${oldestNode()} or newer`
    : `is no Node: \`${path} --version\` ${error ? `failed (${errorText(error).split("\n")[0]})` : `said ${JSON.stringify(said.slice(0, 80))}`}`;
  throw new OpenClawError("USAGE", {
    message: `--runtime-path ${path} ${why}.`,
    fix: "Give the path of a Node, such as the output of: which node; or leave --runtime-path out, and the Node of this command is used.",
  });
}
