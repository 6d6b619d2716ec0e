import { shownTarget } from "./links.ts";
import type { StyledText } from "./styled.ts";

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
