import { MCP_GROUPS, prefixOf } from "../../../../mcp/tools/names.ts";
import { BUILT_IN } from "../../../../tools/policy/lint.ts";
import { explainTool } from "../../../../tools/policy/decide.ts";
import { normalName, type PolicyTool } from "../../../../tools/policy/names.ts";
import { dependsOnModel, stagesFor } from "../../../../tools/policy/stages.ts";
import type { FoundPlugin } from "../../../../types/plugin/manifest.ts";
import type { PolicyVerdict, StageAnswer, ToolPolicySettings } from "../../../../types/tool-policy.ts";
import { loadConfig, readConfigText, type LoadedConfig } from "../../../config/load.ts";
import { locate } from "../../../config/parse.ts";
import { readPath } from "../../../config/problem.ts";
import { toolPolicyOf } from "../../../config/tool-policy.ts";
import { writeJson, type Io } from "../../io.ts";
import { loadOptions } from "../../state.ts";
import { table } from "../../table.ts";
import { explainedBy, type Explained, type PolicyFlags } from "./policy-subject.ts";

/**
 * Explains who has a tool and why: each step of the policy with the key that says it and its place in the file. All tools in
 * short without a name. Reads the config alone, so it works while the gateway runs or not.
 */
export async function policyExplain(io: Io, tool: string | undefined, flags: PolicyFlags): Promise<number> {
  const { load } = await loadOptions(io);
  const loaded = await loadConfig(load);
  const explained = explainedBy(loaded.config, flags);
  const settings = policyOf(loaded, explained);
  const stages = stagesFor(settings, explained.subject);
  const known = knownTools(loaded.plugins.plugins);
  const asked =
    tool === undefined ? known : [known.find(({ name }) => name === normalName(tool)) ?? unlisted(tool, loaded)];
  const verdicts = asked.map((one) => ({ tool: one.name, ...explainTool(one, stages) }));
  const where = await placesIn(load.path, verdicts);
  if (flags.json === true) {
    writeJson(io, { agent: explained.agent, verdicts: verdicts.map((one) => withPlaces(one, where)) });
    return 0;
  }
  const [only] = verdicts;
  if (tool !== undefined && only) io.out(oneText(io, only, explained, where));
  else
    io.out(
      table(
        io,
        ["TOOL", "ALLOWED", "BECAUSE"],
        verdicts.map((one) => shortLine(one, where)),
      ),
    );
  if (dependsOnModel(settings) && flags.model === undefined)
    io.out("Rules about models (byProvider) are left out; add --model provider/model to see them.\n");
  return 0;
}

function policyOf({ config }: LoadedConfig, { agent }: Explained): ToolPolicySettings {
  const entry = config.agents.list.find(({ id }) => id.toLowerCase() === agent);
  return toolPolicyOf(config, entry ?? { id: agent });
}

const knownTools = (plugins: readonly FoundPlugin[]): readonly PolicyTool[] => [
  ...BUILT_IN.map((name) => ({ name })),
  ...plugins.flatMap(({ manifest: { id, tools = [] } }) =>
    tools.map((name) => ({ name, groups: ["group:plugins", id] })),
  ),
];

/** A tool by its name alone: that of an MCP server begins with the server's name. */
function unlisted(name: string, { config }: LoadedConfig): PolicyTool {
  const isOfServer = Object.keys(config.mcp.servers).some((server) => name.startsWith(prefixOf(server)));
  return isOfServer ? { name, groups: MCP_GROUPS, isOffForGuests: true } : { name };
}

type Named = PolicyVerdict & { readonly tool: string };

/** `openclaw.json:12` by key. */
type Places = ReadonlyMap<string, string>;

/** Rules of the gateway itself are sentences and have no place in the file. */
const isKey = (key: string): boolean => !key.includes(" ");

async function placesIn(path: string, verdicts: readonly Named[]): Promise<Places> {
  const text = (await readConfigText(path)) ?? "{}";
  const keys = [...new Set(verdicts.flatMap(({ trace }) => trace.map(keyOf)))].filter(isKey);
  const notes = locate(
    keys.map((key) => ({ path: readPath(key), message: "" })),
    text,
    path,
  );
  return new Map(notes.flatMap(({ text: place }, at) => [[keys[at] ?? "", place.slice(0, place.indexOf(": "))]]));
}

const KEYS_OF_THEIR_OWN = new Set<StageAnswer["stage"]>(["optional", "guest", "owner only"]);

/** The key of the list that answered. */
function keyOf({ stage, key, answer, entry }: StageAnswer): string {
  if (!isKey(key) || key.endsWith(".profile") || KEYS_OF_THEIR_OWN.has(stage)) return key;
  if (answer === "denied") return `${key}.deny`;
  return answer === "unlisted" || entry !== undefined ? `${key}.allow` : key;
}

const ANSWERS: Readonly<Record<StageAnswer["answer"], string>> = {
  allowed: "allows",
  denied: "denies",
  unlisted: "does not list it",
};

const saying = ({ answer, entry }: StageAnswer): string =>
  entry === undefined ? ANSWERS[answer] : `${ANSWERS[answer]} ("${entry}")`;

function oneText(io: Io, { tool, isAllowed, trace }: Named, { agent, peer, sender }: Explained, where: Places): string {
  const place = peer ? ` in ${peer.channel}:${peer.chat.id}` : "";
  const who = sender ? ` for ${sender.channel}:${sender.id}` : " for operators";
  const rows = trace.map((one) => [one.stage, saying(one), keyOf(one), where.get(keyOf(one)) ?? ""]);
  const steps =
    rows.length === 0 ? "No rule of the config is about it.\n" : table(io, ["STEP", "SAYS", "KEY", "WHERE"], rows);
  return `The agent "${agent}" ${isAllowed ? "may" : "may not"} use ${tool}${who}${place}.\n${steps}`;
}

function shortLine({ tool, isAllowed, trace }: Named, where: Places): readonly string[] {
  const against = trace.find(({ answer }) => answer !== "allowed");
  const because = against ? `${keyOf(against)} ${saying(against)} ${where.get(keyOf(against)) ?? ""}` : "";
  return [tool, isAllowed ? "yes" : "no", because];
}

const withPlaces = ({ tool, isAllowed, trace }: Named, where: Places) => ({
  tool,
  isAllowed,
  trace: trace.map((one) => ({
    ...one,
    key: keyOf(one),
    ...(where.has(keyOf(one)) && { place: where.get(keyOf(one)) }),
  })),
});
