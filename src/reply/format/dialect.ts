import type { TextStyle } from "../../types/chat/reply.ts";
import type { Style } from "../markdown/styled.ts";

/** A style inside of lines. */
export type InlineStyle =
  | { readonly kind: Exclude<Style["kind"], "pre" | "quote" | "link"> }
  | { readonly kind: "link"; readonly href: string };

/** What a mark encloses, and the signs on both sides of it; empty at a line's ends. */
export interface Enclosed {
  readonly text: string;
  readonly before: string;
  readonly after: string;
}

/** Where a piece of text stands. */
export interface Place {
  readonly lineStart: boolean;
  readonly inLink: boolean;
}

/** How one platform writes what a styled text says. */
export interface Dialect {
  /** Whether a link has a label. */
  readonly links: "labelled" | "written";
  /** What stands before and behind; undefined shows the text without the style. */
  marks(style: InlineStyle, enclosed: Enclosed): readonly [open: string, close: string] | undefined;
  /** Text as it has to be written to be shown as it is. */
  escape(text: string, place: Place): string;
  /** The content of inline code and of code blocks. */
  code(text: string): string;
  /** Before and behind a code block; each on a line of its own unless empty. */
  fence(language: string): readonly [open: string, close: string];
  /** Before each line of a quote. */
  readonly quote: string;
  /** Styles that are told beside the text. */
  readonly ranges?: Readonly<Partial<Record<Style["kind"], TextStyle["style"]>>>;
}

/** A fence inside of a code block would end it, and one in a text would begin it: an invisible sign parts its marks. */
export const withoutFences = (code: string): string => code.replaceAll("```", "`\u200b`\u200b`");

const WORD = /[\p{L}\p{N}_]/u;
/** Whether a mark would stand inside of a word, where most platforms do not read it as one. */
export const isInWord = ({ text, before, after }: Enclosed): boolean =>
  (WORD.test(before) && WORD.test(text.slice(0, 2))) || (WORD.test(after) && WORD.test(text.slice(-2)));
