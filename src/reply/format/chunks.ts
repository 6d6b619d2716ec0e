import type { TextFormat, TextStyle } from "../../types/chat/reply.ts";
import { cutPlace } from "../markdown/cut.ts";
import type { Layout } from "../markdown/flatten.ts";
import { inChunks } from "../markdown/in-chunks.ts";
import { plainOf } from "../markdown/plain.ts";
import type { StyledText, Span, Style } from "../markdown/styled.ts";
import { isInWord, withoutFences, type Dialect, type InlineStyle, type Enclosed } from "./dialect.ts";
import { discordMarkdown } from "./discord.ts";
import { slackMrkdwn } from "./slack.ts";

/** Plain text; signal-cli gets the styles as ranges beside it. */
const signalStyled: Dialect = {
  links: "written",
  quote: "> ",
  marks: () => ["", ""],
  escape: (text) => text,
  code: (text) => text,
  fence: () => ["", ""],
  ranges: {
    bold: "BOLD",
    italic: "ITALIC",
    strike: "STRIKETHROUGH",
    spoiler: "SPOILER",
    code: "MONOSPACE",
    pre: "MONOSPACE",
  },
};

/** Text for people and platforms that know no formatting. */
const plainText: Dialect = { ...signalStyled, ranges: {} };

/** WhatsApp's own marks (faq.whatsapp.com, "How to format your messages"); it has neither labels for links nor escapes. */
const whatsAppText: Dialect = {
  links: "written",
  quote: "> ",
  marks,
  escape: withoutFences,
  code: withoutFences,
  fence: () => ["```", "```"],
};

const MARKS = { bold: "*", italic: "_", strike: "~", code: "`" } as const;

function marks(style: InlineStyle, enclosed: Enclosed): readonly [string, string] | undefined {
  if (style.kind === "link" || style.kind === "spoiler" || isInWord(enclosed)) return undefined;
  const mark = MARKS[style.kind];
  return enclosed.text.includes(mark) ? undefined : [mark, mark];
}

export type ChatFormat = Exclude<TextFormat, "telegram-html" | "markdown">;

const DIALECTS: Readonly<Record<ChatFormat, Dialect>> = {
  "slack-mrkdwn": slackMrkdwn,
  discord: discordMarkdown,
  "signal-styled": signalStyled,
  whatsapp: whatsAppText,
  plain: plainText,
};

/** A message. */
export interface FormattedChunk {
  readonly body: string;
  readonly plain: string;
  /** Styles of a `signal-styled` body. */
  readonly styles?: readonly TextStyle[];
}

export interface ChunkOptions {
  /** UTF-16 units that no body exceeds, marks included. */
  readonly limit: number;
  /** Lines that no body exceeds, where that is possible. */
  readonly lines?: number | undefined;
  readonly tables?: Layout["tables"];
}

/**
 * Renders Markdown for a chat platform, in as many messages as it takes: cut at blocks, else lines, else words. Marks
 * and fences are closed at a cut and opened again; a link that fits is never cut. Markdown that shows nothing is sent as
 * it was written; text without visible signs gives no chunk. Never throws.
 */
export function renderChunks(markdown: string, format: ChatFormat, options: ChunkOptions): FormattedChunk[] {
  const dialect = DIALECTS[format];
  const layout = { tables: options.tables, links: dialect.links };
  return inChunks(markdown, layout, (styled, from) => nextChunk(styled, from, { ...options, dialect }));
}

type Cutting = ChunkOptions & { readonly dialect: Dialect };

function nextChunk(styled: StyledText, from: number, cutting: Cutting): { to: number; chunk: FormattedChunk } {
  const { limit, dialect } = cutting;
  const most = cutting.lines ?? Infinity;
  let lines = most;
  for (let space = limit; ;) {
    const cut = cutPlace(styled, from, Math.max(1, Math.min(space, unitsOfLines(styled.text, from, lines))));
    const to = from + styled.text.slice(from, cut).trimEnd().length;
    const bare = space < limit / 4 ? withoutLinks(styled) : styled;
    const { body, styles } = write(bare, { from, to }, dialect);
    const over = body.split("\n").length - most;
    if (space < 2 || (body.length <= limit && (over <= 0 || lines <= 1))) {
      const plain = plainOf(bare, from, to);
      const fits = plain.length <= limit ? plain : styled.text.slice(from, to);
      return { to: cut, chunk: { body, plain: fits, ...(dialect.ranges && { styles }) } };
    }
    if (body.length > limit) space = Math.floor(space * 0.75);
    else lines = Math.max(1, lines - over);
  }
}

/** A single long address can exceed any limit. Then only its label is shown. */
const withoutLinks = (styled: StyledText): StyledText => ({
  ...styled,
  spans: styled.spans.filter((span) => span.style.kind !== "link"),
});

/** Units up to the end of the last line that fits. */
function unitsOfLines(text: string, from: number, lines: number): number {
  if (lines === Infinity) return Infinity;
  let at = from - 1;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) return Infinity;
  }
  return at - from;
}

interface Written {
  readonly body: string;
  readonly styles: readonly TextStyle[];
}

/** A stretch of one style within one line, or a whole code block, with its marks. */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly style: InlineStyle | Extract<Style, { kind: "pre" }>;
  readonly marks: readonly [string, string];
}

/** Writes a part of a text in a platform's format. Styles that extend beyond the part are closed and opened within it. */
function write(styled: StyledText, range: { from: number; to: number }, dialect: Dialect): Written {
  const { from, to } = range;
  const inside = styled.spans
    .filter(({ start, end }) => start < to && end > from)
    .map((span) => ({ ...span, start: Math.max(span.start, from), end: Math.min(span.end, to) }));
  const quotes = inside.filter((span) => span.style.kind === "quote");
  const pen = new Pen({ text: styled.text.slice(0, to), at: from, quotes, dialect });
  for (const part of partsOf(inside, styled.text.slice(0, to), dialect)) pen.part(part);
  return pen.end();
}

/** Parts in the order in which they are opened: platforms end a mark with its line, so each line gets its own marks. */
function partsOf(spans: readonly Span[], text: string, dialect: Dialect): Part[] {
  const parts = spans.flatMap(({ start, end, style }): Part[] => {
    if (style.kind === "pre") return [{ start, end, style, marks: dialect.fence(style.language) }];
    const inline = inlineOf(style);
    return inline
      ? linesOf(text, start, end).flatMap((line) => markedLine(text, { ...line, style: inline }, dialect))
      : [];
  });
  return parts.toSorted((a, b) => a.start - b.start || b.end - a.end);
}

const inlineOf = (style: Style): InlineStyle | undefined => {
  if (style.kind === "link") return style;
  return style.kind === "pre" || style.kind === "quote" ? undefined : { kind: style.kind };
};

function markedLine(text: string, line: Omit<Part, "marks"> & { style: InlineStyle }, dialect: Dialect): Part[] {
  const { start, end } = line;
  const enclosed = { text: text.slice(start, end), before: text.charAt(start - 1), after: text.charAt(end) };
  const marks = dialect.marks(line.style, enclosed);
  return marks ? [{ ...line, marks }] : [];
}

function linesOf(text: string, start: number, end: number): { start: number; end: number }[] {
  const whole = text.slice(start, end);
  // The common case, which needs no search: a text may have thousands of marks.
  if (/^\S[^\n]*(?<=\S)$/.test(whole)) return [{ start, end }];
  const lines = [...whole.matchAll(/[^\n]+/g)];
  return lines.flatMap(({ 0: line, index }) => {
    const solid = line.trim();
    const at = start + index + line.indexOf(solid);
    return solid === "" ? [] : [{ start: at, end: at + solid.length }];
  });
}

interface Sheet {
  readonly text: string;
  readonly at: number;
  readonly quotes: readonly Span[];
  readonly dialect: Dialect;
}

class Pen {
  readonly #sheet: Sheet;
  readonly #open: { readonly part: Part; readonly from: number }[] = [];
  readonly #styles: TextStyle[] = [];
  #body = "";
  #at: number;
  /** The last line that was begun, by its offset. */
  #line = -1;

  constructor(sheet: Sheet) {
    this.#sheet = sheet;
    this.#at = sheet.at;
  }

  part(part: Part): void {
    this.#closeUntil(part.start);
    this.#writeTo(part.start);
    if (part.style.kind === "pre") this.#body += part.marks[0] === "" ? "" : `${part.marks[0]}\n`;
    else {
      this.#beginLine();
      this.#body += part.marks[0];
    }
    this.#open.push({ part, from: this.#body.length });
  }

  end(): Written {
    const { text } = this.#sheet;
    this.#closeUntil(text.length);
    this.#writeTo(text.length);
    return { body: this.#body, styles: this.#styles };
  }

  #closeUntil(place: number): void {
    for (let top = this.#open.at(-1); top && top.part.end <= place; top = this.#open.at(-1)) {
      this.#writeTo(top.part.end);
      this.#close(top);
      this.#open.pop();
    }
  }

  #close({ part, from }: { part: Part; from: number }): void {
    const style = this.#sheet.dialect.ranges?.[part.style.kind];
    if (style && this.#body.length > from) this.#styles.push({ start: from, length: this.#body.length - from, style });
    const close = part.marks[1];
    this.#body += part.style.kind === "pre" && close !== "" ? `\n${close}` : close;
  }

  #writeTo(end: number): void {
    const { text, dialect } = this.#sheet;
    const kinds = new Set(this.#open.map(({ part }) => part.style.kind));
    while (this.#at < end) {
      const newline = text.indexOf("\n", this.#at);
      const to = newline >= 0 && newline < end ? newline + 1 : end;
      const piece = text.slice(this.#at, to);
      if (kinds.has("pre") || kinds.has("code")) this.#body += dialect.code(piece);
      else {
        const lineStart = this.#beginLine();
        this.#body += dialect.escape(piece, { lineStart, inLink: kinds.has("link") });
      }
      this.#at = to;
    }
  }

  /** Writes the prefix of a line. False when the line was begun before. */
  #beginLine(): boolean {
    const { text, at, quotes, dialect } = this.#sheet;
    const isStart = this.#at === at || text.charAt(this.#at - 1) === "\n";
    if (!isStart || this.#line === this.#at) return false;
    this.#line = this.#at;
    if (quotes.some((quote) => quote.start <= this.#at && this.#at < quote.end)) this.#body += dialect.quote;
    return true;
  }
}
