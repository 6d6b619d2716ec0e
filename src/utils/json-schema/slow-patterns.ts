import { z } from "zod";
import { isFields, type Fields } from "../fields.ts";
import { runWithin } from "../run-within.ts";
import { errorText } from "../text/error-text.ts";
import { shorten } from "../text/shorten.ts";
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

/**
 * Milliseconds of processor time to check a value, to search with one pattern to find out which is slow, and to find the slow one among
 * all patterns.
 */
const CHECK_MS = 500;
const SEARCH_MS = 50;
const FIND_MS = 500;
/** Characters of a pattern that are shown. */
const MOST_SHOWN = 100;

/** Whether a JSON Schema searches texts with regular expressions. */
export const hasPatterns = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.some(hasPatterns)
    : isFields(value) && ("pattern" in value || "patternProperties" in value || Object.values(value).some(hasPatterns));

/**
 * The same schema, whose checks end in time: some patterns take practically for ever on some texts, and a long value with many
 * alternatives takes minutes. What takes longer is refused, with the key and the pattern if it is one.
 */
export function inTime(schema: z.ZodType, jsonSchema: Fields): z.ZodType {
  return z.transform((value, context) => {
    const refuse = (issue: object) => {
      context.issues.push({ code: "custom", input: value, ...issue });
      return z.NEVER;
    };
    try {
      const checked = runWithin(CHECK_MS, () => schema.safeParse(value));
      if (checked.kind === "late") return refuse(slowOne(jsonSchema, value));
      if (checked.value.success) return checked.value.data;
      for (const issue of checked.value.error.issues) refuse(issue);
      return z.NEVER;
    } catch (error) {
      return refuse({ message: `cannot be checked: ${shorten(errorText(error), 3 * MOST_SHOWN)}` });
    }
  });
}

/** The key and the pattern of a JSON Schema that takes too long on a value, as a sentence; undefined when all patterns end in time. */
export function slowPattern(jsonSchema: Fields, value: unknown): string | undefined {
  if (!canBeChecked(jsonSchema)) return undefined;
  const searchAll = () => [...searchesIn(jsonSchema, value)].map(search);
  if (runWithin(CHECK_MS, searchAll).kind === "done") return undefined;
  const { path = [], message } = slowOne(jsonSchema, value);
  return `${path.map(String).join(".")} ${message}.`.trimStart();
}

interface Search {
  readonly path: readonly PropertyKey[];
  readonly pattern: string;
  readonly text: string;
}

function slowOne(jsonSchema: Fields, value: unknown): { readonly path?: PropertyKey[]; readonly message: string } {
  const until = performance.now() + FIND_MS;
  for (const { path, pattern, text } of searchesIn(jsonSchema, value, () => performance.now() >= until)) {
    if (runWithin(SEARCH_MS, () => search({ pattern, text })).kind === "done") continue;
    const shown = shorten(pattern, MOST_SHOWN);
    return { path: [...path], message: `takes too long to check with the pattern ${shown} of its schema` };
  }
  return { message: "takes too long to check with its schema" };
}

function search({ pattern, text }: Pick<Search, "pattern" | "text">): boolean {
  try {
    return new RegExp(pattern).test(text);
  } catch {
    // A text that is no pattern searches nothing.
    return false;
  }
}

/** Searches that checking the value makes, each with its patterns, until it is too late. */
function searchesIn(root: Fields, given: unknown, isLate = () => false): Generator<Search> {
  return below(root, given, []);

  function* below(schema: Fields, value: unknown, path: Search["path"]): Generator<Search> {
    if (isLate()) return;
    const { pattern } = schema;
    for (const other of sameValue(schema, root)) yield* below(other, value, path);
    if (typeof value === "string" && typeof pattern === "string") yield { path, pattern, text: value };
    for (const [key, part] of partsOf(value))
      for (const { name, schema: next } of schemasOf(schema, key)) {
        if (name !== undefined) yield { path: [...path, key], pattern: name, text: String(key) };
        if (isFields(next)) yield* below(next, part, [...path, key]);
      }
  }
}

function partsOf(value: unknown): Iterable<readonly [string | number, unknown]> {
  if (Array.isArray(value)) return value.entries();
  return isFields(value) ? Object.entries(value) : [];
}

/** The schemas of a part of a value; `name`: the pattern that its key has to match for that. */
function schemasOf(schema: Fields, key: string | number): readonly { name?: string; schema: unknown }[] {
  const { items, properties, additionalProperties, patternProperties } = schema;
  if (typeof key === "number") return [{ schema: items }];
  const isNamed = isFields(properties) && Object.hasOwn(properties, key);
  const byName = isFields(patternProperties) ? Object.entries(patternProperties) : [];
  return [
    { schema: isNamed ? properties[key] : additionalProperties },
    ...byName.map(([name, one]) => ({ name, schema: one })),
  ];
}
