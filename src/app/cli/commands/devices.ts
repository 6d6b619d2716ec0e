import type { z } from "zod";
import { deviceAnswers, type ShownDevice, type ShownDeviceRequest } from "../../../types/answers/devices.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { callOnce } from "../call-gateway.ts";
import { writeJson, type Io } from "../io.ts";
import { requireState } from "../state.ts";
import { table } from "../table.ts";
import { withoutTerminalControls } from "../terminal-text.ts";
import { showDuration } from "../../../utils/time/duration.ts";

interface Json {
  readonly json?: boolean;
}

/** Devices have one role here. */
const ROLE = "operator";

async function ask<T>(io: Io, method: string, params: object, shape: z.ZodType<T>): Promise<T> {
  return callOnce(io, await requireState(io), { method, params, shape });
}

/** `devices list`: the devices with a token of their own, and those that want more scopes. */
export async function devicesList(io: Io, { json }: Json): Promise<number> {
  const { pending, paired } = await ask(io, "device.pair.list", {}, deviceAnswers.list);
  if (json === true) {
    writeJson(io, { pending, paired });
    return 0;
  }
  io.out(paired.length === 0 ? "No device has a token of its own.\n" : pairedTable(io, paired));
  if (pending.length > 0) {
    io.out("\nThese want more. Decide with: openclaw devices approve <request>, or reject\n");
    io.out(pendingTable(io, pending));
  }
  return 0;
}

type Named = Pick<ShownDeviceRequest, "displayName" | "clientId"> & Pick<ShownDevice, "label">;

const nameOf = ({ label, displayName, clientId }: Named): string =>
  withoutTerminalControls(label ?? displayName ?? clientId);

/** Ids are shortened, so that a row has one line; the beginning names a device too. */
const ID_CHARS = 12;

function pairedTable(io: Io, paired: readonly ShownDevice[]): string {
  const rows = paired.map((device) => [
    device.deviceId.slice(0, ID_CHARS),
    nameOf(device),
    withoutTerminalControls(device.platform),
    device.tokens.some(({ revokedAtMs }) => revokedAtMs === undefined) ? device.scopes.join(" ") : "revoked",
    device.connected ? "connected" : `${showDuration(Date.now() - device.lastSeenAtMs)} ago`,
  ]);
  return table(io, ["DEVICE", "NAME", "SYSTEM", "SCOPES", "SEEN"], rows);
}

function pendingTable(io: Io, pending: readonly ShownDeviceRequest[]): string {
  const rows = pending.map((request) => [request.requestId, nameOf(request), request.scopes.join(" ")]);
  return table(io, ["REQUEST", "NAME", "WANTS"], rows);
}

/** `devices approve`: the request with this id, or the latest. */
export async function devicesApprove(
  io: Io,
  id: string | undefined,
  flags: Json & { latest?: boolean },
): Promise<number> {
  const requestId = id ?? (await latestRequest(io, flags.latest === true));
  const answer = await ask(io, "device.pair.approve", { requestId }, deviceAnswers.approve);
  return told(io, flags, answer, `${nameOf(answer.device)} has: ${answer.device.scopes.join(" ")}`);
}

async function latestRequest(io: Io, isWanted: boolean): Promise<string> {
  const { pending } = await ask(io, "device.pair.list", {}, deviceAnswers.list);
  const [latest] = pending.toSorted((one, other) => other.ts - one.ts);
  if (latest && (isWanted || pending.length === 1)) return latest.requestId;
  throw new OpenClawError(latest ? "USAGE" : "NOT_FOUND", {
    message: latest ? `${pending.length} devices wait.` : "No device waits.",
    fix: latest ? "Name one of openclaw devices list, or --latest." : "See the devices: openclaw devices list",
  });
}

/** `devices reject` */
export async function devicesReject(io: Io, requestId: string, flags: Json): Promise<number> {
  const answer = await ask(io, "device.pair.reject", { requestId }, deviceAnswers.reject);
  return told(io, flags, answer, "The device keeps the scopes that it had.");
}

/** `devices remove`: the device has to be paired again. */
export async function devicesRemove(io: Io, id: string, flags: Json): Promise<number> {
  const device = await deviceOf(io, id);
  const answer = await ask(io, "device.pair.remove", { deviceId: device.deviceId }, deviceAnswers.remove);
  return told(io, flags, answer, `${nameOf(device)} is removed, and disconnected.`);
}

interface DeviceFlags extends Json {
  readonly device: string;
  readonly role?: string;
}

/** `devices rename` */
export async function devicesRename(io: Io, flags: DeviceFlags & { name: string }): Promise<number> {
  const { deviceId } = await deviceOf(io, flags.device);
  const answer = await ask(io, "device.pair.rename", { deviceId, label: flags.name }, deviceAnswers.rename);
  return told(io, flags, answer, `The device is called ${withoutTerminalControls(answer.label)} now.`);
}

/** `devices revoke`: the token of a device is worth nothing any more. */
export async function devicesRevoke(io: Io, flags: DeviceFlags): Promise<number> {
  const device = await deviceOf(io, flags.device);
  const params = { deviceId: device.deviceId, role: flags.role ?? ROLE };
  const answer = await ask(io, "device.token.revoke", params, deviceAnswers.revoke);
  return told(io, flags, answer, `The token of ${nameOf(device)} is revoked, and the device disconnected.`);
}

/** `devices rotate`: only the device itself gets to see the new token. */
export async function devicesRotate(io: Io, flags: DeviceFlags & { scope?: readonly string[] }): Promise<number> {
  const device = await deviceOf(io, flags.device);
  const { scope: scopes } = flags;
  const params = { deviceId: device.deviceId, role: flags.role ?? ROLE, ...(scopes && { scopes }) };
  const answer = await ask(io, "device.token.rotate", params, deviceAnswers.rotate);
  return told(io, flags, answer, `${nameOf(device)} gets a new token, with: ${answer.scopes.join(" ")}`);
}

/** `devices code`: pairs a phone or browser without the gateway's token. */
export async function devicesCode(io: Io, flags: Json & { url?: string; full?: boolean }): Promise<number> {
  const params = {
    bootstrapProfile: flags.full === true ? "full" : "limited",
    ...(flags.url !== undefined && { publicUrl: flags.url }),
  };
  const answer = await ask(io, "device.pair.setupCode", params, deviceAnswers.setupCode);
  const minutes = Math.max(1, Math.round((answer.expiresAtMs - Date.now()) / 60_000));
  const rights = answer.access === "full" ? "everything" : "what a person in a chat needs";
  return told(
    io,
    flags,
    answer,
    `${answer.setupCode}\n\nIt pairs one device with ${answer.gatewayUrl}, for ${rights}, within ${minutes} min.`,
  );
}

/** The device with this id, or the only one whose id begins so. Throws NOT_FOUND. */
async function deviceOf(io: Io, id: string): Promise<ShownDevice> {
  const { paired } = await ask(io, "device.pair.list", {}, deviceAnswers.list);
  const found = paired.filter(({ deviceId }) => deviceId === id || deviceId.startsWith(id));
  const [device] = found;
  if (device && (found.length === 1 || device.deviceId === id)) return device;
  throw new OpenClawError("NOT_FOUND", {
    message: `${found.length === 0 ? "No device" : "More than one device"} has the id ${id}.`,
    fix: "See the devices: openclaw devices list",
  });
}

function told(io: Io, { json }: Json, answer: object, text: string): number {
  if (json === true) writeJson(io, { ok: true, ...answer });
  else io.out(`${text}\n`);
  return 0;
}
