import { execFile } from "node:child_process";
import { homedir, userInfo } from "node:os";
import { OpenClawError } from "../../types/errors.ts";
import type { Env } from "../../utils/env.ts";
import { resolvePaths, type StatePaths } from "../config/paths.ts";
import { SERVICE_MARK, type Ran, type ServiceManager, type ServiceScene } from "./manager.ts";
import { managerFor, profileOf } from "./service.ts";
import { readTextFile } from "../../store/text-file.ts";

export interface Service {
  readonly manager: ServiceManager;
  readonly paths: StatePaths;
  readonly scene: ServiceScene;
}

/** The service of the state directory that the environment names, whether it is installed or not. Throws SERVICE_UNSUPPORTED. */
export function serviceHere(env: Env): Service {
  const paths = resolvePaths(env);
  const scene = sceneOf(env);
  const profile = profileOf(paths.stateDir, scene.home);
  const plan = { stateDir: paths.stateDir, ...(profile !== undefined && { profile }) };
  return { paths, scene, manager: managerFor(process.platform, plan, scene) };
}

/** Whether this program has written the service's file. */
export const isInstalled = async ({ file }: Pick<ServiceManager, "file">): Promise<boolean> =>
  (await readTextFile(file))?.includes(SERVICE_MARK) === true;

const sceneOf = (env: Env): ServiceScene => ({
  env,
  home: env["HOME"] ?? homedir(),
  uid: process.getuid?.() ?? 0,
  user: userName(env),
  run: ([program = "", ...args]) =>
    new Promise((resolve, reject) => {
      execFile(program, args, { env: { ...env }, maxBuffer: 4 * 1024 * 1024 }, (error, stdout, stderr) => {
        if (error?.code === "ENOENT") reject(missing(program, error));
        else resolve({ code: exitCode(error), out: `${stdout}${stderr}` } satisfies Ran);
      });
    }),
});

/** The name of this user; their number for one without an entry in the system's list, as in a container. */
function userName(env: Env): string {
  try {
    return userInfo().username;
  } catch {
    return env["USER"] || String(process.getuid?.() ?? "");
  }
}

function exitCode(error: { readonly code?: unknown } | null): number {
  if (!error) return 0;
  return typeof error.code === "number" ? error.code : 1;
}

const missing = (program: string, cause: unknown) =>
  new OpenClawError("SERVICE_UNSUPPORTED", {
    message: `There is no \`${program}\` on this machine.`,
    fix: "Run the gateway in a terminal, or by the service manager that this machine has: openclaw gateway run",
    cause,
  });
