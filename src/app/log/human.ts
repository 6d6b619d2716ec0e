import { styleText } from "node:util";

type Verb = "debug" | "info" | "warn" | "error";

const LOOK = { debug: "gray", info: "green", warn: "yellow", error: "red" } as const;

/** `14:03:22 info  delivered channel=telegram run=…`; colours only where they are wanted. */
export function humanLine(verb: Verb, message: string, fields: Readonly<Record<string, unknown>>): string {
  const time = new Date().toTimeString().slice(0, 8);
  const { error, ...rest } = fields;
  const pairs = Object.entries(rest).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${show(value)}`],
  );
  const cause = error === undefined ? [] : [errorText(error)];
  const level = paint(LOOK[verb], verb.padEnd(5));
  return `${paint("gray", time)} ${level} ${[message, paint("gray", pairs.join(" ")), ...cause].filter(Boolean).join(" ")}\n`;
}

const paint = (look: "gray" | "green" | "yellow" | "red", text: string): string =>
  text === "" ? "" : styleText(look, text, { stream: process.stdout });

function show(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return /[\s"]/.test(text) && typeof value === "string" ? JSON.stringify(text) : text;
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
