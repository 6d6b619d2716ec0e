import { isRecord } from "../model/json.ts";
import type { ConfigPath } from "./shape.ts";
import { t } from "../words/words.ts";

/** The gateway's placeholder for a value that clients do not see. Sent back, it keeps the value. */
export const HIDDEN = "__OPENCLAW_REDACTED__";

/** One key that differs; undefined where there is none. */
export interface KeyChange {
  readonly path: ConfigPath;
  readonly before: unknown;
  readonly after: unknown;
}

/** The value at a path; undefined where there is none. */
export function keyValue(root: unknown, path: ConfigPath): unknown {
  let value = root;
  for (const name of path) {
    if (Array.isArray(value)) value = typeof name === "number" ? value[name] : undefined;
    else value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/** The same config with another value at a path; `undefined` takes the key out. */
export function withValue(root: unknown, path: ConfigPath, value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (typeof name === "number") {
    const items: unknown[] = Array.isArray(root) ? [...root] : [];
    const next = withValue(items[name], rest, value);
    if (next === undefined) items.splice(name, 1);
    else items[name] = next;
    return items;
  }
  const { [name]: before, ...others } = isRecord(root) ? root : {};
  const next = withValue(before, rest, value);
  if (next === undefined) return others;
  // An existing key keeps its place.
  return isRecord(root) && Object.hasOwn(root, name) ? { ...root, [name]: next } : { ...others, [name]: next };
}

/** Takes a key out, and with it the groups that hold nothing any more and that the config did not have before. */
export function withoutKey(root: unknown, path: ConfigPath, base: unknown): unknown {
  const next = withValue(root, path, undefined);
  const above = path.slice(0, -1);
  const group = keyValue(next, above);
  const isLeft = isRecord(group) && Object.keys(group).length === 0 && keyValue(base, above) === undefined;
  return isLeft && above.length > 0 && typeof above.at(-1) === "string" ? withoutKey(next, above, base) : next;
}

/** The keys that differ; a group that comes or goes is told by its keys, a list of another length as a whole. */
export const changesBetween = (before: unknown, after: unknown): readonly KeyChange[] =>
  differences({ path: [], before, after }, true);

function differences({ path, before, after }: KeyChange, isInLists: boolean): readonly KeyChange[] {
  if (equalValues(before, after)) return [];
  const below = (name: string | number, ...[from, to]: readonly [unknown, unknown]): readonly KeyChange[] =>
    differences({ path: [...path, name], before: from, after: to }, isInLists);
  const [from, to] = [before === undefined ? {} : before, after === undefined ? {} : after];
  if (isRecord(from) && isRecord(to)) {
    const keys = namesOf(from, to).flatMap((name) => below(name, from[name], to[name]));
    return keys.length > 0 ? keys : [{ path, before, after }];
  }
  if (isInLists && Array.isArray(from) && Array.isArray(to) && from.length === to.length && to.some(isRecord))
    return to.flatMap((item: unknown, at) => below(at, from[at], item));
  return [{ path, before, after }];
}

const namesOf = (one: object, other: object): readonly string[] => [
  ...new Set([...Object.keys(one), ...Object.keys(other)]),
];

const equalValues = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);

/** The JSON of a value with sorted names. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_name, child: unknown) =>
    isRecord(child)
      ? Object.fromEntries(Object.entries(child).sort(([one], [other]) => (one < other ? -1 : 1)))
      : child,
  );
}

/** The merge patch that makes one config into the other; lists are replaced as a whole. */
export function patchBetween(before: unknown, after: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const from = isRecord(before) ? before : {};
  const parts = namesOf(from, after).flatMap((name) => {
    const [old, next] = [from[name], after[name]];
    if (equalValues(old, next)) return [];
    return [[name, isRecord(old) && isRecord(next) ? patchBetween(old, next) : (next ?? null)] as const];
  });
  return Object.fromEntries(parts);
}

/** The draft of a config that changed meanwhile, and the keys that both changed, each with its value in the file. */
export interface Rebased {
  readonly draft: unknown;
  readonly clashes: readonly KeyChange[];
}

/** Makes the changes of a draft to the config as it is now. A list is one value. */
export function rebased(base: unknown, draft: unknown, now: unknown): Rebased {
  const own = differences({ path: [], before: base, after: draft }, false);
  const clashes = own.filter(
    ({ path, before, after }) => !equalValues(keyValue(now, path), before) && !equalValues(keyValue(now, path), after),
  );
  return {
    draft: own.reduce(
      (next, { path, after }) => (after === undefined ? withoutKey(next, path, draft) : withValue(next, path, after)),
      now,
    ),
    clashes: clashes.map(({ path, before }) => ({ path, before, after: keyValue(now, path) })),
  };
}

/** A value for a person, on one line; what is hidden is not shown. */
export function shownValue(value: unknown): string {
  if (value === undefined) return t("not set");
  if (value === HIDDEN) return t("a stored value");
  if (typeof value === "boolean") return value ? t("on") : t("off");
  if (typeof value === "string") return value === "" ? t("an empty text") : value;
  return JSON.stringify(value).replaceAll(`"${HIDDEN}"`, "a stored value");
}
