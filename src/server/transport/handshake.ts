import { z } from "zod";
import type { Caller } from "../../types/method.ts";
import type { AboutDevice, Devices, PairedDevice, PendingDevice } from "../devices/devices.ts";
import { proveDevice, type Proof } from "../devices/proof.ts";
import { SCOPES_OF, type SetupCompletion, type SetupCodes } from "../devices/setup-codes.ts";
import type { AuthGate, AuthVerdict } from "./auth.ts";
import { OLDEST_PROTOCOL, problemsOf, PROTOCOL, type ErrorShape } from "./frames.ts";
import type { RemotePeer } from "../remote-peer.ts";
import { grantScopes, hasScope } from "./scopes.ts";

const connectParams = z.object({
  minProtocol: z.int().min(1),
  maxProtocol: z.int().min(1),
  client: z.object({
    id: z.string().min(1).max(128),
    version: z.string().min(1).max(128),
    platform: z.string().min(1).max(128),
    mode: z.string().min(1).max(64),
    displayName: z.string().min(1).max(256).optional(),
    deviceFamily: z.string().max(128).optional(),
    instanceId: z.string().min(1).max(256).optional(),
  }),
  role: z.string().min(1).optional(),
  scopes: z.array(z.string().min(1)).optional(),
  caps: z.array(z.string()).optional(),
  device: z
    .object({
      id: z.string().max(128),
      publicKey: z.string().max(512),
      signature: z.string().max(512),
      signedAt: z.int(),
      nonce: z.string().max(256),
    })
    .optional(),
  auth: z
    .object({
      token: z.string().optional(),
      password: z.string().optional(),
      deviceToken: z.string().optional(),
      bootstrapToken: z.string().optional(),
    })
    .optional(),
});
export type ConnectParams = z.infer<typeof connectParams>;
type Credentials = NonNullable<ConnectParams["auth"]>;

export interface Welcome {
  readonly kind: "welcome";
  readonly caller: Caller;
  readonly params: ConnectParams;
  /** The version that both speak. */
  readonly protocol: number;
  /** The device that connects, with its token. */
  readonly device?: PairedDevice;
  /** The code that paired it now. */
  readonly setup?: SetupCompletion;
}

export interface RefusedConnect {
  readonly kind: "refused";
  readonly error: ErrorShape;
  readonly closeCode: number;
  readonly closeReason: string;
  /** A new request of the device, which waits for a person. */
  readonly request?: PendingDevice;
}

/** Where a `connect` comes from. */
interface Arrival {
  readonly connId: string;
  readonly peer: RemotePeer;
  /** What the device had to sign. */
  readonly nonce: string;
  readonly now: number;
}

/** Decides who is let in. */
export interface Admission {
  readonly gate: AuthGate;
  readonly devices: Devices;
  readonly codes: SetupCodes;
}

/** Decides whether the first request of a connection lets the client in. */
export function judgeConnect(params: unknown, from: Arrival, admission: Admission): Welcome | RefusedConnect {
  const parsed = connectParams.safeParse(params);
  if (!parsed.success) return refuse(1008, `invalid connect params: ${problemsOf(parsed.error)}`);
  const connect = parsed.data;
  if (connect.minProtocol > PROTOCOL || connect.maxProtocol < OLDEST_PROTOCOL) return refuseProtocol(connect);
  const role = connect.role ?? "operator";
  if (role !== "operator") return refuseRole(role);
  return judgeClient(connect, from, admission);
}

/** Decides by the device and the credentials. */
function judgeClient(connect: ConnectParams, from: Arrival, admission: Admission): Welcome | RefusedConnect {
  const proof = proofIn(connect, from);
  if (proof?.kind === "unproven") return refuse(1008, proof.message, { code: proof.code, reason: proof.reason });
  const about = proof === undefined ? undefined : aboutDevice(connect, proof, from.peer);
  const asDevice = about === undefined ? undefined : admitDevice(about, connect, from, admission);
  if (asDevice !== undefined) return asDevice;
  const { token, password, deviceToken, bootstrapToken } = connect.auth ?? {};
  const verdict = admission.gate.judge({ token: token ?? deviceToken ?? bootstrapToken, password }, from.peer);
  if (verdict.kind !== "ok") return refuseCredentials(verdict, connect.auth ?? {});
  const scopes = grantScopes(connect.scopes);
  return welcome(connect, from, scopes, about === undefined ? {} : { device: admission.devices.pair(about, scopes) });
}

function welcome(
  params: ConnectParams,
  { connId }: Arrival,
  scopes: ReadonlySet<string>,
  more: Pick<Welcome, "device" | "setup">,
): Welcome {
  const { id, version, platform, mode } = params.client;
  const device = more.device === undefined ? {} : { deviceId: more.device.deviceId };
  const caller = { connId, scopes, client: { id, version, platform, mode }, ...device };
  return { kind: "welcome", caller, params, protocol: Math.min(PROTOCOL, params.maxProtocol), ...more };
}

function proofIn({ device, client, role, scopes, auth = {} }: ConnectParams, from: Arrival): Proof | undefined {
  if (device === undefined) return undefined;
  const request = {
    clientId: client.id,
    clientMode: client.mode,
    role: role ?? "operator",
    scopes: scopes ?? [],
    token: auth.token ?? auth.deviceToken ?? auth.bootstrapToken,
    platform: client.platform,
    deviceFamily: client.deviceFamily,
  };
  return proveDevice(device, request, from);
}

function aboutDevice(
  { client }: ConnectParams,
  { deviceId, publicKey }: Extract<Proof, { kind: "proven" }>,
  { address }: RemotePeer,
): AboutDevice {
  const { id, mode, displayName, platform, deviceFamily } = client;
  return {
    deviceId,
    publicKey,
    clientId: id,
    clientMode: mode,
    ...(displayName !== undefined && { displayName }),
    platform,
    ...(deviceFamily !== undefined && { deviceFamily }),
    remoteIp: address,
  };
}

/** Lets a device in by its own token or by a code. Undefined when it shows neither. */
function admitDevice(
  about: AboutDevice,
  connect: ConnectParams,
  from: Arrival,
  { devices, codes, gate }: Admission,
): Welcome | RefusedConnect | undefined {
  const { token, deviceToken, bootstrapToken } = connect.auth ?? {};
  const known = devices.withToken(about.deviceId, [deviceToken, token]);
  // A client that also shows the shared token is judged by that.
  if (!gate.takesDeviceTokens) return known && isOnly(token, deviceToken) ? refuseOwnToken() : undefined;
  const setup = known === undefined && bootstrapToken !== undefined ? codes.take(bootstrapToken, about) : undefined;
  const device = setup === undefined ? known : devices.pair(about, SCOPES_OF[setup.access]);
  if (device === undefined) return undefined;
  const has = new Set(device.token.scopes);
  const wanted = [...grantScopes(connect.scopes)];
  const granted = wanted.filter((scope) => hasScope(has, scope));
  const isAsked = connect.scopes !== undefined && connect.scopes.length > 0;
  // A device that has just paired learns its scopes by the answer.
  if (isAsked && granted.length < wanted.length && setup === undefined) {
    return refuseScopes(device, devices.request(about, wanted.toSorted()));
  }
  devices.seen(about);
  return welcome(connect, from, new Set(granted), { device, ...(setup !== undefined && { setup }) });
}

/** Whether a client shows no token but that of its device. */
const isOnly = (token: string | undefined, deviceToken: string | undefined): boolean =>
  token === undefined || deviceToken === undefined || token === deviceToken;

/** Not counted as a wrong token: the device is known, and the config does not let it in without the shared one. */
const refuseOwnToken = (): RefusedConnect =>
  refuse(1008, "unauthorized: gateway.roles is set, so a device needs the gateway's token or password", {
    code: "AUTH_DEVICE_TOKEN_NOT_ALLOWED",
  });

function refuse(closeCode: number, message: string, details?: Record<string, unknown>): RefusedConnect {
  const error = { code: "INVALID_REQUEST", message, ...(details === undefined ? {} : { details }) };
  return { kind: "refused", error, closeCode, closeReason: message.slice(0, 120) };
}

function refuseProtocol({ minProtocol, maxProtocol }: ConnectParams): RefusedConnect {
  const theirs = minProtocol === maxProtocol ? `${minProtocol}` : `${minProtocol} to ${maxProtocol}`;
  const message = `protocol mismatch: this gateway speaks ${OLDEST_PROTOCOL} to ${PROTOCOL}, the client ${theirs}`;
  return refuse(1002, message, {
    code: "PROTOCOL_MISMATCH",
    clientMinProtocol: minProtocol,
    clientMaxProtocol: maxProtocol,
    expectedProtocol: PROTOCOL,
    minimumProbeProtocol: OLDEST_PROTOCOL,
  });
}

/** The device keeps its token, and gets in with the scopes that this one has. */
function refuseScopes(device: PairedDevice, { request, isNew }: ReturnType<Devices["request"]>): RefusedConnect {
  const { requestId } = request;
  const details = {
    code: "PAIRING_REQUIRED",
    reason: "scope-upgrade",
    requestId,
    deviceId: device.deviceId,
    requestedRole: "operator",
    requestedScopes: request.scopes,
    approvedRoles: ["operator"],
    approvedScopes: device.token.scopes,
  };
  const message = `scope upgrade pending approval (requestId: ${requestId})`;
  const error = { code: "NOT_PAIRED", message, details };
  const closeReason = `pairing required: ${message}`;
  return { kind: "refused", error, closeCode: 1008, closeReason, ...(isNew && { request }) };
}

function refuseRole(role: string): RefusedConnect {
  return refuse(1008, `role ${role.slice(0, 40)} is not served by this gateway; connect as operator`, {
    code: "ROLE_NOT_SERVED",
  });
}

function refuseCredentials(verdict: Exclude<AuthVerdict, { kind: "ok" }>, given: Credentials): RefusedConnect {
  if (verdict.kind === "missing") {
    return refuse(1008, "unauthorized: gateway token missing", { code: "AUTH_TOKEN_MISSING" });
  }
  if (verdict.kind === "wrong") {
    const [what, code] = wrongOne(given);
    return refuse(1008, `unauthorized: ${what}`, { code });
  }
  const message = "unauthorized: too many failed authentication attempts";
  const details = { code: "AUTH_RATE_LIMITED", recommendedNextStep: "wait_then_retry" };
  const error = { code: "RATE_LIMITED", message, details, retryable: true, retryAfterMs: verdict.retryAfterMs };
  return { kind: "refused", error, closeCode: 1008, closeReason: message };
}

/** A device forgets its token when it reads that this one is wrong. */
function wrongOne({ token, deviceToken, bootstrapToken }: Credentials): readonly [what: string, code: string] {
  if (deviceToken && (!token || token === deviceToken)) return ["device token mismatch", "AUTH_DEVICE_TOKEN_MISMATCH"];
  if (token) return ["gateway token mismatch", "AUTH_TOKEN_MISMATCH"];
  if (bootstrapToken) return ["set-up code is not valid any more", "AUTH_BOOTSTRAP_TOKEN_INVALID"];
  return ["gateway password mismatch", "AUTH_PASSWORD_MISMATCH"];
}
