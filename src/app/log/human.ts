import { styleText } from "node:util";
import { errorText } from "../../utils/text/error-text.ts";
import { boundedText } from "./bounded.ts";

type Verb = "debug" | "info" | "warn" | "error";

const LOOK = { debug: "gray", info: "green", warn: "yellow", error: "red" } as const;

/**
 * A line for people, such as `14:03:22 info  delivered channel=telegram run=…`. Colours only where standard output
 * takes them.
 */
export function humanLine(verb: Verb, message: string, fields: Readonly<Record<string, unknown>>): string {
  const time = new Date().toTimeString().slice(0, 8);
  const { error, ...rest } = fields;
  const cause = error === undefined ? [] : [oneLine(boundedText(errorText(error)))];
  const level = paint(LOOK[verb], verb.padEnd(5));
  return `${paint("gray", time)} ${level} ${[oneLine(message), paint("gray", oneLine(fieldsText(rest))), ...cause].filter(Boolean).join(" ")}\n`;
}

/** The fields of a line as `name=value`, in their order. */
export const fieldsText = (fields: Readonly<Record<string, unknown>>): string =>
  Object.entries(fields)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${show(value)}`]))
    .join(" ");

const paint = (look: "gray" | "green" | "yellow" | "red", text: string): string =>
  text === "" ? "" : styleText(look, text, { stream: process.stdout });

/**
 * The text in one line, with control characters escaped: text from strangers must neither begin a line nor control the
 * terminal.
 */
const oneLine = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function show(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return /[\s"]/.test(text) && typeof value === "string" ? JSON.stringify(text) : text;
}
