import type { z } from "zod";
import { isFields, type Fields } from "../../../../utils/fields.ts";
import { nameIn, numberIn, objectOf, optionalMethodIn, textIn, methodIn } from "../../foreign.ts";
import { channelKeysOf, channelSchemaOf } from "../../../manifest/config-schema.ts";

type Method = ReturnType<typeof methodIn>;

/** The parts of a `ChannelPlugin` object that the gateway uses. Calls may throw. */
export interface BridgedChannel {
  readonly id: string;
  readonly label: string;
  /** Schema of the channel's section of the config; keys of the gateway are allowed in the section. */
  readonly schema: z.ZodType;
  /** The section's keys, with any values. */
  readonly keys: z.ZodType;
  readonly textLimit: number;
  readonly listAccountIds: Method;
  readonly resolveAccount: Method;
  readonly isConfigured: Method | undefined;
  readonly sendText: Method | undefined;
  readonly sendMedia: Method | undefined;
  readonly gateway: Fields;
  /** Members that the gateway never calls. */
  readonly notServed: readonly string[];
}

/** UTF-16 units, as the field's channels have it without a limit of their own. */
const TEXT_LIMIT = 4000;

/** Reads the object of `registerChannel`. Throws where a needed member is missing. */
export function readChannelPlugin(plugin: Fields): BridgedChannel {
  const id = nameIn(plugin, "id", "registerChannel");
  const config = objectOf(plugin["config"], `"config" of the channel ${id}`);
  const outbound = fieldsIn(plugin, "outbound");
  const gateway = fieldsIn(plugin, "gateway");
  const schema = fieldsIn(fieldsIn(plugin, "configSchema"), "schema");
  return {
    id,
    label: textIn(fieldsIn(plugin, "meta"), "label") ?? id,
    schema: channelSchemaOf(schema),
    keys: channelKeysOf(schema),
    textLimit: Math.max(1, numberIn(outbound, "textChunkLimit") ?? TEXT_LIMIT),
    listAccountIds: methodIn(config, "listAccountIds", `"config" of the channel ${id}`),
    resolveAccount: methodIn(config, "resolveAccount", `"config" of the channel ${id}`),
    isConfigured: optionalMethodIn(config, "isConfigured"),
    sendText: optionalMethodIn(outbound, "sendText"),
    sendMedia: optionalMethodIn(outbound, "sendMedia"),
    gateway,
    notServed: notServedIn(plugin),
  };
}

/** Members that describe the channel without being called, and members that the gateway calls. */
const USED: Readonly<Record<string, ReadonlySet<string> | "all">> = {
  id: "all",
  meta: "all",
  configSchema: "all",
  capabilities: "all",
  config: new Set(["listAccountIds", "resolveAccount", "isConfigured"]),
  outbound: new Set(["deliveryMode", "textChunkLimit", "sendText", "sendMedia"]),
  gateway: new Set(["startAccount", "stopAccount", "loginWithQrStart", "loginWithQrWait"]),
};

/** `messaging`, `outbound.sendPoll` and the like: a group as a whole, or single members of one that is used. */
function notServedIn(plugin: Fields): readonly string[] {
  return Object.entries(plugin).flatMap(([name, value]) => {
    const used = Object.hasOwn(USED, name) ? USED[name] : undefined;
    if (used === "all" || value === undefined || value === null) return [];
    if (used === undefined) return [name];
    return isFields(value) ? Object.keys(value).flatMap((key) => (used.has(key) ? [] : `${name}.${key}`)) : [];
  });
}

function fieldsIn(value: Fields, key: string): Fields {
  const found = value[key];
  return isFields(found) ? found : {};
}
