import { Secret } from "./secret.ts";

/** Plain data with every secret of this process masked in its texts; names of keys stay as they are. */
export function maskStrings(value: unknown): unknown {
  if (typeof value === "string") return Secret.mask(value);
  if (Array.isArray(value)) return value.map(maskStrings);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, maskStrings(child)]));
}

/**
 * The JSON of plain data with every secret of this process masked in its texts. Most data have none, and are written once: a secret
 * is also found as JSON writes it. The text itself is not masked, since digits may be a secret in one place and a number in another.
 */
export function maskedJson(value: unknown): string {
  const text = JSON.stringify(value);
  return Secret.mask(text) === text ? text : JSON.stringify(maskStrings(value));
}
