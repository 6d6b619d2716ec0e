import { isFields } from "../fields.ts";
import { Secret } from "./secret.ts";

/** A copy of a value of the config with its secrets as text. For the one reader that they are meant for. */
export function revealSecrets(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal();
  if (Array.isArray(value)) return value.map(revealSecrets);
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, revealSecrets(child)]));
}
