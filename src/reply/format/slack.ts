import type { Dialect, Enclosed, InlineStyle } from "./dialect.ts";
import { isInWord, withoutFences } from "./dialect.ts";

/** Invisible blank between a mark and a word: Slack ignores a mark inside a word without it. */
const PART = "\u200b";

/** Marks that Slack turns into a name: people and channels, but no `<!channel>`, which would call everybody. */
const NAMES = /(<(?:@[UW][A-Z0-9]+|#C[A-Z0-9]+)(?:\|[^<>|]*)?>)/;

const escapeSigns = (text: string): string =>
  withoutFences(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Slack's mrkdwn (docs.slack.dev, "Formatting message text"). */
export const slackMrkdwn: Dialect = {
  links: "labelled",
  quote: "> ",
  marks,
  escape: (text, { inLink }) =>
    text
      .split(NAMES)
      .map((part, index) => (index % 2 === 1 && !inLink ? part : escapeSigns(part)))
      .join(""),
  code: escapeSigns,
  fence: () => ["```", "```"],
};

const MARKS = { bold: "*", italic: "_", strike: "~" } as const;

function marks(style: InlineStyle, enclosed: Enclosed): readonly [string, string] | undefined {
  if (style.kind === "link") {
    const href = style.href.replaceAll("|", "%7C").replaceAll("<", "%3C").replaceAll(">", "%3E");
    return [`<${href.replaceAll("&", "&amp;")}|`, ">"];
  }
  if (style.kind === "spoiler") return undefined;
  if (style.kind === "code") return enclosed.text.includes("`") ? undefined : parted("`", enclosed);
  return parted(MARKS[style.kind], enclosed);
}

const parted = (mark: string, enclosed: Enclosed): readonly [string, string] =>
  isInWord(enclosed) ? [PART + mark, mark + PART] : [mark, mark];
