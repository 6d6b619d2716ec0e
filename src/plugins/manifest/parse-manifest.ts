import { z } from "zod";
import type { PluginManifest } from "../../types/plugin/manifest.ts";
import { defined } from "../../utils/defined.ts";
import { isFields } from "../../utils/fields.ts";

/** `plugins.slots` names the gateway's own choice, or none, by these; a plugin of such an id would be selected in every config. */
const OF_SLOTS = new Set(["legacy", "none"]);

/** An id is a folder name and a config key. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Whether a text can be the id of a plugin, and so of a folder. */
export const isPluginId = (id: string): boolean => ID.test(id) && !(id in Object.prototype);

const text = z.string().max(10_000);
const texts = z.array(text).max(1000).optional().catch(undefined);
const schemaObject = z.custom<Readonly<Record<string, unknown>>>((value) => isFields(value), "an object");

const manifestShape = z.lazy(() =>
  z.looseObject({
    id: z.string().regex(ID, "letters, digits, `.`, `_` and `-`, at most 100, a letter or digit first"),
    name: text.optional(),
    description: text.optional(),
    version: text.optional(),
    kind: z
      .union([text, z.array(text)])
      .optional()
      .catch(undefined),
    configSchema: schemaObject,
    contracts: z.looseObject({ tools: texts }).optional().catch(undefined),
    skills: texts,
    hooks: texts,
    channels: texts,
    channelConfigs: z
      .record(z.string(), z.looseObject({ schema: schemaObject.optional() }))
      .optional()
      .catch(undefined),
    providers: texts,
    commandAliases: z
      .array(z.looseObject({ name: text, cliCommand: text.optional() }))
      .optional()
      .catch(undefined),
    cliCommands: z
      .array(z.union([text, z.looseObject({ name: text })]))
      .optional()
      .catch(undefined),
    legacyPluginIds: texts,
  }),
);

export type ParsedManifest<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "broken"; readonly why: string; readonly id?: string };

/** Reads the parsed JSON of an `openclaw.plugin.json`. */
export function parseManifest(json: unknown): ParsedManifest<PluginManifest> {
  const parsed = manifestShape.safeParse(json);
  if (!parsed.success) return { kind: "broken", why: `its openclaw.plugin.json is wrong: ${firstIssue(parsed.error)}` };
  const given = parsed.data;
  if (!isPluginId(given.id) || OF_SLOTS.has(given.id))
    return { kind: "broken", why: `"${given.id}" cannot be the id of a plugin` };
  const schemas = given.channelConfigs ?? {};
  return {
    kind: "ok",
    value: {
      id: given.id,
      ...defined({
        name: given.name,
        description: given.description,
        version: given.version,
        tools: given.contracts?.tools,
      }),
      kinds: listOf(given.kind),
      configSchema: given.configSchema,
      skills: given.skills ?? [],
      hooks: given.hooks ?? [],
      channels: (given.channels ?? []).map((id) => {
        const schema = Object.hasOwn(schemas, id) ? schemas[id]?.schema : undefined;
        return { id, ...(schema && { schema }) };
      }),
      providers: given.providers ?? [],
      cliCommands: cliCommandsOf(given),
      legacyIds: given.legacyPluginIds ?? [],
    },
  };
}

const listOf = (kind: string | readonly string[] = []): readonly string[] => (typeof kind === "string" ? [kind] : kind);

function cliCommandsOf({ cliCommands, commandAliases }: z.output<typeof manifestShape>): readonly string[] {
  const named = (cliCommands ?? []).map((command) => (typeof command === "string" ? command : command.name));
  const aliased = (commandAliases ?? []).flatMap(({ cliCommand }) => cliCommand ?? []);
  return [...new Set([...named, ...aliased])];
}

function firstIssue(error: z.ZodError): string {
  const [issue] = error.issues;
  if (!issue) return "nothing can be read";
  const path = issue.path.map(String).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}
