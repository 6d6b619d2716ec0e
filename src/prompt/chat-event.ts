import type { ChatNews, InboundMessage, ReactionFacts, Sender } from "../types/chat/message.ts";
import { contextLine } from "./untrusted.ts";

/** Most UTF-16 units of each part that people choose: their names, an emoji, the name of a chat. */
const MOST_NAME = 60;
const MOST_EMOJI = 40;
const MOST_ID = 120;

/**
 * A line about a reaction or another event of a chat, for the agent; undefined for a message. `label` names the
 * channel. The parts that people choose are short, on this line, and cannot pose as the gateway's own words.
 */
export function chatEvent(message: InboundMessage, label: string | undefined): string | undefined {
  const { reaction, news, sender, from } = message;
  const channel = label ?? capitalised(from.channel);
  if (reaction) return `${channel} ${reactionText(reaction, sender)}`;
  return news && `${channel} ${newsText(news, sender)}`;
}

const capitalised = (id: string): string => id.charAt(0).toUpperCase() + id.slice(1);

function reactionText({ emoji, removed, messageId, toBot }: ReactionFacts, sender: Sender): string {
  const what = short(emoji, MOST_EMOJI);
  const done = `reaction ${removed ? "removed" : "added"}${what === "" ? "" : `: ${what}`}`;
  return `${done} by ${nameOf(sender)} on msg ${short(messageId, MOST_ID)}${toBot ? " (yours)" : ""}`;
}

interface Words {
  readonly who: string;
  readonly msg: string;
  /** The `subject`, where the news have one. */
  readonly other: string | undefined;
}

const NEWS: Readonly<Record<ChatNews["kind"], (words: Words) => string>> = {
  deleted: ({ msg, who, other }) => `message deleted: ${msg} of ${other === undefined ? who : `${other}, by ${who}`}`,
  pinned: ({ msg, who }) => `message pinned: ${msg} by ${who}`,
  unpinned: ({ msg, who }) => `message unpinned: ${msg} by ${who}`,
  joined: ({ who, other }) => `member joined: ${other === undefined ? who : `${other}, added by ${who}`}`,
  left: ({ who, other }) => `member left: ${other === undefined ? who : `${other}, removed by ${who}`}`,
  renamed: ({ who, other = "" }) => `chat renamed: ${other} by ${who}`,
};

function newsText({ kind, messageId = "", subject }: ChatNews, sender: Sender): string {
  const other = subject === undefined ? undefined : short(subject, MOST_NAME);
  return NEWS[kind]({ who: nameOf(sender), msg: `msg ${short(messageId, MOST_ID)}`, other });
}

function nameOf({ id, name, username }: Sender): string {
  return short(name ?? username ?? "", MOST_NAME) || short(id, MOST_ID);
}

/** Cut between characters, since half of an emoji is none. */
function short(text: string, most: number): string {
  const line = contextLine(text);
  return line.length <= most
    ? line
    : `${line
        .slice(0, most)
        .toWellFormed()
        .replace(/\uFFFD$/, "")}…`;
}
