import { own } from "../../utils/own.ts";
import { isWaiting, keysBelow } from "./keys/schema-keys.ts";
import { isRecord, type KeyPath } from "./schema/problem.ts";
import { jsonSchema } from "./schema/schema.ts";
import { isSecretPlace } from "./secrets.ts";

type Node = Readonly<Record<string, unknown>>;

/** What extensions and plugins add to the schema, by their ids. */
export interface AddedSchemas {
  readonly channels: Readonly<Record<string, { readonly label: string; readonly schema: Node }>>;
  readonly plugins: Readonly<
    Record<string, { readonly label?: string; readonly help?: string; readonly schema: Node }>
  >;
}

/** What a form shows about a key, in the protocol's names. */
export interface UiHint {
  readonly label?: string;
  readonly help?: string;
  readonly order?: number;
  /** Forms show a key with `false` at once, and other keys after a click. */
  readonly advanced: false;
  readonly sensitive?: true;
}

/** The schema of the config for forms, and hints by the paths of its keys; `*` in a path means any name or index. */
export interface ShownSchema {
  readonly schema: Node;
  readonly uiHints: Readonly<Record<string, UiHint>>;
}

/** The schema of the whole config, with the keys of channels and plugins. Pure. */
export function shownSchema(added: AddedSchemas): ShownSchema {
  const schema = withAdded(withoutOwnAddress(jsonSchema()), added);
  const order = Object.keys(isRecord(schema["properties"]) ? schema["properties"] : {});
  const uiHints: Record<string, UiHint> = {};
  for (const { path, node } of keysBelow(schema, [])) {
    const name = path.map((part) => (part === "[]" ? "*" : part)).join(".");
    // A key of several branches is described by the first.
    uiHints[name] ??= hintOf(node, path, path.length === 1 ? order.indexOf(name) : -1);
  }
  return { schema, uiHints };
}

/** Without `$schema`, which is for editors of the file. */
function withoutOwnAddress(schema: Node): Node {
  const { $schema: _address, ...properties } = nodeAt(schema, ["properties"]);
  return { ...schema, properties };
}

function hintOf(node: Node, path: KeyPath, order: number): UiHint {
  const { title, description } = node;
  return {
    ...(typeof title === "string" && { label: title }),
    ...(typeof description === "string" && { help: description }),
    ...(order >= 0 && { order: order * 10 }),
    advanced: false,
    ...((isSecretNode(node) || (node["type"] === "string" && isSecretPlace(path))) && { sensitive: true }),
  };
}

/** Whether people write a secret here: a text, or where it is. */
function isSecretNode({ anyOf }: Node): boolean {
  if (!Array.isArray(anyOf)) return false;
  const branches: readonly unknown[] = anyOf;
  return branches.some(
    (branch) => isRecord(branch) && isRecord(branch["properties"]) && "source" in branch["properties"],
  );
}

function withAdded(schema: Node, { channels, plugins }: AddedSchemas): Node {
  const shared = nodeAt(schema, ["properties", "channels", "additionalProperties"]);
  const entry = nodeAt(schema, ["properties", "plugins", "properties", "entries", "additionalProperties"]);
  const ofChannels = Object.entries(channels).map(
    ([id, { label, schema: keys }]) => [id, { ...mergedNode(shared, keys), title: label }] as const,
  );
  const ofPlugins = Object.entries(plugins).map(([id, { label = id, help, schema: keys }]) => {
    const config = { ...nodeAt(entry, ["properties", "config"]), ...keys };
    const about = { title: label, ...(help !== undefined && { description: help }) };
    return [id, { ...mergedNode(entry, { properties: { config } }), ...about }] as const;
  });
  const named = withProperties(schema, ["properties", "channels"], Object.fromEntries(ofChannels));
  return withProperties(named, ["properties", "plugins", "properties", "entries"], Object.fromEntries(ofPlugins));
}

/** A channel's own keys beside those that all channels have; each account may have them too. */
function mergedNode(shared: Node, added: Node): Node {
  const properties = { ...nodeAt(shared, ["properties"]), ...nodeAt(added, ["properties"]) };
  const accounts = nodeAt(shared, ["properties", "accounts"]);
  if (Object.keys(accounts).length === 0) return { ...shared, properties };
  const account = nodeAt(accounts, ["additionalProperties"]);
  const below = { ...nodeAt(account, ["properties"]), ...nodeAt(added, ["properties"]) };
  const each = { ...accounts, additionalProperties: { ...account, properties: below } };
  return { ...shared, properties: { ...properties, accounts: each } };
}

function nodeAt(node: Node, path: readonly string[]): Node {
  return path.reduce<Node>((at, name) => {
    const next = Object.hasOwn(at, name) ? at[name] : undefined;
    return isRecord(next) ? next : {};
  }, node);
}

function withProperties(node: Node, path: readonly string[], properties: Node): Node {
  const [first, ...rest] = path;
  if (first === undefined) return { ...node, properties: { ...nodeAt(node, ["properties"]), ...properties } };
  return { ...node, [first]: withProperties(nodeAt(node, [first]), rest, properties) };
}

/** The key at a path such as `agents.defaults.model` or `agents.list[0]`, and the keys right below it; `.` is the root. */
export function lookUp({ schema, uiHints }: ShownSchema, asked: string) {
  const parts = asked.trim() === "." ? [] : partsOf(asked);
  if (parts === undefined) return undefined;
  let node: Node | undefined = schema;
  for (const part of parts) node = node === undefined ? undefined : childOf(node, part);
  if (!node) return undefined;
  const path = parts.join(".");
  const below = childrenOf(node).map(([key, child, required]) => {
    const at = path === "" ? key : `${path}.${key}`;
    const type = typeOf(child);
    return {
      key,
      path: at,
      ...(type !== undefined && { type }),
      required,
      hasChildren: childrenOf(child).length > 0,
      ...factsAt(at, uiHints),
    };
  });
  return { path: path === "" ? "." : path, schema: withoutChildren(node), ...factsAt(path, uiHints), children: below };
}

const MOST_PARTS = 32;

function partsOf(asked: string): readonly string[] | undefined {
  const parts = asked.trim().replace(/\[(\d*|\*)\]/g, (_whole, index: string) => `.${index === "" ? "*" : index}`);
  const names = parts.split(".");
  return names.length > MOST_PARTS || names.includes("") ? undefined : names;
}

/** Whether a change waits for a restart, and the hint. */
function factsAt(path: string, uiHints: ShownSchema["uiHints"]) {
  const parts = path.split(".");
  const reloadKind = path !== "" && isWaiting(parts) ? ("restart" as const) : ("hot" as const);
  const hintPath = Object.keys(uiHints).find((name) => fits(name.split("."), parts));
  return { reloadKind, ...(hintPath !== undefined && { hint: uiHints[hintPath], hintPath }) };
}

const fits = (pattern: readonly string[], parts: readonly string[]): boolean =>
  pattern.length === parts.length && pattern.every((name, at) => name === "*" || name === parts[at]);

function childOf(node: Node, part: string): Node | undefined {
  const { additionalProperties, items } = node;
  const named = own(nodeAt(node, ["properties"]), part);
  if (isRecord(named)) return named;
  if (isRecord(additionalProperties)) return additionalProperties;
  if (isRecord(items) && /^(?:\d+|\*)$/.test(part)) return items;
  for (const branch of branchesOf(node)) {
    const found = childOf(branch, part);
    if (found) return found;
  }
  return undefined;
}

function branchesOf({ anyOf }: Node): readonly Node[] {
  const branches: readonly unknown[] = Array.isArray(anyOf) ? anyOf : [];
  return branches.filter(isRecord);
}

function childrenOf(node: Node): readonly (readonly [key: string, child: Node, required: boolean])[] {
  const required: readonly unknown[] = Array.isArray(node["required"]) ? node["required"] : [];
  const any = [node["additionalProperties"], node["items"]].filter(isRecord);
  const named = Object.entries(nodeAt(node, ["properties"]));
  return [
    ...named.flatMap(([key, child]) => (isRecord(child) ? [[key, child, required.includes(key)] as const] : [])),
    ...any.flatMap((child) => (Object.keys(child).length > 0 ? [["*", child, false] as const] : [])),
    ...(named.length === 0 && any.length === 0 ? branchesOf(node).flatMap(childrenOf) : []),
  ];
}

function typeOf({ type, anyOf }: Node): string | readonly string[] | undefined {
  if (typeof type === "string") return type;
  if (!Array.isArray(anyOf)) return undefined;
  const types = anyOf.flatMap((branch) =>
    isRecord(branch) && typeof branch["type"] === "string" ? [branch["type"]] : [],
  );
  return types.length === 0 ? undefined : [...new Set(types)];
}

/** What the schema says about the value itself. */
function withoutChildren(node: Node): Node {
  const { properties: _properties, items: _items, additionalProperties, examples: _examples, ...rest } = node;
  return { ...rest, ...(typeof additionalProperties === "boolean" && { additionalProperties }) };
}
