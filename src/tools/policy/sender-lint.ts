import type { ToolLists } from "../../types/tool-policy.ts";
import { readSenderKey, type SenderKey } from "./sender-keys.ts";

/** A remark about one key of `toolsBySender`. */
export interface SenderDoubt {
  readonly name: string;
  readonly message: string;
}

interface Place {
  /** Channels that the config sets up. */
  readonly channels: readonly string[];
  /** The channel whose section holds the entries. */
  readonly channel?: string | undefined;
}

/** Keys of `toolsBySender` that match nobody, and keys that name the same sender. Pure. */
export function senderDoubts(rules: Readonly<Record<string, ToolLists>>, place: Place): readonly SenderDoubt[] {
  const first = new Map<string, string>();
  return Object.keys(rules).flatMap((name): readonly SenderDoubt[] => {
    const key = readSenderKey(name);
    const why = whyNobody(key, place);
    if (why !== undefined) return [{ name, message: `"${name}" matches nobody: ${why}` }];
    const same = JSON.stringify([key.kind, key.channel, "text" in key ? key.text : ""]);
    const before = first.get(same);
    if (before === undefined) first.set(same, name);
    return before === undefined ? [] : [{ name, message: `"${name}" is the same sender as "${before}"; both hold` }];
  });
}

function whyNobody(key: SenderKey, { channels, channel }: Place): string | undefined {
  if ("text" in key && key.text === "") return "it names no sender";
  if (key.kind === "e164" && !/^\d{5,15}$/.test(key.text)) return "e164 is followed by a phone number";
  if (key.channel === undefined) return undefined;
  if (channel !== undefined && key.channel !== channel) return `these entries are for ${channel} alone`;
  return channels.includes(key.channel) ? undefined : `the config sets up no channel "${key.channel}"`;
}
