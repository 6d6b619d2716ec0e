import { isRecord, list } from "../model/json.ts";
import { keyValue } from "./draft.ts";
import { keyHelp, shapeOf, keyTitle, type ConfigPath, type SchemaNode } from "./shape.ts";

interface Place {
  readonly node: SchemaNode;
  readonly path: ConfigPath;
}

/**
 * The keys that have all words in their path, title or description: first those that are named so, then in the order of the
 * schema; all keys when there is no word. A key below a list or map is found once for each entry that the config
 * has; where the name of the list or map has the words, the list or map is found instead of its entries.
 */
export function foundKeys(schema: SchemaNode, config: unknown, query: string): readonly ConfigPath[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const found = below({ node: schema, path: [] }, config, words);
  const isNamed = (place: Place): boolean => hasAll(nameOf(place), words);
  return [...found.filter(isNamed), ...found.filter((place) => !isNamed(place))].map(({ path }) => path);
}

const hasAll = (text: string, words: readonly string[]): boolean =>
  words.every((word) => text.toLowerCase().includes(word));

const nameOf = ({ node, path }: Place): string => `${path.at(-1)} ${keyTitle(node, "")}`;

function below({ node, path }: Place, config: unknown, words: readonly string[]): readonly Place[] {
  return childrenOf(node, keyValue(config, path)).flatMap(([name, child]) => {
    const place = { node: child, path: [...path, name] };
    const shape = shapeOf(child);
    if (shape.kind !== "group" && shape.kind !== "items") {
      const text = `${place.path.join(".")} ${keyTitle(child, "")} ${keyHelp(child)}`;
      return hasAll(text, words) ? [place] : [];
    }
    const hasEntries = shape.kind === "items" || (shape.rest !== undefined && shape.keys.length === 0);
    return hasEntries && words.length > 0 && hasAll(nameOf(place), words) ? [place] : below(place, config, words);
  });
}

/** The keys right below a group or list, with those of the config. */
function childrenOf(node: SchemaNode, value: unknown): readonly (readonly [name: string | number, node: SchemaNode])[] {
  const shape = shapeOf(node);
  if (shape.kind === "items") return list(value).map((_item, at) => [at, shape.item] as const);
  if (shape.kind !== "group") return [];
  const { keys, rest } = shape;
  const names = isRecord(value) ? Object.keys(value) : [];
  const entries = names.filter((name) => keys.every(([known]) => known !== name));
  return [...keys, ...(rest === undefined ? [] : entries.map((name) => [name, rest] as const))];
}
