import type { Block, Inline, List, MarkdownDoc } from "./doc.ts";
import { isWebLink, shownTarget } from "./links.ts";
import { createStyledWriter } from "./styled.ts";
import type { StyledText, StyledWriter } from "./styled.ts";
import { writeTable } from "./table.ts";
import type { TableMode } from "./table.ts";

const RULE = "──────────";
const NAMES = /^[\w+#.-]{1,32}$/;

/** Lays a document out as styled text. */
export function flatten(doc: MarkdownDoc, tables?: TableMode): StyledText {
  const writer = createStyledWriter();
  for (const block of doc.blocks) {
    writeBlock(writer, block, tables);
    writer.border();
    writer.gap(2);
  }
  return writer.done();
}

function writeBlock(writer: StyledWriter, block: Block, tables: TableMode | undefined): void {
  switch (block.type) {
    case "paragraph":
      return writeInlines(writer, block.children);
    case "heading":
      return writer.styled({ kind: "bold" }, () => writeInlines(writer, block.children));
    case "code":
      return writer.styled(preStyle(block.language), () => writer.writeCode(block.text));
    case "quote":
      return writeQuote(writer, block.children, tables);
    case "list":
      return writeList(writer, block, tables);
    case "table":
      return writeTable(writer, block, { mode: tables, inlines: writeInlines });
    case "rule":
      return writer.write(RULE);
  }
}

function preStyle(language: string): { kind: "pre"; language: string } {
  return { kind: "pre", language: NAMES.test(language) ? language : "" };
}

function writeBlocks(writer: StyledWriter, blocks: readonly Block[], gap: number, tables: TableMode | undefined): void {
  for (const [index, block] of blocks.entries()) {
    if (index > 0) writer.gap(gap);
    writeBlock(writer, block, tables);
  }
}

/** A quote inside a quote or a list gets marked lines: chat services know one level of quotes, of whole lines. */
function writeQuote(writer: StyledWriter, blocks: readonly Block[], tables: TableMode | undefined): void {
  if (!writer.has("quote") && !writer.indented()) {
    return writer.styled({ kind: "quote" }, () => writeBlocks(writer, blocks, 2, tables));
  }
  writer.within({ first: undefined, rest: "> " }, () => writeBlocks(writer, blocks, 2, tables));
}

function writeList(writer: StyledWriter, list: List, tables: TableMode | undefined): void {
  const gap = list.tight ? 1 : 2;
  for (const [index, item] of list.items.entries()) {
    if (index > 0) writer.gap(gap);
    const bullet = list.start === undefined ? "• " : `${list.start + index}. `;
    writer.within({ first: bullet, rest: " ".repeat(bullet.length) }, () => {
      if (item.length === 0) writer.touch();
      writeBlocks(writer, item, gap, tables);
    });
  }
}

function writeInlines(writer: StyledWriter, inlines: readonly Inline[]): void {
  for (const inline of inlines) writeInline(writer, inline);
}

function writeInline(writer: StyledWriter, inline: Inline): void {
  switch (inline.type) {
    case "text":
      return writer.write(inline.text);
    case "code":
      return writer.styled({ kind: "code" }, () => writer.write(inline.text));
    case "break":
      return writer.gap(1);
    case "mark":
      return writer.styled({ kind: inline.mark }, () => writeInlines(writer, inline.children));
    case "link":
      return writeLink(writer, inline.href, inline.children);
    case "image":
      return writeLink(writer, inline.src, [{ type: "text", text: inline.alt }]);
  }
}

/** A link that the chat would not take is written out, so that nothing is lost. */
function writeLink(writer: StyledWriter, href: string, children: readonly Inline[]): void {
  const label = labelOf(children);
  const shown = label.trim() === "" ? [{ type: "text" as const, text: href }] : children;
  if (writer.has("link")) return writeInlines(writer, shown);
  if (isWebLink(href)) return writer.styled({ kind: "link", href }, () => writeInlines(writer, shown));
  writeInlines(writer, shown);
  const target = label.trim() === "" ? undefined : shownTarget(label, href);
  if (target !== undefined) writer.write(` (${target})`);
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
