import { z } from "zod";
import { configAnswers } from "../../../types/answers/config.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { OpenClawError, withFix } from "../../../types/errors.ts";
import { MASK } from "../../../types/secret.ts";
import { own } from "../../../utils/own.ts";
import { wireConfig } from "../../config/edit/wire-config.ts";
import { setConfigValue } from "../../config/edit/edit.ts";
import { loadSource, type LoadOptions } from "../../config/load.ts";
import { hashOnDisk, readConfigSource, readConfigText, type ConfigSource } from "../../config/source.ts";
import { ConfigError, isRecord, readPath, type ConfigNote, type KeyPath } from "../../config/schema/problem.ts";
import { describeSchema } from "../../config/schema/schema.ts";
import { REDACTED, shownConfig } from "../../config/shown.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import type { Live } from "../../live.ts";
import type { Parts } from "../parts/parts.ts";

/** The protocol's methods that read the config and its schema. Secrets are the protocol's placeholder. */
export function configMethods(parts: Parts): readonly Method[] {
  return [
    defineMethod({
      name: "config.get",
      scope: "operator.read",
      params: z.looseObject({}),
      result: configAnswers.get,
      run: () => configOf(parts.live),
    }),
    defineMethod({
      name: "config.schema",
      scope: "operator.read",
      params: z.looseObject({}),
      result: configAnswers.schema,
      run: async () => ({
        ...(await schemaOf(parts.live)),
        version: parts.version,
        generatedAt: new Date().toISOString(),
      }),
    }),
    defineMethod({
      name: "config.schema.lookup",
      scope: "operator.read",
      params: z.looseObject({ path: z.string().min(1).max(1024) }),
      result: configAnswers.lookup,
      run: async ({ path }) => {
        const { lookUp } = await import("../../config/shown-schema.ts");
        const found = lookUp(await schemaOf(parts.live), path);
        if (found) return found;
        throw new MethodError("NOT_FOUND", "config schema path not found");
      },
    }),
  ];
}

/** A remark about a key in the protocol's shape. */
const issueOf = ({ key, message }: Pick<ConfigNote, "key" | "message">) => ({
  path: key === "" ? "" : readPath(key).join("."),
  message,
});

/** The file as it is now, and the config that is in force. */
async function configOf(live: Live) {
  const { loaded } = live;
  const options = await loadOptionsFor(live.contributions, live.paths);
  const read = await readFile(options);
  const { hash } = read;
  const issues = [
    ...read.issues,
    ...(hash === loaded.hash || read.issues.length > 0 ? [] : await issuesOf(read, options)),
  ];
  const source = isRecord(read.parsed) ? read.parsed : {};
  const shown = wireConfig(source);
  const own = read.source?.files.get(loaded.path)?.value;
  const main = isRecord(own) ? own : {};
  const config = wireConfig(live.config);
  return {
    path: loaded.path,
    includedPaths: read.source ? [...read.source.files.keys()].filter((file) => file !== loaded.path) : [],
    includeProvenance: [],
    agentRosterIncludeOwned: false,
    bindingsIncludeOwned: false,
    exists: read.text !== undefined,
    raw: shownText(read.text, main, wireConfig(main)),
    parsed: shown,
    sourceConfig: shown,
    resolved: valuesOf(shown, config),
    valid: issues.length === 0,
    runtimeConfig: config,
    config,
    hash,
    issues,
    warnings: [...loaded.warnings.map(issueOf), ...live.problems.map((problem) => warningOf(problem))],
    legacyIssues: [],
    configRevisionHash: hash,
    appliedConfigHash: loaded.hash,
  };
}

/** A problem of the config as a whole: the file cannot be applied, or a key waits for a restart. */
const warningOf = ({ message, fix }: Live["problems"][number]) => ({ path: "", message: `${message} ${fix}` });

interface ReadFile {
  readonly text: string | undefined;
  readonly hash: string;
  readonly parsed: unknown;
  /** Undefined where the files cannot be read as a config. */
  readonly source?: ConfigSource;
  readonly issues: readonly ReturnType<typeof issueOf>[];
}

async function readFile(options: LoadOptions): Promise<ReadFile> {
  try {
    const source = await readConfigSource(options);
    return { text: source.text, hash: source.hash, parsed: source.value, source, issues: [] };
  } catch (error) {
    const issues = issuesIn(error);
    // `issues` has the reason already; the text is shown where there is one.
    const text = await readConfigText(options.path).catch(() => undefined);
    return { text, hash: await hashOnDisk(options), parsed: undefined, issues };
  }
}

async function issuesOf({ source }: ReadFile, options: LoadOptions): Promise<ReadFile["issues"]> {
  try {
    if (source?.text !== undefined) await loadSource(source, options);
    return [];
  } catch (error) {
    return issuesIn(error);
  }
}

/** The problems that an error tells of. Throws an error that is about something else. */
export function issuesIn(error: unknown): ReadFile["issues"] {
  if (!(error instanceof OpenClawError)) throw error;
  const problems = error instanceof ConfigError ? error.problems.map(issueOf) : [];
  return problems.length > 0 ? problems : [{ path: "", message: withFix(error) }];
}

/** The text of the file with placeholders, or null where a secret would stay in it, as in a comment. */
function shownText(text: string | undefined, source: unknown, shown: unknown): string | null {
  if (text === undefined || text.trim() === "") return text ?? null;
  const done = placeholdersIn(shown, source, []).reduce((next, path) => setConfigValue(next, path, REDACTED), text);
  // The placeholders are masked too, being written as the values of secret keys.
  return String(shownConfig(done)).replaceAll(MASK, REDACTED) === done ? done : null;
}

function placeholdersIn(shown: unknown, source: unknown, path: KeyPath): readonly KeyPath[] {
  if (shown === REDACTED) return source === REDACTED ? [] : [path];
  if (Array.isArray(shown))
    return shown.flatMap((item: unknown, at) =>
      placeholdersIn(item, Array.isArray(source) ? source[at] : undefined, [...path, at]),
    );
  if (!isRecord(shown)) return [];
  const before = isRecord(source) ? source : {};
  return Object.entries(shown).flatMap(([name, child]) => placeholdersIn(child, own(before, name), [...path, name]));
}

/** The keys of the file with the values that are in force for them. */
function valuesOf(source: unknown, inForce: unknown): unknown {
  if (inForce === undefined) return source;
  if (!isRecord(source) || !isRecord(inForce)) return inForce;
  return Object.fromEntries(Object.entries(source).map(([name, child]) => [name, valuesOf(child, own(inForce, name))]));
}

/** The schema with the keys of all channels and plugins that are there. */
async function schemaOf({ contributions, loaded }: Live) {
  const { shownSchema } = await import("../../config/shown-schema.ts");
  const found = loaded.plugins.plugins;
  const channels = await Promise.all(
    contributions.channels.map(
      async ({ id, label, config }) => [id, { label, schema: describeSchema(await config()) }] as const,
    ),
  );
  const ofManifests = found.flatMap(({ manifest }) =>
    manifest.channels.map(({ id, schema = {} }) => [id, { label: id, schema }] as const),
  );
  const extensions = Object.entries(await contributions.configSchemas()).map(
    ([id, schema]) => [id, { schema: describeSchema(schema) }] as const,
  );
  const plugins = found.map(({ manifest: { id, name, description, configSchema } }) => {
    const about = {
      ...(name !== undefined && { label: name }),
      ...(description !== undefined && { help: description }),
    };
    return [id, { ...about, schema: configSchema }] as const;
  });
  return shownSchema({
    channels: Object.fromEntries([...ofManifests, ...channels]),
    plugins: Object.fromEntries([...extensions, ...plugins]),
  });
}
