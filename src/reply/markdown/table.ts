import type { Cell, Inline, Table } from "./doc.ts";
import type { StyledWriter } from "./styled.ts";

/**
 * How a table is shown where the chat has none: `bullets` with "header: value" lines, aligned in a `code` block, `off` as
 * written. `block` asks for the chat's own tables and means `code` where there are none. Without a mode a narrow table is
 * aligned and a wide one becomes bullets.
 */
export type TableMode = "off" | "bullets" | "code" | "block";

/** Columns that a phone shows in a code block without breaking lines. */
const NARROW = 40;

export interface TableLook {
  readonly mode: TableMode | undefined;
  /** Writes running text. */
  readonly inlines: (writer: StyledWriter, cell: Cell) => void;
}

/** Writes a table; each cell's text is shown whatever the mode. */
export function writeTable(writer: StyledWriter, table: Table, look: TableLook): void {
  const mode = look.mode ?? (fitsNarrow(table) ? "code" : "bullets");
  if (mode === "off") return writeAsWritten(writer, table, look);
  if (mode === "bullets" && table.rows.length > 0) return writeBullets(writer, table, look);
  writer.styled({ kind: "pre", language: "" }, () => writer.writeCode(aligned(table)));
}

function fitsNarrow(table: Table): boolean {
  if ([table.head, ...table.rows].flat(2).some(isRich)) return false;
  return widths(table).reduce((sum, width) => sum + width + 2, -2) <= NARROW;
}

/** Whether a code block would lose formatting. */
function isRich(inline: Inline): boolean {
  if (inline.type === "mark") return inline.mark === "spoiler" || inline.children.some(isRich);
  return inline.type === "link" || inline.type === "image";
}

function writeAsWritten(writer: StyledWriter, table: Table, look: TableLook): void {
  for (const row of [table.head, ...table.rows]) {
    writer.gap(1);
    writer.write("|");
    for (const cell of row) {
      writer.write(" ");
      look.inlines(writer, cell);
      writer.write(" |");
    }
  }
}

function writeBullets(writer: StyledWriter, table: Table, look: TableLook): void {
  for (const row of table.rows) {
    writer.gap(1);
    writer.within({ first: "• ", rest: "  " }, () => {
      for (const [column, cell] of row.entries()) {
        if (column > 0) writer.gap(1);
        writeField(writer, table.head[column] ?? [], { cell, look });
      }
    });
  }
}

function writeField(writer: StyledWriter, head: Cell, { cell, look }: { cell: Cell; look: TableLook }): void {
  if (cellText(head).trim() !== "") {
    writer.styled({ kind: "bold" }, () => {
      look.inlines(writer, head);
      writer.write(":");
    });
    if (cellText(cell) !== "") writer.write(" ");
  }
  look.inlines(writer, cell);
}

function aligned(table: Table): string {
  const columns = widths(table);
  const line = (row: readonly Cell[]): string =>
    columns
      .map((width, column) => pad(cellText(row[column] ?? []), width, table.align[column]))
      .join("  ")
      .trimEnd();
  const rule = columns.map((width) => "─".repeat(Math.max(width, 1))).join("  ");
  return [line(table.head), rule, ...table.rows.map(line)].join("\n");
}

function widths(table: Table): number[] {
  const rows = [table.head, ...table.rows];
  return table.head.map((_, column) => Math.max(...rows.map((row) => columnsOf(cellText(row[column] ?? [])))));
}

function pad(text: string, width: number, align: Table["align"][number] | undefined): string {
  const blanks = " ".repeat(Math.max(0, width - columnsOf(text)));
  if (align === "right") return blanks + text;
  const half = align === "center" ? Math.floor(blanks.length / 2) : 0;
  return blanks.slice(0, half) + text + blanks.slice(half);
}

/** Width in a fixed-width font: wide East Asian signs and emoji take two columns, combining marks none. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const sign of text) {
    if (/[\p{M}\p{Cf}]/u.test(sign)) continue;
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        sign,
      )
        ? 2
        : 1;
  }
  return columns;
}

function cellText(inlines: readonly Inline[]): string {
  return inlines
    .map((inline) => {
      if (inline.type === "break") return " ";
      if (inline.type === "image") return inline.alt || inline.src;
      if (inline.type === "link") return `${cellText(inline.children)} (${inline.href})`;
      return inline.type === "mark" ? cellText(inline.children) : inline.text;
    })
    .join("");
}
