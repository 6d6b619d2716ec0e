import { z } from "zod";
import type { ButtonLimits } from "../../types/chat/channel.ts";
import type { ReplyButton } from "../../types/chat/reply.ts";

const TONES = ["info", "success", "warning", "danger", "neutral"] as const;
const TYPES = ["text", "context", "divider", "buttons", "select", "table", "chart"] as const;

const choice = z.lazy(() =>
  z.object({
    label: z.string(),
    value: z.string().optional(),
    url: z.string().optional(),
  }),
);

const cell = z.union([z.string(), z.number()]);

const block = z.lazy(() =>
  z.object({
    type: z.enum(TYPES),
    text: z.string().optional(),
    buttons: z.array(choice).max(25).optional(),
    options: z.array(choice).max(25).optional(),
    placeholder: z.string().optional(),
    columns: z.array(z.string()).max(10).optional(),
    rows: z.array(z.array(cell).max(10)).max(50).optional(),
  }),
);
type Block = z.output<typeof block>;
type Choice = z.output<typeof choice>;

/** A message in parts, which each platform shows as well as it can. Fields of other gateways are accepted, too. */
export const presentationField = z.lazy(() =>
  z.object({ title: z.string().optional(), tone: z.enum(TONES).optional(), blocks: z.array(block).max(30) }).optional(),
);

/** The schema of a presentation for models: only needed parts, in few tokens. */
export const shownPresentation = z.lazy(() =>
  z
    .object({
      title: z.string().optional(),
      tone: z.enum(TONES).optional(),
      blocks: z.array(
        z.object({
          type: z.enum(TYPES),
          text: z.string().optional(),
          options: z.array(z.object({ label: z.string(), value: z.string().optional() })).optional(),
          columns: z.array(z.string()).optional(),
          rows: z.array(z.array(z.unknown())).optional().describe("Of a chart: label and number"),
        }),
      ),
    })
    .optional(),
);

type Buttons = NonNullable<z.output<typeof buttonList>>;

/** Text and buttons of a message. */
interface Presented {
  readonly message: string;
  readonly buttons: Buttons;
}

const SIGNS: Readonly<Record<(typeof TONES)[number], string>> = {
  info: "ℹ️ ",
  success: "✅ ",
  warning: "⚠️ ",
  danger: "🚨 ",
  neutral: "",
};

/**
 * A presentation as Markdown, and as buttons where the chat takes all of its choices; else the choices are lines of the
 * text. `message` comes first. Pure.
 */
export function presented(
  { title = "", tone = "neutral", blocks }: NonNullable<z.output<typeof presentationField>>,
  message: string,
  limits: ButtonLimits | undefined,
): Presented {
  const pressed = blocks.flatMap(choicesOf).filter(({ url }) => url === undefined);
  const buttons: Buttons = pressed.map(({ label, value }) => ({
    text: label,
    ...(value !== undefined && { callback_data: value }),
  }));
  const heading = title.trim() === "" ? "" : `**${SIGNS[tone]}${title.trim()}**`;
  const textWith = (hasButtons: boolean): string =>
    [message, heading, ...blocks.map((one) => textOf(one, hasButtons))]
      .filter((text) => text.trim() !== "")
      .join("\n\n");
  // Buttons need a text above them.
  const hasButtons = canHave(buttons, limits) && textWith(true) !== "";
  return { message: textWith(hasButtons), buttons: hasButtons ? buttons : [] };
}

const choicesOf = ({ type, buttons = [], options = [] }: Block): readonly Choice[] =>
  type === "buttons" || type === "select" ? [...buttons, ...options] : [];

function textOf(one: Block, hasButtons: boolean): string {
  const { text = "", placeholder = text, columns, rows = [] } = one;
  switch (one.type) {
    case "text":
      return text;
    case "context":
      return aside(text.trim());
    case "divider":
      return "---";
    case "buttons":
    case "select":
      return choiceLines(placeholder, choicesOf(one), hasButtons);
    case "table":
      return table(columns ?? [], rows);
    case "chart":
      return [text, chart(rows)].filter((part) => part !== "").join("\n");
  }
}

const aside = (text: string): string => (text === "" ? "" : `_${text.replaceAll(/\s*\n\s*/g, " ")}_`);

/** Lines of choices. Links are always lines: a button sends a message. */
function choiceLines(heading: string, choices: readonly Choice[], hasButtons: boolean): string {
  const lines = choices.flatMap(({ label, url }) => {
    if (url !== undefined) return [`- [${label.replaceAll(/[[\]]/g, "")}](${url})`];
    return hasButtons ? [] : [`- ${label}`];
  });
  return [heading, ...lines].filter((line) => line !== "").join("\n");
}

const inCell = (value: string | number): string =>
  String(value)
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll("|", String.raw`\|`);

function table(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const width = Math.max(columns.length, ...rows.map((row) => row.length));
  if (width === 0) return "";
  const line = (row: readonly (string | number)[]) =>
    `| ${Array.from({ length: width }, (_none, at) => inCell(row[at] ?? "")).join(" | ")} |`;
  return [line(columns), `|${" --- |".repeat(width)}`, ...rows.map(line)].join("\n");
}

/** Characters of the longest bar. */
const BAR = 12;

/** A chart as bars of text, in a block of code so that the bars line up. */
function chart(rows: readonly (readonly (string | number)[])[]): string {
  const points = rows.map(([label = "", value = 0]) => ({
    label: String(label).replaceAll(/[\n`]/g, " "),
    value: Number(value),
  }));
  const most = Math.max(...points.map(({ value }) => Math.abs(value)), 0);
  if (points.length === 0 || !Number.isFinite(most)) return "";
  const wide = Math.max(...points.map(({ label }) => label.length));
  const bar = (value: number) => (most === 0 ? "" : "█".repeat(Math.max(0, Math.round((value / most) * BAR))));
  const lines = points.map(({ label, value }) => `${label.padEnd(wide)} ${bar(value)} ${value}`);
  return ["```", ...lines, "```"].join("\n");
}

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
const canHave = (wanted: z.output<typeof buttonList>, limits: ButtonLimits | undefined): boolean =>
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
