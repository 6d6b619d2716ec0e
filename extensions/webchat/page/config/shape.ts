import { isRecord, list, nonEmpty, strings } from "../model/json.ts";
import { t } from "../words/words.ts";

/** A node of the JSON Schema of the config. */
export type SchemaNode = Readonly<Record<string, unknown>>;

/** A key in a config: names of objects and indices of lists. */
export type ConfigPath = readonly (string | number)[];

/** How the value of a key is edited. */
export type KeyShape =
  | { readonly kind: "group"; readonly keys: readonly NamedNode[]; readonly rest?: SchemaNode | undefined }
  /** A list of groups, or of values of several kinds. */
  | { readonly kind: "items"; readonly item: SchemaNode }
  /** A list of texts or numbers. */
  | { readonly kind: "lines"; readonly isNumbers: boolean }
  | { readonly kind: "switch" }
  | { readonly kind: "choice"; readonly options: readonly string[] }
  | { readonly kind: "number"; readonly limits: NumberLimits }
  | { readonly kind: "text" }
  | { readonly kind: "fixed"; readonly value: unknown }
  /** One of several kinds of values. */
  | { readonly kind: "variants"; readonly variants: readonly SchemaNode[] }
  | { readonly kind: "json" };

export type NamedNode = readonly [name: string, node: SchemaNode];

export interface NumberLimits {
  readonly isWhole: boolean;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** The number itself is not allowed, only those above it. */
  readonly above?: number | undefined;
}

/** How values of a node are edited; what no field can show is edited as JSON. */
export function shapeOf(node: SchemaNode): KeyShape {
  const variants = list(node["anyOf"]).filter(isRecord);
  if (variants.length > 0) return shapeOfVariants(variants);
  if ("const" in node) return { kind: "fixed", value: node["const"] };
  if (Array.isArray(node["enum"])) return { kind: "choice", options: strings(node["enum"]) };
  if (isRecord(node["properties"]) || isKeyed(node["additionalProperties"])) return groupOf(node);
  switch (node["type"]) {
    case "boolean":
      return { kind: "switch" };
    case "integer":
    case "number":
      return { kind: "number", limits: limitsOf(node) };
    case "string":
      return { kind: "text" };
    case "array":
      return listOf(isRecord(node["items"]) ? node["items"] : {});
    default:
      return isTextual(node) ? { kind: "text" } : { kind: "json" };
  }
}

const isKeyed = (rest: unknown): rest is SchemaNode => isRecord(rest);

function groupOf({ properties, additionalProperties: rest }: SchemaNode): KeyShape {
  const keys = Object.entries(isRecord(properties) ? properties : {});
  return {
    kind: "group",
    keys: keys.flatMap(([name, node]) => (isRecord(node) ? [[name, node] as const] : [])),
    rest: isKeyed(rest) ? rest : undefined,
  };
}

function shapeOfVariants(variants: readonly SchemaNode[]): KeyShape {
  const [first] = variants;
  if (first !== undefined && variants.length === 1) return shapeOf(first);
  const shapes = variants.map(shapeOf);
  const options = shapes.flatMap((shape) => (shape.kind === "choice" ? shape.options : constTextOf(shape)));
  if (
    options.length >= variants.length &&
    shapes.every((shape) => constTextOf(shape).length > 0 || shape.kind === "choice")
  )
    return { kind: "choice", options };
  return variants.every(isTextual) ? { kind: "text" } : { kind: "variants", variants };
}

const constTextOf = (shape: KeyShape): readonly string[] =>
  shape.kind === "fixed" && typeof shape.value === "string" ? [shape.value] : [];

/** Whether a text field can hold the values: texts, or numbers that may be texts too. */
function isTextual({ type, enum: options }: SchemaNode): boolean {
  if (options !== undefined) return false;
  const types = Array.isArray(type) ? strings(type) : [type];
  return types.every((one) => one === "string" || one === "number");
}

function listOf(item: SchemaNode): KeyShape {
  const { kind } = shapeOf(item);
  if (kind === "number") return { kind: "lines", isNumbers: true };
  if (kind === "text" || kind === "choice") return { kind: "lines", isNumbers: false };
  return kind === "group" || kind === "variants" ? { kind: "items", item } : { kind: "json" };
}

function limitsOf({ type, minimum, maximum, exclusiveMinimum }: SchemaNode): NumberLimits {
  return {
    isWhole: type === "integer",
    min: limit(minimum),
    max: limit(maximum),
    above: limit(exclusiveMinimum),
  };
}

/** A limit that says more than what fits into a number. */
const limit = (value: unknown): number | undefined =>
  typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;

/** The numbers that are allowed, for a person; empty when all are. */
export function limitsText({ min, max, above }: NumberLimits): string {
  if (min !== undefined && max !== undefined) return t("from {min} to {max}", { min: String(min), max: String(max) });
  return [
    ...(min === undefined ? [] : [t("at least {limit}", { limit: String(min) })]),
    ...(above === undefined ? [] : [t("above {limit}", { limit: String(above) })]),
    ...(max === undefined ? [] : [t("at most {limit}", { limit: String(max) })]),
  ].join(", ");
}

/** The number of a text, or why it cannot be one. */
export function numberFrom(
  text: string,
  limits: NumberLimits,
): { readonly value: number } | { readonly problem: string } {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) return { problem: t("This is no number.") };
  if (limits.isWhole && !Number.isInteger(value)) return { problem: t("This has to be a whole number.") };
  const { min = -Infinity, max = Infinity, above = -Infinity } = limits;
  const fits = value >= min && value <= max && value > above;
  return fits ? { value } : { problem: t("This has to be {limits}.", { limits: limitsText(limits) }) };
}

/** What a person reads about a node. */
export const keyTitle = (node: SchemaNode, name: string | number): string => nonEmpty(node["title"]) ?? String(name);

export const keyHelp = (node: SchemaNode): string => nonEmpty(node["description"]) ?? "";

/** The kind of a variant in words. */
export function variantName(node: SchemaNode): string {
  const shape = shapeOf(node);
  switch (shape.kind) {
    case "switch":
      return t("on or off");
    case "fixed":
      return String(shape.value);
    case "choice":
      return t("a choice");
    case "number":
      return t("a number");
    case "text":
      return t("a text");
    case "lines":
    case "items":
      return t("a list");
    default:
      return isReference(node) ? t("kept elsewhere") : t("several keys");
  }
}

/** Whether a node says where a secret is. */
const isReference = ({ properties }: SchemaNode): boolean => isRecord(properties) && "source" in properties;

/** The variant that a value is of; the first one for a value that is missing. */
export function variantOf(value: unknown, variants: readonly SchemaNode[]): number {
  if (value === undefined) return 0;
  const found = variants.findIndex((variant) => fits(value, variant));
  return Math.max(found, 0);
}

function fits(value: unknown, node: SchemaNode): boolean {
  const shape = shapeOf(node);
  switch (shape.kind) {
    case "group":
      return isRecord(value);
    case "items":
    case "lines":
      return Array.isArray(value);
    case "switch":
      return typeof value === "boolean";
    case "choice":
      return typeof value === "string" && shape.options.includes(value);
    case "number":
      return typeof value === "number";
    case "text":
      return typeof value === "string" || (typeof value === "number" && Array.isArray(node["type"]));
    case "fixed":
      return value === shape.value;
    default:
      return true;
  }
}

/** A value of a variant to begin with. */
export function blankOf(node: SchemaNode): unknown {
  const shape = shapeOf(node);
  switch (shape.kind) {
    case "group":
      return {};
    case "items":
    case "lines":
      return [];
    case "switch":
      return true;
    case "choice":
      return shape.options[0];
    case "number":
      return shape.limits.min ?? 0;
    case "fixed":
      return shape.value;
    default:
      return "";
  }
}

/** The node right below another one; undefined for a key that the schema does not know. */
function nodeBelow(node: SchemaNode, name: string | number): SchemaNode | undefined {
  const { properties, additionalProperties, items } = node;
  if (isRecord(properties) && Object.hasOwn(properties, name)) {
    const named = properties[name];
    return isRecord(named) ? named : undefined;
  }
  if (isRecord(items) && typeof name === "number") return items;
  if (isRecord(additionalProperties)) return additionalProperties;
  for (const variant of list(node["anyOf"]).filter(isRecord)) {
    const found = nodeBelow(variant, name);
    if (found) return found;
  }
  return undefined;
}

/** The node of a key, and the path by which the gateway knows it: `*` for a name or an index that people choose. */
export function keyAt(schema: SchemaNode, path: ConfigPath): { readonly node: SchemaNode; readonly pattern: string } {
  let node: SchemaNode = schema;
  const names: string[] = [];
  for (const name of path) {
    names.push(isNamed(node, name) ? String(name) : "*");
    node = nodeBelow(node, name) ?? {};
  }
  return { node, pattern: names.join(".") };
}

/** Whether the schema has a key. What people name or count counts as one, and so does all that lies in a value of any form. */
export const hasKey = (schema: SchemaNode, path: ConfigPath): boolean =>
  path.every((name, at) => {
    const { node } = keyAt(schema, path.slice(0, at));
    return nodeBelow(node, name) !== undefined || shapeOf(node).kind === "json";
  });

function isNamed(node: SchemaNode, name: string | number): boolean {
  const branches = [node, ...list(node["anyOf"]).filter(isRecord)];
  return branches.some(({ properties }) => isRecord(properties) && Object.hasOwn(properties, name));
}
