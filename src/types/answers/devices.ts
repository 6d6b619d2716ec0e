import { z } from "zod";

/** The fields in which a device presents itself when it connects. */
export const aboutDevice = z.object({
  deviceId: z.string().min(1),
  publicKey: z.string().min(1),
  clientId: z.string(),
  clientMode: z.string(),
  displayName: z.string().optional(),
  platform: z.string(),
  deviceFamily: z.string().optional(),
  remoteIp: z.string(),
});

/** Times are epoch milliseconds. The token itself is never shown. */
const token = z.looseObject({
  role: z.string(),
  scopes: z.array(z.string()),
  createdAtMs: z.number(),
  rotatedAtMs: z.number().optional(),
  revokedAtMs: z.number().optional(),
  lastUsedAtMs: z.number().optional(),
});
const shown = {
  ...aboutDevice.shape,
  role: z.string(),
  roles: z.array(z.string()),
  scopes: z.array(z.string()),
};
const device = z.looseObject({
  ...shown,
  /** The name that a person gave it. */
  label: z.string().optional(),
  createdAtMs: z.number(),
  approvedAtMs: z.number(),
  lastSeenAtMs: z.number(),
  connected: z.boolean(),
  tokens: z.array(token),
});
export type ShownDevice = z.output<typeof device>;
/** A device that wants more scopes than it has. */
const request = z.looseObject({ ...shown, requestId: z.string(), isRepair: z.boolean(), ts: z.number() });
export type ShownDeviceRequest = z.output<typeof request>;

/** The answers of `device.pair.*` and `device.token.*`. */
export const deviceAnswers = {
  list: z.looseObject({ pending: z.array(request), paired: z.array(device) }),
  approve: z.looseObject({ requestId: z.string(), device }),
  reject: z.looseObject({ requestId: z.string(), deviceId: z.string() }),
  remove: z.looseObject({ deviceId: z.string(), removedAtMs: z.number() }),
  rename: z.looseObject({ deviceId: z.string(), label: z.string() }),
  rotate: z.looseObject({
    deviceId: z.string(),
    role: z.string(),
    /** Only for the device itself. */
    token: z.string().optional(),
    scopes: z.array(z.string()),
    rotatedAtMs: z.number(),
    tokenDelivery: z.string(),
  }),
  revoke: z.looseObject({ deviceId: z.string(), role: z.string(), revokedAtMs: z.number() }),
  setupCode: z.looseObject({
    setupId: z.string(),
    setupCode: z.string(),
    gatewayUrl: z.string(),
    auth: z.literal("token"),
    urlSource: z.string(),
    access: z.enum(["full", "limited"]),
    expiresAtMs: z.number(),
  }),
};
