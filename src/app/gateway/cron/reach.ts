import type { CronReach } from "../../../automation/cron/ports.ts";
import { agentId } from "../../../types/ids.ts";
import type { CronConfig } from "../../../automation/cron/config.ts";
import type { CronDestination, CronJob } from "../../../types/cron/job.ts";
import type { CronDeliveryStatus } from "../../../types/cron/run.ts";
import { FetchRefused } from "../../../utils/net/safe-fetch.ts";
import { requestWeb } from "../../../utils/net/web-request.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import type { PlaceParts } from "../methods/heartbeat-place.ts";
import type { Parts } from "../parts.ts";
import { chatFor, placeOfJob } from "./place.ts";

const TIMEOUT_MS = 30_000;
const MOST_ANSWER_BYTES = 64 * 1024;

/** How scheduled jobs reach chats and webhooks. */
export function cronReach({
  live,
  core,
  channels,
  stopping,
}: Pick<Parts, "live" | "core" | "channels" | "stopping">): CronReach {
  const parts: PlaceParts = { live, channels, sessions: core.sessions };
  const call: CronReach["call"] = (url, run) => callWebhook(url, run, { config: live.config.cron, signal: stopping });
  return {
    placeOf: (job, run) => placeOfJob(job, run, parts),
    call,
    async alert(job, text, { key, to }) {
      if (to.mode === "webhook") return callForAlert(job, text, to, call);
      const agent = agentId(job.agentId ?? live.defaultAgent.id);
      const { found, problem } = chatFor(to, { agent, origin: job.sessionKey }, parts);
      if (!found) throw new Error(`nobody was told that "${job.name}" failed: ${problem ?? "there is no chat for it"}`);
      const blocks = [{ kind: "notice" as const, markdown: text, because: "error" as const }];
      await core.outbox.deliver({ replyKey: key, to: found.to, blocks });
    },
  };
}

async function callForAlert(
  { id, name }: CronJob,
  text: string,
  { to }: CronDestination,
  call: CronReach["call"],
): Promise<void> {
  if (to === undefined) throw new Error(`nobody was told that "${name}" failed: the alert names no address to call`);
  const now = Date.now();
  const run = { ts: now, jobId: id, jobName: name, action: "finished", status: "error", error: text } as const;
  const { status, error } = await call(to, { ...run, slotAtMs: now, runAtMs: now, deliveryStatus: "not-requested" });
  if (status !== "delivered") throw new Error(`the webhook for the alert about "${name}" was not reached: ${error}`);
}

/** One call, never repeated: the receiver may have acted on one whose answer was lost. */
async function callWebhook(
  url: string,
  run: unknown,
  { config, signal }: { readonly config: CronConfig; readonly signal: AbortSignal },
): Promise<{ status: CronDeliveryStatus; error?: string }> {
  const { webhookToken, webhookSsrfPolicy } = config;
  const { allowedHostnames, dangerouslyAllowPrivateNetwork } = webhookSsrfPolicy;
  try {
    const { status } = await requestWeb(url, {
      method: "POST",
      body: JSON.stringify(run),
      headers: {
        "content-type": "application/json",
        ...(webhookToken && { authorization: `Bearer ${webhookToken.reveal()}` }),
      },
      rules: { privateHosts: allowedHostnames, allowPrivate: dangerouslyAllowPrivateNetwork },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MOST_ANSWER_BYTES,
      maxRedirects: 0,
      signal,
    });
    if (status >= 200 && status < 300) return { status: "delivered" };
    return { status: "not-delivered", error: `the webhook answered ${status}` };
  } catch (error) {
    if (error instanceof FetchRefused && error.because !== "network")
      return { status: "not-delivered", error: `${error.message} (cron.webhookSsrfPolicy)` };
    return { status: "unknown", error: errorText(error) };
  }
}
