import { type AgentId, agentId, DEFAULT_AGENT, type SessionKey, sessionKey } from "../types/ids.ts";
import type { Peer, Sender } from "../types/chat/message.ts";

export type DmScope = "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";

/** The parts of a session key. `other`: a key of another form, used unchanged. */
export type ParsedKey = { readonly agentId: AgentId } & (
  | KeyBody
  | { readonly kind: "subagent"; readonly parent: SessionKey; readonly child?: string }
);
type KeyBody =
  | { readonly kind: "main" }
  | { readonly kind: "peer"; readonly name: string }
  | (Place & { readonly kind: "direct"; readonly sender: string })
  | (Place & { readonly kind: "group"; readonly group: string })
  | { readonly kind: "other"; readonly text: string };
interface Place {
  readonly channel: string;
  readonly account: string;
  readonly thread?: string;
}

export interface KeyRules {
  readonly agentId: AgentId;
  /** `global`: an agent's direct chats are one session, whatever `dmScope` says. `per-sender` when unset. */
  readonly scope?: "per-sender" | "global";
  readonly dmScope: DmScope;
  /** A person's name, and the ids of that person: `telegram:123`, or `123` on any channel. */
  readonly identityLinks?: Readonly<Record<string, readonly string[]>>;
  /** The agent whose keys have no prefix. */
  readonly defaultAgent?: AgentId;
}

/** The main session of the default agent, `main` for clients: the operator's own chat, and all direct chats that are joined in one. */
export const OPERATOR_KEY: SessionKey = sessionKey("webchat:default:operator");

/** An agent's main session. */
export const isMainKey = (key: SessionKey): boolean => key === OPERATOR_KEY || parseKey(key).kind === "main";

/** The session of a message. Different peers get different keys, unless the scope or a link joins them. */
export function keyForPeer(peer: Peer, sender: Pick<Sender, "id">, rules: KeyRules): SessionKey {
  const place = placeOf(peer);
  const { agentId: agent, defaultAgent } = rules;
  if (peer.chat.kind === "group") {
    return buildKey({ kind: "group", agentId: agent, ...place, group: peer.chat.id }, defaultAgent);
  }
  if (rules.scope === "global" || rules.dmScope === "main")
    return buildKey({ kind: "main", agentId: agent }, defaultAgent);
  const name = linkedName(peer, sender.id, rules) ?? (rules.dmScope === "per-peer" ? sender.id : undefined);
  if (name !== undefined) return buildKey({ kind: "peer", agentId: agent, name }, defaultAgent);
  return buildKey({ kind: "direct", agentId: agent, ...place, sender: sender.id }, defaultAgent);
}

export function buildKey(parsed: ParsedKey, defaultAgent: AgentId = DEFAULT_AGENT): SessionKey {
  if (parsed.kind === "subagent") {
    const child = parsed.child === undefined ? "" : `:${encode(parsed.child)}`;
    return sessionKey(`${parsed.parent}::${encode(parsed.agentId)}${child}`);
  }
  if (parsed.kind === "main" && parsed.agentId === defaultAgent) return OPERATOR_KEY;
  const prefix = parsed.agentId === defaultAgent ? "" : `agent:${encode(parsed.agentId)}:`;
  return sessionKey(prefix + bodyOf(parsed));
}

/** Reads any key. Never throws. */
export function parseKey(key: SessionKey, defaultAgent: AgentId = DEFAULT_AGENT): ParsedKey {
  const cut = key.lastIndexOf("::");
  const subagent = cut > 0 ? parseSubagent(key.slice(0, cut), key.slice(cut + 2)) : undefined;
  if (subagent) return subagent;
  const parts = key.split(":");
  if (parts[0] !== "agent" || parts.length < 3) return { agentId: defaultAgent, ...parseBody(parts) };
  return { agentId: agentId(decode(parts[1] ?? "")), ...parseBody(parts.slice(2)) };
}

/** A session of a subagent: `<parent>::<agent>`, or `agent:<id>:subagent:<name>` as other gateways write it. */
export function isSubagentKey(key: SessionKey): boolean {
  const parsed = parseKey(key);
  if (parsed.kind === "other") return parsed.text.startsWith("subagent:");
  return parsed.kind === "subagent" || (parsed.kind === "direct" && parsed.channel === "subagent");
}

/** A session of a thread, topic or forum post. */
export function isThreadKey(key: SessionKey): boolean {
  const parsed = parseKey(key);
  return (parsed.kind === "direct" || parsed.kind === "group") && parsed.thread !== undefined;
}

/** The agent that answers in a session. */
export const agentOf = (key: SessionKey, defaultAgent: AgentId = DEFAULT_AGENT): AgentId =>
  parseKey(key, defaultAgent).agentId;

/**
 * The canonical form of a key: without the prefix of the default agent, whose `main` is the operator's own chat. A subagent's key keeps the prefix, because
 * plugins compare the key with the one that they gave.
 */
export function canonicalKey(key: SessionKey, defaultAgent: AgentId = DEFAULT_AGENT): SessionKey {
  const prefix = `agent:${encode(defaultAgent)}:`;
  if (key.startsWith(`${prefix}subagent:`)) return key;
  const rest = key.startsWith(prefix) && key.length > prefix.length ? sessionKey(key.slice(prefix.length)) : key;
  return rest === "main" ? OPERATOR_KEY : rest;
}

/** A key as a file names it: in the form inside, or in that of clients and plugins, which write the file too. */
export function writtenKey(text: string, defaultAgent: AgentId = DEFAULT_AGENT): SessionKey {
  return text.startsWith("agent:") ? resolveAlias(text, defaultAgent) : sessionKey(text);
}

/** A key as a web, RPC or command-line client writes it. A chat named in the field's form has the key of that chat here. */
export function resolveAlias(text: string, defaultAgent: AgentId = DEFAULT_AGENT): SessionKey {
  const key = canonicalKey(sessionKey(text.trim()), defaultAgent);
  const [, named, inner] = /^agent:([^:]+):(.+)$/s.exec(key) ?? [];
  const chat = key.includes("::") ? undefined : fieldChat(inner ?? key);
  if (chat?.channel === undefined || !FIELD_CHANNELS.has(chat.channel)) return key;
  const isOwnForm = chat.account !== undefined && chat.kind === "group";
  if (isOwnForm) return key;
  const { kind, channel, account = "default" } = chat;
  const written = (part: string): string => fieldId(decode(part), channel);
  const id = written(chat.id);
  const agent = named === undefined ? defaultAgent : agentId(decode(named));
  const thread = chat.thread === undefined ? {} : { thread: written(chat.thread) };
  const place = { agentId: agent, channel, account: decode(account), ...thread };
  const isDirect = DIRECT.has(kind);
  return buildKey(
    isDirect ? { kind: "direct", ...place, sender: id } : { kind: "group", ...place, group: id },
    defaultAgent,
  );
}

/** A chat as other gateways of the field name it: `[<channel>[:<account>]:]<kind>:<id>[:thread:<id>]`. */
export interface FieldChat {
  /** `direct` or `dm`, `group` or `channel`. */
  readonly kind: string;
  readonly channel?: string;
  readonly account?: string;
  readonly id: string;
  readonly thread?: string;
}

/** The kinds of a direct chat in keys of the field. */
export const DIRECT: ReadonlySet<string> = new Set(["direct", "dm"]);
const GROUP = new Set(["group", "channel"]);
const THREAD = new Set(["topic", "thread"]);
const isKind = (part: string): boolean => DIRECT.has(part) || GROUP.has(part);

/** The channels of the field whose keys are read so; another name before `group` may be a client's own. */
const FIELD_CHANNELS: ReadonlySet<string> = new Set(["telegram", "discord", "slack", "signal", "whatsapp"]);

/** Reads a key of the field without its `agent:<id>:`. Undefined for any other form. */
export function fieldChat(rest: string): FieldChat | undefined {
  const parts = rest.split(":");
  const at = parts.findIndex((part, index) => index <= 2 && isKind(part));
  if (at < 0 || parts.length <= at + 1) return undefined;
  const cut = parts.findLastIndex((part, index) => index > at + 1 && THREAD.has(part));
  const id = parts.slice(at + 1, cut < 0 ? undefined : cut).join(":");
  const thread = cut < 0 ? undefined : withoutChat(parts.slice(cut + 1).join(":"), id);
  return {
    kind: parts[at] ?? "",
    ...(at > 0 && { channel: parts[0] ?? "" }),
    ...(at === 2 && { account: parts[1] ?? "" }),
    id,
    ...(thread !== undefined && { thread }),
  };
}

/** A topic of a private chat on Telegram is named with its chat. */
const withoutChat = (thread: string, id: string): string =>
  thread.startsWith(`${id}:`) ? thread.slice(id.length + 1) : thread;

/** The field writes keys in small letters, Slack its ids in capital ones. */
export const fieldId = (id: string, channel: string | undefined): string =>
  channel === "slack" && /^[a-z][a-z0-9]+$/.test(id) ? id.toUpperCase() : id.replace(/^uuid:/, "");

/**
 * A key as clients and plugins get it: with the id of its agent, and the operator's own chat as that agent's `main`. A key
 * in this form is returned unchanged.
 */
export function wireKey(key: string, defaultAgent: AgentId = DEFAULT_AGENT): string {
  if (key === "" || key.startsWith("agent:")) return key;
  return `agent:${encode(defaultAgent)}:${key === OPERATOR_KEY ? "main" : key}`;
}

function placeOf(peer: Peer): Place {
  const { channel, account, thread } = peer;
  return { channel, account, ...(thread === undefined ? {} : { thread }) };
}

function linkedName(peer: Peer, sender: string, rules: KeyRules): string | undefined {
  const wanted = new Set([`${peer.channel}:${sender}`, sender]);
  const links = Object.entries(rules.identityLinks ?? {});
  return links.find(([, ids]) => ids.some((id) => wanted.has(id)))?.[0];
}

function bodyOf(parsed: KeyBody): string {
  switch (parsed.kind) {
    case "main":
      return "main";
    case "other":
      return parsed.text;
    case "peer":
      return `peer:${encode(parsed.name)}`;
    case "direct":
      return `${placeText(parsed)}:${unlikeKind(parsed.sender)}${threadText(parsed)}`;
    case "group":
      return `${placeText(parsed)}:group:${encode(parsed.group)}${threadText(parsed)}`;
  }
}

/** Escapes a channel named `agent`, which would be read as the agent prefix. */
const placeText = ({ channel, account }: Place): string =>
  `${channel === "agent" ? "%61gent" : encode(channel)}:${unlikeKind(account)}`;

/** An account or a person named like a kind of chat, so that the key is no key of the field. */
const unlikeKind = (part: string): string =>
  isKind(part) ? `%${part.charCodeAt(0).toString(16)}${part.slice(1)}` : encode(part);

const threadText = ({ thread }: Place): string => (thread === undefined ? "" : `:thread:${encode(thread)}`);

function parseBody(parts: readonly string[]): KeyBody {
  if (parts.length === 1 && parts[0] === "main") return { kind: "main" };
  if (parts.length === 2 && parts[0] === "peer") return { kind: "peer", name: decode(parts[1] ?? "") };
  return parsePlace(parts) ?? { kind: "other", text: parts.join(":") };
}

/** Kinds are distinguished by the number of parts, so that no id can be read as a marker. */
function parsePlace(parts: readonly string[]): KeyBody | undefined {
  const hasThread = parts.length > 4 && parts.at(-2) === "thread";
  const thread = hasThread ? { thread: decode(parts.at(-1) ?? "") } : undefined;
  const named = hasThread ? parts.slice(0, -2) : parts;
  const [channel = "", account = "", third = "", fourth = ""] = named.map(decode);
  if (named.length === 3) return { kind: "direct", channel, account, sender: third, ...thread };
  if (named.length !== 4 || named[2] !== "group") return undefined;
  return { kind: "group", channel, account, group: fourth, ...thread };
}

function parseSubagent(parent: string, name: string): ParsedKey | undefined {
  const [agent = "", child, ...rest] = name.split(":");
  if (rest.length > 0 || agent === "") return undefined;
  return {
    kind: "subagent",
    agentId: agentId(decode(agent)),
    parent: sessionKey(parent),
    ...(child === undefined ? {} : { child: decode(child) }),
  };
}

/** An empty id becomes a single `%`, which no other id does. */
const encode = (part: string): string => (part === "" ? "%" : part.replaceAll("%", "%25").replaceAll(":", "%3A"));

function decode(part: string): string {
  if (!part.includes("%")) return part;
  if (part === "%") return "";
  return part.replaceAll(/%(25|3a|61|63|64|67)/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
}
