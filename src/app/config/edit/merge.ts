import { isDeepStrictEqual } from "node:util";
import { own } from "../../../utils/own.ts";
import { isRecord } from "../schema/problem.ts";
import { itemId } from "./wire-config.ts";

/** A merge patch applied to a config. Pure. */
export interface Merged {
  readonly value: unknown;
  /** Paths of the lists that lose items although `replace` does not name them; `[]` in a path means any item. */
  readonly losing: readonly string[];
}

/** Lists that a patch replaces, by their paths. */
type Replaced = ReadonlySet<string> | "all";

/**
 * Applies a JSON merge patch (RFC 7396), with the protocol's addition: lists whose items all have an `id` are merged
 * item by item. The lists of `replace` are replaced as a whole. Pure.
 */
export function mergePatch(base: unknown, patch: unknown, replace: Replaced, path = ""): Merged {
  if (Array.isArray(base)) return mergeList(base, patch, replace, path);
  if (!isRecord(patch))
    return { value: patch, losing: replace === "all" ? [] : listsIn(base, path).filter((list) => !replace.has(list)) };
  const before = isRecord(base) ? base : {};
  const parts = Object.entries(patch).map(([name, child]) => {
    const at = path === "" ? name : `${path}.${name}`;
    return [name, mergePatch(own(before, name), child, replace, at)] as const;
  });
  const value = new Map(Object.entries(before));
  for (const [name, part] of parts)
    if (part.value === null) value.delete(name);
    else value.set(name, part.value);
  return { value: Object.fromEntries(value), losing: parts.flatMap(([, part]) => part.losing) };
}

function mergeList(base: readonly unknown[], patch: unknown, replace: Replaced, path: string): Merged {
  if (replace === "all" || replace.has(path)) return { value: patch, losing: [] };
  if (!Array.isArray(patch)) return { value: patch, losing: base.length === 0 ? [] : [path] };
  const hasIds = base.length > 0 && base.every((item) => itemId(item) !== undefined);
  if (!hasIds) return { value: patch, losing: holdsAll(base, patch) ? [] : [path] };
  const value = [...base];
  const losing: string[] = [];
  for (const item of patch) {
    const at = value.findIndex((one) => itemId(one) === itemId(item));
    if (at === -1) value.push(item);
    else {
      const merged = mergePatch(value[at], item, replace, `${path}[]`);
      value[at] = merged.value;
      losing.push(...merged.losing);
    }
  }
  return { value, losing };
}

function holdsAll(base: readonly unknown[], next: readonly unknown[]): boolean {
  const left = [...next];
  return base.every((item) => {
    const at = left.findIndex((one) => isDeepStrictEqual(one, item));
    if (at !== -1) left.splice(at, 1);
    return at !== -1;
  });
}

/** The lists with items below a value that a patch replaces. */
function listsIn(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : [path];
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, child]) => listsIn(child, path === "" ? name : `${path}.${name}`));
}
