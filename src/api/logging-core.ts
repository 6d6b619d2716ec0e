/** `openclaw/plugin-sdk/logging-core`. */
import { MASK, Secret } from "../types/secret.ts";
import { replaceSecrets } from "../utils/secrets/secret-text.ts";

export interface RedactOptions {
  readonly mode?: "off" | "tools";
  /** Regular expressions; texts that they match are masked too. */
  readonly patterns?: readonly string[];
}

/** The text without the secrets that the gateway knows or that have the form of one. With `mode: "off"` the text as it is. */
export function redactSensitiveText(text: string, { mode, patterns = [] }: RedactOptions = {}): string {
  if (mode === "off") return text;
  const known = replaceSecrets(Secret.mask(text), () => MASK);
  return patterns.reduce((masked, pattern) => masked.replaceAll(new RegExp(pattern, "g"), "***"), known);
}
