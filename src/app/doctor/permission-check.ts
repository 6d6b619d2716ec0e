import { chmod, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Check, CheckResult } from "../../types/check.ts";
import { accessFault, type AccessFault } from "../../utils/access-fault.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { gatewayTokenFile } from "../config/gateway-token.ts";
import type { StatePaths } from "../config/paths.ts";

interface Target {
  readonly path: string;
  readonly mode: number;
}

/**
 * Whether no other user may read or write the state directory and the config, and this user may use everything in them.
 */
export function permissionCheck(paths: StatePaths): Check {
  const targets: readonly Target[] = [
    { path: paths.stateDir, mode: 0o700 },
    { path: paths.credentials, mode: 0o700 },
    { path: paths.configPath, mode: 0o600 },
    { path: `${paths.configPath}.bak`, mode: 0o600 },
    { path: gatewayTokenFile(paths), mode: 0o600 },
  ];
  return {
    id: "app.permissions",
    title: "Permissions",
    async run() {
      const closed = deniedResults(await deniedIn(paths));
      if (process.platform === "win32")
        return closed.length > 0 ? closed : [{ status: "skip", message: "Windows has no file modes." }];
      const open = (await Promise.all(targets.map(look))).filter((result) => result !== undefined);
      const found = [...closed, ...open];
      return found.length > 0 ? found : [{ status: "ok", message: `${paths.stateDir} is private.` }];
    },
  };
}

/**
 * Paths that this user may not use: directories that the gateway fills, files that it writes, and files that it reads.
 */
async function deniedIn(paths: StatePaths): Promise<readonly AccessFault[]> {
  const { stateDir, stateSub, sessionsDir, credentials, media, logs, configPath } = paths;
  const filled = [stateDir, stateSub, sessionsDir, credentials, media, logs];
  const dirs = await Promise.all(filled.map((path) => accessFault(path, "fill")));
  const written = await Promise.all([stateSub, sessionsDir].map(filesIn));
  const read = [configPath, ...(await filesIn(credentials))];
  const files = await Promise.all([
    ...written.flat().map((path) => accessFault(path, "write")),
    ...read.map((path) => accessFault(path, "read")),
  ]);
  return [...dirs, ...files].filter((fault) => fault !== undefined);
}

/** The files of a directory. None when it is missing or closed, which `deniedIn` reports of the directory itself. */
async function filesIn(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(dir, name));
}

/** One result for each remedy, with the first path and the number of others. */
function deniedResults(faults: readonly AccessFault[]): readonly CheckResult[] {
  const byFix = Map.groupBy(faults, ({ fix }) => fix);
  return [...byFix.values()].map(([first, ...more]): CheckResult => {
    const { path, why, fix, mode } = first ?? NO_FAULT;
    const others = more.length === 0 ? "" : ` The same holds for ${more.length} more.`;
    const change =
      mode === undefined ? undefined : { describe: fix.slice("Run: ".length), apply: () => chmod(path, mode) };
    return {
      status: "fail",
      message: `This user cannot use ${path}: ${why}.${others}`,
      fix,
      ...(change && { repair: change }),
    };
  });
}

const NO_FAULT: AccessFault = { path: "", why: "", fix: "" };

async function look({ path, mode }: Target): Promise<CheckResult | undefined> {
  const facts = await unlessMissing(stat(path)).catch(() => undefined);
  if (!facts || (facts.mode & 0o077) === 0) return undefined;
  const wanted = mode.toString(8);
  const isOurs = facts.uid === process.getuid?.();
  return {
    status: (facts.mode & 0o022) !== 0 ? "fail" : "warn",
    message: `${path} may be ${doneBy(facts.mode)} (mode ${(facts.mode & 0o777).toString(8)}).`,
    fix: `Run: ${isOurs ? "" : "sudo "}chmod ${wanted} ${path}`,
    ...(isOurs && { repair: { describe: `chmod ${wanted} ${path}`, apply: () => chmod(path, mode) } }),
  };
}

function doneBy(mode: number): string {
  if ((mode & 0o002) !== 0) return "changed by everybody on this machine";
  if ((mode & 0o020) !== 0) return "changed by its group";
  return (mode & 0o004) !== 0 ? "read by everybody on this machine" : "read by its group";
}
