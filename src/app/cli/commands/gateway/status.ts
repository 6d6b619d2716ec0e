import { homedir } from "node:os";
import type { z } from "zod";
import { channelAnswers } from "../../../../types/answers/channels.ts";
import type { GatewayStatus } from "../../../../types/gateway-status.ts";
import { sessionAnswers } from "../../../../types/session.ts";
import { modelName } from "../../../../types/run/model.ts";
import { hasGateway } from "../../address.ts";
import { withGateway } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { strangersText } from "../../../strangers-text.ts";
import {
  excessOf,
  growthOf,
  growthText,
  QUICK,
  shownGrowth,
  sizeOf,
  THOROUGH,
  type Effort,
  type GrowthRow,
} from "../../../growth/growth.ts";
import { copyNote } from "../../../gateway/parts/foreign.ts";
import { readState, type State } from "../../state.ts";
import { failingText } from "../../../runs/failing.ts";
import { usageAnswers, type UsageStatus } from "../../../../types/answers/usage.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { pairs, table } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { gatewayJson, readGatewayState, type GatewayState } from "./gateway-state.ts";
import { channelRows } from "../channels/channels.ts";
import { sessionRows } from "../sessions/session-rows.ts";

export interface GatewayStatusFlags {
  readonly json?: boolean;
  readonly all?: boolean;
  readonly deep?: boolean;
  readonly usage?: boolean;
  readonly timeout?: number;
}

type Rows = readonly (readonly [string, string | undefined])[];

/** Prints an overview; works without a gateway. Gives 1 when one is there that does not answer. */
export async function status(io: Io, flags: GatewayStatusFlags): Promise<number> {
  const state = await readState(io);
  const look = await readGatewayState(io, state, flags.timeout);
  const more = look.status && hasGateway(io, state) ? await askMore(io, state, flags) : {};
  const growth = await growthHere(io, state, flags.all === true ? THOROUGH : QUICK);
  if (flags.json === true) {
    writeJson(io, { ...statusJson(state, look, more), growth: growth.map(shownGrowth) });
    return codeOf(look);
  }
  const copied = await copyNote(state.paths.stateDir);
  const disk: Rows = [["Disk", diskText(growth)]];
  io.out(pairs(io, [...gatewayRows(look), ...configRows(state, look), ...disk, ["Copy", copied?.message]]));
  if (flags.all === true) io.out(`\n${growthTable(io, growth)}`);
  if (more.usage) io.out(`\n${limitsText(io, more.usage)}`);
  if (more.channels) io.out(`\n${channelRows(io, more.channels)}`);
  if (more.sessions) io.out(`\n${sessionRows(io, more.sessions.sessions)}`);
  return codeOf(look);
}

const growthHere = (io: Io, { config, paths }: State, effort: Effort): Promise<readonly GrowthRow[]> =>
  growthOf({ config, stateDir: paths.stateDir, home: io.env["HOME"] ?? homedir(), env: io.env }, effort);

function diskText(growth: readonly GrowthRow[]): string | undefined {
  const text = growthText(growth);
  const beyond = excessOf(growth).map(
    ({ name, bound }) => `${name} ${bound === undefined ? "without a bound" : "beyond the bound"}`,
  );
  return text === undefined ? undefined : [text, ...beyond].join("; ");
}

const growthTable = (io: Io, growth: readonly GrowthRow[]): string =>
  table(
    io,
    ["WHAT", "SIZE", "BOUND", "KEY"],
    growth.map((one) => [one.name, sizeOf(one), one.bound ?? "none", one.keys[0] ?? ""]),
  );

const codeOf = ({ pid, status: told }: GatewayState): number => (told === undefined && pid !== undefined ? 1 : 0);

interface More {
  readonly channels?: z.infer<typeof channelAnswers.status>;
  readonly sessions?: z.infer<typeof sessionAnswers.list>;
  readonly usage?: UsageStatus;
}

function askMore(io: Io, state: State, { all, deep, usage }: GatewayStatusFlags): Promise<More> {
  const wantsChannels = all === true || deep === true;
  if (!wantsChannels && usage !== true) return Promise.resolve({});
  return withGateway(io, state, async (client) => ({
    ...(wantsChannels && { channels: await client.call("channels.status", {}, channelAnswers.status) }),
    ...(all === true && { sessions: await client.call("sessions.list", { limit: 20 }, sessionAnswers.list) }),
    ...(usage === true && { usage: await client.call("usage.status", {}, usageAnswers.status) }),
  }));
}

function statusJson(state: State, look: GatewayState, more: More): object {
  const { paths, problem, config } = state;
  return {
    stateDir: paths.stateDir,
    config: { path: paths.configPath, valid: problem === undefined, ...(problem && { problem: problem.message }) },
    gateway: gatewayJson(look),
    model: config.agents.defaults.model ?? null,
    ...(look.status && { status: look.status }),
    ...more,
  };
}

function gatewayRows({ url, pid, status: told, problem }: GatewayState): Rows {
  const at = pid === undefined ? url : `${url} (pid ${pid})`;
  if (!told) return [["Gateway", pid === undefined ? "not running; start it: openclaw gateway run" : problem?.message]];
  const { version, uptimeMs, ready } = told;
  return [
    ["Gateway", `${version ?? "running"} at ${at}`],
    ["Up for", uptimeMs === undefined ? undefined : showDuration(uptimeMs)],
    ["Ready", ready && readyText(ready)],
    ["Model", modelText(told)],
    ["Channels", channelsText(told)],
    ["Plugins", pluginProblemsText(told)],
    ["Work", workText(told)],
    ["Without progress", stuckText(told)],
    ["Messages", messagesText(told)],
    ["Sandbox", sandboxText(told)],
    ["Strangers", told.strangers && strangersText(told.strangers)],
    ["Last day", dayText(told)],
    ["Upkeep", upkeepText(told)],
    ["Failing", told.failing && withoutTerminalControls(failingText(told.failing))],
    ["Of plugins", pluginsText(told)],
  ];
}

/** A gateway that serves its clients may still have problems that a person must see. */
function readyText({ ok, problems = [] }: NonNullable<GatewayStatus["ready"]>): string {
  const told = problems.join("; ");
  if (!ok) return told === "" ? "no" : told;
  return told === "" ? "yes" : `yes, but ${told}`;
}

function modelText({ model }: GatewayStatus): string | undefined {
  if (!model) return undefined;
  const remark = model.problem ?? (model.demo === true ? "the built-in demo" : undefined);
  return `${modelName(model)}${remark === undefined ? "" : ` (${remark})`}`;
}

const channelsText = ({ channels }: GatewayStatus): string | undefined =>
  channels && (channels.map((one) => `${one.channel}/${one.accountId} ${one.lifecycle}`).join(", ") || "none");

function pluginProblemsText({ plugins }: GatewayStatus): string | undefined {
  if (!plugins || (plugins.loaded === 0 && plugins.problems.length === 0)) return undefined;
  return [`${plugins.loaded} loaded`, ...plugins.problems].map((text) => withoutTerminalControls(text)).join("; ");
}

/** Sessions whose turn makes no progress, and what it is doing. */
function stuckText({ stuck = [] }: GatewayStatus): string | undefined {
  if (stuck.length === 0) return undefined;
  return stuck
    .map(({ session, doing, forMs }) => withoutTerminalControls(`${session}: ${doing}, for ${showDuration(forMs)}`))
    .join("; ");
}

function workText({ activeRuns, journal, sessions, connections }: GatewayStatus): string {
  const counts = [
    [activeRuns, "runs now"],
    [journal?.openInbox, "messages open"],
    [journal?.unknownOutbox, "sends with an unknown outcome"],
    [sessions?.count, "sessions"],
    [connections, "clients"],
  ] as const;
  return counts.flatMap(([count, word]) => (count === undefined ? [] : `${count} ${word}`)).join(", ");
}

/** Only the lines that an operator should see. */
function messagesText({ journal }: GatewayStatus): string | undefined {
  if (!journal) return undefined;
  const { oldestInboxAt, staleLastDay = 0, failedOutboxLastDay = 0 } = journal;
  const age = oldestInboxAt === undefined ? 0 : Date.now() - oldestInboxAt;
  const words = [
    age < LATE_MS ? [] : `one without an outcome for ${showDuration(age)}: openclaw inbox list`,
    staleLastDay === 0 ? [] : `${staleLastDay} too old to be answered after an outage: openclaw inbox list --all`,
    failedOutboxLastDay === 0 ? [] : `${failedOutboxLastDay} replies given up: openclaw outbox list`,
  ].flat();
  return words.length === 0 ? undefined : words.join("; ");
}

/** Longer than a run may take by default. */
const LATE_MS = 15 * 60_000;

/** What the sessions need, if the gateway only says so. */
function upkeepText({ upkeep }: GatewayStatus): string | undefined {
  if (upkeep?.due === undefined) return undefined;
  if (!upkeep.dryRun) return `${upkeep.due}, ${showDuration(Date.now() - upkeep.at)} ago`;
  return `due: ${upkeep.due}; see openclaw sessions cleanup --dry-run`;
}

/** The sandbox of each agent: its mode, and whether it works on this machine. */
function sandboxText({ sandboxes = [] }: GatewayStatus): string | undefined {
  const texts = sandboxes.map(({ agent, mode, works }) => {
    const state = works === true ? "works" : "does not work here";
    return `${agent}: ${mode}${works === undefined || mode === "off" ? "" : `, ${state}`}`;
  });
  return texts.length === 0 ? undefined : texts.join("; ");
}

function dayText({ lastDay }: GatewayStatus): string | undefined {
  if (!lastDay) return undefined;
  const { runs, failed, input, output, costUsd } = lastDay;
  return `${runs} runs, ${failed} failed, ${input} tokens in, ${output} out, $${costUsd.toFixed(2)}`;
}

/** The model calls of plugins, which are part of the last day. */
function pluginsText({ lastDay }: GatewayStatus): string | undefined {
  const each = (lastDay?.plugins ?? []).map(
    ({ plugin, calls, input, output, costUsd }) =>
      `${plugin} ${calls} calls, ${input} tokens in, ${output} out, $${costUsd.toFixed(2)}`,
  );
  return each.length === 0 ? undefined : each.join("; ");
}

function configRows({ paths, problem, config }: State, { status: told }: GatewayState): Rows {
  const channels = Object.entries(config.channels).flatMap(([id, channel]) => (channel.enabled ? id : []));
  const offline: Rows = told || problem ? [] : [["Channels", channels.join(", ") || "none"]];
  const wrong = problem ?? told?.config?.problems?.[0];
  return [
    ["State", paths.stateDir],
    ["Config", wrong === undefined ? paths.configPath : `${wrong.message} (fix: ${wrong.fix})`],
    ...offline,
  ];
}

/** A line for each limit of a key, with what is left of it. */
function limitsText(io: Io, { providers }: UsageStatus): string {
  const rows = providers.flatMap(({ provider, profileId, windows }) =>
    windows.map(({ label, usedPercent, resetAt }) => {
      const left = `${Math.round(100 - usedPercent)} % left`;
      const reset = resetAt === undefined ? "" : `in ${showDuration(Math.max(0, resetAt - Date.now()))}`;
      return [withoutTerminalControls(profileId ?? provider), withoutTerminalControls(label), left, reset];
    }),
  );
  if (rows.length === 0) return "No provider has told its limits since the gateway started.\n";
  return table(io, ["KEY", "LIMIT", "LEFT", "FREE AGAIN"], rows);
}
