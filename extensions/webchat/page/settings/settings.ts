import type { Answers } from "openclaw/plugin-sdk/answers";

/** A setting of a session, as the gateway describes it. */
export type Setting = Answers["sessions.describe"]["settings"][string];

/** A value of a setting; null removes the session's own. */
export type SettingValue = Setting["value"];

/** How the page names a setting and its values. */
export interface SettingText {
  readonly name: string;
  readonly label: string;
  /** Meanings of the values, where the word does not say it. */
  readonly meanings?: Readonly<Record<string, string>>;
}

/** The settings as the page groups them. */
export const SECTIONS: readonly { readonly title: string; readonly rows: readonly SettingText[] }[] = [
  {
    title: "Answers",
    rows: [
      { name: "model", label: "Model" },
      { name: "thinkingLevel", label: "Thinking level" },
      {
        name: "reasoningLevel",
        label: "Thoughts in chats",
        meanings: { off: "not shown", on: "before each answer", stream: "while they come" },
      },
      {
        name: "verboseLevel",
        label: "Tool calls in chats",
        meanings: { off: "not shown", on: "a line each", full: "with the beginning of the result" },
      },
      {
        name: "ttsAuto",
        label: "Answers as voice messages",
        meanings: { off: "none", always: "all", inbound: "to voice messages", tagged: "as the agent decides" },
      },
      {
        name: "responseUsage",
        label: "Usage line after each answer",
        meanings: { off: "none", tokens: "tokens", full: "tokens, price, model and time" },
      },
    ],
  },
  {
    title: "Messages while the agent works",
    rows: [
      {
        name: "queueMode",
        label: "Queue mode",
        meanings: {
          collect: "waits, and joins others",
          followup: "waits for a turn of its own",
          steer: "joins the running turn",
          "steer-backlog": "joins the running turn",
          interrupt: "ends the running turn",
        },
      },
      { name: "queueDebounceMs", label: "Debounce, in milliseconds" },
      { name: "queueCap", label: "Cap: most messages that wait" },
      {
        name: "queueDrop",
        label: "Messages over the cap",
        meanings: { summarize: "the oldest get a line each", old: "the oldest go", new: "the newest go" },
      },
    ],
  },
  {
    title: "Chat",
    rows: [
      {
        name: "groupActivation",
        label: "Group activation",
        meanings: { mention: "messages that address the agent", always: "every message" },
      },
      {
        name: "sendPolicy",
        label: "Send policy",
        meanings: { allow: "messages are answered", deny: "messages are not answered" },
      },
    ],
  },
];

/** A value with its meaning, for people. */
export function valueText(value: SettingValue, { meanings = {} }: SettingText): string {
  if (value === null) return "depends on the message";
  const meaning = meanings[String(value)];
  return meaning === undefined ? String(value) : `${value}: ${meaning}`;
}

/** The values that a person can choose, with the value in force, which may be no choice any more. */
export function choicesOf({ value, choices = [] }: Setting): readonly string[] {
  return typeof value === "string" && !choices.includes(value) ? [value, ...choices] : choices;
}

/** Reads a number that a person wrote. Undefined when it is none. */
export const wholeNumberIn = (written: string): number | undefined =>
  /^\s*\d+\s*$/.test(written) ? Number(written) : undefined;
