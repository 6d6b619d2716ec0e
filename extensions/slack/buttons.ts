import type { ButtonLimits, ReplyButton } from "openclaw/plugin-sdk";
import type { KnownBlock } from "@slack/web-api";

/** The action id of each of our buttons begins with this. */
export const BUTTON = "openclaw:";
/** Limits of docs.slack.dev/reference/block-kit: characters of a section, of a label and of a value, buttons of a row. */
const SECTION = 3000;
const LABEL = 75;
const VALUE = 2000;
const ROW = 25;

export const BUTTON_LIMITS: ButtonLimits = { count: ROW, label: LABEL, command: VALUE };

/** A text with buttons below. Buttons whose command is too long are left out: people can type the command. */
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

/** The text in pieces that fit a section, cut at line breaks where possible. */
function sections(text: string): readonly string[] {
  if (text.length <= SECTION) return [text];
  const line = text.lastIndexOf("\n", SECTION);
  const end = line > 0 ? line : SECTION;
  return [text.slice(0, end), ...sections(text.slice(end).replace(/^\n/, ""))];
}
