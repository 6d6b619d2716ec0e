import { MCP_GROUPS, prefixOf } from "../../../mcp/tools/names.ts";
import { BUILT_IN_TOOLS } from "../../../tools/policy/lint.ts";
import { explainTool, isKey, keyOfAnswer } from "../../../tools/policy/decide.ts";
import { normalName, type PolicyTool } from "../../../tools/policy/names.ts";
import { dependsOnModel, stagesFor } from "../../../tools/policy/stages.ts";
import type { PlacedAnswer } from "../../../types/answers/tools.ts";
import type { StageAnswer } from "../../../types/tool-policy.ts";
import { locateIn, readConfigSource } from "../../config/source.ts";
import { readPath } from "../../config/schema/problem.ts";
import type { Live } from "../../live.ts";
import type { Machine } from "../sandbox/sandboxing.ts";
import { explainedBy, type Explained, type PolicyAsk } from "./subject.ts";

/** The verdict about one tool of a run, with the answer of each step of the policy. */
export interface PlacedVerdict {
  readonly tool: string;
  readonly isAllowed: boolean;
  readonly trace: readonly PlacedAnswer[];
}

export interface PolicyExplanation {
  readonly of: Explained;
  readonly verdicts: readonly PlacedVerdict[];
  /** True when rules about models were left out, since no model was named. */
  readonly isWithoutModel: boolean;
}

interface ToolAsk extends PolicyAsk {
  /** All tools when unset. */
  readonly tool?: string | undefined;
  /** Names of tools that the config does not tell of, such as those of MCP servers. */
  readonly others?: readonly string[];
}

/**
 * Explains whether a run has a tool: each step of the policy with its key and its place in the file. Explains all tools
 * when none is named. Throws USAGE, NOT_FOUND.
 */
export async function explainPolicy(live: Live, machine: Machine, ask: ToolAsk): Promise<PolicyExplanation> {
  const of = explainedBy(live, machine, ask);
  const stages = stagesFor(of.agent.tools, of.subject);
  const known = withOthers(knownTools(live), ask.others ?? [], live);
  const { tool } = ask;
  const asked =
    tool === undefined ? known : [known.find(({ name }) => name === normalName(tool)) ?? unlisted(tool, live)];
  const verdicts = asked.map((one) => ({ tool: one.name, ...explainTool(one, stages) }));
  const places = await placesIn(
    live.loaded.path,
    verdicts.flatMap(({ trace }) => trace.map(keyOfAnswer)),
  );
  return {
    of,
    verdicts: verdicts.map((one) => ({ ...one, trace: one.trace.map((answer) => placed(answer, places)) })),
    isWithoutModel: dependsOnModel(of.agent.tools) && ask.model === undefined,
  };
}

/** The tools of the gateway, of extensions and of plugins, running or not. */
function knownTools({ contributions, loaded }: Live): readonly PolicyTool[] {
  const all: readonly PolicyTool[] = [
    ...BUILT_IN_TOOLS.map((name) => ({ name })),
    ...contributions.tools,
    ...loaded.plugins.plugins.flatMap(({ manifest: { id, tools = [] } }) =>
      tools.map((name) => ({ name, groups: ["group:plugins", id] })),
    ),
  ];
  return [...new Map(all.toReversed().map((tool) => [tool.name, tool])).values()].toReversed();
}

function withOthers(known: readonly PolicyTool[], names: readonly string[], live: Live): readonly PolicyTool[] {
  const all = new Set(known.map(({ name }) => name));
  return [...known, ...names.filter((name) => !all.has(name)).map((name) => unlisted(name, live))];
}

/** A tool of which only the name is known; the name of an MCP server's tool begins with the server's name. */
function unlisted(name: string, { config }: Live): PolicyTool {
  const isOfServer = Object.keys(config.mcp.servers).some((server) => name.startsWith(prefixOf(server)));
  return isOfServer ? { name, groups: MCP_GROUPS, namedFor: "guests" } : { name };
}

/** Places such as `openclaw.json:12`, by config key. Throws `CONFIG_UNREADABLE`. */
export async function placesIn(path: string, all: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const source = await readConfigSource({ path });
  const keys = [...new Set(all)].filter(isKey);
  const notes = locateIn(
    source,
    keys.map((key) => ({ path: readPath(key), message: "" })),
  );
  return new Map(notes.flatMap(({ text: place }, at) => [[keys[at] ?? "", place.slice(0, place.indexOf(": "))]]));
}

function placed(answer: StageAnswer, places: ReadonlyMap<string, string>): PlacedAnswer {
  const key = keyOfAnswer(answer);
  const place = places.get(key);
  return { ...answer, key, ...(place !== undefined && { place }) };
}
