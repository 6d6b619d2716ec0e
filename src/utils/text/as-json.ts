/** A value from outside as JSON would keep it, so that it can be written. Throws for one that refers to itself, and for a BigInt. */
export function asJson(value: unknown): unknown {
  const text: string | undefined = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}
