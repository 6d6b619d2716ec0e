import { basename } from "node:path";
import { isRoute } from "../../channels/routing/bindings.ts";
import type { Discovered } from "../../plugins/found/discover.ts";
import { OpenClawError } from "../../types/errors.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { EarlierPlaces } from "../../store/places.ts";
import { checkConfig, SEARCH_PLUGINS, type ChannelSchemas, type PluginSchemas, type Schemas } from "./check.ts";
import { stopNotes, stopsOf, type Stop } from "./keys/narrowing.ts";
import { parseConfigText } from "./parse.ts";
import { locateIn, readConfigSource, type ConfigSource } from "./source.ts";
import { ConfigError, isRecord, valueAt, type ConfigNote, type KeyPath, type RawNote } from "./schema/problem.ts";
import { PASSWORD_VARIABLE } from "./gateway-login.ts";
import { configSchema, type Config } from "./schema/schema.ts";
import { withPresentForms } from "./old-forms.ts";
import { resolveSecrets, type Resolved } from "./secrets.ts";
import { channelKeysOf, configSchemaOf } from "../../plugins/manifest/config-schema.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import type { Env } from "../../utils/env.ts";
import { own } from "../../utils/own.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import { MCP_GROUPS, prefixOf } from "../../mcp/tools/names.ts";
import { listDoubts } from "../../tools/policy/lint.ts";
import { senderDoubts } from "../../tools/policy/sender-lint.ts";
import { whyNeverSafe } from "../../tools/exec/safe-bins.ts";
import type { ToolLists } from "../../types/tool-policy.ts";
import { pathOfAgent } from "./keys/agent-key.ts";

export interface LoadedConfig {
  readonly config: Config;
  /** Keys without effect, and references of disabled channels. */
  readonly warnings: readonly ConfigNote[];
  readonly path: string;
  readonly exists: boolean;
  /** Environment variables that the config references: commands do not get them. */
  readonly variables: readonly string[];
  /** Agents and accounts that may not start because of restricting keys that this version does not implement. */
  readonly stops: readonly Stop[];
  /** The plugins that were found where the config says; none without `LoadOptions.discover`. */
  readonly plugins: Discovered;
  /** SHA-256 of the texts of the files, hex. */
  readonly hash: string;
  /** The main file and those that it includes. */
  readonly files: readonly string[];
}

export interface LoadOptions {
  readonly path: string;
  readonly env: Env;
  /**
   * Schemas of all channels, or the function that loads the schemas of some. The keys of adapters are not checked when
   * unset.
   */
  readonly channelSchemas?: ChannelSchemas | ((channels: readonly string[]) => Promise<ChannelSchemas>);
  readonly pluginSchemas?: PluginSchemas;
  /** Tools that extensions and plugins add. */
  readonly toolNames?: readonly string[];
  /** Earlier places of the state directory: values that name files there mean the files of the present directory. */
  readonly earlier?: EarlierPlaces;
  /** Finds plugins by the file's content, secrets resolved but nothing checked. Must not reject. */
  readonly discover?: (input: unknown) => Promise<Discovered>;
}

/**
 * Reads, resolves and checks the config; a missing file is all defaults. Throws `ConfigError` with `CONFIG_UNREADABLE`,
 * `CONFIG_SYNTAX`, `CONFIG_INVALID` or `SECRET_MISSING`, all problems listed.
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const source = await readConfigSource(options);
  const facts = {
    path: options.path,
    exists: source.text !== undefined,
    hash: source.hash,
    files: [...source.files.keys()],
  };
  if (source.text === undefined) {
    const plugins = (await options.discover?.({})) ?? NO_PLUGINS;
    return { ...facts, config: configSchema.parse({}), warnings: [], variables: [], stops: [], plugins };
  }
  return { ...facts, ...(await loadSource(source, options)) };
}

/** Resolves and checks a config that may not be in its files yet. Throws as `loadConfig` does. */
export async function loadSource(source: ConfigSource, options: LoadOptions): Promise<ConfigText> {
  try {
    return await readSource(source, options);
  } catch (error) {
    throw error instanceof OpenClawError ? error : unreadable(options.path, error);
  }
}

type ConfigText = Pick<LoadedConfig, "config" | "warnings" | "variables" | "stops" | "plugins">;

const NO_PLUGINS: Discovered = { plugins: [], broken: [] };

/** Unforeseen content, such as endlessly nested lists, is a problem of the file, not a bug of the gateway. */
function unreadable(path: string, cause: unknown): ConfigError {
  const message = `${basename(path)} cannot be used: ${errorText(cause)}`;
  return new ConfigError("CONFIG_INVALID", {
    message,
    fix: "Take the last change back, then run: openclaw config validate",
    problems: [{ key: "", message, text: message }],
    cause,
  });
}

async function readSource(source: ConfigSource, options: LoadOptions): Promise<ConfigText> {
  // An empty file may be one that was not written to its end: it is no config with all defaults.
  if (source.text?.trim() === "") parseConfigText(source.text, source.path);
  const present = withPresentForms(source.value);
  const resolved = presentPaths(await resolveSecrets(present.value, options.env), options.earlier);
  const plugins = (await options.discover?.(resolved.value)) ?? NO_PLUGINS;
  const schemas = schemasOfFound(plugins.plugins, {
    ...options,
    channelSchemas: await channelSchemasFor(resolved.value, options),
  });
  const ofSomebody = resolved.problems.filter(({ path }) => !isOfNobody(path, schemas));
  const isIdle = (path: KeyPath) => isOfNobody(path, schemas) || isOff(path, resolved.value);
  const checked = checkConfig(withoutMissing(resolved.value, [], isIdle), schemas);
  const reported = [...resolved.problems, ...resolved.warnings];
  const needed = reported.filter((note) => ofSomebody.includes(note) || isReported(note, checked.problems));
  const problems = [
    ...needed,
    ...unprotected(resolved.value),
    ...withoutPassword(resolved.value, options.env).filter((note) => !isReported(note, reported)),
    ...checked.problems.filter((note) => !isReported(note, reported)),
  ];
  const inFile = <Note extends RawNote>(note: Note): Note => ({ ...note, path: present.origin(note.path) });
  if (problems.length > 0 || !checked.config) throw invalid(problems.map(inFile), source);
  const stops = stopsOf(resolved.value);
  const found = checked.warnings.filter((note) => !isReported(note, reported) && !isOfStop(note, stops));
  const doubts = [
    ...doubtful(checked.config),
    ...doubtfulAgents(checked.config),
    ...doubtfulTools(checked.config, schemas.toolNames),
    ...unresized(resolved.value),
  ];
  const warnings = [...present.warnings, ...[...stopNotes(stops), ...reported, ...found, ...doubts].map(inFile)];
  const { variables } = resolved;
  return { config: checked.config, plugins, variables, stops, warnings: locateIn(source, warnings) };
}

/** Whether a value belongs to a channel or a plugin that is not installed, so that nobody reads it. */
function isOfNobody(
  [section, second, third]: KeyPath,
  { channelSchemas, pluginSchemas = {}, foundSchemas = {} }: Schemas,
): boolean {
  if (section === "channels" && second !== "defaults" && second !== "modelByChannel")
    return channelSchemas !== undefined && own(channelSchemas, String(second)) === undefined;
  if (section !== "plugins" || second !== "entries" || third === undefined) return false;
  const id = String(third);
  return own(pluginSchemas, id) === undefined && own(foundSchemas, id) === undefined && !SEARCH_PLUGINS.has(id);
}

/** Whether a value belongs to a channel, plugin or MCP server that is switched off as a whole. */
const isOff = (path: KeyPath, input: unknown): boolean =>
  SWITCHED.some(
    (section) =>
      section.every((name, at) => path[at] === name) &&
      valueAt(input, [...path.slice(0, section.length + 1), "enabled"]) === false,
  );

const SWITCHED: readonly KeyPath[] = [["channels"], ["plugins", "entries"], ["mcp", "servers"]];

/**
 * Without the places in the lists of idle sections whose references led to nothing. Elsewhere such a list may not be
 * shortened, as it may be what restricts somebody; and what is missing outside of lists is left out already.
 */
function withoutMissing(node: unknown, path: KeyPath, isIdle: (path: KeyPath) => boolean): unknown {
  const within = (child: unknown, name: string | number) => withoutMissing(child, [...path, name], isIdle);
  if (Array.isArray(node)) return (isIdle(path) ? node.filter((item) => item !== undefined) : node).map(within);
  if (!isRecord(node)) return node;
  return Object.fromEntries(Object.entries(node).map(([name, child]) => [name, within(child, name)]));
}

/**
 * Replaces earlier paths of the state directory by the present one: an earlier path would lead to the original of a
 * copy, or to nothing after a move.
 */
function presentPaths(resolved: Resolved, earlier: EarlierPlaces | undefined): Resolved {
  if (!earlier || earlier.isNone) return resolved;
  const warnings = [...resolved.warnings];
  const present = (node: unknown, path: KeyPath): unknown => {
    if (typeof node === "string") {
      const here = earlier.here(node, 0);
      if (here !== node)
        warnings.push({ path, message: `names where this state directory was before; ${here} is used` });
      return here;
    }
    if (Array.isArray(node)) return node.map((item, at) => present(item, [...path, at]));
    if (!isRecord(node) || Object.getPrototypeOf(node) !== Object.prototype) return node;
    return Object.fromEntries(Object.entries(node).map(([name, child]) => [name, present(child, [...path, name])]));
  };
  return { ...resolved, value: present(resolved.value, []), warnings };
}

/** The schemas of channels; they are loaded only of channels that the config names. */
async function channelSchemasFor(input: unknown, { channelSchemas }: LoadOptions): Promise<ChannelSchemas | undefined> {
  if (typeof channelSchemas !== "function") return channelSchemas;
  const named = valueAt(input, ["channels"]);
  return channelSchemas(isRecord(named) ? Object.keys(named) : []);
}

/**
 * Whether a problem at the same place is reported already: an unresolved reference is also a missing value for the
 * schema.
 */
const isReported = (note: RawNote, reported: readonly RawNote[]): boolean =>
  reported.some(
    (other) => other.path.length === note.path.length && other.path.every((part, index) => part === note.path[index]),
  );

/**
 * Whether a note is about a section around a restricting key: the section does have an effect, since it stops
 * something.
 */
const isOfStop = ({ path }: RawNote, stops: readonly Stop[]): boolean =>
  stops.some((stop) => path.every((part, index) => part === stop.path[index]));

function invalid(notes: readonly RawNote[], source: ConfigSource): ConfigError {
  const problems = locateIn(source, notes).toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
  const isSecret = notes.every((note) => note.code === "SECRET_MISSING");
  const first = problems[0]?.text ?? `${source.path}: not a config`;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return new ConfigError(isSecret ? "SECRET_MISSING" : "CONFIG_INVALID", {
    message: `${first}${more}`,
    fix: isSecret ? fixOfSecrets(notes) : "Mend the file, then run: openclaw config validate",
    problems,
  });
}

/** What to do about each secret, one line for a kind. */
const fixOfSecrets = (notes: readonly RawNote[]): string =>
  [...new Set(notes.flatMap(({ fix }) => fix ?? [])), "Then run: openclaw config validate"].join(" ");

/** A request for protection that this version cannot give: serving without it would be worse than not serving. */
function unprotected(input: unknown): RawNote[] {
  const path = ["gateway", "tls", "enabled"];
  if (valueAt(input, path) !== true) return [];
  const message =
    "this version serves plain HTTP only; set it to false, keep gateway.bind on loopback, and let a reverse proxy or an SSH tunnel encrypt";
  return [{ path, message }];
}

/** Password mode without a password, which may also be in a variable. */
function withoutPassword(input: unknown, env: Env): RawNote[] {
  const auth = ["gateway", "auth"];
  if (valueAt(input, [...auth, "mode"]) !== "password" || valueAt(input, [...auth, "password"]) !== undefined)
    return [];
  if (env[PASSWORD_VARIABLE]?.trim() || valueAt(input, ["env", "vars", PASSWORD_VARIABLE])) return [];
  const message = `is missing; mode "password" needs it, here or in the variable ${PASSWORD_VARIABLE}`;
  return [{ path: [...auth, "password"], message }];
}

/** Resizing images needs a library that is no dependency; reported only when the key is set. */
function unresized(input: unknown): RawNote[] {
  const path = ["agents", "defaults", "imageMaxDimensionPx"];
  if (valueAt(input, path) === undefined || isBuiltWith("sharp")) return [];
  return [
    { path, message: "has no effect without the package sharp beside the gateway; install it with: npm install sharp" },
  ];
}

function isBuiltWith(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    // A package that cannot be resolved is the answer `false`, not a failure.
    return false;
  }
}

/** Protocols of models that only OpenClaw speaks, or that the catalogue alone decides about. */
const NOT_SPOKEN: ReadonlySet<string> = new Set(["github-copilot", "google-vertex", "pi-messages"]);

/** Values that are accepted but not applied as written. */
function doubtful({ gateway, models, session }: Config): RawNote[] {
  const { mode } = gateway.auth;
  const notes: RawNote[] = [];
  if (gateway.mode === "remote" && gateway.remote.url === undefined)
    notes.push({
      path: ["gateway", "mode"],
      message: '"remote" needs gateway.remote.url; without it commands look for a gateway here, and none is started',
    });
  if (mode === "none" || mode === "trusted-proxy")
    notes.push({
      path: ["gateway", "auth", "mode"],
      message: `"${mode}" is not offered here: a token is asked for all the same`,
    });
  if (session.groupScope === "main")
    notes.push({
      path: ["session", "groupScope"],
      message: '"main" has no effect here: each group has its own session',
    });
  for (const [name, { api }] of Object.entries(models.providers))
    if (api !== undefined && NOT_SPOKEN.has(api))
      notes.push({ path: ["models", "providers", name, "api"], message: `"${api}" has no effect here yet` });
  return notes;
}

/** Agents and bindings that are not taken as they are written. */
function doubtfulAgents({ agents, bindings }: Config): readonly RawNote[] {
  const known = agents.list.length > 0 ? agents.list.map(({ id }) => id) : [agents.defaults.agentId ?? DEFAULT_AGENT];
  const further = agents.list.filter((agent) => agent.default).slice(1);
  return [
    ...further.map(({ id }) => ({
      path: [...pathOfAgent(agents, id), "default"],
      message: "has no effect: another agent is the default already",
    })),
    ...bindings.flatMap((binding, at): RawNote[] => {
      if (!isRoute(binding))
        return [
          {
            path: ["bindings", at, "type"],
            message: `"${binding.type}" has no effect here yet: the row is left out`,
          },
        ];
      if (known.includes(binding.agentId)) return [];
      return [
        { path: ["bindings", at, "agentId"], message: `there is no agent "${binding.agentId}"; messages for it fail` },
      ];
    }),
  ];
}

interface Contributed extends Schemas {
  readonly toolNames?: readonly string[] | undefined;
}

/**
 * The schemas and tool names of loaded contributors, with those that the manifests of found plugins declare. So the
 * config can be checked, and its keys be known, before any plugin's code runs.
 */
function schemasOfFound(plugins: readonly FoundPlugin[], contributed: Contributed): Contributed {
  const channels = plugins.flatMap(({ manifest }) =>
    manifest.channels.map(({ id, schema }) => [id, channelKeysOf(schema ?? {})] as const),
  );
  const { channelSchemas, pluginSchemas = {}, toolNames = [] } = contributed;
  const found = plugins.filter(({ manifest }) => !Object.hasOwn(pluginSchemas, manifest.id));
  return {
    pluginSchemas,
    foundSchemas: Object.fromEntries(found.map(({ manifest }) => [manifest.id, configSchemaOf(manifest)])),
    channelSchemas: channelSchemas && { ...Object.fromEntries(channels), ...channelSchemas },
    toolNames: [...toolNames, ...plugins.flatMap(toolNamesOf)],
  };
}

/** Names by which lists of tools can name a plugin's tools: its id, the group of all plugins, and the tools' own. */
const toolNamesOf = ({ manifest: { id, tools = [] } }: FoundPlugin): readonly string[] => [
  id,
  "group:plugins",
  ...tools,
];

/** The names with which entries are compared. */
interface Known {
  /** Names of the tools of plugins. */
  readonly contributed: readonly string[];
  /** Channels that the config sets up. */
  readonly channels: readonly string[];
}

/** Entries of tool lists without effect: unreported, an agent would lack tools for no visible reason. */
function doubtfulTools(
  { tools, agents, channels, mcp, gateway }: Pick<Config, "tools" | "agents" | "channels" | "mcp" | "gateway">,
  names: readonly string[] = [],
): readonly RawNote[] {
  const servers = Object.keys(mcp.servers);
  // The tools of a server are only known after it has run, so every entry that begins with the server's name counts.
  const ofServers = servers.flatMap((name) => entriesWith(prefixOf(name), { tools, agents, channels }));
  const contributed = [...names, ...(servers.length > 0 ? MCP_GROUPS : []), ...ofServers];
  const known = { contributed, channels: Object.keys(channels).map((id) => id.toLowerCase()) };
  const ofAgents = agents.list.flatMap(({ id, tools: own }) =>
    own ? doubts(own, [...pathOfAgent(agents, id), "tools"], known) : [],
  );
  const inChannels = Object.entries(channels).flatMap(([id, channel]) => ofChats(channel, ["channels", id], known));
  const overHttp = inLists(gateway.tools, ["gateway", "tools"], known);
  return [...doubts(tools, ["tools"], known), ...ofAgents, ...inChannels, ...overHttp];
}

/** Every text anywhere in a part of the config that begins with the prefix, whatever the case of its letters. */
function entriesWith(prefix: string, part: unknown): readonly string[] {
  if (typeof part === "string") return part.toLowerCase().startsWith(prefix.toLowerCase()) ? [part] : [];
  if (typeof part !== "object" || part === null) return [];
  return Object.values(part).flatMap((below) => entriesWith(prefix, below));
}

type ByName = Readonly<Record<string, ToolLists>>;

interface Section extends ToolLists {
  readonly exec: {
    readonly safeBins?: readonly string[] | undefined;
    readonly safeBinTrustedDirs?: readonly string[] | undefined;
  };
  readonly byProvider?: ByName | undefined;
  readonly toolsBySender?: ByName | undefined;
  readonly sandbox?: { readonly tools?: ToolLists | undefined } | undefined;
  readonly subagents?: { readonly tools?: ToolLists | undefined } | undefined;
}

function doubts(section: Section, place: KeyPath, known: Known): readonly RawNote[] {
  const programs = (section.exec.safeBins ?? []).flatMap((program, at) => {
    const why = whyNeverSafe(program, section.exec);
    return why === undefined ? [] : [{ path: [...place, "exec", "safeBins", at], message: `"${program}" ${why}` }];
  });
  return [
    ...inLists(section, place, known),
    ...byName(section.byProvider, [...place, "byProvider"], known),
    ...bySender(section.toolsBySender, [...place, "toolsBySender"], known),
    ...inLists(section.sandbox?.tools, [...place, "sandbox", "tools"], known),
    ...inLists(section.subagents?.tools, [...place, "subagents", "tools"], known),
    ...programs,
  ];
}

const inLists = (lists: ToolLists = {}, place: KeyPath, { contributed }: Known): readonly RawNote[] =>
  listDoubts(
    lists,
    contributed.map((name) => ({ name })),
  ).map(({ path, message }) => ({ path: [...place, ...path], message }));

const byName = (lists: ByName = {}, place: KeyPath, known: Known): readonly RawNote[] =>
  Object.entries(lists).flatMap(([name, entry]) => inLists(entry, [...place, name], known));

function bySender(lists: ByName = {}, place: KeyPath, known: Known): readonly RawNote[] {
  const [top, id] = place;
  const channel = top === "channels" && typeof id === "string" ? id.toLowerCase() : undefined;
  const names = senderDoubts(lists, { channels: known.channels, channel });
  return [
    ...names.map(({ name, message }): RawNote => ({ path: [...place, name], message, at: "name" })),
    ...byName(lists, place, known),
  ];
}

/** Doubtful entries in the rules of chats, at any depth of a channel's section. */
function ofChats(value: unknown, place: KeyPath, known: Known): readonly RawNote[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, below]) => {
    const at = [...place, key];
    if (key === "tools") return inLists(listsIn(below), at, known);
    if (key !== "toolsBySender") return ofChats(below, at, known);
    const lists = Object.entries(isRecord(below) ? below : {}).map(([name, entry]) => [name, listsIn(entry)] as const);
    return bySender(Object.fromEntries(lists), at, known);
  });
}

function listsIn(value: unknown): ToolLists {
  const textsOf = (list: unknown) => (Array.isArray(list) ? list.filter((entry) => typeof entry === "string") : []);
  if (!isRecord(value)) return {};
  return { allow: textsOf(value["allow"]), alsoAllow: textsOf(value["alsoAllow"]), deny: textsOf(value["deny"]) };
}
