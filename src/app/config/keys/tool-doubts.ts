import { doubtfulNames, type NamedTools } from "../../../tools/policy.ts";
import { whyNeverSafe } from "../../../tools/exec/safe-bins.ts";
import type { KeyPath, RawNote } from "../problem.ts";
import type { Config } from "../schema.ts";

/** Entries of tool lists without effect: unreported, an agent would lack tools for no visible reason. */
export function doubtfulTools(
  { tools, agents }: Pick<Config, "tools" | "agents">,
  contributed: readonly string[] = [],
): readonly RawNote[] {
  const ofAgents = agents.list.flatMap((agent, at) =>
    agent.tools ? doubts(agent.tools, ["agents", "list", at, "tools"], contributed) : [],
  );
  const ofSubagents = named(tools.subagents.tools, ["tools", "subagents", "tools"], contributed);
  return [...doubts(tools, ["tools"], contributed), ...ofSubagents, ...ofAgents];
}

type Lists = NamedTools & { readonly exec: { readonly safeBins?: readonly string[] | undefined } };

function doubts(lists: Lists, place: KeyPath, contributed: readonly string[]): readonly RawNote[] {
  const names = named(lists, place, contributed);
  const programs = (lists.exec.safeBins ?? []).flatMap((program, at) => {
    const why = whyNeverSafe(program);
    return why === undefined ? [] : [{ path: [...place, "exec", "safeBins", at], message: `"${program}" ${why}` }];
  });
  return [...names, ...programs];
}

const named = (lists: NamedTools, place: KeyPath, contributed: readonly string[]): readonly RawNote[] =>
  doubtfulNames(lists, contributed).map(({ path, message }) => ({ path: [...place, ...path], message }));
