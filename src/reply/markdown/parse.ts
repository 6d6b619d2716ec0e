import MarkdownIt, { type Token } from "markdown-it";
import type { Block, Cell, Inline, Mark, MarkdownDoc, Table } from "./doc.ts";
import { markBesideCjk } from "./cjk.ts";
import { keepFormulas } from "./formulas.ts";
import { readHtmlMarks } from "./html-marks.ts";
import { boundLinkLabels } from "./link-labels.ts";
import { keepWebAddresses } from "./web-address.ts";

/** Levels beyond which the parser drops content; a line of quote marks reaches the parser's own limit of 100. */
const MAX_NESTING = 1000;

const parser = new MarkdownIt("default", { html: false, linkify: false, typographer: false, maxNesting: MAX_NESTING });
keepWebAddresses(parser);
boundLinkLabels(parser);
markBesideCjk(parser);
keepFormulas(parser);
readHtmlMarks(parser);
// An address that is shown is one that can be copied: its escapes stay.
parser.normalizeLinkText = (address) => address;

export interface MarkdownOptions {
  /** Bare web addresses are links. Without it they are text, which most chat services make a link of. */
  readonly linksAddresses?: boolean;
}

/**
 * Parses CommonMark with tables, strikethrough and `||spoilers||`. Formulas, bare web addresses and raw HTML but for `<br>`, `<u>` and
 * comments are text. Takes linear time, also for hostile text. Never throws. This file loads the
 * parser (about 10 ms), so import it, or what renders, only when there is something to render.
 */
export function parseMarkdown(text: string, { linksAddresses = false }: MarkdownOptions = {}): MarkdownDoc {
  // Not `toWellFormed`, which the oldest browsers of the chat page lack.
  const whole = text.replace(/\p{Surrogate}/gu, "\ufffd");
  return { blocks: toBlocks(nest(parser.parse(whole, linksAddresses ? { linksAddresses } : {}))) };
}

const MARKS: Partial<Record<string, Mark>> = { em_open: "italic", strong_open: "bold", s_open: "strike" };

/** A token with the tokens between it and its closing token. */
interface Node {
  readonly token: Token;
  readonly children: Node[];
}

interface Level {
  readonly nodes: Node[];
  /** Types of the tokens that opened the marks around it. */
  readonly marks: ReadonlySet<string>;
}

/** A mark inside the same mark changes nothing and is left out: thousands of nested marks would overflow the stack. */
function nest(tokens: readonly Token[]): Node[] {
  const root: Level = { nodes: [], marks: new Set() };
  const levels: Level[] = [root];
  for (const token of tokens) {
    const level = levels.at(-1) ?? root;
    if (token.nesting === -1) {
      levels.pop();
      continue;
    }
    const isRepeat = level.marks.has(token.type);
    const node: Node = { token, children: [] };
    if (!isRepeat) level.nodes.push(node);
    if (token.nesting === 1) levels.push(isRepeat ? level : { nodes: node.children, marks: marksIn(token, level) });
  }
  return root.nodes;
}

const marksIn = ({ type }: Token, { marks }: Level): ReadonlySet<string> =>
  MARKS[type] === undefined ? marks : new Set([...marks, type]);

function toBlocks(nodes: readonly Node[]): Block[] {
  return nodes.map(toBlock).filter((block) => block !== undefined);
}

function toBlock(node: Node): Block | undefined {
  const { token, children } = node;
  switch (token.type) {
    case "paragraph_open":
      return { type: "paragraph", children: inlinesOf(node) };
    case "heading_open":
      return { type: "heading", level: Number(token.tag.slice(1)), children: inlinesOf(node) };
    case "fence":
    case "code_block":
      return {
        type: "code",
        text: token.content.replace(/\n$/, ""),
        language: token.info.trim().split(/\s/, 1)[0] ?? "",
      };
    case "blockquote_open":
      return { type: "quote", children: toBlocks(children) };
    case "bullet_list_open":
    case "ordered_list_open":
      return toList(node);
    case "table_open":
      return toTable(node);
    case "hr":
      return { type: "rule" };
    default:
      return undefined;
  }
}

function toList(node: Node): Block {
  const start = node.token.type === "ordered_list_open" ? Number(node.token.attrGet("start") ?? 1) : undefined;
  const items = node.children.map((item) => toBlocks(item.children));
  const paragraphs = node.children.flatMap((item) => item.children).filter((child) => child.token.tag === "p");
  return { type: "list", start, tight: paragraphs.every((child) => child.token.hidden), items };
}

function toTable(node: Node): Table {
  const rows = node.children.flatMap((part) => part.children).map((row) => row.children);
  const [head = [], ...body] = rows;
  const cells = (row: readonly Node[]): Cell[] => row.map(inlinesOf);
  const align = head.map((cell) => /(right|center)/.exec(attribute(cell.token, "style"))?.[0]);
  return {
    type: "table",
    head: cells(head),
    rows: body.map(cells),
    align: align.map((side) => (side === "right" || side === "center" ? side : "left")),
  };
}

function inlinesOf(node: Node): readonly Inline[] {
  const tokens = node.children.flatMap((child) => child.token.children ?? []);
  return markSpoilers(toInlines(nest(tokens)));
}

function toInlines(nodes: readonly Node[]): Inline[] {
  return nodes.map(toInline).filter((inline) => inline !== undefined);
}

function toInline({ token, children }: Node): Inline | undefined {
  const mark = MARKS[token.type];
  if (mark !== undefined) return { type: "mark", mark, children: toInlines(children) };
  switch (token.type) {
    case "text":
    case "text_special":
      return token.content === "" ? undefined : { type: "text", text: token.content };
    case "code_inline":
      return { type: "code", text: token.content };
    case "softbreak":
    case "hardbreak":
      return { type: "break" };
    case "link_open":
      return { type: "link", href: attribute(token, "href"), children: toInlines(children) };
    case "image":
      return { type: "image", src: attribute(token, "src"), alt: altText(token) };
    default:
      return undefined;
  }
}

function attribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? "");
}

function altText(image: Token): string {
  const parts = (image.children ?? []).map((token) => {
    if (token.type === "softbreak" || token.type === "hardbreak") return " ";
    return token.type === "image" ? altText(token) : token.content;
  });
  return parts.join("");
}

/** Turns `||…||` among siblings into spoilers; bars with blanks inside or words outside (`a||b`) stay text. */
function markSpoilers(inlines: readonly Inline[]): readonly Inline[] {
  if (!inlines.some((inline) => inline.type === "text" && inline.text.includes("||"))) return inlines;
  const parts = inlines.flatMap(splitBars);
  const out: Inline[] = [];
  let open = -1;
  for (const [at, part] of parts.entries()) {
    if (open >= 0 && out.length > open + 1 && closes(parts, at)) {
      out.splice(open, out.length, { type: "mark", mark: "spoiler", children: out.slice(open + 1) });
      open = -1;
      continue;
    }
    if (open < 0 && opens(parts, at)) open = out.length;
    out.push(part);
  }
  return out;
}

function splitBars(inline: Inline): Inline[] {
  if (inline.type !== "text" || !inline.text.includes("||")) return [inline];
  const texts = inline.text.split(/(?<!\|)(\|\|)(?!\|)/).filter((text) => text !== "");
  return texts.map((text) => ({ type: "text", text }));
}

function opens(parts: readonly Inline[], at: number): boolean {
  return isBars(parts[at]) && !/[\p{L}\p{N}]$/u.test(textOf(parts[at - 1])) && isSolid(parts[at + 1], /^\s/);
}

function closes(parts: readonly Inline[], at: number): boolean {
  return isBars(parts[at]) && !/^[\p{L}\p{N}]/u.test(textOf(parts[at + 1])) && isSolid(parts[at - 1], /\s$/);
}

function isBars(part: Inline | undefined): boolean {
  return part?.type === "text" && part.text === "||";
}

function isSolid(part: Inline | undefined, blank: RegExp): boolean {
  return part !== undefined && part.type !== "break" && !isBars(part) && !blank.test(textOf(part));
}

function textOf(part: Inline | undefined): string {
  return part?.type === "text" ? part.text : "";
}
