/**
 * An event for one hook. Its fields are copied when the hook reads them: most hooks never look at the conversation, and
 * a hook's changes must reach neither the conversation that the gateway holds nor other plugins.
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
