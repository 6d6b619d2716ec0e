import type { Dialect } from "./dialect.ts";

/** Plain text; signal-cli gets the styles as ranges beside it. */
export const signalStyled: Dialect = {
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
export const plainText: Dialect = { ...signalStyled, ranges: {} };
