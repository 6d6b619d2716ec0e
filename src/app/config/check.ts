import { z } from "zod";
import { accountConfig, accountInputs } from "../../channels/config.ts";
import { sameLogins, unusedLogin } from "../../channels/same-login.ts";
import { foreignKeys, type ForeignKey } from "./keys/channel-keys.ts";
import { nearest } from "./keys/nearest.ts";
import { NO_COUNTERPART_HERE, standsFor } from "./keys/field-plugins.ts";
import { doubtfulBindings } from "./keys/routing-doubts.ts";
import { sharedPlaces } from "./keys/shared-places.ts";
import { isRecord, showPath, valueAt, type KeyPath, type RawNote } from "./schema/problem.ts";
import { PARSED_ONCE, schemaKeys, schemaKeysBelow } from "./keys/schema-keys.ts";
import { configSchema, type Config } from "./schema/schema.ts";
import { PROVIDERS } from "../../tools/web/search/table.ts";
import { revealSecrets } from "../../utils/secrets/reveal.ts";
import { own } from "../../utils/own.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { FIELD_KEYS } from "./keys/field-keys.ts";
import { hasEverybody } from "../../channels/access/listed.ts";
import { channelPolicyOf } from "../../channels/access/policy.ts";

type Issue = z.core.$ZodIssue;

const KINDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
  null: "null",
};

/** A description of an invalid value, without the value itself, which may be secret. */
function describeIssue(issue: Issue, input: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return expected(issue.expected, valueAt(input, issue.path.map(segment)));
    case "invalid_value":
      return `must be one of: ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "too_small":
      return `must be at least ${issue.minimum}${unitOf(issue.origin)}`;
    case "too_big":
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    case "invalid_union":
      return describeUnion(issue, valueAt(input, issue.path.map(segment)));
    default:
      return issue.message.replace(/^Invalid input: /, "");
  }
}

const segment = (part: PropertyKey): string | number => (typeof part === "number" ? part : String(part));

function expected(kind: string, value: unknown): string {
  const wanted = KINDS[kind] ?? kind;
  return value === undefined ? `is missing; ${wanted} is needed` : `must be ${wanted}, but is ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return KINDS[typeof value] ?? typeof value;
}

function unitOf(origin: string): string {
  if (origin === "string") return " characters long";
  return origin === "array" ? " items long" : "";
}

function describeUnion(issue: Extract<Issue, { code: "invalid_union" }>, value: unknown): string {
  if (value === undefined) return "is missing";
  const firsts = issue.errors.flatMap(([first]) => first ?? []);
  // The intended form is the one that matches except for something inside.
  const meant = firsts.filter(({ path }) => path.length > 0);
  const wants = (meant.length > 0 ? meant : firsts).map((first) => {
    const inside = first.path.map(segment).join(".");
    return `${inside === "" ? "" : `${inside}: `}${describeIssue(first, value)}`;
  });
  return [...new Set(wants)].join(", or ") || issue.message;
}

/** The schema of one account, for each channel whose adapter is there. */
export type ChannelSchemas = Readonly<Record<string, z.ZodType>>;

/** Said of a key of OpenClaw that nothing obeys here. */
export const NO_EFFECT = "is known, but has no effect here yet";

/** Plugins of OpenClaw whose entries have the key of a provider of `web_search`, which is part of this gateway. */
export const SEARCH_PLUGINS: ReadonlySet<string> = new Set(PROVIDERS.map(({ plugin }) => plugin));

/** The schema of `plugins.entries.<id>.config`, for each contributor that has one. */
export type PluginSchemas = Readonly<Record<string, z.ZodType>>;

/** The schemas of extensions and plugins. */
export interface Schemas {
  /** Schemas of channels. The keys of adapters are not checked when unset. */
  readonly channelSchemas?: ChannelSchemas | undefined;
  readonly pluginSchemas?: PluginSchemas | undefined;
  /**
   * Schemas of plugins that are installed but not loaded yet. Settings that they refuse are warnings: only that plugin
   * is left out.
   */
  readonly foundSchemas?: PluginSchemas | undefined;
}

export interface CheckedConfig {
  /** The checked config; unset when there are problems. */
  readonly config?: Config;
  readonly problems: readonly RawNote[];
  readonly warnings: readonly RawNote[];
}

/** Checks resolved data against the schemas. Never throws. */
export function checkConfig(input: unknown, schemas: Schemas = {}): CheckedConfig {
  const { channelSchemas, pluginSchemas = {}, foundSchemas = {} } = schemas;
  const whole = parseInstalled(input, channelSchemas);
  // Unknown keys of channels are named with the keys of their adapters.
  const known = whole.unknown.filter((path) => path[0] !== "channels" && isFieldKey(path));
  const strangers = whole.unknown.flatMap((path) => strangersBelow(path, valueAt(input, path)));
  const problems = [...whole.problems, ...strangers.map(unknownKey), ...nodesBelow(input, []).flatMap(badNode)];
  const warnings = known.map((path) => ({
    path,
    message: NO_EFFECT,
    at: "name" as const,
  }));
  const channels = checkChannels(input, channelSchemas);
  const plugins = checkPlugins(input, pluginSchemas, foundSchemas);
  const shared = whole.value === undefined ? [] : sharedPlaces(whole.value);
  const routing = whole.value === undefined ? [] : doubtfulBindings(whole.value);
  const all = uniqueNotes([...problems, ...shared, ...channels.problems, ...plugins.problems]);
  return {
    ...(whole.value !== undefined && all.length === 0 && { config: whole.value }),
    problems: all,
    warnings: uniqueNotes([...warnings, ...routing, ...channels.warnings, ...plugins.warnings]),
  };
}

/** Parses the config; the section of a channel that is not installed is left out where its form is another. */
function parseInstalled(input: unknown, schemas: ChannelSchemas | undefined): Loose<Config> {
  const whole = parseLoosely(configSchema, input);
  if (!schemas) return whole;
  const unfit = whole.problems.flatMap(({ path: [top, id] }) =>
    top === "channels" && typeof id === "string" && !own(schemas, id) ? [id] : [],
  );
  const places = [...new Set(unfit)].map((id) => ["channels", id]);
  return places.length === 0 ? whole : parseLoosely(configSchema, places.reduce(without, input));
}

interface Loose<T> {
  readonly value?: T;
  readonly unknown: readonly KeyPath[];
  readonly problems: readonly RawNote[];
}

/** Unknown keys that are removed from one file before its other problems are reported. */
const MOST_UNKNOWN = 10_000;

/** Parses without the unknown keys, and lists them; each round can find deeper ones. */
function parseLoosely<T>(schema: z.ZodType<T>, input: unknown): Loose<T> {
  const unknown: KeyPath[] = [];
  let rest = input;
  for (;;) {
    const result = schema.safeParse(rest, PARSED_ONCE);
    if (result.success) return { value: result.data, unknown, problems: [] };
    const found = result.error.issues.flatMap(unknownPaths);
    if (found.length === 0) return { unknown, problems: toNotes(result.error.issues, rest) };
    const left = found.reduce(without, rest);
    if (unknown.length > MOST_UNKNOWN) return { unknown, problems: toNotes(result.error.issues, rest) };
    unknown.push(...found);
    rest = left;
  }
}

const toSegments = (path: readonly PropertyKey[]): KeyPath =>
  path.map((part) => (typeof part === "number" ? part : String(part)));

function unknownPaths(issue: z.core.$ZodIssue): KeyPath[] {
  return issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...toSegments(issue.path), key]) : [];
}

function toNotes(issues: readonly z.core.$ZodIssue[], input: unknown): RawNote[] {
  return issues.map((issue) => ({ path: toSegments(issue.path), message: describeIssue(issue, input) }));
}

/** A copy of the data without one key. */
function without(data: unknown, path: KeyPath): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return data;
  if (Array.isArray(data)) return data.map((item: unknown, index) => (index === first ? without(item, rest) : item));
  if (!isRecord(data)) return data;
  const { [first]: child, ...others } = data;
  return rest.length === 0 ? others : { ...data, [first]: without(child, rest) };
}

interface Node {
  readonly path: KeyPath;
  readonly value: unknown;
}

/** Every value of the data. */
function nodesBelow(value: unknown, path: KeyPath): readonly Node[] {
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item: unknown, index) => [index, item])
    : Object.entries(isRecord(value) ? value : {});
  return [{ path, value }, ...entries.flatMap(([name, child]) => nodesBelow(child, [...path, name]))];
}

/**
 * Problems that no schema finds: a key that schemas ignore silently, and a number of which the last digits were lost
 * when the file was read.
 */
function badNode({ path, value }: Node): readonly RawNote[] {
  // A channel of this name is reported like any channel that is not installed.
  if (path.at(-1) === "__proto__" && showPath(path.slice(0, -1)) !== "channels")
    return [{ path, at: "name", message: "no key may have this name" }];
  return isInexact(value) ? [{ path, message: "has too many digits for a number: write it in quotes" }] : [];
}

/**
 * Whether a number lost its last digits. Such a number is an id or a phone number; a number written as `1e30` is a
 * bound, and may be inexact.
 */
const isInexact = (value: unknown): boolean =>
  typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(String(value));

function unknownKey(path: KeyPath): RawNote {
  const name = String(path.at(-1));
  const parent = path.slice(0, -1);
  const near = nearest(name, [...schemaKeysBelow(parent), ...fieldKeysBelow(parent)]);
  const meant = near === undefined ? sameNameElsewhere(name) : showPath([...parent, near]);
  return { path, at: "name", message: `unknown key${meant === undefined ? "" : `; did you mean ${meant}?`}` };
}

function sameNameElsewhere(name: string): string | undefined {
  return schemaKeys()
    .find((key) => key.path.at(-1) === name && !key.path.includes("*"))
    ?.path.join(".")
    .replaceAll(".[]", "[]");
}

function checkChannels(
  input: unknown,
  schemas: ChannelSchemas | undefined,
): { problems: RawNote[]; warnings: RawNote[] } {
  const section = isRecord(input) && isRecord(input["channels"]) ? input["channels"] : {};
  const notes = Object.entries(section).flatMap(([id, channel]) =>
    isRecord(channel) ? checkChannel(id, channel, schemas) : [],
  );
  return {
    problems: notes.filter((note) => note.severity === "problem").map((note) => note.note),
    warnings: notes.filter((note) => note.severity === "warning").map((note) => note.note),
  };
}

/**
 * Checks the settings of each plugin against its own schema; a plugin without an entry gets none, which may be too few.
 */
function checkPlugins(
  input: unknown,
  schemas: PluginSchemas,
  found: PluginSchemas,
): { problems: RawNote[]; warnings: RawNote[] } {
  const section = valueAt(input, ["plugins", "entries"]);
  const entries = isRecord(section) ? section : {};
  const settings = (id: string): unknown => {
    const entry = own(entries, id);
    return isRecord(entry) ? revealSecrets(entry["config"]) : undefined;
  };
  const unknown = Object.keys(entries)
    .filter((id) => !own(schemas, id) && !own(found, id) && !isSearchOnly(id, settings(id)))
    .map((id) => ({
      path: ["plugins", "entries", id],
      at: "name" as const,
      message:
        standsFor(id) === "no counterpart"
          ? `the plugin ${NO_COUNTERPART_HERE}`
          : "no plugin of this name has settings; they have no effect",
    }));
  const refusedBy = (all: PluginSchemas) =>
    Object.entries(all).flatMap(([id, schema]) => {
      const given = settings(id);
      return checkPlugin(id, schema, given === undefined ? {} : given);
    });
  return { problems: refusedBy(schemas), warnings: [...unknown, ...refusedBy(found)] };
}

/** Whether an entry has no settings, or only those of a provider of `web_search`, which is part of this gateway. */
const isSearchOnly = (id: string, settings: unknown): boolean =>
  settings === undefined ||
  (SEARCH_PLUGINS.has(id) && isRecord(settings) && Object.keys(settings).every((key) => key === "webSearch"));

/**
 * Checks the settings of one plugin. A key that the schema does not allow is a problem: the plugin could not be given
 * these settings.
 */
function checkPlugin(id: string, schema: z.ZodType, given: unknown): readonly RawNote[] {
  const place = (path: KeyPath): KeyPath => ["plugins", "entries", id, "config", ...path];
  try {
    const { problems, unknown } = parseLoosely(schema, given);
    return [
      ...problems.map((note) => ({ ...note, path: place(note.path) })),
      ...unknown.map((path) => ({ path: place(path), at: "name" as const, message: `unknown to ${id}` })),
    ];
  } catch (error) {
    return [{ path: place([]), message: `the plugin could not check it: ${errorText(error)}` }];
  }
}

interface Graded {
  readonly severity: "problem" | "warning";
  readonly note: RawNote;
}

function checkChannel(id: string, channel: Record<string, unknown>, schemas: ChannelSchemas | undefined): Graded[] {
  const at = ["channels", id];
  const schema = schemas && own(schemas, id);
  if (schemas && !schema) {
    return [
      {
        severity: "warning",
        note: { path: at, at: "name", message: "no channel of this name is installed; it has no effect" },
      },
    ];
  }
  const twins = channel["enabled"] === false ? [] : sameLogins(channel, schema);
  const same = twins.map(({ id: account, key, as }): Graded => ({
    severity: "warning",
    note: {
      path: [...at, "accounts", account],
      message: `logs in as account ${as} does (${key}), so it is not started: each message would be answered twice; give it a bot of its own, or remove it`,
    },
  }));
  const unused = unusedLogin(channel, schema);
  const left = unused === undefined ? [] : [leftOver(at, unused)];
  const found = accountInputs(channel).flatMap((account) => {
    const isOn = channel["enabled"] !== false && account.input["enabled"] !== false;
    const place = (path: KeyPath) => [...at, ...accountPlace(channel, account.id, path)];
    return checkAccount(id, account.input, schema).map(({ severity, note }) => ({
      severity: isOn ? severity : ("warning" as const),
      note: { ...note, path: place(note.path) },
    }));
  });
  return [...same, ...left, ...found];
}

const leftOver = (at: KeyPath, key: string): Graded => ({
  severity: "warning",
  note: {
    path: [...at, key],
    message:
      "no account uses it, because each has its own; add accounts.default: {} for the bot that it belongs to, or remove it",
  },
});

/** The path of an account's key: at the account or at the channel. */
function accountPlace(channel: Record<string, unknown>, account: string, path: KeyPath): KeyPath {
  const accounts = channel["accounts"];
  const given = isRecord(accounts) ? own(accounts, account) : undefined;
  const first = path[0];
  const isOwn =
    isRecord(given) && (first === undefined || Object.hasOwn(given, first) || !Object.hasOwn(channel, first));
  return isOwn ? ["accounts", account, ...path] : path;
}

function checkAccount(channel: string, input: Record<string, unknown>, schema: z.ZodType | undefined): Graded[] {
  const common = parseLoosely(accountConfig, input).problems;
  const problems = schema ? parseLoosely(schema, input).problems : [];
  // A mistyped key is reported even where the schemas accept unknown keys.
  const foreign = foreignKeys(input, [accountConfig, schema ?? z.unknown()]);
  return [
    ...[...common, ...problems].map((note) => ({ severity: "problem" as const, note })),
    ...doubtfulAccount(channel, input).map((note) => ({ severity: "warning" as const, note })),
    ...foreign.map((key) => ({
      severity: "warning" as const,
      note: foreignKey(channel, key),
    })),
  ];
}

function foreignKey(channel: string, { path, named }: ForeignKey): RawNote {
  const whole = ["channels", channel, ...path];
  if (isFieldName(whole)) return { path, at: "name", message: NO_EFFECT };
  const near = nearest(String(path.at(-1)), named);
  const what = isFieldKey(whole) ? "has no effect here" : `unknown to ${channel}`;
  return { path, at: "name", message: near === undefined ? what : `${what}; did you mean ${near}?` };
}

function uniqueNotes(notes: readonly RawNote[]): RawNote[] {
  return [...new Map(notes.map((note) => [`${showPath(note.path)}\n${note.message}`, note])).values()];
}

/** Keys by name; a leaf allows anything below. */
type KeyTree = Map<string, KeyTree | "leaf">;

let tree: KeyTree | undefined;

/** Whether OpenClaw configs have this key, even if it has no effect here. */
const isFieldKey = (path: KeyPath): boolean => nodeAt(path) !== undefined;

/** Whether OpenClaw's keys are known down to this one, and this key is one of them. */
const isFieldName = (path: KeyPath): boolean => {
  const above = nodeAt(path.slice(0, -1));
  return above instanceof Map && (above.has(String(path.at(-1))) || above.has("*"));
};

/** Key names of OpenClaw directly below a path. */
function fieldKeysBelow(path: KeyPath): readonly string[] {
  const node = nodeAt(path);
  return node === undefined || node === "leaf" ? [] : [...node.keys()].filter((name) => name !== "*");
}

/** Paths below a known OpenClaw key that OpenClaw does not have either. */
function strangersBelow(path: KeyPath, value: unknown): readonly KeyPath[] {
  if (!isFieldKey(path)) return [path];
  if (nodeAt(path) === "leaf") return [];
  return childrenOf(value).flatMap(([key, child]) => strangersBelow([...path, key], child));
}

function childrenOf(value: unknown): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  return isRecord(value) ? Object.entries(value) : [];
}

function nodeAt(path: KeyPath): KeyTree | "leaf" | undefined {
  let node: KeyTree | "leaf" | undefined = fieldTree();
  for (const segment of path) {
    if (node === "leaf" || node === undefined) return node;
    node = node.get(String(segment)) ?? node.get("*");
  }
  return node;
}

function fieldTree(): KeyTree {
  tree ??= readTree(FIELD_KEYS.match(/[^\s{}]+|[{}]/g)?.values() ?? [].values());
  return tree;
}

function readTree(tokens: Iterator<string>): KeyTree {
  const level: KeyTree = new Map();
  let last = "";
  let earlier: KeyTree | "leaf" | undefined;
  for (let next = tokens.next(); !next.done && next.value !== "}"; next = tokens.next()) {
    if (next.value === "{") {
      const below = readTree(tokens);
      level.set(last, earlier === undefined ? below : joined(earlier, below));
    } else {
      last = next.value;
      earlier = level.get(last);
      level.set(last, earlier ?? "leaf");
    }
  }
  return level;
}

/** Merges two entries of one key, since the list may name a key more than once. A leaf allows every key below it. */
function joined(one: KeyTree | "leaf", other: KeyTree): KeyTree | "leaf" {
  if (one === "leaf") return one;
  for (const [name, below] of other) {
    const known = one.get(name);
    one.set(name, known !== undefined && below !== "leaf" ? joined(known, below) : (known ?? below));
  }
  return one;
}

/** Account keys that are accepted but do not have the effect that their names suggest. */
function doubtfulAccount(channel: string, input: Record<string, unknown>): RawNote[] {
  const { data } = accountConfig.safeParse(input, PARSED_ONCE);
  if (!data) return [];
  const policy = channelPolicyOf(data, { mentionPatterns: [], historyLimit: 0 });
  if (policy.direct !== "open" || hasEverybody(policy.allowFrom, channel)) return [];
  const { dm } = input;
  return [
    {
      path: isRecord(dm) && dm["policy"] !== undefined ? ["dm", "policy"] : ["dmPolicy"],
      message: '"open" lets in only whom allowFrom names; add "*" to allowFrom to hear everybody',
    },
  ];
}
