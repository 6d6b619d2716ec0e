import { basename } from "node:path";
import { parse, type DocumentNode, type MemberNode, type ValueNode } from "@humanwhocodes/momoa";
import JSON5 from "json5";
import { errorText } from "../../utils/text/error-text.ts";
import { ConfigError, showPath, type ConfigNote, type KeyPath, type RawNote } from "./schema/problem.ts";

/** Most levels of nested objects and lists; a typical config has fewer than twenty. */
const MOST_DEPTH = 100;

/**
 * The value of JSON5 text. Throws `CONFIG_SYNTAX` with line and column, and `CONFIG_INVALID` where the value is nested
 * too deep.
 */
export function parseConfigText(text: string, file: string): unknown {
  const value = parseText(text, file);
  if (isDeep(value)) throw tooDeep(file);
  return value;
}

function parseText(text: string, file: string): unknown {
  try {
    return JSON5.parse<unknown>(text.replace(/^\uFEFF/, " "));
  } catch (error) {
    throw syntaxError(error, file);
  }
}

/** Whether a value is nested too deep. Iterative: a recursive function would overflow the stack. */
function isDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= MOST_DEPTH; depth++) {
    level = level.flatMap((node) => (typeof node === "object" && node !== null ? Object.values(node) : []));
    if (level.length === 0) return false;
  }
  return true;
}

function tooDeep(file: string): ConfigError {
  const message = `its objects and lists are nested more than ${MOST_DEPTH} deep`;
  const text = `${basename(file)}: ${message}`;
  return new ConfigError("CONFIG_INVALID", {
    message: text,
    fix: "Take the last change back, then run: openclaw config validate",
    problems: [{ key: "", message, text }],
  });
}

function syntaxError(error: unknown, file: string): ConfigError {
  const { line, column } = positionOf(error);
  const reason = errorText(error).replace(/^JSON5: | at \d+:\d+$/g, "");
  const text = `${basename(file)}:${line}:${column}: not valid JSON5: ${reason}`;
  return new ConfigError("CONFIG_SYNTAX", {
    message: text,
    fix: `Mend line ${line} of ${file}, then run: openclaw config validate`,
    problems: [{ key: "", message: `not valid JSON5: ${reason}`, line, column, text }],
  });
}

function positionOf(error: unknown): { line: number; column: number } {
  const has = typeof error === "object" && error !== null;
  const line = has && "lineNumber" in error && typeof error.lineNumber === "number" ? error.lineNumber : 1;
  const column = has && "columnNumber" in error && typeof error.columnNumber === "number" ? error.columnNumber : 1;
  return { line, column };
}

/** The syntax tree with ranges. Throws when the text is no JSON5; call `parseConfigText` first for the message. */
export const parseTree = (text: string): DocumentNode =>
  parse(text.replace(/^\uFEFF/, " "), { mode: "json5", ranges: true, allowTrailingCommas: true });

const nameOf = (member: MemberNode): string =>
  member.name.type === "Identifier" ? member.name.name : member.name.value;

/** The member of an object that applies: the last one when a name is written twice. */
export function memberOf(node: ValueNode, segment: string | number): MemberNode | undefined {
  if (node.type !== "Object") return undefined;
  return node.members.findLast((member) => nameOf(member) === String(segment));
}

/** Puts the notes at their places in the text. */
export function locate(notes: readonly RawNote[], text: string, file: string): readonly ConfigNote[] {
  const root = notes.length > 0 ? treeOrNothing(text) : undefined;
  return notes.map((note) => placeNote(note, root, basename(file)));
}

function treeOrNothing(text: string): ValueNode | undefined {
  try {
    return parseTree(text).body;
  } catch {
    // The two parsers may differ in rare forms of JSON5; the notes then have no line numbers.
    return undefined;
  }
}

function placeNote({ path, message, at, isStop }: RawNote, root: ValueNode | undefined, file: string): ConfigNote {
  const key = showPath(path);
  const start = root && placeOf(root, path, at);
  const where = start ? `${file}:${start.line}` : file;
  const text = `${where}: ${key === "" ? "" : `${key}: `}${message}`;
  return { key, message, text, ...(isStop && { isStop }), ...(start && { line: start.line, column: start.column }) };
}

/** The position of a key, or of the nearest parent that exists. */
function placeOf(root: ValueNode, path: KeyPath, at: "name" | undefined): { line: number; column: number } {
  let node = root;
  let name: MemberNode["name"] | undefined;
  for (const segment of path) {
    const member = memberOf(node, segment);
    const next = member?.value ?? (node.type === "Array" ? node.elements[Number(segment)]?.value : undefined);
    if (!next) return (name ?? node).loc.start;
    name = member?.name;
    node = next;
  }
  return (at === "name" && name ? name : node).loc.start;
}
