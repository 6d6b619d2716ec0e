import type { z } from "zod";
import { hasOwnerRights } from "../../../types/run/principal.ts";
import type { Tool, ToolContribution, ToolResult, ToolScene } from "../../../types/run/tool.ts";
import { isFields, type Fields } from "../../../utils/fields.ts";
import { hasPatterns, slowPattern } from "../../../utils/json-schema/slow-patterns.ts";
import { asJson } from "../../../utils/text/as-json.ts";
import { schemaOf } from "../../manifest/config-schema.ts";
import { functionOf, methodIn, nameIn, objectOf, textIn, textsIn } from "../foreign.ts";
import type { PluginScope } from "../scope.ts";

type Maker = (scene: ToolScene) => readonly Fields[];

/** Factories of a plugin that say no names: together they make the tools that its manifest lists. */
export type NamelessFactories = Maker[];

/** `api.registerTool(tool | factory, {name, names, optional})`. A factory is called once for every run. */
export function registerTool(
  scope: PluginScope,
  nameless: NamelessFactories,
  given: unknown,
  options: unknown = {},
): void {
  const { names, isOptional } = readOptions(given, objectOf(options, "registerTool's options"));
  if (names !== undefined) return addTools(scope, { names, isOptional, make: makerOf(scope, given) });
  nameless.push(makerOf(scope, given));
  if (nameless.length > 1) return;
  const make: Maker = (scene) => nameless.flatMap((factory) => factory(scene));
  addTools(scope, { names: scope.plugin.manifest.tools ?? [], isOptional, make });
}

interface Added {
  readonly names: readonly string[];
  readonly isOptional: boolean;
  readonly make: Maker;
}

function addTools(scope: PluginScope, { names, isOptional, make }: Added): void {
  for (const name of names) {
    scope.addPart(`the tool "${name}"`, () => {
      if (scope.plugin.manifest.tools?.includes(name) !== true)
        throw new Error("contracts.tools of its openclaw.plugin.json does not list it");
      scope.registry.addTool(contributionOf(scope, { name, isOptional, make }));
    });
  }
}

interface Registered {
  readonly name: string;
  readonly isOptional: boolean;
  readonly make: Maker;
}

/** Only a factory may have no names. */
function readOptions(given: unknown, options: Fields) {
  const named = textsIn(options, "names") ?? [textIn(options, "name") ?? []].flat();
  const isOptional = options["optional"] === true;
  if (named.length > 0) return { names: named, isOptional };
  if (isFields(given)) return { names: [nameIn(given, "name", "a tool")], isOptional };
  return { names: undefined, isOptional };
}

/** The tools of one run; a factory with several names is called once for all names. */
function makerOf(scope: PluginScope, given: unknown): Maker {
  if (isFields(given)) return () => [given];
  const factory = functionOf(given, "registerTool");
  const made = new WeakMap<ToolScene, readonly Fields[]>();
  return (scene) => {
    const known = made.get(scene);
    if (known) return known;
    const result = scope.call("tool factory", () => factory(factoryContext(scope, scene)));
    const tools = (Array.isArray(result) ? result : [result]).filter(isFields);
    made.set(scene, tools);
    return tools;
  };
}

const factoryContext = (scope: PluginScope, { agent, acting, chat }: ToolScene) => ({
  config: scope.shownConfig(),
  workspaceDir: agent.workspace,
  agentDir: agent.workspace,
  agentId: agent.id,
  sessionKey: scope.ports.keys.wire(acting.sessionKey),
  ...(acting.sessionId !== undefined && { sessionId: acting.sessionId }),
  ...(chat?.peer && { messageChannel: chat.peer.channel, agentAccountId: chat.peer.account }),
  senderIsOwner: acting.principal.kind === "owner",
  sandboxed: false,
});

function contributionOf(scope: PluginScope, { name, isOptional, make }: Registered): ToolContribution {
  return {
    name,
    groups: ["group:plugins", scope.id],
    ...(isOptional && { namedFor: "all" as const }),
    forRun(scene) {
      const found = toolsSafely(scope, name, () => make(scene)).find((tool) => tool["name"] === name);
      return found && toolOf(scope, { name, given: found, scene });
    },
  };
}

/** A factory that throws costs the run its tools, not the run. */
function toolsSafely(scope: PluginScope, name: string, make: () => readonly Fields[]): readonly Fields[] {
  try {
    return make();
  } catch (error) {
    scope.log.warn("a plugin could not make its tool", { tool: name, error });
    return [];
  }
}

interface MadeTool {
  readonly name: string;
  readonly given: Fields;
  readonly scene: Pick<ToolScene, "acting" | "names">;
}

function toolOf(scope: PluginScope, { name, given, scene: { acting, names } }: MadeTool): Tool {
  const requester = {
    sessionKey: acting.sessionKey,
    isOwner: hasOwnerRights(acting.principal),
    ...(names && { tools: names }),
  };
  const execute = methodIn(given, "execute", `the tool "${name}"`);
  const parameters = isFields(given["parameters"]) ? given["parameters"] : NO_PARAMETERS;
  const checked = inputOf(parameters);
  return {
    name,
    label: textIn(given, "label") ?? name,
    description: textIn(given, "description") ?? name,
    input: checked,
    jsonSchema: parameters,
    ...(hasPatterns(parameters) && { slowArguments: (args) => slowPattern(parameters, args) }),
    hasSideEffects: true,
    async run(input, { runId, callId, signal, update }) {
      const onUpdate = (partial: unknown) => update(resultOf(partial).content.map(textOfPart).join(""));
      const call = () => execute(callId, checked.parse(input), signal, onUpdate);
      const result = await scope.callFor({ ...requester, runId }, `tool ${name}`, call);
      return writable(resultOf(result), scope, name);
    },
  };
}

const NO_PARAMETERS: Fields = { type: "object", properties: {} };

const schemas = new WeakMap<Fields, z.ZodType>();

/** Makes the schema of an object only once: a run makes its tools anew. */
function inputOf(parameters: Fields): z.ZodType {
  const known = schemas.get(parameters);
  if (known) return known;
  const made = schemaOf(parameters);
  schemas.set(parameters, made);
  return made;
}

const textOfPart = (part: ToolResult["content"][number]): string => (part.type === "text" ? part.text : "");

/** The field's result: `{content: [{type: "text", text} | {type: "image", data, mimeType}], details, isError}`, or any other value. */
function resultOf(value: unknown): ToolResult {
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  if (!isFields(value) || !Array.isArray(value["content"]))
    return { content: [{ type: "text", text: value === undefined ? "" : JSON.stringify(value) }] };
  const { details, isError } = value;
  return {
    content: value["content"].flatMap(partOf),
    ...(isFields(details) && { details }),
    ...(isError === true && { isError }),
  };
}

/** The result without details that cannot be written: the tool has done its work, and a failure would have it called again. */
function writable({ details, ...result }: ToolResult, scope: PluginScope, tool: string): ToolResult {
  if (details === undefined) return result;
  try {
    const written = asJson(details);
    return { ...result, ...(isFields(written) && { details: { ...written } }) };
  } catch (error) {
    scope.log.warn("details of a tool's result are left out: they cannot be written", { tool, error });
    return result;
  }
}

function partOf(part: unknown): ToolResult["content"] {
  if (!isFields(part)) return [];
  const { text, data, mimeType } = part;
  if (typeof text === "string") return [{ type: "text", text }];
  if (typeof data === "string" && typeof mimeType === "string") return [{ type: "image", data, mimeType }];
  return [];
}
