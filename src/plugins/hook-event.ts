/**
 * An event for one hook. What it holds is copied when the hook reads it: most hooks never look at the conversation, and a hook that
 * changes what it gets must change neither the conversation that the gateway holds nor what other plugins see.
 */
export function ownCopy(event: object): object {
  const copy = {};
  for (const [key, value] of Object.entries(event)) Object.defineProperty(copy, key, propertyOf(value));
  return copy;
}

function propertyOf(value: unknown): PropertyDescriptor {
  const usual = { enumerable: true, configurable: true };
  if (typeof value !== "object" || value === null) return { ...usual, value, writable: true };
  let own: { readonly value: unknown } | undefined;
  return {
    ...usual,
    get: () => (own ??= { value: structuredClone(value) }).value,
    set: (given: unknown) => (own = { value: given }),
  };
}
