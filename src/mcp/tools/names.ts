import { createHash } from "node:crypto";

/** The names by which lists of tools can name all tools of MCP servers. */
export const MCP_GROUPS = ["group:plugins", "bundle-mcp"];

/** Characters that providers accept in the name of a tool. */
const MOST_NAME = 64;
const MOST_SERVER = 30;
const HASH_CHARS = 6;

/** A tool by the names that the config and the server give. */
export interface RawName {
  readonly server: string;
  readonly tool: string;
  /** Made by the gateway for the server's resources: a tool of the server with the same name has priority. */
  readonly isOwn?: boolean;
}

const safe = (text: string): string => text.replaceAll(/[^A-Za-z0-9_-]/g, "-");
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, HASH_CHARS);

/** A text that is too long, cut, with a hash of the whole. */
const cut = (text: string, whole: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - HASH_CHARS - 1)}-${hashOf(whole)}`;

/** Prefix of the names of a server's tools. It has no `__` inside, so that it ends at the first one. */
export function prefixOf(server: string): string {
  const plain = safe(server).replaceAll(/_{2,}/g, "_").replace(/_$/, "-");
  return `${cut(plain, server, MOST_SERVER)}__`;
}

const plainName = ({ server, tool }: RawName): string =>
  cut(`${prefixOf(server)}${safe(tool)}`, `${server}\0${tool}`, MOST_NAME);

const hashedName = ({ server, tool }: RawName): string =>
  `${`${prefixOf(server)}${safe(tool)}`.slice(0, MOST_NAME - HASH_CHARS - 1)}-${hashOf(`${server}\0${tool}`)}`;

/** Whether nothing of the names had to be replaced or cut. */
const isExact = (name: RawName): boolean => name.isOwn !== true && plainName(name) === `${name.server}__${name.tool}`;

/**
 * The name of each tool, as models call it and as lists of tools name it: `<server>__<tool>`. Of several tools that
 * would have one name, also if only their case differs, the tool whose names needed no change keeps the name; the
 * others get a hash of their names. The result does not depend on the order of the tools. A tool that is given twice
 * has a name once.
 */
export function toolNames<T extends RawName>(tools: readonly T[]): ReadonlyMap<string, T> {
  const groups = Map.groupBy(onlyFirst(tools), (tool) => plainName(tool).toLowerCase());
  const named = [...groups.values()].flatMap((group) => {
    const exact = group.filter(isExact);
    const own = group.filter(({ isOwn }) => isOwn !== true);
    const keeps = group.length === 1 ? group[0] : (only(exact) ?? only(own));
    return group.map((tool) => [tool === keeps ? plainName(tool) : hashedName(tool), tool] as const);
  });
  return new Map(named);
}

const only = <T>(list: readonly T[]): T | undefined => (list.length === 1 ? list[0] : undefined);

function onlyFirst<T extends RawName>(tools: readonly T[]): readonly T[] {
  const known = new Map<string, T>();
  for (const tool of tools) {
    const id = JSON.stringify([tool.server, tool.tool, tool.isOwn === true]);
    if (!known.has(id)) known.set(id, tool);
  }
  return [...known.values()];
}
