import { isFields, type Fields } from "../fields.ts";
import { sameValue } from "./schema-parts.ts";

/** Schemas in one JSON Schema, and schemas that one value is checked with. */
const MOST = 10_000;
/** Properties of one object: Zod makes a single expression of all properties. */
const MOST_PROPERTIES = 2000;

/**
 * Whether a value can be checked with a JSON Schema from outside in a reasonable time. It cannot when the schema refers to itself in
 * a way that no value ends, when references multiply, and when it is too large.
 */
export function canBeChecked(root: Fields): boolean {
  const known = new Map<Fields, number>();
  const costOf = (schema: Fields, above: ReadonlySet<Fields>): number => {
    if (above.has(schema)) return Infinity;
    const before = known.get(schema);
    if (before !== undefined) return before;
    const below = new Set([...above, schema]);
    const cost = sameValue(schema, root).reduce((sum, one) => (sum > MOST ? sum : sum + costOf(one, below)), 1);
    known.set(schema, cost);
    return cost;
  };
  let count = 0;
  return everySchema(root, (schema) => {
    count += 1;
    return count <= MOST && !isWide(schema) && costOf(schema, new Set()) <= MOST;
  });
}

const isWide = ({ properties }: Fields): boolean =>
  isFields(properties) && Object.keys(properties).length > MOST_PROPERTIES;

function everySchema(value: unknown, isGood: (schema: Fields) => boolean): boolean {
  if (Array.isArray(value)) return value.every((one) => everySchema(one, isGood));
  if (!isFields(value)) return true;
  return isGood(value) && Object.values(value).every((one) => everySchema(one, isGood));
}
