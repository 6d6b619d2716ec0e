import type { Dialect, Enclosed, InlineStyle } from "./dialect.ts";
import { withoutFences } from "./dialect.ts";

/** Parts that must stay unchanged: web addresses, mentions, custom emoji, times. */
const VERBATIM = /(https?:\/\/[^\s<>]+|<(?:@[!&]?|#|a?:\w+:|t:|id:)[^<>\s]*>)/;

/** Discord's markdown (support.discord.com, "Markdown Text 101"). */
export const discordMarkdown: Dialect = {
  links: "labelled",
  quote: "> ",
  marks,
  escape: (text, { lineStart, inLink }) =>
    text
      .split(VERBATIM)
      .map((part, index) =>
        index % 2 === 1 ? part : escapeSigns(part, { lineStart: lineStart && index === 0, inLink }),
      )
      .join(""),
  code: withoutFences,
  fence: (language) => [`\`\`\`${language}`, "```"],
};

function escapeSigns(text: string, { lineStart, inLink }: { lineStart: boolean; inLink: boolean }): string {
  const inner = text.replace(inLink ? /[\\*_~`|[\]]/g : /[\\*_~`|]/g, "\\$&");
  return lineStart ? inner.replace(/^(\s*)([#>-])/, "$1\\$2") : inner;
}

const MARKS = { bold: "**", italic: "*", strike: "~~", spoiler: "||" } as const;

function marks(style: InlineStyle, { text }: Enclosed): readonly [string, string] | undefined {
  if (style.kind === "code") return codeMarks(text);
  if (style.kind !== "link") return [MARKS[style.kind], MARKS[style.kind]];
  if (text === style.href) return undefined;
  const href = style.href.replaceAll("(", "%28").replaceAll(")", "%29").replaceAll(" ", "%20");
  // Discord shows no link whose label is itself an address.
  return /https?:\/\//.test(text) ? ["", ` (${href})`] : ["[", `](${href})`];
}

function codeMarks(text: string): readonly [string, string] | undefined {
  if (!text.includes("`")) return ["`", "`"];
  return text.includes("``") || /^`|`$/.test(text) ? undefined : ["``", "``"];
}
