import { background } from "../../utils/background.ts";
import { packageVersion } from "../package-root.ts";
import { openPlugins } from "../plugins/open-plugins.ts";
import { openCron } from "./cron/open-cron.ts";
import { createHeartbeats } from "./methods/heartbeats.ts";
import type { Parts, StartOptions } from "./parts.ts";

/** Completes the parts of a gateway; loads its plugins. */
export async function makeParts(
  opened: Pick<Parts, "live" | "log" | "core" | "channels" | "events" | "stopping">,
  following?: StartOptions["followingErrors"],
): Promise<Parts> {
  const { live, log, core } = opened;
  const rest = { ...opened, version: packageVersion(), startedAt: Date.now(), model: {} };
  const heartbeats = createHeartbeats(rest);
  const cron = await openCron({ ...rest, heartbeats });
  const requestHeartbeat = () => background("heartbeat of a plugin", heartbeats.wake(live.defaultAgent.id), log);
  const plugins = await openPlugins({ live, core, log, requestHeartbeat, ...(following && { following }) });
  return { ...rest, heartbeats, cron, plugins };
}
