import type { Block, Inline, List, MarkdownDoc } from "./doc.ts";
import { isWebLink, shownTarget } from "./links.ts";
import { createStyledWriter } from "./styled.ts";
import type { StyledText, StyledWriter } from "./styled.ts";
import { writeTable } from "./table.ts";
import type { TableMode } from "./table.ts";

const RULE = "──────────";
const NAMES = /^[\w+#.-]{1,32}$/;

export interface Layout {
  readonly tables?: TableMode | undefined;
  /** `written`: the chat has no labels for links, so each address is written after its label. */
  readonly links?: "labelled" | "written" | undefined;
}

/** Lays a document out as styled text. */
export function flatten(doc: MarkdownDoc, layout: Layout = {}): StyledText {
  const writer = createStyledWriter();
  for (const block of doc.blocks) {
    writeBlock(writer, block, layout);
    writer.border();
    writer.gap(2);
  }
  return writer.done();
}

function writeBlock(writer: StyledWriter, block: Block, layout: Layout): void {
  switch (block.type) {
    case "paragraph":
      return writeInlines(writer, block.children, layout);
    case "heading":
      return writer.styled({ kind: "bold" }, () => writeInlines(writer, block.children, layout));
    case "code":
      return writer.styled(preStyle(block.language), () => writer.writeCode(block.text));
    case "quote":
      return writeQuote(writer, block.children, layout);
    case "list":
      return writeList(writer, block, layout);
    case "table":
      return writeTable(writer, block, {
        mode: layout.tables,
        inlines: (to, cell) => writeInlines(to, cell, layout),
      });
    case "rule":
      return writer.write(RULE);
  }
}

function preStyle(language: string): { kind: "pre"; language: string } {
  return { kind: "pre", language: NAMES.test(language) ? language : "" };
}

function writeBlocks(writer: StyledWriter, blocks: readonly Block[], gap: number, layout: Layout): void {
  for (const [index, block] of blocks.entries()) {
    if (index > 0) writer.gap(gap);
    writeBlock(writer, block, layout);
  }
}

/** A quote inside a quote or a list gets marked lines: chat services know one level of quotes, of whole lines. */
function writeQuote(writer: StyledWriter, blocks: readonly Block[], layout: Layout): void {
  if (!writer.has("quote") && !writer.indented()) {
    return writer.styled({ kind: "quote" }, () => writeBlocks(writer, blocks, 2, layout));
  }
  writer.within({ first: undefined, rest: "> " }, () => writeBlocks(writer, blocks, 2, layout));
}

function writeList(writer: StyledWriter, list: List, layout: Layout): void {
  const gap = list.tight ? 1 : 2;
  for (const [index, item] of list.items.entries()) {
    if (index > 0) writer.gap(gap);
    const bullet = list.start === undefined ? "• " : `${list.start + index}. `;
    writer.within({ first: bullet, rest: " ".repeat(bullet.length) }, () => {
      if (item.length === 0) writer.touch();
      writeBlocks(writer, item, gap, layout);
    });
  }
}

function writeInlines(writer: StyledWriter, inlines: readonly Inline[], layout: Layout): void {
  for (const inline of inlines) writeInline(writer, inline, layout);
}

function writeInline(writer: StyledWriter, inline: Inline, layout: Layout): void {
  switch (inline.type) {
    case "text":
      return writer.write(inline.text);
    case "code":
      return writer.styled({ kind: "code" }, () => writer.write(inline.text));
    case "break":
      return writer.gap(1);
    case "mark":
      return writer.styled({ kind: inline.mark }, () => writeInlines(writer, inline.children, layout));
    case "link":
      return writeLink(writer, { href: inline.href, children: inline.children }, layout);
    case "image":
      return writeLink(writer, { href: inline.src, children: [{ type: "text", text: inline.alt }] }, layout);
  }
}

interface Link {
  readonly href: string;
  readonly children: readonly Inline[];
}

/** Writes out a link that the chat would refuse, so that nothing is lost. */
function writeLink(writer: StyledWriter, { href, children }: Link, layout: Layout): void {
  const label = labelOf(children);
  const shown = label.trim() === "" ? [{ type: "text" as const, text: href }] : children;
  const write = (): void => writeInlines(writer, shown, layout);
  if (writer.has("link")) return write();
  const target = label.trim() === "" ? undefined : shownTarget(label, href);
  const isLink = isWebLink(href);
  if (isLink && (layout.links !== "written" || target === undefined))
    return writer.styled({ kind: "link", href }, write);
  write();
  if (target === undefined) return;
  writer.write(" (");
  if (isLink) writer.styled({ kind: "link", href }, () => writer.write(target));
  else writer.write(target);
  writer.write(")");
}

function labelOf(inlines: readonly Inline[]): string {
  return inlines
    .map((inline) => {
      if (inline.type === "break") return " ";
      if (inline.type === "image") return inline.alt || inline.src;
      return "children" in inline ? labelOf(inline.children) : inline.text;
    })
    .join("");
}
