export type Fields = Readonly<Record<string, unknown>>;

/** True for an object that is no list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Whether two values of plain data, such as JSON has, are equal. A field that is undefined equals a missing one. Faster than Node's
 * `isDeepStrictEqual`, which compares any objects.
 */
export function isSameData(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a)) return Array.isArray(b) && isSameList(a, b);
  return isFields(a) && isFields(b) && isSameFields(a, b);
}

const isSameList = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, at) => isSameData(item, b[at]));

function isSameFields(a: Fields, b: Fields): boolean {
  for (const name in a) if (!isSameData(a[name], ownField(b, name))) return false;
  for (const name in b) if (b[name] !== undefined && ownField(a, name) === undefined) return false;
  return true;
}

/** JSON may have a field `__proto__`. */
const ownField = (of: Fields, name: string): unknown => (Object.hasOwn(of, name) ? of[name] : undefined);
