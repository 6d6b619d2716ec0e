import type { ArrayNode, ElementNode, MemberNode, ObjectNode, ValueNode } from "@humanwhocodes/momoa";

export type Container = ObjectNode | ArrayNode;
export type Item = MemberNode | ElementNode;

/** Replaces `[start, end)` of a text. */
export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  return edits
    .toSorted((a, b) => b.start - a.start)
    .reduce((done, edit) => done.slice(0, edit.start) + edit.text + done.slice(edit.end), text);
}

export const isContainer = (node: ValueNode): node is Container => node.type === "Object" || node.type === "Array";

export const itemsOf = (node: Container): readonly Item[] => (node.type === "Object" ? node.members : node.elements);

/** Offsets of a node; the tree was parsed with ranges. */
export function rangeOf(node: { readonly loc: { start: { offset: number }; end: { offset: number } } }): {
  start: number;
  end: number;
} {
  return { start: node.loc.start.offset, end: node.loc.end.offset };
}

const BLANK_OR_COMMENT = /(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/)*/y;
const REST_OF_LINE = /(?:[ \t]|\/\*[^\n\r]*?\*\/)*(?:\/\/[^\n\r\u2028\u2029]*)?/y;

/** The offset of the next character that is neither white space nor in a comment. */
const skipBlanks = (text: string, from: number): number => from + matchAt(BLANK_OR_COMMENT, text, from).length;

/** The comma after an item, or undefined. */
export function commaAfter(text: string, end: number): number | undefined {
  const at = skipBlanks(text, end);
  return text[at] === "," ? at : undefined;
}

/** The end of the line's white space and comments if nothing else follows on the line, else `from`. */
export function endOfLine(text: string, from: number): number {
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
export function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(startOfLine(text, at), at))?.[0] ?? "";
}

/** The indentation of one level: that of the first indented line, else two spaces. */
export const indentUnit = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";

export const newlineOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n");

/** Extends a cut to its whole line if nothing else is on it, else over the spaces after it. */
export function widenCut(text: string, start: number, end: number): { start: number; end: number } {
  const lineStart = startOfLine(text, start);
  const behind = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0;
  const newline = /^\r?\n/.exec(text.slice(end + behind))?.[0];
  const isAlone = text.slice(lineStart, start).trim() === "" && newline !== undefined && lineStart > 0;
  return isAlone ? { start: lineStart, end: end + behind + newline.length } : { start, end: end + behind };
}
