import { isDeepStrictEqual } from "node:util";
import { OpenClawError } from "../../../types/errors.ts";
import { Secret } from "../../../types/secret.ts";
import { own } from "../../../utils/own.ts";
import { isRecord, showPath, type KeyPath } from "../schema/problem.ts";
import { REDACTED, shownConfig } from "../shown.ts";

/** A text that only names a variable tells no secret. */
const isReference = (text: string): boolean => /^\$\{[A-Za-z_]\w*\}$/.test(text);

/** A value of the config as clients of the protocol see it: a text with any secret in it is the placeholder as a whole. */
export const wireConfig = (value: unknown, path: KeyPath = []): unknown => compared(value, shownConfig(value, path));

function compared(value: unknown, shown: unknown): unknown {
  if (value instanceof Secret) return REDACTED;
  if (Array.isArray(value)) return value.map((item, at) => compared(item, Array.isArray(shown) ? shown[at] : shown));
  if (isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [name, compared(child, isRecord(shown) ? own(shown, name) : shown)]),
    );
  return Object.is(value, shown) || (typeof value === "string" && isReference(value)) ? value : REDACTED;
}

/**
 * What a client sends with the stored value in place of each placeholder. An item of a list keeps the values of the item
 * that it was made from: the equal one, the one with its `id`, or the one at its place in a list of the same length.
 * Throws `USAGE` for a placeholder where the file has no secret.
 */
export const restored = (next: unknown, stored: unknown): unknown =>
  restoredFrom({ stored, shown: wireConfig(stored) }, next, []);

/** A value of the file, and how clients see it. */
interface Origin {
  readonly stored: unknown;
  readonly shown: unknown;
}

function restoredFrom({ stored, shown }: Origin, next: unknown, path: KeyPath): unknown {
  if (next === REDACTED) {
    if (shown === REDACTED) return stored;
    throw new OpenClawError("USAGE", {
      message: `${showPath(path)} is ${REDACTED}, but no value is kept there.`,
      fix: "Give the value itself, or leave the key out.",
    });
  }
  if (Array.isArray(next)) {
    const origins = itemsOf(stored).map((item, at) => ({ stored: item, shown: itemsOf(shown)[at] }));
    return next.map((item: unknown, at) =>
      restoredFrom(originOf(item, at, { origins, length: next.length }), item, [...path, at]),
    );
  }
  if (!isRecord(next)) return next;
  const [before, seen] = [stored, shown].map((value) => (isRecord(value) ? value : {}));
  const below = (name: string) => ({ stored: before && own(before, name), shown: seen && own(seen, name) });
  return Object.fromEntries(
    Object.entries(next).map(([name, child]) => [name, restoredFrom(below(name), child, [...path, name])]),
  );
}

const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const NOTHING: Origin = { stored: undefined, shown: undefined };

/** The item of the stored list that an item of the next list was made from. */
function originOf(
  item: unknown,
  at: number,
  { origins, length }: { readonly origins: readonly Origin[]; readonly length: number },
): Origin {
  const only = (fits: (shown: unknown) => boolean): Origin | undefined => {
    const found = origins.filter(({ shown }) => fits(shown));
    return found.length === 1 ? found[0] : undefined;
  };
  const here = origins[at] ?? NOTHING;
  if (isDeepStrictEqual(here.shown, item)) return here;
  const equal = only((shown) => isDeepStrictEqual(shown, item));
  if (equal) return equal;
  const id = itemId(item);
  if (id !== undefined) return only((shown) => itemId(shown) === id) ?? NOTHING;
  return origins.length === length ? here : NOTHING;
}

/** The `id` of an item; undefined without one. */
export const itemId = (item: unknown): string | undefined => {
  const id = isRecord(item) ? item["id"] : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
};
