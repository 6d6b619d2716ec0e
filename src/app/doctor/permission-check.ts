import { chmod, stat } from "node:fs/promises";
import type { Check, CheckResult } from "../../types/check.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { gatewayTokenFile } from "../config/gateway-token.ts";
import type { StatePaths } from "../config/paths.ts";

interface Target {
  readonly path: string;
  readonly mode: number;
}

/** No other user may read or write the state directory and the config. */
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
      if (process.platform === "win32") return [{ status: "skip", message: "Windows has no file modes." }];
      const found = (await Promise.all(targets.map(look))).filter((result) => result !== undefined);
      return found.length > 0 ? found : [{ status: "ok", message: `${paths.stateDir} is private.` }];
    },
  };
}

async function look({ path, mode }: Target): Promise<CheckResult | undefined> {
  const facts = await unlessMissing(stat(path));
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
