import { z } from "zod";
import type { ButtonLimits } from "../../types/chat/channel.ts";
import type { ReplyButton } from "../../types/chat/reply.ts";

/** Beginning of the message of a pressed button, so that such a message is never one of the gateway's commands. */
const PRESSED = "callback_data: ";

/** Characters that end a line, and the slash of a command: a directive may stand anywhere in a text. */
const NOT_ALLOWED = /[\p{Cc}\p{Zl}\p{Zp}/]/u;

const button = z.object({
  text: z.string().describe("Label"),
  callback_data: z.string().optional().describe("What comes back when it is pressed; the label when left out"),
});
type Wanted = z.output<typeof button>;

/** Buttons, or rows of buttons; the platform arranges them itself. */
export const buttonList = z.array(z.union([button, z.array(button)])).optional();

/** The buttons for a chat with these limits; a text for the model when the chat has no buttons, or refuses these. */
export function buttonsFor(
  wanted: z.output<typeof buttonList>,
  limits: ButtonLimits | undefined,
): readonly ReplyButton[] | string {
  const all = (wanted ?? []).flat();
  if (all.length === 0) return [];
  if (!limits) return "That chat has no buttons: write the choices as text.";
  if (all.length > limits.count) return `A message has at most ${limits.count} buttons there.`;
  const made = all.map((one) => buttonFor(one, limits));
  const refused = made.find((one) => typeof one === "string");
  if (refused !== undefined) return refused;
  const buttons = made.filter((one) => typeof one !== "string");
  const isUnique = new Set(buttons.map(({ command }) => command)).size === buttons.length;
  return isUnique ? buttons : "Each button needs its own callback_data.";
}

/** Whether a chat takes all of these buttons. */
export const canHave = (wanted: z.output<typeof buttonList>, limits: ButtonLimits | undefined): boolean =>
  limits !== undefined && typeof buttonsFor(wanted, limits) !== "string";

function buttonFor({ text, callback_data: data }: Wanted, { label: most, command: bytes }: ButtonLimits) {
  const label = text.trim();
  const value = (data ?? "").trim() || label;
  if (label === "" || label.length > most) return `A button's text has 1 to ${most} characters.`;
  const room = bytes - Buffer.byteLength(PRESSED);
  if (NOT_ALLOWED.test(label) || NOT_ALLOWED.test(value)) return "A button has no slash and no line break.";
  if (Buffer.byteLength(value) > room) return `callback_data has at most ${room} bytes there.`;
  return { label, command: `${PRESSED}${value}` };
}
