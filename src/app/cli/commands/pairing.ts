import { z } from "zod";
import { OpenClawError } from "../../../types/errors.ts";
import type { PairingDesk } from "../../../types/journal.ts";
import { exists } from "../../../utils/exists.ts";
import { journalPath } from "../../config/paths.ts";
import { hasGateway } from "../address.ts";
import { callOnce } from "../call-gateway.ts";
import { cleanText, writeJson, type Io } from "../io.ts";
import { readState, type State } from "../state.ts";
import { showDuration, table } from "../table.ts";

const requestShape = z.looseObject({
  channel: z.string(),
  account: z.string(),
  senderId: z.string(),
  name: z.string().optional(),
  code: z.string(),
  createdAt: z.number(),
  expiresAt: z.number(),
});
type Request = z.infer<typeof requestShape>;

/** Who waits to be let in. */
export async function pairingList(io: Io, channel: string | undefined, flags: { json?: boolean }): Promise<number> {
  const all = await readRequests(io, await readState(io));
  const requests = all.filter((request) => channel === undefined || request.channel === channel);
  if (flags.json === true) {
    writeJson(io, { requests });
    return 0;
  }
  const rows = requests.map((request) => [
    request.code,
    request.channel,
    request.account,
    request.senderId,
    request.name ?? "",
    `in ${showDuration(request.expiresAt - Date.now())}`,
  ]);
  io.out(
    rows.length === 0
      ? "Nobody waits.\n"
      : table(io, ["CODE", "CHANNEL", "ACCOUNT", "SENDER", "NAME", "EXPIRES"], rows),
  );
  return 0;
}

interface ApproveFlags {
  readonly json?: boolean;
  readonly notify?: boolean;
}

/** Lets the stranger with this code in. Throws NOT_FOUND when nobody waits with it. */
export async function pairingApprove(
  io: Io,
  asked: { channel: string; code: string },
  flags: ApproveFlags,
): Promise<number> {
  const state = await readState(io);
  const isOnline = hasGateway(io, state);
  const request = isOnline
    ? await approveByGateway(io, state, { ...asked, notify: flags.notify === true })
    : await approveInJournal(state, asked);
  if (flags.json === true) writeJson(io, { ok: true, request });
  else {
    const who = request.name === undefined ? request.senderId : `${request.name} (${request.senderId})`;
    io.out(`${cleanText(who)} may write on ${request.channel} now.\n`);
  }
  if (flags.notify === true && !isOnline) io.err("Not told: the gateway does not run.\n");
  return 0;
}

async function readRequests(io: Io, state: State): Promise<readonly Request[]> {
  if (hasGateway(io, state)) {
    const shape = z.looseObject({ requests: z.array(requestShape) });
    return (await callOnce(io, state, { method: "pairing.list", shape })).requests;
  }
  const path = journalPath(state.paths);
  const rows = (await exists(path)) ? await withDesk(path, (desk) => desk.list()) : [];
  return rows.map((row) => ({ ...row }));
}

async function approveByGateway(io: Io, state: State, params: object): Promise<Request> {
  const shape = z.looseObject({ request: requestShape });
  return (await callOnce(io, state, { method: "pairing.approve", params, shape })).request;
}

async function approveInJournal(state: State, { channel, code }: { channel: string; code: string }): Promise<Request> {
  const path = journalPath(state.paths);
  const request = (await exists(path)) ? await withDesk(path, (desk) => desk.approve(channel, code)) : undefined;
  if (request) return { ...request };
  throw new OpenClawError("NOT_FOUND", {
    message: `Nobody waits on ${channel} with the code ${code}.`,
    fix: "See who waits: openclaw pairing list. A code is good for one hour.",
  });
}

async function withDesk<T>(path: string, work: (desk: PairingDesk) => Promise<T>): Promise<T> {
  const { openJournal } = await import("../../../store/journal.ts");
  const journal = await openJournal({ path, bootId: `cli-${process.pid}` });
  try {
    return await work(journal.pairing);
  } finally {
    await journal.close();
  }
}
