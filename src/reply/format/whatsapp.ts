import type { Dialect, Enclosed, InlineStyle } from "./dialect.ts";
import { isInWord, withoutFences } from "./dialect.ts";

/** WhatsApp's own marks (faq.whatsapp.com, "How to format your messages"); it has neither labels for links nor escapes. */
export const whatsAppText: Dialect = {
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
