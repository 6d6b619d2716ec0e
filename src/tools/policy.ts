import type { ToolPolicySettings } from "../types/settings.ts";
import { once } from "../utils/share-calls.ts";

/** Names of groups of tools. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "group:fs": ["read", "write", "edit", "apply_patch", "ls", "grep", "find"],
  "group:runtime": ["exec", "process"],
  "group:sessions": ["sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status"],
  "group:memory": ["memory_search", "memory_get"],
  "group:web": ["web_search", "web_fetch"],
  "group:ui": ["browser", "canvas"],
  "group:automation": ["cron", "gateway"],
  "group:messaging": ["message"],
  "group:nodes": ["nodes"],
};

const PROFILES: Readonly<Record<ToolPolicySettings["profile"], readonly string[]>> = {
  minimal: ["session_status"],
  coding: ["group:fs", "group:runtime", "group:sessions", "group:memory", "image"],
  messaging: ["group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"],
  full: ["*"],
};

const ALIASES: Readonly<Record<string, string>> = { bash: "exec", shell: "exec", "apply-patch": "apply_patch" };

function normalName(name: string): string {
  const plain = name.trim().toLowerCase();
  return ALIASES[plain] ?? plain;
}

function members(name: string): readonly string[] {
  const plain = normalName(name);
  return plain === "group:openclaw" ? Object.values(GROUPS).flat() : (GROUPS[plain] ?? [plain]);
}

/** What a list names, with the members of its groups. A list of the settings never changes, so it is read once. */
const patternsOf = once((list: readonly string[]): readonly RegExp[] =>
  list.flatMap(members).map((pattern) => {
    const source = pattern.replaceAll(/[^\w*]/g, String.raw`\$&`).replaceAll("*", ".*");
    return new RegExp(`^${source}$`);
  }),
);

/** Tools that an agent can have without a plugin. */
const BUILT_IN = ["read", "write", "edit", "grep", "find", "ls", "exec", "process", "message"];
const FIELD = new Set([...Object.values(GROUPS).flat(), ...Object.values(PROFILES).flat()]);

/** The lists of `tools`, or of an agent's `tools`. */
export interface NamedTools {
  readonly allow?: readonly string[] | undefined;
  readonly alsoAllow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
}

/** Entries that name no tool, with their path and a message. Denying a tool that other gateways have is no mistake. */
export function doubtfulNames(
  lists: NamedTools,
  contributed: readonly string[] = [],
): readonly { readonly path: readonly [keyof NamedTools, number]; readonly message: string }[] {
  return (["allow", "alsoAllow", "deny"] as const).flatMap((list) =>
    (lists[list] ?? []).flatMap((entry, at) => {
      const isReal = [...BUILT_IN, ...contributed].some((name) => isNamed(name, [entry]));
      if (isReal || (list === "deny" && members(entry).some((name) => FIELD.has(name)))) return [];
      return [{ path: [list, at] as const, message: `"${entry}" names no tool of this gateway${hintFor(entry)}` }];
    }),
  );
}

const hintFor = (entry: string): string =>
  normalName(entry).startsWith("group:")
    ? `; groups are ${[...Object.keys(GROUPS), "group:openclaw"].join(", ")}`
    : "; only a plugin could add it";

/** True when a tool is named by the list: by one of its names, a group or a `*` wildcard. */
function isNamed(names: string | readonly string[], list: readonly string[]): boolean {
  const own = (typeof names === "string" ? [names] : names).map(normalName);
  return patternsOf(list).some((pattern) => own.some((name) => pattern.test(name)));
}

/** A tool as policies see it. */
export interface PolicyTool {
  readonly name: string;
  /** Further names that the lists can name it by. */
  readonly groups?: readonly string[];
  readonly isOptional?: boolean;
}

/**
 * Whether an agent has a tool: it is in the profile and, where `allow` names any, in that too; or `alsoAllow` adds it.
 * `deny` wins over everything. An optional tool has to be named by `allow` or `alsoAllow`.
 */
export function isToolAllowed({ name, groups = [], isOptional }: PolicyTool, policy: ToolPolicySettings): boolean {
  const names = [name, ...groups];
  if (isNamed(names, policy.deny)) return false;
  if (isNamed(names, policy.alsoAllow)) return true;
  if (isOptional === true && !isNamed(names, policy.allow)) return false;
  const isInProfile = isNamed(names, PROFILES[policy.profile]);
  const isInAllow = policy.allow.length === 0 || isNamed(names, policy.allow);
  return isInProfile && isInAllow;
}

/** Whether a subagent of the agent may have the tool too. */
export function isToolAllowedBelow({ name, groups = [] }: PolicyTool, { ofSubagents }: ToolPolicySettings): boolean {
  if (!ofSubagents) return true;
  const names = [name, ...groups];
  return !isNamed(names, ofSubagents.deny) && (ofSubagents.allow.length === 0 || isNamed(names, ofSubagents.allow));
}
