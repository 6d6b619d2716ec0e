import { z } from "zod";
import { MASK, Secret } from "../../types/secret.ts";
import { isRecord, type KeyPath } from "./schema/problem.ts";
import { isSecretLike } from "../../utils/secrets/secret-name.ts";
import { namesSecret, replaceSecrets } from "../../utils/secrets/secret-text.ts";
import { isPluginPlace, isSecretPlace } from "./secrets.ts";

/** A remark about a key; the path is empty for the file as a whole. */
const remark = z.looseObject({ path: z.string(), message: z.string() });

/**
 * The answer of `config.get`. `hash`: of the file's text as it is now; `appliedConfigHash`: of the text that the gateway
 * works with.
 */
export const configAnswer = z.looseObject({
  path: z.string().optional(),
  /** Empty: the gateway has no such files. */
  includedPaths: z.array(z.unknown()).optional(),
  includeProvenance: z.array(z.unknown()).optional(),
  agentRosterIncludeOwned: z.boolean().optional(),
  bindingsIncludeOwned: z.boolean().optional(),
  exists: z.boolean().optional(),
  /** Text of the file; null where a comment has a secret. */
  raw: z.string().nullish(),
  /** The file, and its keys with the values in force. */
  parsed: z.unknown().optional(),
  sourceConfig: z.unknown().optional(),
  resolved: z.unknown().optional(),
  valid: z.boolean().optional(),
  /** The config in force. */
  runtimeConfig: z.unknown().optional(),
  config: z.unknown().optional(),
  hash: z.string(),
  issues: z.array(remark).optional(),
  warnings: z.array(remark).optional(),
  legacyIssues: z.array(remark).optional(),
  configRevisionHash: z.string().optional(),
  /** Hash of the text that is in force. */
  appliedConfigHash: z.string().optional(),
});

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
