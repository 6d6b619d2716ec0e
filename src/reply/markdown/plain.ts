import type { MarkdownDoc } from "./doc.ts";
import { flatten } from "./flatten.ts";
import { shownTarget } from "./links.ts";
import type { StyledText } from "./styled.ts";
import type { TableMode } from "./table.ts";

export interface PlainOptions {
  readonly tables?: TableMode;
  /** Leave out the addresses that a link's label does not show; they are written by default. */
  readonly hideLinks?: boolean;
}

/** A document without any formatting, readable as it stands. */
export function toPlain(doc: MarkdownDoc, options: PlainOptions = {}): string {
  const styled = flatten(doc, { tables: options.tables });
  return options.hideLinks === true ? styled.text : plainOf(styled, 0, styled.text.length);
}

/** The plain text of a part, with each link's address after its end. */
export function plainOf(styled: StyledText, from: number, to: number): string {
  let plain = "";
  let at = from;
  for (const { start, end, style } of styled.spans) {
    if (style.kind !== "link" || end <= from || end > to) continue;
    const target = shownTarget(styled.text.slice(start, end), style.href);
    plain += styled.text.slice(at, end) + (target === undefined ? "" : ` (${target})`);
    at = end;
  }
  return plain + styled.text.slice(at, to);
}
