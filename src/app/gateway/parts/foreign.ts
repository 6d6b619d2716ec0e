import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { unlessMissing } from "../../../utils/missing.ts";
import { readInstance } from "../../../store/lock/instance.ts";
import { runningOriginal } from "../../../store/lock/lock.ts";
import type { Live } from "../../live.ts";

/**
 * The reason why channels must stay off: another program used this state directory before, and a trial of this gateway
 * must not take over a running bot, nor must one whose config was imported, or that comes from a backup. Undefined once adopted, or when the directory is ours.
 */
export async function isForeign(live: Pick<Live, "config" | "loaded" | "paths">): Promise<string | undefined> {
  const { config, loaded, paths } = live;
  const instance = await readInstance(paths.stateDir);
  if (instance?.origin === "backup")
    return "this state directory was restored from a backup; once the original is stopped for good, run `openclaw onboard --adopt`";
  if (config.gateway.adopt || instance?.isAdopted === true) return undefined;
  if (instance?.origin === "import")
    return "its config was imported, and the other gateway may still use these bots; once it is stopped for good, run `openclaw onboard --adopt`";
  const wasTouched = loaded.warnings.some(({ key }) => key === "meta" || key.startsWith("meta."));
  const hasAgents = await hasForeignAgents(join(paths.stateDir, "agents"));
  if (!wasTouched && !hasAgents) return undefined;
  return "another program keeps this state directory; run `openclaw onboard --adopt` to take over its channels";
}

/** Whether another program keeps agents in the folder. This gateway has an agent's own keys there, and nothing else. */
async function hasForeignAgents(dir: string): Promise<boolean> {
  for (const agent of (await unlessMissing(readdir(dir))) ?? []) {
    const parts = await readdir(join(dir, agent)).catch(() => ["no folder"]);
    if (parts.some((name) => name !== "agent")) return true;
    const files = await readdir(join(dir, agent, "agent")).catch(() => []);
    if (files.some((name) => !/^\.?(auth-profiles\.json|renew-)/.test(name))) return true;
  }
  return false;
}

/** The warning that this directory is a copy of one whose gateway runs; undefined when none is seen on this machine. */
export async function copyNote(stateDir: string): Promise<{ message: string; fix: string } | undefined> {
  const original = await runningOriginal(stateDir);
  if (!original) return undefined;
  const { dir, pid, port } = original;
  const at = port === undefined ? "" : ` on port ${port}`;
  return {
    message: `This state directory is a copy of ${dir}, whose gateway runs (pid ${pid}${at}).`,
    fix:
      "Two gateways with one bot take each other's messages, and both run the scheduled jobs: switch channels and jobs off in one, " +
      "or stop it. If both are to stay, give this one an id of its own: openclaw gateway instance --renew",
  };
}
