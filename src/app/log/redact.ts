import { MASK } from "../../types/secret.ts";

const WITH_FLAGS = /^\/(.+)\/([dgimsuvy]*)$/s;

/** Reads a pattern: the bare expression or `/pattern/flags`. Throws `SyntaxError` when it is no regular expression. */
export function redactPattern(source: string): RegExp {
  const [, body = source, flags = ""] = WITH_FLAGS.exec(source) ?? [];
  return new RegExp(body, flags.includes("g") ? flags : `${flags}g`);
}

/** The text with `[secret]` in place of all that a pattern matches. */
export const redacted = (text: string, patterns: readonly RegExp[]): string =>
  patterns.reduce((left, pattern) => left.replace(pattern, MASK), text);

/** A JSON value with `[secret]` in place of all that a pattern matches in its texts. */
export function redactedValue(value: unknown, patterns: readonly RegExp[]): unknown {
  if (typeof value === "string") return redacted(value, patterns);
  if (typeof value !== "object" || value === null || patterns.length === 0) return value;
  return JSON.parse(JSON.stringify(value), (_key, child: unknown) =>
    typeof child === "string" ? redacted(child, patterns) : child,
  );
}
