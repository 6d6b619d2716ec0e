import type { ToolLists } from "../../types/tool-policy.ts";
import { entryFor, GROUPS, members, listedNames, normalName, type PolicyTool } from "./names.ts";

type ListName = "allow" | "alsoAllow" | "deny";

/** A remark about one entry of a list, with the entry's place in the list. */
export interface ListDoubt {
  readonly path: readonly [list: ListName, at: number];
  readonly message: string;
}

/** Tools of the gateway itself. */
export const BUILT_IN_TOOLS: readonly string[] = [
  ..."read write edit apply_patch grep find ls exec process message agents_list browser cron gateway image pdf session_status".split(
    " ",
  ),
  ..."image_generate sessions_history sessions_list sessions_search sessions_send sessions_spawn sessions_yield subagents tts update_plan web_fetch web_search".split(
    " ",
  ),
];
/** Tools of other gateways. */
const FIELD = new Set(Object.values(GROUPS).flat());

/**
 * Entries that name no tool, and entries that the deny list beside them takes away again. A denied tool of other
 * gateways is no mistake. `contributed` are the tools of plugins.
 */
export function listDoubts(lists: ToolLists, contributed: readonly PolicyTool[] = []): readonly ListDoubt[] {
  const tools = [...BUILT_IN_TOOLS.map((name): PolicyTool => ({ name })), ...contributed];
  return (["allow", "alsoAllow", "deny"] as const).flatMap((list) =>
    (lists[list] ?? []).flatMap((entry, at): readonly ListDoubt[] => {
      const named = tools.filter((tool) => entryFor(listedNames(tool), [entry]) !== undefined);
      if (named.length === 0) return unknownEntry(list, at, entry);
      return list === "deny" ? [] : takenAway(named, lists.deny ?? [], { path: [list, at], entry });
    }),
  );
}

function unknownEntry(list: ListName, at: number, entry: string): readonly ListDoubt[] {
  if (list === "deny" && members(entry).some((name) => FIELD.has(name))) return [];
  return [{ path: [list, at], message: `"${entry}" names no tool of this gateway${hintFor(entry)}` }];
}

function takenAway(
  named: readonly PolicyTool[],
  deny: readonly string[],
  { path, entry }: Pick<ListDoubt, "path"> & { readonly entry: string },
): readonly ListDoubt[] {
  const by = named.map((tool) => entryFor(listedNames(tool), deny));
  if (deny.length === 0 || by.some((denied) => denied === undefined)) return [];
  return [{ path, message: `"${entry}" has no effect: "${by[0]}" in the deny list beside it takes it away again` }];
}

const hintFor = (entry: string): string =>
  normalName(entry).startsWith("group:")
    ? `; groups are ${[...Object.keys(GROUPS), "group:openclaw", "group:plugins"].join(", ")}`
    : "; only a plugin could add it";
