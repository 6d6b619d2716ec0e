import { aboutDevice } from "../../types/answers/devices.ts";
import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../types/clock.ts";
import type { KeyValue } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";

/** Most devices that are kept; the one that was not seen for the longest time goes first. */
const MOST_DEVICES = 500;
const MOST_PENDING = 100;
const PENDING_MS = 300_000;

/** Where the devices are kept, as one text. */
export interface DeviceStore {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

/** The store in the journal's small values. */
export const devicesIn = (values: KeyValue): DeviceStore => ({
  read: () => values.get("devices"),
  write: (text) => values.set("devices", text),
});

const deviceToken = z.object({
  value: z.string().min(1),
  scopes: z.array(z.string()),
  createdAtMs: z.number(),
  rotatedAtMs: z.number().optional(),
  revokedAtMs: z.number().optional(),
  lastUsedAtMs: z.number().optional(),
});
export type DeviceToken = z.infer<typeof deviceToken>;

/** How a device presents itself when it connects. */
export type AboutDevice = z.infer<typeof aboutDevice>;

const keptDevice = aboutDevice.extend({
  /** The name that a person gave it. */
  label: z.string().optional(),
  createdAtMs: z.number(),
  approvedAtMs: z.number(),
  lastSeenAtMs: z.number(),
  token: deviceToken,
});
export type PairedDevice = z.infer<typeof keptDevice>;

const keptDevices = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch (error) {
      context.addIssue({ code: "custom", message: String(error) });
      return z.NEVER;
    }
  })
  .pipe(z.array(keptDevice));

/** A device that another gateway has paired. Times are epoch milliseconds. */
export interface EarlierDevice {
  readonly about: AboutDevice;
  readonly scopes: readonly string[];
  readonly label?: string | undefined;
  readonly createdAtMs?: number | undefined;
  readonly approvedAtMs?: number | undefined;
}

/** A device that wants more scopes than its token has. */
export interface PendingDevice extends AboutDevice {
  readonly requestId: string;
  readonly scopes: readonly string[];
  readonly ts: number;
}

/** The devices of clients, each with its own token. Changes are kept in their order; `saved` waits for the last one. */
export class Devices {
  readonly #store: DeviceStore;
  readonly #clock: Pick<Clock, "now">;
  /** The one that was seen last is the last. */
  readonly #paired: Map<string, PairedDevice>;
  readonly #pending = new Map<string, PendingDevice>();
  #saving: Promise<void> = Promise.resolve();

  private constructor(store: DeviceStore, clock: Pick<Clock, "now">, paired: readonly PairedDevice[]) {
    this.#store = store;
    this.#clock = clock;
    this.#paired = new Map(paired.map((device) => [device.deviceId, device]));
  }

  static async open(
    store: DeviceStore,
    { clock, log }: { clock: Pick<Clock, "now">; log: Pick<Log, "error"> },
  ): Promise<Devices> {
    const kept = keptDevices.safeParse((await store.read()) ?? "[]");
    if (!kept.success)
      log.error("the list of devices cannot be read: devices have to pair again", { error: kept.error });
    return new Devices(store, clock, kept.success ? kept.data : []);
  }

  /** Resolves once all changes so far are kept. Rejects when the last one could not be written. */
  saved(): Promise<void> {
    return this.#saving;
  }

  get(deviceId: string): PairedDevice | undefined {
    return this.#paired.get(deviceId);
  }

  list(): readonly PairedDevice[] {
    return [...this.#paired.values()].toReversed();
  }

  /** The device if one of the texts is its token. The caller has proved that it has the device's key. */
  withToken(deviceId: string, texts: readonly (string | undefined)[]): PairedDevice | undefined {
    const device = this.#paired.get(deviceId);
    if (device === undefined || device.token.revokedAtMs !== undefined) return undefined;
    const isToken = (text: string | undefined) => text !== undefined && isSame(text, device.token.value);
    return texts.some(isToken) ? device : undefined;
  }

  /** Pairs a device whose person has the right to these scopes. A device that is paired keeps its token and its scopes. */
  pair(about: AboutDevice, scopes: Iterable<string>): PairedDevice {
    const now = this.#clock.now();
    const known = this.#paired.get(about.deviceId);
    const old = known?.token.revokedAtMs === undefined ? known?.token : undefined;
    const all = [...new Set([...(old?.scopes ?? []), ...scopes])].toSorted();
    const token = old === undefined ? newToken(all, now) : { ...old, scopes: all };
    const dates = { createdAtMs: known?.createdAtMs ?? now, approvedAtMs: known?.approvedAtMs ?? now };
    const label = known?.label === undefined ? {} : { label: known.label };
    const device = { ...about, ...label, ...dates, lastSeenAtMs: now, token: { ...token, lastUsedAtMs: now } };
    const isChanged = old === undefined || all.length > old.scopes.length || isOther(known, about);
    this.#put(device, isChanged);
    return device;
  }

  /** Keeps a device that another gateway has paired, with a new token that nobody knows yet. */
  admit({ about, scopes, ...known }: EarlierDevice): void {
    const now = this.#clock.now();
    const { label, createdAtMs = now, approvedAtMs = now } = known;
    const named = label === undefined ? {} : { label };
    const token = newToken([...scopes], now);
    this.#put({ ...about, ...named, createdAtMs, approvedAtMs, lastSeenAtMs: approvedAtMs, token }, true);
  }

  /** Notes that a device connected with its token. */
  seen(about: AboutDevice): void {
    const known = this.#paired.get(about.deviceId);
    if (known === undefined) return;
    const now = this.#clock.now();
    const token = { ...known.token, lastUsedAtMs: now };
    this.#put({ ...known, ...about, lastSeenAtMs: now, token }, isOther(known, about));
  }

  /** Another name, another token, or none that is valid. */
  change(deviceId: string, change: Partial<Pick<PairedDevice, "label" | "token">>): void {
    const known = this.#paired.get(deviceId);
    if (known !== undefined) this.#put({ ...known, ...change }, true);
  }

  /** A new token, with these scopes or those of the old one. */
  rotated(device: PairedDevice, scopes: readonly string[] | undefined): DeviceToken {
    const now = this.#clock.now();
    return { ...newToken([...(scopes ?? device.token.scopes)].toSorted(), now), rotatedAtMs: now };
  }

  remove(deviceId: string): void {
    this.#paired.delete(deviceId);
    for (const { requestId } of this.pending()) {
      if (this.#pending.get(requestId)?.deviceId === deviceId) this.#pending.delete(requestId);
    }
    this.#save();
  }

  /** Requests that wait for a person, the latest first. */
  pending(): readonly PendingDevice[] {
    const oldest = this.#clock.now() - PENDING_MS;
    for (const [id, { ts }] of this.#pending) if (ts < oldest) this.#pending.delete(id);
    return [...this.#pending.values()].toReversed();
  }

  /** Keeps a request for more scopes. `isNew` is false when the same one waits already. */
  request(about: AboutDevice, scopes: readonly string[]): { readonly request: PendingDevice; readonly isNew: boolean } {
    const earlier = this.pending().filter(({ deviceId }) => deviceId === about.deviceId);
    const same = earlier.find((one) => one.scopes.join() === scopes.join());
    if (same !== undefined) return { request: same, isNew: false };
    for (const { requestId } of earlier) this.#pending.delete(requestId);
    const request = { ...about, requestId: randomUUID(), scopes, ts: this.#clock.now() };
    this.#pending.set(request.requestId, request);
    forgetOldest(this.#pending, MOST_PENDING);
    return { request, isNew: true };
  }

  /** Takes a request out of those that wait. */
  take(requestId: string): PendingDevice | undefined {
    const request = this.pending().find((one) => one.requestId === requestId);
    this.#pending.delete(requestId);
    return request;
  }

  #put(device: PairedDevice, isChanged: boolean): void {
    this.#paired.delete(device.deviceId);
    this.#paired.set(device.deviceId, device);
    forgetOldest(this.#paired, MOST_DEVICES);
    if (isChanged) this.#save();
  }

  #save(): void {
    const write = () => this.#store.write(JSON.stringify([...this.#paired.values()]));
    // A write that failed is told to whom it was for; the next one writes everything again.
    this.#saving = this.#saving.then(write, write);
    this.#saving.catch(() => undefined);
  }
}

const newToken = (scopes: string[], now: number): DeviceToken => ({
  value: randomBytes(32).toString("base64url"),
  scopes,
  createdAtMs: now,
});

function isOther(known: PairedDevice | undefined, about: AboutDevice): boolean {
  const kept = new Map<string, unknown>(Object.entries(known ?? {}));
  return Object.entries(about).some(([name, value]) => kept.get(name) !== value);
}

const digest = (text: string) => createHash("sha256").update(text).digest();

const isSame = (given: string, expected: string): boolean => timingSafeEqual(digest(given), digest(expected));
