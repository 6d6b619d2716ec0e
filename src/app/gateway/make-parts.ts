import { dropNow } from "../../dispatch/clients/operator.ts";
import { background } from "../../utils/background.ts";
import { packageVersion } from "../package-root.ts";
import { type OpenHookFolders, openHookFolders } from "../plugins/hooks/open-hook-folders.ts";
import { type OpenPlugins, openPlugins } from "../plugins/open-plugins.ts";
import { openCron } from "./cron/open-cron.ts";
import { startupFacts } from "./hooks/startup.ts";
import { openTasks } from "../tasks/desk.ts";
import { createHeartbeats } from "./methods/heartbeats.ts";
import type { Parts, StartOptions } from "./parts.ts";

/** Completes the parts of a gateway; loads its plugins. */
export async function makeParts(
  opened: Pick<Parts, "live" | "log" | "core" | "channels" | "events" | "stopping">,
  following?: StartOptions["followingErrors"],
): Promise<Parts> {
  const { live, log, core } = opened;
  const rest = { ...opened, version: packageVersion(), startedAt: Date.now(), model: {}, tasks: tasksOf(opened) };
  const heartbeats = createHeartbeats(rest);
  const cron = await openCron({ ...rest, heartbeats });
  const requestHeartbeat = () => background("heartbeat of a plugin", heartbeats.wake(live.defaultAgent.id), log);
  const plugins = await openPlugins({ live, core, log, requestHeartbeat, ...(following && { following }) });
  const hooks = openHookFolders({ live, core, log });
  await hooks.follow();
  return {
    ...rest,
    heartbeats,
    cron,
    plugins: { ...withHooks(plugins, hooks), started: () => hooks.folders.start(startupFacts(rest)) },
  };
}

/** Plugins come first, because they may have hooks, and go last. */
const withHooks = (plugins: OpenPlugins, hooks: OpenHookFolders): Omit<Parts["plugins"], "started"> => ({
  ...plugins,
  hooks,
  async follow(next) {
    await plugins.follow(next);
    await hooks.follow();
  },
  async close() {
    hooks.close();
    await plugins.close();
  },
});

const tasksOf = ({ live, core }: Pick<Parts, "live" | "core">): Parts["tasks"] =>
  openTasks({
    journal: core.journal,
    sessions: core.sessions,
    end: async (row) => (await dropNow(row, core.dispatch, core.ports)) !== "ended",
    names: { defaultAgent: live.defaultAgent.id, entryOf: (key) => core.sessions.peek(key) },
    processes: () => core.ports.processes?.all() ?? [],
  });
