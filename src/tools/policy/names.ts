import { once } from "../../utils/share-calls.ts";

/** Groups of tools, by their names. */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "group:fs": ["read", "write", "edit", "apply_patch", "ls", "grep", "find"],
  "group:runtime": ["exec", "process", "code_execution"],
  "group:web": ["web_search", "web_fetch", "x_search"],
  "group:memory": ["memory_search", "memory_get"],
  "group:sessions": [
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "sessions_send",
    "sessions_spawn",
    "sessions_yield",
    "subagents",
    "session_status",
  ],
  "group:ui": ["browser", "canvas"],
  "group:messaging": ["message"],
  "group:automation": ["heartbeat_respond", "cron", "gateway"],
  "group:nodes": ["nodes"],
  "group:agents": ["agents_list", "update_plan"],
  "group:media": ["image", "image_generate", "music_generate", "video_generate", "tts", "pdf"],
};

/** Built-in tools that `group:openclaw` leaves out. */
const NOT_OPENCLAW = new Set(["read", "write", "edit", "apply_patch", "ls", "exec", "process", "canvas"]);

/** Other names of tools, from both eras of the field's configs. */
const ALIASES: Readonly<Record<string, string>> = {
  bash: "exec",
  shell: "exec",
  "apply-patch": "apply_patch",
  view_image: "image",
  progress_card: "update_plan",
  automations: "cron",
};

export function normalName(name: string): string {
  const plain = name.trim().toLowerCase();
  return ALIASES[plain] ?? plain;
}

/** The tools of a group; the name itself for any other entry. */
export function members(entry: string): readonly string[] {
  const plain = normalName(entry);
  if (plain === "group:openclaw") return ALL.filter((name) => !NOT_OPENCLAW.has(name));
  return (Object.hasOwn(GROUPS, plain) ? GROUPS[plain] : undefined) ?? [plain];
}

const ALL = Object.values(GROUPS).flat();

/** A compiled list: the entry that names each tool, and the entries with wildcards. */
interface ReadList {
  readonly exact: ReadonlyMap<string, string>;
  readonly wild: readonly { readonly pattern: RegExp; readonly entry: string }[];
}

/** Reads a list. A list of the settings never changes, so it is read once. */
const readList = once((list: readonly string[]): ReadList => {
  const named = list.flatMap((entry) => members(entry).map((name) => ({ name, entry })));
  const exact = new Map(named.filter(({ name }) => !name.includes("*")).map(({ name, entry }) => [name, entry]));
  const wild = named
    .filter(({ name }) => name.includes("*"))
    .map(({ name, entry }) => ({ pattern: wildcard(name), entry }));
  return { exact, wild };
});

/**
 * The pattern of a name. Consecutive stars count as one, so the pattern never backtracks over the same text twice in a
 * row.
 */
const wildcard = (name: string): RegExp =>
  new RegExp(`^${name.replaceAll(/[^\w*]/g, String.raw`\$&`).replaceAll(/\*+/g, ".*")}$`);

/** The entry of a list that names a tool; undefined when there is none. `names` are the tool's names in lower case. */
export function entryFor(names: readonly string[], list: readonly string[]): string | undefined {
  const { exact, wild } = readList(list);
  for (const name of names) {
    const entry = exact.get(name) ?? wild.find(({ pattern }) => pattern.test(name))?.entry;
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** Facts about a tool for policies. */
export interface PolicyTool {
  readonly name: string;
  /** Further names of the tool in lists. */
  readonly groups?: readonly string[];
  /** People who have the tool only where a list of the config names it. */
  readonly namedFor?: "all" | "guests";
}

/** All names of a tool in lists. A list about `write` is about `apply_patch` too. */
export const listedNames = once(({ name, groups = [] }: PolicyTool): readonly string[] => {
  const names = [name, ...groups].map(normalName);
  return names.includes("apply_patch") ? [...names, "write"] : names;
});

/** The other names of a tool. */
export const toolAliases = (name: string): readonly string[] =>
  Object.keys(ALIASES).filter((alias) => ALIASES[alias] === name);

/** The groups that a tool is in. */
export const groupsOf = (name: string): readonly string[] =>
  Object.keys(GROUPS).filter((group) => GROUPS[group]?.includes(name) === true);
