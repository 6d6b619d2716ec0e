import type { ReplyButton } from "openclaw/plugin-sdk";
import type { KnownBlock } from "@slack/web-api";

/** Begins the action id of our buttons. */
export const BUTTON = "openclaw:";
/** Limits of docs.slack.dev/reference/block-kit: characters of a section, of a label and of a value, buttons of a row. */
const SECTION = 3000;
const LABEL = 75;
const VALUE = 2000;
const ROW = 25;

/** A text with buttons below. Those whose command is too long are left out: what they do can be typed. */
export function withButtons(text: string, buttons: readonly ReplyButton[], isPlain: boolean): KnownBlock[] {
  const keys = buttons.filter(({ command }) => command.length <= VALUE).slice(0, ROW);
  return [
    ...sections(text).map((part) => ({
      type: "section" as const,
      text: { type: "mrkdwn" as const, text: part, ...(isPlain && { verbatim: true }) },
    })),
    {
      type: "actions",
      elements: keys.map(({ label, command }, index) => ({
        type: "button" as const,
        action_id: `${BUTTON}${index}`,
        text: { type: "plain_text" as const, text: label.slice(0, LABEL) },
        value: command,
      })),
    },
  ];
}

/** A text in pieces that a section takes, cut at lines where there are any. */
function sections(text: string): readonly string[] {
  if (text.length <= SECTION) return [text];
  const line = text.lastIndexOf("\n", SECTION);
  const end = line > 0 ? line : SECTION;
  return [text.slice(0, end), ...sections(text.slice(end).replace(/^\n/, ""))];
}
