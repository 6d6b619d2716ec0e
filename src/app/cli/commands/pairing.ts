import type { z } from "zod";
import { OpenClawError } from "../../../types/errors.ts";
import { pairingAnswers } from "../../../types/answers/pairing.ts";
import type { Answer } from "../../../types/method.ts";
import { exists } from "../../../utils/exists.ts";
import { journalPath } from "../../config/paths.ts";
import { hasGateway } from "../address.ts";
import { callOnce } from "../call-gateway.ts";
import { writeJson, type Io } from "../io.ts";
import { withoutTerminalControls } from "../terminal-text.ts";
import { readState, type State } from "../state.ts";
import { table } from "../table.ts";
import { showDuration } from "../../../utils/time/duration.ts";
import { withJournal } from "../with-journal.ts";

type Strangers = Answer<z.output<typeof pairingAnswers.list>>;
type Approved = Answer<z.output<typeof pairingAnswers.approve>>;

/** Lists the strangers who wait for pairing. */
export async function pairingList(io: Io, channel: string | undefined, flags: { json?: boolean }): Promise<number> {
  const all = await readStrangers(io, await readState(io));
  const isAsked = (row: { readonly channel: string }) => channel === undefined || row.channel === channel;
  const requests = all.requests.filter(isAsked);
  const turnedAway = all.turnedAway.filter(isAsked);
  if (flags.json === true) {
    writeJson(io, { requests, turnedAway });
    return 0;
  }
  io.out(requests.length === 0 ? "Nobody waits with a code.\n" : requestTable(io, requests));
  if (turnedAway.length > 0) {
    io.out(
      "\nWithout a code, for others were waiting. Let one in by the id: openclaw pairing approve <channel> <sender>\n",
    );
    io.out(turnedAwayTable(io, turnedAway));
  }
  return 0;
}

function requestTable(io: Io, requests: Strangers["requests"]): string {
  const rows = requests.map((request) => [
    request.code,
    request.channel,
    request.account,
    request.senderId,
    request.name ?? "",
    `in ${showDuration(request.expiresAt - Date.now())}`,
  ]);
  return table(io, ["CODE", "CHANNEL", "ACCOUNT", "SENDER", "NAME", "EXPIRES"], rows);
}

function turnedAwayTable(io: Io, turnedAway: Strangers["turnedAway"]): string {
  const rows = turnedAway.map(({ channel, account, senderId, name, lastAt }) => [
    channel,
    account,
    senderId,
    name ?? "",
    `${showDuration(Date.now() - lastAt)} ago`,
  ]);
  return table(io, ["CHANNEL", "ACCOUNT", "SENDER", "NAME", "LAST WROTE"], rows);
}

interface ApproveFlags {
  readonly json?: boolean;
  readonly notify?: boolean;
  readonly account?: string;
}

interface Asked {
  readonly channel: string;
  /** Or the stranger's id on the platform. */
  readonly code: string;
}

/** Approves the pairing of the stranger with this code or id. Throws NOT_FOUND when nobody has it. */
export async function pairingApprove(io: Io, asked: Asked, flags: ApproveFlags): Promise<number> {
  const state = await readState(io);
  const approved = hasGateway(io, state)
    ? await approveByGateway(io, state, { asked, flags })
    : await approveInJournal(state, asked, flags);
  const { request } = approved;
  if (flags.json === true) writeJson(io, { ok: true, ...approved });
  else {
    const who = request.name === undefined ? request.senderId : `${request.name} (${request.senderId})`;
    io.out(`${withoutTerminalControls(who)} may write on ${request.channel} now.\n`);
    if (state.config.commands.ownerAllowFrom.length === 0) io.err(guestText(request));
  }
  if (flags.notify === true) io.err(notifiedText(approved.notified));
  return 0;
}

/** The command with which operators make themselves owners. The id comes from the platform, and one with quotes is left out. */
function guestText({ channel, senderId }: Approved["request"]): string {
  const owner = `${channel}:${senderId}`;
  const make = /^[\w:.+@-]+$/.test(owner)
    ? `openclaw config set commands.ownerAllowFrom '["${owner}"]'`
    : "openclaw config set commands.ownerAllowFrom";
  return `There is no owner yet: approvals can be answered only on the page and the command line. If this is you, run: ${make}\n`;
}

function notifiedText(notified: Approved["notified"]): string {
  if (notified === undefined) return "The stranger was not informed: the gateway does not run.\n";
  if (notified.state === "failed")
    return `The stranger was not informed: ${withoutTerminalControls(notified.reason ?? "the message was refused")}\n`;
  return notified.state === "sent"
    ? "The stranger was informed.\n"
    : "The stranger will be informed when the account is connected.\n";
}

async function readStrangers(io: Io, state: State): Promise<Strangers> {
  if (hasGateway(io, state)) return callOnce(io, state, { method: "pairing.list", shape: pairingAnswers.list });
  const path = journalPath(state.paths);
  if (!(await exists(path))) return { requests: [], turnedAway: [] };
  return withJournal(path, async ({ pairing: desk }) => {
    const [requests, turnedAway] = await Promise.all([desk.list(), desk.turnedAway()]);
    return { requests, turnedAway };
  });
}

function approveByGateway(
  io: Io,
  state: State,
  { asked, flags }: { asked: Asked; flags: ApproveFlags },
): Promise<Approved> {
  const { account: accountId, notify } = flags;
  const params = { ...asked, ...(accountId !== undefined && { accountId }), ...(notify === true && { notify }) };
  return callOnce(io, state, { method: "pairing.approve", params, shape: pairingAnswers.approve });
}

async function approveInJournal(state: State, { channel, code }: Asked, { account }: ApproveFlags): Promise<Approved> {
  const path = journalPath(state.paths);
  const request = (await exists(path))
    ? await withJournal(path, ({ pairing }) => pairing.approve(channel, code, account))
    : undefined;
  if (request) return { request };
  throw new OpenClawError("NOT_FOUND", {
    message: `Nobody waits on ${channel} with the code or id ${code}, or the id waits at several accounts.`,
    fix: "See who waits: openclaw pairing list. A code is good for one hour; --account names one of several accounts.",
  });
}
