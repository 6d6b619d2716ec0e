import { gmailPlan } from "../../../automation/hooks/gmail-plan.ts";
import type { Parts } from "../parts.ts";
import { GmailWatcher } from "./gmail-watcher.ts";

/** The field's variable that keeps the gateway from watching mail. */
const SKIP = "OPENCLAW_SKIP_GMAIL_WATCHER";

/** Watches the mail account of `hooks.gmail`, as the config says at any time, until the gateway stops. */
export async function watchMail(
  { live, core, log, channels, events, stopping: signal }: Parts,
  port: number,
): Promise<void> {
  // Another gateway on the same state watches the account already.
  if (process.env[SKIP] === "1" || channels.held !== undefined) return;
  const plan = () => gmailPlan(live.config.hooks, port);
  const watcher = new GmailWatcher({ clock: core.ports.clock, log, plan, env: process.env, signal });
  watcher.follow();
  for await (const { event } of events.watch(signal)) if (event === "config.changed") watcher.follow();
}
