import { z } from "zod";
import { defineMethod, MethodError, type Caller, type Method } from "../../types/method.ts";
import type { Clock } from "../../types/clock.ts";
import type { MethodParts } from "./parts.ts";
import { hasScope } from "../transport/scopes.ts";
import { deviceAnswers } from "../../types/answers/devices.ts";
import type { PairedDevice, PendingDevice } from "../devices/devices.ts";
import { SCOPES_OF, type Access } from "../devices/setup-codes.ts";

type Parts = Pick<MethodParts, "devices" | "codes" | "hub" | "reachedAt" | "push">;

const ROLE = "operator";
/** The code with which a connection of a device ends that lost its token. */
const LOST_TOKEN = 4001;
type Loss = "device removed" | "device token rotated" | "device token revoked";
const deviceId = z.string().trim().min(1);
const requestId = z.string().trim().min(1);
const role = z.string().trim().min(1);

const completion = z.looseObject({
  setupId: z.string(),
  deviceId: z.string(),
  deviceName: z.string().optional(),
  access: z.string(),
  ts: z.number(),
});

/** A client that is a device has the say over others only as administrator. */
const maySee = ({ scopes, deviceId: own }: Caller, id: string): boolean =>
  own === undefined || own === id || scopes.has("operator.admin");

const covers = (caller: Caller, scopes: readonly string[]): boolean =>
  scopes.every((scope) => hasScope(caller.scopes, scope));

const deny = (message: string) => new MethodError("INVALID_REQUEST", message);
const unknown = (id: "requestId" | "deviceId") => new MethodError("NOT_FOUND", `unknown ${id}`);

/** What people do with the devices of clients. A denial does not say whether there is such a device. */
class DeviceDesk {
  readonly #parts: Parts;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: Parts, clock: Pick<Clock, "now">) {
    this.#parts = parts;
    this.#clock = clock;
  }

  list(caller: Caller) {
    const { devices } = this.#parts;
    const pending = devices.pending().filter((one) => maySee(caller, one.deviceId));
    const paired = devices.list().filter((one) => maySee(caller, one.deviceId));
    return { pending: pending.map(shownPending), paired: paired.map((one) => this.#shown(one)) };
  }

  async approve(id: string, caller: Caller) {
    const { devices } = this.#parts;
    const request = this.#decidable(id, caller, "approval");
    if (!covers(caller, request.scopes))
      throw deny("device pairing approval denied: you lack a scope that it asks for");
    const known = devices.get(request.deviceId);
    if (known === undefined) throw unknown("requestId");
    devices.take(id);
    const scopes = [...new Set([...known.token.scopes, ...request.scopes])].toSorted();
    devices.change(known.deviceId, { token: { ...known.token, scopes } });
    await devices.saved();
    this.#resolved(request, "approved");
    return { requestId: id, device: this.#shown(devices.get(known.deviceId) ?? known) };
  }

  reject(id: string, caller: Caller) {
    const request = this.#decidable(id, caller, "rejection");
    this.#parts.devices.take(id);
    this.#resolved(request, "rejected");
    return { requestId: id, deviceId: request.deviceId };
  }

  async remove(id: string, caller: Caller) {
    this.#known(id, caller, unknown("deviceId"));
    const { devices } = this.#parts;
    devices.remove(id);
    this.#disconnect(id, caller, "device removed");
    await devices.saved();
    await this.#parts.push.forgetDevice(id);
    this.#dismiss(id, caller, "device removed");
    return { deviceId: id, removedAtMs: this.#clock.now() };
  }

  async rename(id: string, label: string, caller: Caller) {
    this.#known(id, caller, unknown("deviceId"));
    const { devices } = this.#parts;
    devices.change(id, { label });
    await devices.saved();
    return { deviceId: id, label };
  }

  async rotate(id: string, scopes: readonly string[] | undefined, caller: Caller) {
    const denied = "device token rotation denied";
    const device = this.#known(id, caller, deny(denied));
    if (device.token.revokedAtMs !== undefined) throw deny(denied);
    const wanted = scopes ?? device.token.scopes;
    const has = new Set(device.token.scopes);
    if (!covers(caller, wanted) || !wanted.every((scope) => hasScope(has, scope))) throw deny(denied);
    const { devices } = this.#parts;
    const token = devices.rotated(device, scopes);
    devices.change(id, { token });
    const isOwn = caller.deviceId === id;
    this.#disconnect(id, caller, "device token rotated");
    await devices.saved();
    return {
      deviceId: id,
      role: ROLE,
      ...(isOwn && { token: token.value }),
      scopes: token.scopes,
      rotatedAtMs: token.createdAtMs,
      tokenDelivery: isOwn ? "in-band" : "withheld-cross-device",
    };
  }

  async revoke(id: string, caller: Caller) {
    const denied = "device token revocation denied";
    const device = this.#known(id, caller, deny(denied));
    if (!covers(caller, device.token.scopes)) throw deny(denied);
    const revokedAtMs = device.token.revokedAtMs ?? this.#clock.now();
    const { devices } = this.#parts;
    devices.change(id, { token: { ...device.token, revokedAtMs } });
    this.#disconnect(id, caller, "device token revoked");
    await devices.saved();
    await this.#parts.push.forgetDevice(id);
    this.#dismiss(id, caller, "device token revoked");
    return { deviceId: id, role: ROLE, revokedAtMs };
  }

  setupCode(access: Access, publicUrl: string | undefined, caller: Caller) {
    const { codes, reachedAt } = this.#parts;
    if (!covers(caller, SCOPES_OF[access])) throw deny("you lack a scope that the device would get");
    const gatewayUrl = publicUrl === undefined ? reachedAt : socketUrl(publicUrl);
    if (gatewayUrl === undefined) {
      throw deny(
        "The gateway listens on loopback only: set gateway.bind, or name the proxy in gateway.controlUi.allowedOrigins, or its address in publicUrl (--url).",
      );
    }
    const { setupId, bootstrapToken, expiresAtMs } = codes.issue(access);
    const code = JSON.stringify({ url: gatewayUrl, bootstrapToken, expiresAtMs });
    return {
      setupId,
      setupCode: Buffer.from(code).toString("base64url"),
      gatewayUrl,
      auth: "token" as const,
      urlSource: publicUrl === undefined ? sourceOf(gatewayUrl) : "publicUrl",
      access,
      expiresAtMs,
    };
  }

  #decidable(id: string, caller: Caller, act: "approval" | "rejection"): PendingDevice {
    const request = this.#parts.devices.pending().find((one) => one.requestId === id);
    if (request === undefined) throw unknown("requestId");
    if (!maySee(caller, request.deviceId)) throw deny(`device pairing ${act} denied`);
    return request;
  }

  #known(id: string, caller: Caller, denied: MethodError): PairedDevice {
    const device = this.#parts.devices.get(id);
    if (device === undefined || !maySee(caller, id)) throw denied;
    return device;
  }

  /** Ends the connections of a device, but for the one that asks for it. */
  #disconnect(id: string, caller: Caller, why: Loss): void {
    for (const connection of this.#parts.hub.list()) {
      if (connection.caller?.deviceId === id && connection.id !== caller.connId) connection.close(LOST_TOKEN, why);
    }
  }

  /** Ends the connection that took its own device its token, once it has its answer. */
  #dismiss(id: string, { deviceId: own, connId }: Caller, why: Loss): void {
    if (own !== id) return;
    const connection = this.#parts.hub.list().find((one) => one.id === connId);
    setImmediate(() => connection?.close(LOST_TOKEN, why));
  }

  #resolved({ requestId: id, deviceId: device }: PendingDevice, decision: string): void {
    const payload = { requestId: id, deviceId: device, decision, ts: this.#clock.now() };
    this.#parts.hub.publish({ event: "device.pair.resolved", payload, scope: "operator.pairing" });
  }

  #shown(device: PairedDevice) {
    const { token, ...about } = device;
    const { value: _, ...told } = token;
    const connected = this.#parts.hub.list().some(({ caller }) => caller?.deviceId === device.deviceId);
    const tokens = [{ role: ROLE, ...told }];
    return { ...about, role: ROLE, roles: [ROLE], scopes: token.scopes, connected, tokens };
  }
}

const shownPending = (request: PendingDevice) => ({ ...request, role: ROLE, roles: [ROLE], isRepair: true });

/** The gateway itself speaks no TLS. */
const sourceOf = (url: string): string =>
  url.startsWith("wss:") ? "gateway.controlUi.allowedOrigins" : "gateway.bind";

/** Throws `MethodError` for what is no address of a gateway. */
function socketUrl(text: string): string {
  const url = URL.parse(text);
  const protocol = url && SOCKET_PROTOCOLS.get(url.protocol);
  if (!url || protocol === undefined) throw deny("publicUrl has to begin with wss://, https://, ws:// or http://");
  return `${protocol}//${url.host}${url.pathname === "/" ? "" : url.pathname}`;
}

const SOCKET_PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ["https:", "wss:"],
  ["wss:", "wss:"],
  ["http:", "ws:"],
  ["ws:", "ws:"],
]);

/** Methods for the devices of clients, which have a token each, and for the codes that pair them. */
export function deviceMethods({ clock }: { readonly clock: Pick<Clock, "now"> }, parts: Parts): readonly Method[] {
  const desk = new DeviceDesk(parts, clock);
  return [...pairMethods(desk), ...tokenMethods(desk), ...setupMethods(desk, parts)];
}

function pairMethods(desk: DeviceDesk): readonly Method[] {
  return [
    defineMethod({
      name: "device.pair.list",
      scope: "operator.pairing",
      params: z.looseObject({}),
      result: deviceAnswers.list,
      run: async (_params, caller) => desk.list(caller),
    }),
    defineMethod({
      name: "device.pair.approve",
      scope: "operator.pairing",
      params: z.looseObject({ requestId }),
      result: deviceAnswers.approve,
      run: ({ requestId: id }, caller) => desk.approve(id, caller),
    }),
    defineMethod({
      name: "device.pair.reject",
      scope: "operator.pairing",
      params: z.looseObject({ requestId }),
      result: deviceAnswers.reject,
      run: async ({ requestId: id }, caller) => desk.reject(id, caller),
    }),
    defineMethod({
      name: "device.pair.remove",
      scope: "operator.pairing",
      params: z.looseObject({ deviceId }),
      result: deviceAnswers.remove,
      run: ({ deviceId: id }, caller) => desk.remove(id, caller),
    }),
    defineMethod({
      name: "device.pair.rename",
      scope: "operator.pairing",
      params: z.looseObject({ deviceId, label: z.string().trim().min(1).max(64) }),
      result: deviceAnswers.rename,
      run: ({ deviceId: id, label }, caller) => desk.rename(id, label, caller),
    }),
  ];
}

function tokenMethods(desk: DeviceDesk): readonly Method[] {
  return [
    defineMethod({
      name: "device.token.rotate",
      scope: "operator.pairing",
      params: z.looseObject({ deviceId, role, scopes: z.array(z.string()).optional() }),
      result: deviceAnswers.rotate,
      run: ({ deviceId: id, role: asked, scopes }, caller) => {
        if (asked !== ROLE) throw deny("device token rotation denied");
        return desk.rotate(id, scopes, caller);
      },
    }),
    defineMethod({
      name: "device.token.revoke",
      scope: "operator.pairing",
      params: z.looseObject({ deviceId, role }),
      result: deviceAnswers.revoke,
      run: ({ deviceId: id, role: asked }, caller) => {
        if (asked !== ROLE) throw deny("device token revocation denied");
        return desk.revoke(id, caller);
      },
    }),
  ];
}

function setupMethods(desk: DeviceDesk, { codes }: Parts): readonly Method[] {
  return [
    defineMethod({
      name: "device.pair.setupCode",
      scope: "operator.admin",
      params: z.looseObject({
        publicUrl: z.string().max(2048).optional(),
        bootstrapProfile: z.enum(["full", "limited"]).optional(),
        joinUrl: z.literal(false).optional(),
      }),
      result: deviceAnswers.setupCode,
      run: async ({ publicUrl, bootstrapProfile = "limited" }, caller) =>
        desk.setupCode(bootstrapProfile, publicUrl, caller),
    }),
    defineMethod({
      name: "device.pair.setupStatus",
      scope: "operator.admin",
      params: z.looseObject({ setupId: z.string().min(1) }),
      result: z.looseObject({ completion: completion.optional() }),
      run: async ({ setupId }) => {
        const done = codes.completionOf(setupId);
        return done === undefined ? {} : { completion: done };
      },
    }),
  ];
}
