import type { Log } from "../../types/log.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { shorten } from "../../utils/text/shorten.ts";

const MOST_CHARS = 4000;

type Level = "debug" | "info" | "warn" | "error";

/** The logger of a plugin: methods by level, each with a message and optional fields. Its lines carry the plugin's id. */
export function pluginLogger(log: Log) {
  const write =
    (level: Level) =>
    (message: unknown, ...more: readonly unknown[]): void =>
      log[level](lineOf(message, more), fieldsOf(message, more));
  return {
    trace: write("debug"),
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: write("error"),
    child: (bindings: unknown) => pluginLogger(log.with(isFields(bindings) ? bindings : {})),
    isEnabled: () => true,
  };
}

/** Plugins pass text and fields, fields and text, or several texts. */
function lineOf(message: unknown, more: readonly unknown[]): string {
  const texts = [message, ...more].filter((part) => !isFields(part)).map(String);
  return shorten(texts.join(" ") || "(no text)", MOST_CHARS);
}

function fieldsOf(message: unknown, more: readonly unknown[]): Fields {
  return Object.assign({}, ...[message, ...more].filter(isFields));
}
