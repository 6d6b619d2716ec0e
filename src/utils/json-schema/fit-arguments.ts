import { type Fields, isFields } from "../fields.ts";

/**
 * Arguments of a call in the shape of the tool's schema, where a model's slip leaves no doubt: an object or a list that
 * came as JSON text is read, and an optional argument that came blank (`null`, `""`, 0) is left out where the schema
 * takes no such value. All other arguments stay. Pure.
 */
export function fitArguments(of: Fields, given: unknown): unknown {
  const value = readJson(of, given);
  const schema = schemaFor(of, value);
  if (Array.isArray(value)) {
    const { items } = schema;
    return isFields(items) ? value.map((item: unknown) => fitArguments(items, item)) : value;
  }
  const { properties, required } = schema;
  if (!isFields(value) || !isFields(properties)) return value;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const fitted = { ...value };
  for (const [name, one] of Object.entries(value)) {
    const below = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isFields(below)) continue;
    const isLeftOut = !needed.includes(name) && isBlank(one) && !takes(below, one);
    if (isLeftOut) delete fitted[name];
    else fitted[name] = fitArguments(below, one);
  }
  return fitted;
}

/** The alternative of a schema that takes the value; the schema itself unless exactly one does. */
function schemaFor(schema: Fields, value: unknown): Fields {
  const [one, ...more] = choicesOf(schema).filter((choice) => isFields(choice) && takes(choice, value));
  return isFields(one) && more.length === 0 ? one : schema;
}

const choicesOf = ({ anyOf, oneOf }: Fields): readonly unknown[] =>
  [anyOf, oneOf].find((all): all is unknown[] => Array.isArray(all)) ?? [];

/** Value of a JSON text, where the schema takes that value and not the text. */
function readJson(schema: Fields, given: unknown): unknown {
  if (typeof given !== "string" || !/^\s*[[{]/.test(given) || takes(schema, given)) return given;
  try {
    const read: unknown = JSON.parse(given);
    return takes(schema, read) ? read : given;
  } catch {
    return given;
  }
}

const isBlank = (value: unknown): boolean => value === null || value === "" || value === 0;

/** Whether a value of this kind is let in, as far as its type and its bounds say. */
function takes(schema: Fields, value: unknown): boolean {
  const choices = choicesOf(schema);
  if (choices.length > 0) return choices.some((one) => !isFields(one) || takes(one, value));
  const { const: only, enum: several, type } = schema;
  if (only !== undefined) return only === value;
  if (Array.isArray(several)) return several.includes(value);
  if (type === undefined) return true;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return typesOf(value).some((one) => types.includes(one)) && isWithin(schema, value);
}

function typesOf(value: unknown): readonly string[] {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  return typeof value === "number" ? ["number", "integer"] : [typeof value];
}

function isWithin({ minLength, minimum, exclusiveMinimum }: Fields, value: unknown): boolean {
  if (typeof value === "string") return value.length >= numberOr(minLength, 0);
  if (typeof value !== "number") return true;
  return value >= numberOr(minimum, -Infinity) && value > numberOr(exclusiveMinimum, -Infinity);
}

const numberOr = (given: unknown, other: number): number => (typeof given === "number" ? given : other);
