import { isFields, type Fields } from "../fields.ts";

/** Keywords whose schemas apply to the same value as the schema that has them. */
const LISTS = ["allOf", "anyOf", "oneOf"];
const SINGLES = ["not", "if", "then", "else"];

/** The schemas that a value has to be checked with when it is checked with `schema`, but for that one. */
export function sameValue(schema: Fields, root: Fields): readonly Fields[] {
  const { $ref } = schema;
  const target = typeof $ref === "string" ? refTarget($ref, root) : undefined;
  const listed = LISTS.flatMap((key) => (Array.isArray(schema[key]) ? schema[key] : []));
  const single = SINGLES.map((key) => schema[key]);
  return [target, ...listed, ...single].filter((one) => isFields(one));
}

/** Target of `#/$defs/name`; undefined for a target that is not in the schema. */
export function refTarget(ref: string, root: Fields): unknown {
  if (!ref.startsWith("#")) return undefined;
  let value: unknown = root;
  for (const part of ref.slice(1).split("/").filter(Boolean)) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
