import type { TextStyle } from "../../types/chat/reply.ts";
import type { Style } from "../markdown/styled.ts";

/** A style inside of lines. */
export type InlineStyle =
  | { readonly kind: Exclude<Style["kind"], "pre" | "quote" | "link"> }
  | { readonly kind: "link"; readonly href: string };

/** The text that a mark encloses, and the signs on both sides of the text; empty at a line's ends. */
export interface Enclosed {
  readonly text: string;
  readonly before: string;
  readonly after: string;
}

/** The position of a piece of text. */
export interface PiecePlace {
  readonly lineStart: boolean;
  readonly inLink: boolean;
}

/** How one platform writes styled text. */
export interface Dialect {
  /** Whether a link has a label. */
  readonly links: "labelled" | "written";
  /** The marks before and after. Undefined shows the text without the style. */
  marks(style: InlineStyle, enclosed: Enclosed): readonly [open: string, close: string] | undefined;
  /** Escapes text so that it is shown literally. */
  escape(text: string, place: PiecePlace): string;
  /** The content of inline code and of code blocks. */
  code(text: string): string;
  /** The lines before and after a code block; no line where empty. */
  fence(language: string): readonly [open: string, close: string];
  /** Text before each line of a quote. */
  readonly quote: string;
  /** Styles that are sent as ranges in addition to the text. */
  readonly ranges?: Readonly<Partial<Record<Style["kind"], TextStyle["style"]>>>;
}

/** Puts invisible signs into fences: inside a code block they would end it, and in text they would begin one. */
export const withoutFences = (code: string): string => code.replaceAll("```", "`\u200b`\u200b`");

const WORD = /[\p{L}\p{N}_]/u;
/** Whether a mark would be inside a word, where most platforms ignore it. */
export const isInWord = ({ text, before, after }: Enclosed): boolean =>
  (WORD.test(before) && WORD.test(text.slice(0, 2))) || (WORD.test(after) && WORD.test(text.slice(-2)));
