import type { Answers } from "openclaw/plugin-sdk/answers";
import { t } from "../words/words.ts";

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
    title: t("Answers"),
    rows: [
      { name: "model", label: t("Model") },
      { name: "thinkingLevel", label: t("Thinking level") },
      {
        name: "reasoningLevel",
        label: t("Thoughts in chats"),
        meanings: { off: t("not shown"), on: t("before each answer"), stream: t("while they come") },
      },
      {
        name: "verboseLevel",
        label: t("Tool calls in chats"),
        meanings: { off: t("not shown"), on: t("a line each"), full: t("with the beginning of the result") },
      },
      {
        name: "ttsAuto",
        label: t("Answers as voice messages"),
        meanings: {
          off: t("none"),
          always: t("all"),
          inbound: t("to voice messages"),
          tagged: t("as the agent decides"),
        },
      },
      {
        name: "responseUsage",
        label: t("Usage line after each answer"),
        meanings: { off: t("none"), tokens: t("tokens"), full: t("tokens, price, model and time") },
      },
    ],
  },
  {
    title: t("Messages while the agent works"),
    rows: [
      {
        name: "queueMode",
        label: t("Queue mode"),
        meanings: {
          collect: t("waits, and joins others"),
          followup: t("waits for a turn of its own"),
          steer: t("joins the running turn"),
          "steer-backlog": t("joins the running turn"),
          interrupt: t("ends the running turn"),
        },
      },
      { name: "queueDebounceMs", label: t("Debounce, in milliseconds") },
      { name: "queueCap", label: t("Cap: most messages that wait") },
      {
        name: "queueDrop",
        label: t("Messages over the cap"),
        meanings: { summarize: t("the oldest get a line each"), old: t("the oldest go"), new: t("the newest go") },
      },
    ],
  },
  {
    title: t("Chat"),
    rows: [
      {
        name: "groupActivation",
        label: t("Group activation"),
        meanings: { mention: t("messages that address the agent"), always: t("every message") },
      },
      {
        name: "sendPolicy",
        label: t("Send policy"),
        meanings: { allow: t("messages are answered"), deny: t("messages are not answered") },
      },
    ],
  },
];

/** A value with its meaning, for people. */
export function valueText(value: SettingValue, { meanings = {} }: SettingText): string {
  if (value === null) return t("depends on the message");
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
