import { loadAgentSdk } from "../../../harness/run/warm.ts";
import { background } from "../../../utils/background.ts";
import { watchDisk } from "../disk/disk.ts";
import { defaultModel } from "../model-text.ts";
import { tellRefusals } from "../budget-notices.ts";
import type { Parts } from "../parts.ts";
import { reportReadiness } from "../health.ts";
import { watchMail } from "../hooks/watch-mail.ts";
import { setEngineFlags } from "./engine-settings.ts";
import { keepUp } from "./upkeep.ts";

/** What the gateway does besides messages, until the signal. `port`: of its server. */
export function startBackgroundTasks(parts: Parts, signal: AbortSignal, port: number): void {
  background("disk watch", watchDisk(parts, signal), parts.log);
  background("readiness", reportReadiness(parts, signal), parts.log);
  background("waiting messages", reportWaiting(parts, signal), parts.log);
  background("refusals of budgets", tellRefusals(parts, signal), parts.log);
  background("mail watcher", watchMail(parts, port), parts.log);
  background("upkeep", keepUp(parts, signal), parts.log);
  background("model warm-up", warmUp(parts), parts.log);
}

/** Informs clients which sessions have other messages waiting than before. */
async function reportWaiting({ core, events }: Parts, signal: AbortSignal): Promise<void> {
  for await (const sessionKey of core.dispatch.lanes.waitingFeed.watch(signal))
    events.publish({ event: "session.queue", payload: { sessionKey, ts: Date.now() }, scope: "operator.read" });
}

/** The model SDK is loaded once the server answers, so that the first message does not wait for it. */
async function warmUp(parts: Parts): Promise<void> {
  try {
    await loadAgentSdk();
    const found = await parts.core.models.of(parts.live.defaultAgent.id).find(await defaultModel(parts));
    if ("missing" in found) parts.log.warn("model not usable", { why: found.missing });
    else parts.model.info = found.info;
  } catch (error) {
    parts.log.warn("model not ready", { error });
  }
  setEngineFlags();
}
