import { Secret } from "./secret.ts";

/** Plain data with every secret of this process masked in its texts; names of keys stay as they are. */
export function maskStrings(value: unknown): unknown {
  if (typeof value === "string") return Secret.mask(value);
  if (Array.isArray(value)) return value.map(maskStrings);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, maskStrings(child)]));
}
