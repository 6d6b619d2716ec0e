import { hash } from "node:crypto";
import { parseKey, wireKey, type ParsedKey } from "../../sessions/keys.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { SessionEntry } from "../../types/session.ts";

export interface KeyScene {
  readonly defaultAgent: AgentId;
  /** The `session.dmScope` that OpenClaw will have. */
  readonly dmScope: string;
}

/** Platforms whose rooms OpenClaw calls channels. */
const ROOMS = new Set(["discord", "slack"]);

/**
 * The key by which OpenClaw finds a conversation again when its person or group writes next. A conversation that no chat continues keeps the
 * key that clients see. Pure.
 */
export function openClawKey(key: SessionKey, entry: Readonly<SessionEntry>, scene: KeyScene): string {
  const parsed = parseKey(key, scene.defaultAgent);
  const rest = restOf(parsed, entry, scene);
  return rest === undefined ? wireKey(key, scene.defaultAgent) : `agent:${parsed.agentId.toLowerCase()}:${rest}`;
}

function restOf(parsed: ParsedKey, entry: Readonly<SessionEntry>, { dmScope }: KeyScene): string | undefined {
  switch (parsed.kind) {
    case "main":
      return "main";
    case "subagent":
      return `subagent:${(parsed.child ?? hash("sha256", parsed.parent).slice(0, 16)).toLowerCase()}`;
    case "peer":
      if (dmScope === "per-peer" || entry.lastChannel === undefined) return `direct:${parsed.name.toLowerCase()}`;
      return direct({ channel: entry.lastChannel, account: entry.lastAccountId, sender: parsed.name }, dmScope);
    case "direct":
      if (parsed.channel === "webchat") return undefined;
      return `${direct(parsed, dmScope)}${threadOf(parsed)}`;
    case "group":
      return groupOf(parsed);
    case "other":
      return undefined;
  }
}

interface Person {
  readonly channel: string;
  readonly account: string | undefined;
  readonly sender: string;
}

function direct({ channel, account = "default", sender }: Person, dmScope: string): string {
  const id = sender.toLowerCase();
  return dmScope === "per-account-channel-peer"
    ? `${channel.toLowerCase()}:${account.toLowerCase()}:direct:${id}`
    : `${channel.toLowerCase()}:direct:${id}`;
}

type Parsed<Kind extends ParsedKey["kind"]> = Extract<ParsedKey, { kind: Kind }>;

function threadOf({ channel, sender, thread }: Parsed<"direct">): string {
  if (thread === undefined) return "";
  // A topic of a private chat on Telegram is named with its chat.
  const name = channel === "telegram" ? `${sender}:${thread}` : thread;
  return `:thread:${name.toLowerCase()}`;
}

function groupOf({ channel, group, thread }: Parsed<"group">): string {
  // Slack's group messages have ids that begin with a G.
  const isRoom = ROOMS.has(channel) && !(channel === "slack" && /^G/i.test(group));
  // The ids of Signal's groups distinguish case.
  const id = channel === "signal" ? group : group.toLowerCase();
  const base = `${channel.toLowerCase()}:${isRoom ? "channel" : "group"}:${id}`;
  if (thread === undefined) return base;
  return channel === "telegram" ? `${base}:topic:${thread}` : `${base}:thread:${thread.toLowerCase()}`;
}
