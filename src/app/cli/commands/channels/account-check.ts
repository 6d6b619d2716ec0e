import type { z } from "zod";
import { channelAnswers, type ShownAccount } from "../../../../types/answers/channels.ts";
import type { Check, CheckResult } from "../../../../types/check.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import { unaskedNote } from "./channels.ts";
import type { Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { showDuration } from "../../../../utils/time/duration.ts";

/** The state of the running gateway's connections, which only the gateway knows. Whether a platform answers is another check. */
export function accountCheck(io: Io): Check {
  return {
    id: "app.accounts",
    title: "Connections",
    async run() {
      const state = await readState(io);
      if (!hasGateway(io, state)) return [{ status: "skip", message: "No gateway runs." }];
      const call = { method: "channels.status", shape: channelAnswers.status };
      return judge(await callOnce(io, state, call, { isQuiet: true }));
    },
  };
}

type Account = ShownAccount & { readonly name: string };

function judge({ channelAccounts = {} }: z.output<typeof channelAnswers.status>): CheckResult[] {
  const accounts = Object.entries(channelAccounts)
    .flatMap(([channel, list]) => list.map((one) => ({ ...one, name: `${channel}/${one.accountId}` })))
    .filter((one) => one.enabled !== false);
  const bad = [...accounts.flatMap(trouble), ...accounts.flatMap(leftOut), ...accounts.flatMap(noticed)];
  const all =
    accounts.length === 1
      ? "The one account hears from its platform."
      : `All ${accounts.length} accounts hear from their platforms.`;
  const good = accounts.length === 0 ? "No channel is switched on." : all;
  return bad.length > 0 ? bad : [{ status: "ok", message: good }];
}

/** An outage that was longer than the time for which a platform is asked for missed messages. */
function leftOut({ name, ...account }: Account): CheckResult[] {
  const left = unaskedNote(account);
  if (left === undefined) return [];
  const fix = "Check the chats of that time; this is reported until the gateway restarts.";
  return [{ status: "warn", message: `${name} was ${left}.`, fix }];
}

function noticed({ name, notices = [] }: Account): CheckResult[] {
  return notices.map(({ problem, fix }) => ({ status: "warn", message: `${name}: ${problem}.`, fix }));
}

function trouble({ name, lifecycle, silentMs, lastError, fix, activity }: Account): CheckResult[] {
  if (lifecycle === undefined || lifecycle === "running") return [];
  if (lifecycle === "starting")
    return [{ status: "warn", message: `${name} is being connected${activity === undefined ? "" : `: ${activity}`}.` }];
  const since = silentMs == null ? "" : `, ${showDuration(silentMs)} without a sign`;
  const why = lastError == null ? "" : `: ${lastError}`;
  const message = `${name} is ${lifecycle === "trouble" ? "not connected and tried again" : lifecycle}${since}${why}`;
  return [{ status: lifecycle === "trouble" ? "warn" : "fail", message, ...(fix != null && { fix }) }];
}
