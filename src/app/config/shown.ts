import { MASK, Secret } from "../../types/secret.ts";
import { isRecord, type KeyPath } from "./schema/problem.ts";
import { isSecretLike } from "../../utils/secrets/secret-name.ts";
import { namesSecret, replaceSecrets } from "../../utils/secrets/secret-text.ts";
import { isPluginPlace, isSecretPlace } from "./secrets.ts";

/** The protocol's placeholder for a value that clients do not see. Written back, it keeps the value. */
export const REDACTED = "__OPENCLAW_REDACTED__";

/**
 * A value of the config as clients and terminals may see it: no secret by its type, by the name of its key (also where
 * this version does not know the key), by its form, as an argument, or known from elsewhere. `path` is where the value
 * is in the config.
 */
export function shownConfig(value: unknown, path: KeyPath = []): unknown {
  if (value instanceof Secret) return MASK;
  if (typeof value === "string") return shownText(value, path);
  if (typeof value === "number" && isPluginPlace(path) && isSecretPlace(path)) return MASK;
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      typeof item === "string" && namesSecret(value[index - 1]) ? MASK : shownConfig(item, [...path, index]),
    );
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, shownConfig(child, [...path, name])]));
}

function shownText(text: string, path: KeyPath): string {
  if (text !== "" && (isSecretPlace(path) || (isPluginPlace(path) && isSecretLike(text)))) return MASK;
  return replaceSecrets(Secret.mask(text), () => MASK);
}

/** Whether a value has a placeholder of one that is not shown in it, which must not be written into the file. */
export function hasMask(value: unknown): boolean {
  if (typeof value === "string") return value.includes(MASK) || value.includes(REDACTED);
  if (Array.isArray(value)) return value.some(hasMask);
  return isRecord(value) && Object.values(value).some(hasMask);
}
