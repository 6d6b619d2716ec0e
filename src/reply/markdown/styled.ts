/** How a stretch of text looks. */
export type Style =
  | { readonly kind: "bold" | "italic" | "strike" | "spoiler" | "code" | "quote" }
  | { readonly kind: "pre"; readonly language: string }
  | { readonly kind: "link"; readonly href: string };

export interface Span {
  readonly start: number;
  readonly end: number;
  readonly style: Style;
}

/** Text with separate styles: it can be cut anywhere, and each part can be styled again. */
export interface StyledText {
  readonly text: string;
  /** Properly nested, outer before inner. */
  readonly spans: readonly Span[];
  /** Where top-level blocks end. */
  readonly borders: readonly number[];
}

/** The text before the lines of a list item or a quote. */
export interface LinePrefix {
  /** Prefix of the first line; used up once written. */
  first: string | undefined;
  readonly rest: string;
}

/** Writes styled text line by line. */
export interface StyledWriter {
  write(text: string): void;
  /** Writes lines without prefixes, as code must stay as it is. */
  writeCode(text: string): void;
  /** Starts a new line (1) or leaves a blank line (2) before the next text, when there is text before. */
  gap(lines: number): void;
  /** Ends a top-level block. */
  border(): void;
  /** Writes the prefix of a line that may stay empty. */
  touch(): void;
  within(prefix: LinePrefix, body: () => void): void;
  /** Styles the text that `body` writes. Does nothing when that style is already active. */
  styled(style: Style, body: () => void): void;
  /** Whether text written now has a style of this kind. */
  has(kind: Style["kind"]): boolean;
  /** Whether lines have a prefix now. */
  indented(): boolean;
  done(): StyledText;
}

interface OpenSpan {
  readonly style: Style;
  /** How many line prefixes are outside the span. */
  readonly depth: number;
  start: number | undefined;
  end: number | undefined;
}

interface Sheet {
  text: string;
  lines: number;
  lineStart: boolean;
  readonly spans: OpenSpan[];
  readonly open: OpenSpan[];
  readonly prefixes: LinePrefix[];
  readonly borders: number[];
}

/** Makes an empty sheet to write on. */
export function createStyledWriter(): StyledWriter {
  const sheet: Sheet = { text: "", lines: 0, lineStart: true, spans: [], open: [], prefixes: [], borders: [] };
  return {
    write: (text) => writeLines(sheet, text),
    writeCode: (text) => writeCode(sheet, text),
    gap(lines) {
      if (sheet.text !== "") sheet.lines = Math.max(sheet.lines, lines);
    },
    border() {
      if (sheet.text.length > (sheet.borders.at(-1) ?? 0)) sheet.borders.push(sheet.text.length);
    },
    touch: () => startText(sheet),
    within(prefix, body) {
      sheet.prefixes.push(prefix);
      body();
      sheet.prefixes.pop();
    },
    styled: (style, body) => writeStyled(sheet, style, body),
    has: (kind) => sheet.open.some((span) => span.style.kind === kind),
    indented: () => sheet.prefixes.length > 0,
    done: () => ({ text: sheet.text, spans: closedSpans(sheet.spans), borders: sheet.borders }),
  };
}

function writeStyled(sheet: Sheet, style: Style, body: () => void): void {
  if (sheet.open.some((span) => span.style.kind === style.kind)) return body();
  const span: OpenSpan = { style, depth: sheet.prefixes.length, start: undefined, end: undefined };
  sheet.spans.push(span);
  sheet.open.push(span);
  body();
  sheet.open.pop();
  if (span.start !== undefined) span.end = sheet.text.length;
}

function writeLines(sheet: Sheet, text: string): void {
  for (const [index, line] of clean(text).split("\n").entries()) {
    if (index > 0) sheet.lines = Math.max(sheet.lines, sheet.text === "" ? 0 : 1);
    if (line === "") continue;
    startText(sheet);
    sheet.text += line;
  }
}

function writeCode(sheet: Sheet, text: string): void {
  const code = clean(text);
  if (code.trim() === "") return;
  if (sheet.prefixes.some((prefix) => prefix.first !== undefined)) {
    writePrefix(sheet);
    sheet.lines = Math.max(sheet.lines, 1);
  }
  breakLine(sheet);
  markStarts(sheet);
  sheet.text += code;
  sheet.lineStart = false;
}

function startText(sheet: Sheet): void {
  writePrefix(sheet);
  markStarts(sheet);
}

function writePrefix(sheet: Sheet): void {
  breakLine(sheet);
  if (!sheet.lineStart) return;
  sheet.lineStart = false;
  for (const [depth, prefix] of sheet.prefixes.entries()) {
    markStarts(sheet, depth);
    sheet.text += prefix.first ?? prefix.rest;
    prefix.first = undefined;
  }
}

function breakLine(sheet: Sheet): void {
  if (sheet.lines === 0) return;
  sheet.text += "\n".repeat(sheet.lines);
  sheet.lines = 0;
  sheet.lineStart = true;
}

function markStarts(sheet: Sheet, depth = Infinity): void {
  for (const span of sheet.open) {
    if (span.depth <= depth) span.start ??= sheet.text.length;
  }
}

function closedSpans(spans: readonly OpenSpan[]): Span[] {
  return spans.flatMap(({ start, end, style }) =>
    start === undefined || end === undefined || end <= start ? [] : [{ start, end, style }],
  );
}

/** Removes characters that chat services would replace or remove, so that lengths stay correct. */
function clean(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is meant
  return text.replace(/\r/g, "").replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, " ");
}
