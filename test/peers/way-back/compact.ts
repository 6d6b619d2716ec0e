type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

const LISTS = ["anyOf", "oneOf", "allOf"];
const BOUNDS = [
  "type",
  "enum",
  "const",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "pattern",
];
/** Channels that this gateway has. The settings of others are taken as they are. */
const CHANNELS = ["defaults", "modelByChannel", "telegram", "slack", "discord", "signal", "whatsapp"];
/** Plugins of OpenClaw that this gateway has, too. */
const PLUGINS = ["memory-core", "llm-task", "telegram", "slack", "discord", "signal", "whatsapp"];
/** A part that is shorter is written out each time. */
const SHORT = 60;

/** The part of OpenClaw's own schema of its config that decides whether a value is accepted, as JSON with a line for each key. */
export function compactSchema(schema: unknown): string {
  const plain = strip(schema, []);
  const counts = new Map<string, number>();
  count(plain, counts);
  const names = new Map<string, string>();
  const defs = new Map<string, Node>();
  const shared = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(shared);
    if (!isNode(node)) return node;
    const text = JSON.stringify(node);
    if (text.length <= SHORT || (counts.get(text) ?? 0) < 2 || !("type" in node || "anyOf" in node))
      return inside(node);
    const known = names.get(text);
    const name = known ?? `d${names.size}`;
    names.set(text, name);
    if (known === undefined) defs.set(name, inside(node));
    return { $ref: name };
  };
  const inside = (node: Node): Node => Object.fromEntries(Object.entries(node).map(([key, one]) => [key, shared(one)]));
  const properties = Object.entries(isNode(plain) && isNode(plain["properties"]) ? plain["properties"] : {}).map(
    ([key, one]) => [key, shared(one)] as const,
  );
  const lines = (all: Iterable<readonly [string, unknown]>) =>
    [...all].map(([key, one]) => `    ${JSON.stringify(key)}: ${JSON.stringify(one)}`).join(",\n");
  return `{\n  "properties": {\n${lines(properties)}\n  },\n  "defs": {\n${lines(defs)}\n  }\n}\n`;
}

function strip(node: unknown, path: readonly string[]): unknown {
  if (!isNode(node)) return node;
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    if (BOUNDS.includes(key)) out[key] = value;
    else if (LISTS.includes(key) && Array.isArray(value))
      out[key === "oneOf" ? "anyOf" : key] = value.map((one) => strip(one, path));
    else if (key === "required" && Array.isArray(value)) {
      const needed = value.filter((name) => !hasDefault(node, name));
      if (needed.length > 0) out[key] = needed;
    } else if (key === "items" && isNode(value)) out[key] = strip(value, [...path, "[]"]);
    else if (key === "additionalProperties") out[key] = strip(value, [...path, "*"]);
    else if (key === "properties" && isNode(value)) out[key] = properties(value, path);
  }
  return out;
}

/** The schema describes values that are filled in: a field with a default is required there, and may be missing in the file. */
function hasDefault({ properties: of }: Node, name: unknown): boolean {
  const field = isNode(of) && typeof name === "string" ? of[name] : undefined;
  return isNode(field) && "default" in field;
}

function properties(of: Node, path: readonly string[]): Node {
  const kept = (name: string): boolean => {
    if (path.join(".") === "channels") return CHANNELS.includes(name);
    return path.join(".") !== "plugins.entries" || PLUGINS.includes(name);
  };
  return Object.fromEntries(
    Object.entries(of).flatMap(([name, one]) => (kept(name) ? [[name, strip(one, [...path, name])]] : [])),
  );
}

function count(node: unknown, counts: Map<string, number>): void {
  if (Array.isArray(node)) for (const one of node) count(one, counts);
  else if (isNode(node)) {
    const text = JSON.stringify(node);
    const before = counts.get(text) ?? 0;
    counts.set(text, before + 1);
    if (before === 0) for (const one of Object.values(node)) count(one, counts);
  }
}
