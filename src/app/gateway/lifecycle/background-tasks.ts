import { setFlagsFromString } from "node:v8";
import { loadAgentSdk } from "../../../harness/run/warm.ts";
import { background } from "../../../utils/background.ts";
import { watchDisk } from "../disk/disk.ts";
import { defaultModel } from "../model-text.ts";
import { tellRefusals } from "../budget-notices.ts";
import type { Parts } from "../parts.ts";
import { reportReadiness } from "../health.ts";
import { watchMail } from "../hooks/watch-mail.ts";
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
  compileAtOnce();
}

/**
 * From now on V8 translates a function into machine code when it is called first, not after some hundred calls. What runs now is
 * called for each message; during the start that would take longer than it saves. docs/performance.md says what it costs.
 */
const compileAtOnce = (): void => setFlagsFromString("--always-sparkplug");
