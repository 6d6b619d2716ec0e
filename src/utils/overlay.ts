/**
 * The same object but for the members in `over`. Every other member is the original's, also one that a later version of the
 * type adds, and is called on the original.
 */
export function overlay<T extends object>(original: T, over: Partial<T>): T {
  const own = new Map<PropertyKey, unknown>(Object.entries(over));
  return new Proxy(original, {
    get(target, name) {
      if (own.has(name)) return own.get(name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
