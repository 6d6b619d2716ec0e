import { MCP_GROUPS, prefixOf } from "../../../mcp/tools/names.ts";
import { listDoubts } from "../../../tools/policy/lint.ts";
import { senderDoubts } from "../../../tools/policy/sender-lint.ts";
import { whyNeverSafe } from "../../../tools/exec/safe-bins.ts";
import type { ToolLists } from "../../../types/tool-policy.ts";
import { pathOfAgent } from "./agent-key.ts";
import { isRecord, type KeyPath, type RawNote } from "../schema/problem.ts";
import type { Config } from "../schema/schema.ts";

/** The names with which entries are compared. */
interface Known {
  /** Names of the tools of plugins. */
  readonly contributed: readonly string[];
  /** Channels that the config sets up. */
  readonly channels: readonly string[];
}

/** Entries of tool lists without effect: unreported, an agent would lack tools for no visible reason. */
export function doubtfulTools(
  { tools, agents, channels, mcp, gateway }: Pick<Config, "tools" | "agents" | "channels" | "mcp" | "gateway">,
  names: readonly string[] = [],
): readonly RawNote[] {
  const servers = Object.keys(mcp.servers);
  // The tools of a server are only known after it has run, so every entry that begins with the server's name counts.
  const ofServers = servers.flatMap((name) => entriesWith(prefixOf(name), { tools, agents, channels }));
  const contributed = [...names, ...(servers.length > 0 ? MCP_GROUPS : []), ...ofServers];
  const known = { contributed, channels: Object.keys(channels).map((id) => id.toLowerCase()) };
  const ofAgents = agents.list.flatMap(({ id, tools: own }) =>
    own ? doubts(own, [...pathOfAgent(agents, id), "tools"], known) : [],
  );
  const inChannels = Object.entries(channels).flatMap(([id, channel]) => ofChats(channel, ["channels", id], known));
  const overHttp = inLists(gateway.tools, ["gateway", "tools"], known);
  return [...doubts(tools, ["tools"], known), ...ofAgents, ...inChannels, ...overHttp];
}

/** Every text anywhere in a part of the config that begins with the prefix, whatever the case of its letters. */
function entriesWith(prefix: string, part: unknown): readonly string[] {
  if (typeof part === "string") return part.toLowerCase().startsWith(prefix.toLowerCase()) ? [part] : [];
  if (typeof part !== "object" || part === null) return [];
  return Object.values(part).flatMap((below) => entriesWith(prefix, below));
}

type ByName = Readonly<Record<string, ToolLists>>;

interface Section extends ToolLists {
  readonly exec: {
    readonly safeBins?: readonly string[] | undefined;
    readonly safeBinTrustedDirs?: readonly string[] | undefined;
  };
  readonly byProvider?: ByName | undefined;
  readonly toolsBySender?: ByName | undefined;
  readonly sandbox?: { readonly tools?: ToolLists | undefined } | undefined;
  readonly subagents?: { readonly tools?: ToolLists | undefined } | undefined;
}

function doubts(section: Section, place: KeyPath, known: Known): readonly RawNote[] {
  const programs = (section.exec.safeBins ?? []).flatMap((program, at) => {
    const why = whyNeverSafe(program, section.exec);
    return why === undefined ? [] : [{ path: [...place, "exec", "safeBins", at], message: `"${program}" ${why}` }];
  });
  return [
    ...inLists(section, place, known),
    ...byName(section.byProvider, [...place, "byProvider"], known),
    ...bySender(section.toolsBySender, [...place, "toolsBySender"], known),
    ...inLists(section.sandbox?.tools, [...place, "sandbox", "tools"], known),
    ...inLists(section.subagents?.tools, [...place, "subagents", "tools"], known),
    ...programs,
  ];
}

const inLists = (lists: ToolLists = {}, place: KeyPath, { contributed }: Known): readonly RawNote[] =>
  listDoubts(
    lists,
    contributed.map((name) => ({ name })),
  ).map(({ path, message }) => ({ path: [...place, ...path], message }));

const byName = (lists: ByName = {}, place: KeyPath, known: Known): readonly RawNote[] =>
  Object.entries(lists).flatMap(([name, entry]) => inLists(entry, [...place, name], known));

function bySender(lists: ByName = {}, place: KeyPath, known: Known): readonly RawNote[] {
  const [top, id] = place;
  const channel = top === "channels" && typeof id === "string" ? id.toLowerCase() : undefined;
  const names = senderDoubts(lists, { channels: known.channels, channel });
  return [
    ...names.map(({ name, message }): RawNote => ({ path: [...place, name], message, at: "name" })),
    ...byName(lists, place, known),
  ];
}

/** Doubtful entries in the rules of chats, at any depth of a channel's section. */
function ofChats(value: unknown, place: KeyPath, known: Known): readonly RawNote[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, below]) => {
    const at = [...place, key];
    if (key === "tools") return inLists(listsIn(below), at, known);
    if (key !== "toolsBySender") return ofChats(below, at, known);
    const lists = Object.entries(isRecord(below) ? below : {}).map(([name, entry]) => [name, listsIn(entry)] as const);
    return bySender(Object.fromEntries(lists), at, known);
  });
}

function listsIn(value: unknown): ToolLists {
  const textsOf = (list: unknown) => (Array.isArray(list) ? list.filter((entry) => typeof entry === "string") : []);
  if (!isRecord(value)) return {};
  return { allow: textsOf(value["allow"]), alsoAllow: textsOf(value["alsoAllow"]), deny: textsOf(value["deny"]) };
}
