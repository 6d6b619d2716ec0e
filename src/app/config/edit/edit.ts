import type { ArrayNode, ElementNode, MemberNode, ObjectNode, ValueNode } from "@humanwhocodes/momoa";
import JSON5 from "json5";
import { OpenClawError } from "../../../types/errors.ts";
import { memberOf, parseTree } from "../parse.ts";
import { showPath, type KeyPath } from "../schema/problem.ts";

type Node = ReturnType<typeof parseTree>["body"];

/**
 * A value from a command line: parsed if it is JSON5, else the text itself. Digits with a plus sign before them, or too
 * many for a number, are a phone number or an id, and so a text.
 */
export function parseConfigValue(text: string): unknown {
  if (/^\+\d+$/.test(text) || (/^\d+$/.test(text) && !Number.isSafeInteger(Number(text)))) return text;
  try {
    return JSON5.parse<unknown>(text);
  } catch {
    // The text is no JSON5: people type `loopback`, not `"loopback"`.
    return text;
  }
}

/**
 * The text with one value changed or added, and missing parents created. Comments, order and layout of everything else
 * stay. Throws `USAGE` where the path does not fit the file. The text must be valid JSON5; empty text counts as `{}`.
 */
export function setConfigValue(text: string, path: KeyPath, value: unknown): string {
  const source = text.trim() === "" ? "{}\n" : text;
  const edits = editsToSet(source, parseTree(source).body, path, value);
  return applyEdits(source, edits);
}

function editsToSet(text: string, root: Node, path: KeyPath, value: unknown): readonly TextEdit[] {
  let node = root;
  for (const [depth, segment] of path.entries()) {
    const rest = path.slice(depth + 1);
    if (!isContainer(node)) return [replace(text, node, nest(path.slice(depth), value))];
    const child = childOf(node, segment);
    if (!child) return insert(text, node, segment, nest(rest, value));
    node = child.value;
  }
  return [replace(text, node, value)];
}

function childOf(node: Container, segment: string | number): Item | undefined {
  return node.type === "Object" ? memberOf(node, segment) : node.elements[Number(segment)];
}

/** `["a", 0]` and a value as `{a: [value]}`. */
function nest(path: KeyPath, value: unknown): unknown {
  return path.reduceRight<unknown>((inner, segment) => (segment === 0 ? [inner] : { [segment]: inner }), value);
}

function replace(text: string, node: Node, value: unknown): TextEdit {
  const { start, end } = rangeOf(node);
  return { start, end, text: render(text, value, indentAt(text, start)) };
}

function render(text: string, value: unknown, indent: string): string {
  const json = JSON.stringify(value, null, indentUnit(text));
  if (json === undefined)
    throw new OpenClawError("USAGE", {
      message: "This value cannot be written as JSON.",
      fix: "Give text, a number, true, false, null, a list or an object.",
    });
  return json.replaceAll("\n", `${newlineOf(text)}${indent}`);
}

function insert(text: string, node: Container, segment: string | number, value: unknown): readonly TextEdit[] {
  const items = itemsOf(node);
  if (node.type === "Array" && Number(segment) !== items.length) {
    throw new OpenClawError("USAGE", {
      message: `There is no item ${showPath([segment])}: the list has ${items.length}.`,
      fix: `Use ${items.length} to add one at the end.`,
    });
  }
  const last = items.at(-1);
  const write = (indent: string) => `${label(node, segment)}${render(text, value, indent)}`;
  return last ? insertAfter(text, node, last, write) : [insertFirst(text, node, write)];
}

type Write = (indent: string) => string;

function insertAfter(text: string, node: Container, last: Item, write: Write): readonly TextEdit[] {
  const { start, end } = rangeOf(last);
  const comma = commaAfter(text, end);
  const isOneLine = !text.slice(rangeOf(node).start, start).includes("\n");
  const after = comma === undefined ? end : comma + 1;
  const at = isOneLine ? after : endOfLine(text, after);
  const gap = isOneLine ? " " : `${newlineOf(text)}${indentAt(text, start)}`;
  const added = `${gap}${write(indentAt(text, start))}${comma === undefined ? "" : ","}`;
  // One edit if both have the same offset, so that the comma comes first.
  if (comma !== undefined) return [{ start: at, end: at, text: added }];
  if (at === end) return [{ start: end, end, text: `,${added}` }];
  return [
    { start: end, end, text: "," },
    { start: at, end: at, text: added },
  ];
}

function insertFirst(text: string, node: Container, write: Write): TextEdit {
  const { start, end } = rangeOf(node);
  const outer = indentAt(text, start);
  const inner = outer + indentUnit(text);
  const hasComment = text.slice(start + 1, end - 1).trim() !== "";
  const at = hasComment ? start + 1 + text.slice(start + 1, end - 1).trimEnd().length : start + 1;
  const newline = newlineOf(text);
  return { start: at, end: end - 1, text: `${newline}${inner}${write(inner)}${newline}${outer}` };
}

/** The key in the style of its neighbours: without quotes if they have none, else with quotes. */
function label(node: Container, segment: string | number): string {
  if (node.type === "Array") return "";
  const name = String(segment);
  const isBare = node.members[0]?.name.type === "Identifier" && /^[A-Za-z_$][\w$]*$/.test(name);
  return isBare ? `${name}: ` : `${JSON.stringify(name)}: `;
}

/** The text without one key or list item; the same text when the key or item is not there. Comments stay. */
export function unsetConfigValue(text: string, path: KeyPath): string {
  let done = text;
  // A key that is written twice shows its first value once the second is gone.
  for (let next = cutOnce(done, path); next !== undefined; next = cutOnce(done, path)) {
    done = next;
    if (typeof path.at(-1) === "number") break;
  }
  return done;
}

function cutOnce(text: string, path: KeyPath): string | undefined {
  const segment = path.at(-1);
  if (segment === undefined || text.trim() === "") return undefined;
  let node: Node = parseTree(text).body;
  for (const part of path.slice(0, -1)) {
    const child: Item | undefined = isContainer(node) ? childOf(node, part) : undefined;
    if (!child) return undefined;
    node = child.value;
  }
  const item = isContainer(node) ? childOf(node, segment) : undefined;
  return item && isContainer(node) ? applyEdits(text, cut(text, node, item)) : undefined;
}

function cut(text: string, node: Container, item: Item): readonly TextEdit[] {
  const { start, end } = rangeOf(item);
  const comma = commaAfter(text, end);
  if (comma !== undefined) return removeBoth(text, { start, end }, comma);
  const items = itemsOf(node);
  const before = items[items.indexOf(item) - 1];
  const beforeComma = before && commaAfter(text, rangeOf(before).end);
  const own = widenCut(text, start, end);
  // Without a comma after it, the one before it is removed: strict JSON has none at the end.
  if (beforeComma === undefined) return [{ ...own, text: "" }];
  const isJoined = text.slice(beforeComma + 1, start).trim() === "";
  if (isJoined) return [{ start: beforeComma, end, text: "" }];
  return [
    { start: beforeComma, end: beforeComma + 1, text: "" },
    { ...own, text: "" },
  ];
}

function removeBoth(text: string, own: { start: number; end: number }, comma: number): readonly TextEdit[] {
  if (text.slice(own.end, comma).trim() === "") return [{ ...widenCut(text, own.start, comma + 1), text: "" }];
  return [
    { ...own, text: "" },
    { start: comma, end: comma + 1, text: "" },
  ];
}

type Container = ObjectNode | ArrayNode;
type Item = MemberNode | ElementNode;

/** Replaces `[start, end)` of a text. */
interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function applyEdits(text: string, edits: readonly TextEdit[]): string {
  return edits
    .toSorted((a, b) => b.start - a.start)
    .reduce((done, edit) => done.slice(0, edit.start) + edit.text + done.slice(edit.end), text);
}

const isContainer = (node: ValueNode): node is Container => node.type === "Object" || node.type === "Array";

const itemsOf = (node: Container): readonly Item[] => (node.type === "Object" ? node.members : node.elements);

/** Offsets of a node; the tree was parsed with ranges. */
function rangeOf(node: { readonly loc: { start: { offset: number }; end: { offset: number } } }): {
  start: number;
  end: number;
} {
  return { start: node.loc.start.offset, end: node.loc.end.offset };
}

const BLANK_OR_COMMENT = /(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/)*/y;
const REST_OF_LINE = /(?:[ \t]|\/\*[^\n\r]*?\*\/)*(?:\/\/[^\n\r\u2028\u2029]*)?/y;

/** The offset of the next character that is neither white space nor in a comment. */
const skipBlanks = (text: string, from: number): number => from + matchAt(BLANK_OR_COMMENT, text, from).length;

/** Offset of the comma after an item; undefined when there is none. */
function commaAfter(text: string, end: number): number | undefined {
  const at = skipBlanks(text, end);
  return text[at] === "," ? at : undefined;
}

/** The end of the line's white space and comments if nothing else follows on the line, else `from`. */
function endOfLine(text: string, from: number): number {
  const end = from + matchAt(REST_OF_LINE, text, from).length;
  return end >= text.length || /[\r\n]/.test(text.charAt(end)) ? end : from;
}

function matchAt(pattern: RegExp, text: string, from: number): string {
  const sticky = new RegExp(pattern.source, pattern.flags);
  sticky.lastIndex = from;
  return sticky.exec(text)?.[0] ?? "";
}

const startOfLine = (text: string, at: number): number => text.slice(0, at).search(/[^\r\n]*$/);

/** The indentation of a line. */
function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(startOfLine(text, at), at))?.[0] ?? "";
}

/** The indentation of one level: that of the first indented line, else two spaces. */
const indentUnit = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";

const newlineOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n");

/** Extends a cut to its whole line if nothing else is on it, else over the spaces after it. */
function widenCut(text: string, start: number, end: number): { start: number; end: number } {
  const lineStart = startOfLine(text, start);
  const behind = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0;
  const newline = /^\r?\n/.exec(text.slice(end + behind))?.[0];
  const isAlone = text.slice(lineStart, start).trim() === "" && newline !== undefined && lineStart > 0;
  return isAlone ? { start: lineStart, end: end + behind + newline.length } : { start, end: end + behind };
}
