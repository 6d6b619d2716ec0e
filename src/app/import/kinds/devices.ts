import { createHash } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { Devices, devicesIn, type AboutDevice } from "../../../server/devices/devices.ts";
import { grantScopes } from "../../../server/transport/scopes.ts";
import { systemClock } from "../../../types/clock.ts";
import { isFields } from "../../../utils/fields.ts";
import { givenJson, readListed } from "../frame/source-file.ts";
import type { ImportKind, Item, KindPlan, Left } from "../frame/kind.ts";
import type { ImportSource } from "../frame/source.ts";

const text = z.string().min(1).max(512);
const time = z.number().int().nonnegative();

/** A device as the other gateway keeps it, in either of its forms. */
const given = z.looseObject({
  deviceId: text,
  publicKey: text,
  displayName: text.optional().catch(undefined),
  operatorLabel: text.optional().catch(undefined),
  platform: text.optional().catch(undefined),
  deviceFamily: text.optional().catch(undefined),
  clientId: text.optional().catch(undefined),
  clientMode: text.optional().catch(undefined),
  remoteIp: text.optional().catch(undefined),
  role: z.string().optional().catch(undefined),
  roles: z.array(z.string()).optional().catch(undefined),
  approvedScopes: z.array(z.string()).optional().catch(undefined),
  scopes: z.array(z.string()).optional().catch(undefined),
  createdAtMs: time.optional().catch(undefined),
  approvedAtMs: time.optional().catch(undefined),
});
type GivenDevice = z.infer<typeof given>;

/**
 * Devices of operators, with their names and rights. Each gets a new token here, because two gateways with one token would let in
 * each other's clients: it connects once with this gateway's token, and asks nobody.
 */
export const devicesKind: ImportKind = {
  id: "devices",
  title: "Devices of clients",
  async plan(from): Promise<KindPlan> {
    const { list, left } = await devicesOf(from);
    const items: Item[] = [];
    const others: Left[] = [];
    for (const [name, value] of list) {
      const device = given.safeParse(value).data;
      const roles = device && (device.roles ?? [device.role ?? "operator"]);
      if (!device) others.push({ name, why: "it has no key" });
      else if (roles?.includes("operator") !== true)
        others.push({ name: device.displayName ?? name, why: "no other machine runs anything for this gateway" });
      else items.push(itemFor(device));
    }
    return { items, left: [...left, ...others] };
  },
};

function itemFor(device: GivenDevice): Item {
  const about: AboutDevice = {
    deviceId: device.deviceId,
    publicKey: device.publicKey,
    clientId: device.clientId ?? "",
    clientMode: device.clientMode ?? "",
    platform: device.platform ?? "",
    remoteIp: device.remoteIp ?? "",
    ...(device.displayName !== undefined && { displayName: device.displayName }),
    ...(device.deviceFamily !== undefined && { deviceFamily: device.deviceFamily }),
  };
  const scopes = [...grantScopes(device.approvedScopes ?? device.scopes)].toSorted();
  const { operatorLabel: label, createdAtMs, approvedAtMs } = device;
  const facts = { about, scopes, label, createdAtMs, approvedAtMs };
  return {
    id: device.deviceId,
    name: label ?? device.displayName ?? device.deviceId,
    version: createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16),
    notes: ["connect it once with the token of this gateway"],
    async take({ journal }) {
      const devices = await Devices.open(devicesIn(journal.values), { clock: systemClock, log: NOT_READ });
      if (devices.get(device.deviceId)) return { left: "this gateway knows the device already" };
      devices.admit(facts);
      await devices.saved();
      return { made: device.deviceId };
    },
  };
}

/** A list that cannot be read is not replaced. */
const NOT_READ = {
  error(message: string): never {
    throw new Error(message);
  },
};

interface Found {
  readonly list: readonly (readonly [name: string, value: unknown])[];
  readonly left: readonly Left[];
}

async function devicesOf(from: ImportSource): Promise<Found> {
  const name = "devices/paired.json";
  const { text: file, why } = await readListed(join(from.dir, name), from.dir);
  const value = givenJson(file);
  const left: readonly Left[] = why === undefined ? [] : [{ name, why }];
  return { list: [...(isFields(value) ? Object.entries(value) : []), ...(await inDatabase(from))], left };
}

const COLUMNS = ["device_id", "public_key", "scopes_json", "approved_scopes_json", "roles_json"] as const;

async function inDatabase({ database, databases }: ImportSource): Promise<Found["list"]> {
  const db = database === undefined ? undefined : await databases.open(database);
  if (db?.has("device_pairing_paired", ...COLUMNS) !== true) return [];
  return [...db.rows("SELECT * FROM device_pairing_paired ORDER BY rowid")].map((row) => {
    const fields = Object.entries(row).map(([column, value]) => {
      const name = column.replace(/_json$/, "").replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      const isJson = column.endsWith("_json") && typeof value === "string";
      return [name, (isJson ? givenJson(value) : value) ?? undefined] as const;
    });
    return [String(row["device_id"]), Object.fromEntries(fields)] as const;
  });
}
