import { z } from "zod";
import { heartbeatsAnswer, type BeatLine } from "../../../../automation/heartbeat.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { table } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { localTime } from "../runs/run-figures.ts";

interface Json {
  readonly json?: boolean;
}

/** Shows the time and the outcome of each agent's last heartbeat. Throws GATEWAY_UNREACHABLE. */
export async function heartbeatLast(io: Io, flags: Json): Promise<number> {
  const call = { method: "last-heartbeat", params: { agents: true }, shape: heartbeatsAnswer };
  return show(io, await callOnce(io, await readState(io), call), flags);
}

/** Switches heartbeats on or off until the next start of the gateway. `agents.defaults.heartbeat.every: "0m"` switches them off permanently. */
export async function heartbeatSwitch(io: Io, enabled: boolean, flags: Json): Promise<number> {
  const call = { method: "set-heartbeats", params: { enabled }, shape: heartbeatsAnswer };
  return show(io, await callOnce(io, await readState(io), call), flags);
}

/** Starts an agent's heartbeat now. */
export async function heartbeatNow(io: Io, flags: Json & { agent?: string }): Promise<number> {
  const params = flags.agent === undefined ? {} : { agentId: flags.agent };
  return show(io, await callOnce(io, await readState(io), { method: "wake", params, shape: heartbeatsAnswer }), flags);
}

export interface EventFlags extends Json {
  readonly text: string;
  readonly mode: "now" | "next-heartbeat";
  readonly agent?: string;
}

/** Adds a system event for an agent, and starts its heartbeat unless the event can wait. */
export async function systemEvent(io: Io, { text, mode, agent, json }: EventFlags): Promise<number> {
  const params = { text, mode, ...(agent !== undefined && { agentId: agent }) };
  const answer = await callOnce(io, await readState(io), { method: "wake", params, shape: z.looseObject({}) });
  if (json === true) writeJson(io, answer);
  else
    io.out(
      mode === "now" ? "Added; the agent's heartbeat starts now.\n" : "Added; the agent reads it in its next turn.\n",
    );
  return 0;
}

function show(io: Io, answer: z.output<typeof heartbeatsAnswer>, { json }: Json): number {
  if (json === true) writeJson(io, answer);
  else if (answer.agents.length === 0) io.out("No agent has a heartbeat: agents.defaults.heartbeat.every is 0m.\n");
  else io.out(table(io, ["AGENT", "EVERY", "NEXT", "LAST", "WHAT CAME OF IT"], answer.agents.map(cells)));
  return 0;
}

function cells(line: BeatLine): readonly string[] {
  const hasBeen = line.skipped !== undefined || line.inbox !== undefined;
  return [
    line.agentId,
    showDuration(line.everyMs),
    line.nextAt === undefined ? "switched off" : localTime(line.nextAt),
    hasBeen ? localTime(line.at) : "-",
    [
      hasBeen ? resultOf(line) : "not since the gateway's start",
      ...(line.problem === undefined ? [] : [`not in a chat: ${line.problem}`]),
    ].join("; "),
  ];
}

/** The outcomes of the inbox as texts for people. */
const ENDS: Readonly<Record<string, string>> = {
  silent: "nothing needed attention",
  replied: "it had something to say",
};

function resultOf({ skipped, outcome, inbox }: BeatLine): string {
  if (skipped !== undefined) return `skipped: ${skipped}`;
  if (!outcome) return `at work: openclaw inbox show ${inbox}`;
  const end = ENDS[outcome.kind] ?? outcome.kind;
  return outcome.why === undefined ? end : `${end}: ${outcome.why}`;
}
