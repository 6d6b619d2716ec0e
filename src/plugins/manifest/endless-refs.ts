import { isFields, type Fields } from "../../utils/fields.ts";

/** Keywords whose schemas apply to the same value as the schema that has them. */
const LISTS = ["allOf", "anyOf", "oneOf"];
const SINGLES = ["not", "if", "then", "else"];

/** Whether a JSON Schema refers to itself in a way that no value ends: checking a value with it would never come back. */
export function hasEndlessRefs(root: Fields): boolean {
  const safe = new Set<Fields>();
  const ends = (schema: Fields, above: ReadonlySet<Fields>): boolean => {
    if (above.has(schema)) return false;
    if (safe.has(schema)) return true;
    const below = new Set([...above, schema]);
    const isSafe = sameValue(schema, root).every((one) => ends(one, below));
    if (isSafe) safe.add(schema);
    return isSafe;
  };
  return !everySchema(root, (schema) => ends(schema, new Set()));
}

function everySchema(value: unknown, isGood: (schema: Fields) => boolean): boolean {
  if (Array.isArray(value)) return value.every((one) => everySchema(one, isGood));
  if (!isFields(value)) return true;
  return isGood(value) && Object.values(value).every((one) => everySchema(one, isGood));
}

function sameValue(schema: Fields, root: Fields): readonly Fields[] {
  const { $ref } = schema;
  const target = typeof $ref === "string" ? targetOf($ref, root) : undefined;
  const listed = LISTS.flatMap((key) => (Array.isArray(schema[key]) ? schema[key] : []));
  const single = SINGLES.map((key) => schema[key]);
  return [target, ...listed, ...single].filter((one) => isFields(one));
}

/** What `#/$defs/name` leads to; undefined for what is not in the schema. */
function targetOf(ref: string, root: Fields): unknown {
  if (!ref.startsWith("#")) return undefined;
  let value: unknown = root;
  for (const part of ref.slice(1).split("/").filter(Boolean)) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
