import { MCP_GROUPS, prefixOf } from "../../../mcp/tools/names.ts";
import { BUILT_IN_TOOLS } from "../../../tools/policy/lint.ts";
import { explainTool, isKey, keyOfAnswer } from "../../../tools/policy/decide.ts";
import { normalName, type PolicyTool } from "../../../tools/policy/names.ts";
import { dependsOnModel, stagesFor } from "../../../tools/policy/stages.ts";
import type { PlacedAnswer } from "../../../types/answers/tools.ts";
import type { StageAnswer } from "../../../types/tool-policy.ts";
import { locateIn, readConfigSource } from "../../config/source.ts";
import { nearest } from "../../config/keys/nearest.ts";
import { readPath } from "../../config/schema/problem.ts";
import type { Live } from "../../live.ts";
import type { Machine } from "../sandbox/sandboxing.ts";
import { defined } from "../../../utils/defined.ts";
import { explainedBy, type Explained, type PolicyAsk } from "./subject.ts";

/** The verdict about one tool of a run, with the answer of each step of the policy. */
export interface PlacedVerdict {
  readonly tool: string;
  readonly isAllowed: boolean;
  readonly trace: readonly PlacedAnswer[];
  /** There is no such tool. `near`: the tool whose name is like that one. */
  readonly unknown?: { readonly near?: string };
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
 * when none is named. Nobody may use a tool that does not exist. Throws USAGE, NOT_FOUND.
 */
export async function explainPolicy(live: Live, machine: Machine, ask: ToolAsk): Promise<PolicyExplanation> {
  const of = explainedBy(live, machine, ask);
  const stages = stagesFor(of.agent.tools, of.subject);
  const known = withOthers(knownTools(live), ask.others ?? [], live);
  const { tool } = ask;
  const named = tool === undefined ? undefined : namedTool(tool, known, live);
  if (tool !== undefined && !named) return { of, verdicts: [noTool(tool, known)], isWithoutModel: false };
  const verdicts = (named ? [named] : known).map((one) => ({ tool: one.name, ...explainTool(one, stages) }));
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

/** A tool of which only the name is known. */
const unlisted = (name: string, live: Live): PolicyTool => toolOfServer(name, live) ?? { name };

/** The name of an MCP server's tool begins with the server's name. */
function toolOfServer(name: string, { config }: Live): PolicyTool | undefined {
  const isOfServer = Object.keys(config.mcp.servers).some((server) => name.startsWith(prefixOf(server)));
  return isOfServer ? { name, groups: MCP_GROUPS, namedFor: "guests" } : undefined;
}

/** The tool with the name, whose server need not run; undefined when there is none. */
const namedTool = (name: string, known: readonly PolicyTool[], live: Live): PolicyTool | undefined =>
  known.find((tool) => tool.name === normalName(name)) ??
  known.find((tool) => tool.name === name) ??
  toolOfServer(name, live);

function noTool(name: string, known: readonly PolicyTool[]): PlacedVerdict {
  const near = nearest(
    normalName(name),
    known.map((tool) => tool.name),
  );
  return { tool: name, isAllowed: false, trace: [], unknown: defined({ near }) };
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
