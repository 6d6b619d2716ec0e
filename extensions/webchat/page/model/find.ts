import type { Answers } from "openclaw/plugin-sdk/answers";
import { fields, stringOr } from "./json.ts";
import { readParts } from "./transcript.ts";

/** The words of one message of a conversation. */
export interface SaidMessage {
  readonly id: string;
  readonly text: string;
}

/** Case and the marks of Markdown do not count: `**Big** deal` has `big deal`. */
const folded = (text: string): string =>
  text
    .replace(/[*_`~]/g, "")
    .replace(/\s+/g, " ")
    .toLowerCase();

/** The messages of people and of the agent with their words. */
export const saidMessages = (messages: Answers["chat.history"]["messages"]): readonly SaidMessage[] =>
  messages.flatMap((message) => {
    const id = stringOr(fields(message.__openclaw).id);
    if (id === "" || message.role === "toolResult") return [];
    const words = readParts(message.content).flatMap((part) => (part.kind === "text" ? [part.text] : []));
    return words.length === 0 ? [] : [{ id, text: folded(words.join(" ")) }];
  });

/** The messages that have the words, in their order; none for no words. */
export function hitsIn(said: readonly SaidMessage[], query: string): readonly string[] {
  const wanted = folded(query).trim();
  return wanted === "" ? [] : said.filter(({ text }) => text.includes(wanted)).map(({ id }) => id);
}
