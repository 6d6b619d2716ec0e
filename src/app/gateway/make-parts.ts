import { dropNow } from "../../dispatch/clients/operator.ts";
import { background } from "../../utils/background.ts";
import { packageVersion } from "../package-root.ts";
import { type OpenHookFolders, openHookFolders } from "../plugins/hooks/open-hook-folders.ts";
import { type OpenPlugins, openPlugins } from "../plugins/open-plugins.ts";
import { openCron } from "./cron/open-cron.ts";
import { openTasks } from "../tasks/desk.ts";
import { createHeartbeats } from "./methods/heartbeats.ts";
import type { Parts, StartOptions } from "./parts/parts.ts";
import { isFields } from "../../utils/fields.ts";
import { hookDesk } from "./hooks/open-hooks.ts";

/** Completes the parts of a gateway; loads its plugins. */
export async function makeParts(
  opened: Pick<Parts, "live" | "log" | "core" | "channels" | "events" | "stopping">,
  following?: StartOptions["followingErrors"],
): Promise<Parts> {
  const { live, log, core } = opened;
  const rest = { ...opened, version: packageVersion(), startedAt: Date.now(), model: {}, tasks: tasksOf(opened) };
  const heartbeats = createHeartbeats(rest);
  const cron = await openCron({ ...rest, heartbeats });
  core.desks.open({ tasks: rest.tasks, loops: cron.loops });
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

/**
 * The plugins together with the hook folders. Plugins are loaded first, because they may have hooks, and closed last.
 */
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
    processes: () => core.processes?.all() ?? [],
  });

type StartParts = Pick<Parts, "live" | "core" | "channels" | "stopping" | "startedAt">;

/**
 * The context of `gateway:startup`: the agents with their workspaces, and a function that begins a turn of one, whose
 * answer the owner gets.
 */
function startupFacts(parts: StartParts): Readonly<Record<string, unknown>> {
  const { live, channels, startedAt } = parts;
  const config = () => ({ ...live.config.hooks, allowedSessionKeyPrefixes: [] });
  const desk = hookDesk(parts, config);
  const beginTurn = async (asked: unknown): Promise<boolean> => {
    // With another gateway on the same chats, this one sends nothing on its own.
    if (channels.held !== undefined) return false;
    const { name, agentId, message } = readTurn(asked);
    const place = { agentId, sessionKey: name, sessionMode: "isolated" as const, deliver: true };
    const act = { kind: "agent" as const, name, message, ...place, isTrusted: true, isOwn: true as const };
    // Each start has a turn of its own, which the journal keeps until it has ended.
    const begun = await desk.begin([act], [name, agentId, startedAt].join("\n"));
    if ("error" in begun) throw new Error(begun.error);
    return true;
  };
  return {
    workspaceDir: live.defaultAgent.workspace,
    agents: live.agents.map(({ id, workspace }) => ({ agentId: id, workspaceDir: workspace })),
    beginTurn,
  };
}

function readTurn(asked: unknown) {
  const { name, agentId, message } = isFields(asked) ? asked : {};
  if (typeof name === "string" && typeof agentId === "string" && typeof message === "string")
    return { name, agentId, message };
  throw new Error("beginTurn needs a name, an agentId and a message");
}
