import JSON5 from "json5";
import { keyOf } from "./form.ts";
import { t } from "../words/words.ts";

/** A place in a text that is no JSON5, from 1. */
export interface TextProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The value of a text of JSON5, or where it is none. A text without anything is a config without keys. */
export function readText(text: string): { readonly value: unknown } | { readonly problem: TextProblem } {
  if (text.trim() === "") return { value: {} };
  try {
    return { value: JSON5.parse<unknown>(text) };
  } catch (error) {
    const words = error instanceof Error ? error.message : t("This is no JSON5.");
    // The parser says the place in its words, too.
    const place = / at (\d+):(\d+)$/.exec(words);
    const message = words.replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "");
    return { problem: { line: Number(place?.[1] ?? 1), column: Number(place?.[2] ?? 1), message } };
  }
}

const TOKEN = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|[{}[\]:,]|[^\s{}[\]:,"'/]+/g;

interface Frame {
  readonly isList: boolean;
  /** The name or index of the value that is read now. */
  key: string | number;
  isValue: boolean;
}

/** The line of each key in a text of JSON5, from 1, by its path with dots. */
export function linesOfKeys(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const frames: Frame[] = [];
  const countLines = lineCounter(text);
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token.startsWith("//") || token.startsWith("/*")) continue;
    const frame = frames.at(-1);
    const note = (): void => {
      const key = keyOf(frames.map((one) => one.key));
      if (!lines.has(key)) lines.set(key, countLines(index));
    };
    if (frame && !frame.isList && !frame.isValue && !"{}[]:,".includes(token)) {
      frame.key = nameOf(token);
      note();
    } else if (frame?.isList === true && !"]},:".includes(token)) note();
    follow(frames, token);
  }
  return lines;
}

function follow(frames: Frame[], token: string): void {
  const frame = frames.at(-1);
  if (token === "{" || token === "[") frames.push({ isList: token === "[", key: 0, isValue: token === "[" });
  else if (token === "}" || token === "]") frames.pop();
  else if (token === ":" && frame) frame.isValue = true;
  else if (token === "," && frame) {
    if (typeof frame.key === "number") frame.key += 1;
    frame.isValue = frame.isList;
  }
}

const nameOf = (token: string): string => {
  const read = /^["']/.test(token) ? readText(token) : { value: token };
  return "value" in read ? String(read.value) : token;
};

/** Counts the lines up to an index; the indices have to grow. */
function lineCounter(text: string): (index: number) => number {
  let [at, line] = [0, 1];
  return (index) => {
    for (; at < index; at += 1) if (text[at] === "\n") line += 1;
    return line;
  };
}

/** The line of a key, or of the nearest key above it that the text has; 1 without any. */
export function lineOf(lines: ReadonlyMap<string, number>, key: string): number {
  const found = lines.get(key);
  if (found !== undefined || key === "") return found ?? 1;
  return lineOf(lines, key.slice(0, Math.max(0, key.lastIndexOf("."))));
}
