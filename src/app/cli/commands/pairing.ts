import type { z } from "zod";
import { OpenClawError } from "../../../types/errors.ts";
import { pairingAnswers } from "../../../types/answers/pairing.ts";
import type { PairingDesk } from "../../../types/journal.ts";
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
  const admitted = all.admitted.filter(isAsked);
  if (flags.json === true) {
    writeJson(io, { requests, turnedAway, admitted });
    return 0;
  }
  io.out(requests.length === 0 ? "Nobody waits with a code.\n" : requestTable(io, requests));
  if (turnedAway.length > 0) {
    io.out(
      "\nWithout a code, for others were waiting. Let one in by the id: openclaw pairing approve <channel> <sender>\n",
    );
    io.out(turnedAwayTable(io, turnedAway));
  }
  if (admitted.length > 0) {
    io.out("\nLet in. Put one out by the id: openclaw pairing revoke <channel> <sender>\n");
    io.out(admittedTable(io, admitted));
  }
  return 0;
}

function admittedTable(io: Io, admitted: Strangers["admitted"]): string {
  const rows = admitted.map(({ channel, account, senderId, name, at }) => [
    channel,
    account,
    senderId,
    name ?? "",
    new Date(at).toISOString().slice(0, 10),
  ]);
  return table(io, ["CHANNEL", "ACCOUNT", "SENDER", "NAME", "SINCE"], rows);
}

interface PutOutFlags {
  readonly json?: boolean;
  readonly account?: string;
}

/** Takes the code of a stranger away; the next message gets a new one. Throws NOT_FOUND when nobody has it. */
export async function pairingReject(io: Io, { channel, code }: Asked, { json, account }: PutOutFlags): Promise<number> {
  const state = await readState(io);
  const params = { channel, code, ...(account !== undefined && { accountId: account }) };
  const request = hasGateway(io, state)
    ? (await callOnce(io, state, { method: "pairing.reject", params, shape: pairingAnswers.reject })).request
    : await inJournal(state, (desk) => desk.reject(channel, code, account));
  if (!request) throw nobodyWaits(channel, code);
  if (json === true) writeJson(io, { ok: true, request });
  else io.out(`${withoutTerminalControls(nameOf(request))} was not let in on ${channel}.\n`);
  return 0;
}

/** Lets a person in no more. Throws NOT_FOUND when nobody with this id was let in. */
export async function pairingRevoke(
  io: Io,
  { channel, senderId }: { channel: string; senderId: string },
  { json, account }: PutOutFlags,
): Promise<number> {
  const state = await readState(io);
  const params = { channel, senderId, ...(account !== undefined && { accountId: account }) };
  const revoked = hasGateway(io, state)
    ? (await callOnce(io, state, { method: "pairing.revoke", params, shape: pairingAnswers.revoke })).revoked
    : ((await inJournal(state, (desk) => desk.revoke(channel, senderId, account))) ?? []);
  const [person] = revoked;
  if (!person)
    throw new OpenClawError("NOT_FOUND", {
      message: `${senderId} was not let in on ${channel}.`,
      fix: "See who was: openclaw pairing list",
    });
  if (json === true) writeJson(io, { ok: true, revoked });
  else {
    const accounts = revoked.map((one) => one.account).join(", ");
    io.out(`${withoutTerminalControls(nameOf(person))} may not write on ${channel} any more (${accounts}).\n`);
    io.err(stillNamed(state, channel, senderId));
  }
  return 0;
}

/** The config lets people in by itself, and makes them owners. */
function stillNamed({ config }: State, channel: string, senderId: string): string {
  const isNamed = JSON.stringify(config.channels[channel] ?? {}).includes(`"${senderId}"`);
  const owner = config.commands.ownerAllowFrom.map(String).filter((one) => isEntryOf(one, channel, senderId));
  return [
    isNamed ? `The config names ${senderId} below channels.${channel} too: look at its allowFrom.\n` : "",
    owner.length === 0
      ? ""
      : `${senderId} is still an owner, who may approve commands: take ${owner.map((one) => `"${one}"`).join(" and ")} out of commands.ownerAllowFrom.\n`,
  ].join("");
}

const isEntryOf = (owner: string, channel: string, senderId: string): boolean =>
  owner === senderId || owner === `${channel}:${senderId}`;

const nameOf = ({ name, senderId }: Approved["request"]): string =>
  name === undefined ? senderId : `${name} (${senderId})`;

async function inJournal<T>(state: State, use: (desk: PairingDesk) => Promise<T>): Promise<T | undefined> {
  const path = journalPath(state.paths);
  return (await exists(path)) ? withJournal(path, ({ pairing }) => use(pairing)) : undefined;
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
    io.out(`${withoutTerminalControls(nameOf(request))} may write on ${request.channel} now.\n`);
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
  if (!(await exists(path))) return { requests: [], turnedAway: [], admitted: [] };
  return withJournal(path, async ({ pairing: desk }) => {
    const [requests, turnedAway, admitted] = await Promise.all([desk.list(), desk.turnedAway(), desk.admitted()]);
    return { requests, turnedAway, admitted };
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
  const request = await inJournal(state, (desk) => desk.approve(channel, code, account));
  if (request) return { request };
  throw nobodyWaits(channel, code);
}

const nobodyWaits = (channel: string, code: string): OpenClawError =>
  new OpenClawError("NOT_FOUND", {
    message: `Nobody waits on ${channel} with the code or id ${code}, or the id waits at several accounts.`,
    fix: "See who waits: openclaw pairing list. A code is good for one hour; --account names one of several accounts.",
  });
