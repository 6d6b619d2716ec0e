import type { MarkdownDoc } from "../../src/reply/markdown/doc.ts";
import { flatten } from "../../src/reply/markdown/flatten.ts";
import { plainOf } from "../../src/reply/markdown/plain.ts";
import type { TableMode } from "../../src/reply/markdown/table.ts";
import { htmlOf } from "../../src/reply/markdown/telegram-html.ts";

interface PlainOptions {
  readonly tables?: TableMode;
  /** Leave out the addresses that a link's label does not show; they are written by default. */
  readonly hideLinks?: boolean;
}

/** A document without any formatting, of whatever length. */
export function toPlain(doc: MarkdownDoc, options: PlainOptions = {}): string {
  const styled = flatten(doc, { tables: options.tables });
  return options.hideLinks === true ? styled.text : plainOf(styled, 0, styled.text.length);
}

/** A whole document in the HTML that Telegram's Bot API takes, of whatever length. */
export function toTelegramHtml(doc: MarkdownDoc, tables?: TableMode): string {
  const styled = flatten(doc, { tables });
  return htmlOf(styled, 0, styled.text.length);
}
