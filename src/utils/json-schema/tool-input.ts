import { isFields, type Fields } from "../fields.ts";
import { refTarget } from "./schema-parts.ts";

/** Schema of a tool whose own schema says nothing that all providers accept. */
const ANY_OBJECT: Fields = { type: "object", properties: {}, additionalProperties: true };
/** Nodes with all references in their place. */
const MOST_NODES = 5000;
const MOST_DEPTH = 64;
/** Keywords that providers refuse at the root, beside the properties or in their place. */
const OF_ALTERNATIVES = [
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "enum",
  "const",
  "$defs",
  "definitions",
];

interface Walk {
  readonly root: Fields;
  /** References on the way to the node. */
  readonly trail: readonly string[];
  readonly count: { nodes: number };
}

/**
 * The schema of a tool's input as all providers take it: an object with properties at the root, no alternatives there, no references. It
 * allows no less than the schema it was made of: what reads the arguments has to check them. Pure.
 */
export function toolInputSchema({ $schema: _dialect, ...given }: Fields): Fields {
  const count = { nodes: 0 };
  const flat = resolved(given, { root: given, trail: [], count });
  if (count.nodes > MOST_NODES || !isFields(flat)) return ANY_OBJECT;
  const { type } = flat;
  const isObject = type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
  return isObject ? asObject(flat) : ANY_OBJECT;
}

/** The node with the targets of its references; a reference that leads into itself or nowhere allows anything. */
function resolved(given: unknown, walk: Walk): unknown {
  walk.count.nodes += 1;
  if (walk.count.nodes > MOST_NODES || walk.trail.length > MOST_DEPTH) return {};
  if (Array.isArray(given)) return given.map((one: unknown) => resolved(one, walk));
  if (!isFields(given)) return given;
  const { $ref, ...others } = given;
  if (typeof $ref === "string") {
    const target = walk.trail.includes($ref) ? {} : refTarget($ref, walk.root);
    const there = resolved(target ?? {}, { ...walk, trail: [...walk.trail, $ref] });
    return Object.keys(others).length === 0 || !isFields(there) ? there : { ...there, ...fieldsOf(others, walk) };
  }
  return fieldsOf(given, walk);
}

const fieldsOf = (given: Fields, walk: Walk): Fields =>
  Object.fromEntries(
    Object.entries(given)
      .filter(([key]) => key !== "$defs" && key !== "definitions")
      .map(([key, value]) => [key, resolved(value, walk)]),
  );

/** Properties that one of several alternatives has are properties of the whole; only what all of them require is required. */
function asObject(schema: Fields): Fields {
  const all = listOf(schema["allOf"]).map(asObject);
  const choices = ["anyOf", "oneOf"].map((key) => listOf(schema[key]).map(asObject));
  const properties: Record<string, unknown> = {};
  for (const part of [...all, ...choices.flat(), schema])
    for (const [name, value] of Object.entries(isFields(part["properties"]) ? part["properties"] : {}))
      properties[name] = both(Object.hasOwn(properties, name) ? properties[name] : undefined, value);
  const required = [...new Set([schema, ...all].flatMap(requiredOf).concat(choices.flatMap(requiredByAll)))];
  const named = required.filter((name) => Object.hasOwn(properties, name));
  const kept = Object.entries(schema).filter(([key]) => !OF_ALTERNATIVES.includes(key) && key !== "required");
  const isOpen = choices.some((some) => some.length > 0) && schema["additionalProperties"] === false;
  return {
    ...Object.fromEntries(kept.filter(([key]) => !(isOpen && key === "additionalProperties"))),
    type: "object",
    properties,
    ...(named.length > 0 && { required: named }),
  };
}

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);

const requiredOf = ({ required }: Fields): readonly string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];

function requiredByAll(choices: readonly Fields[]): readonly string[] {
  const [first, ...others] = choices;
  return first ? requiredOf(first).filter((name) => others.every((one) => requiredOf(one).includes(name))) : [];
}

const both = (one: unknown, other: unknown): unknown =>
  one === undefined || JSON.stringify(one) === JSON.stringify(other) ? other : { anyOf: [one, other] };
