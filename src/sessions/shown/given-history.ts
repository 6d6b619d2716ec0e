import type { AssistantMessage, ChatMessage, UserMessage } from "../../types/run/model.ts";
import { beginsTurn } from "../../types/run/turns.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import { joinAnswers } from "./joined-answers.ts";
import { shownText } from "./shown-text.ts";

/** What a person wrote, and what was answered. */
interface Exchange {
  readonly said: string;
  readonly answer: string;
  /** The number of messages with images in the place of words. */
  readonly calls: readonly string[];
  /** The place of its first message. */
  readonly at: number;
}

/** How a client's history and a transcript fit together. */
export interface Alignment {
  /** The given messages that the transcript does not have. */
  readonly missing: readonly ChatMessage[];
  /** The entry of the first person's turn that the client does not have; unset when the client has all of them. */
  readonly left?: string;
  /** Whether an exchange of the client's is in the transcript. */
  readonly isKnown: boolean;
}

/** Compares the history that a client sends with the entries of a transcript, oldest first. Pure. */
export function alignHistory(given: readonly ChatMessage[], entries: readonly TranscriptEntry[]): Alignment {
  const kept = joinAnswers(entries).filter((entry) => entry.type === "message");
  const theirs = exchangesOf(given);
  const ours = exchangesOf(kept.map(({ message }) => message));
  for (const [back, exchange] of theirs.toReversed().entries()) {
    const at = ours.findLastIndex((own) => isSame(exchange, own));
    if (at < 0) continue;
    const next = theirs[theirs.length - back];
    return { missing: next ? given.slice(next.at) : [], ...leftFrom(ours[at + 1]), isKnown: true };
  }
  return { missing: given, ...leftFrom(ours[0]), isKnown: false };

  function leftFrom(exchange: Exchange | undefined): { readonly left?: string } {
    const entry = exchange && kept[exchange.at];
    return entry ? { left: entry.id } : {};
  }
}

function exchangesOf(messages: readonly ChatMessage[]): readonly Exchange[] {
  const begins = messages.flatMap((message, at) => (message.role === "user" && isPersons(message) ? [at] : []));
  return begins.map((at, index) => {
    const rest = messages.slice(at + 1, begins[index + 1]);
    const answers = rest.filter((message) => message.role === "assistant");
    const [message] = messages.slice(at, at + 1);
    return {
      at,
      said: message?.role === "user" ? wordsOf(shownText(textOf(message)).text) : "",
      answer: wordsOf(answers.map(answerText).join(" ")),
      calls: answers.flatMap(({ content }) => content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))),
    };
  });
}

/** Whether a person wrote the message; the gateway writes others into the conversation. */
const isPersons = (message: UserMessage): boolean =>
  beginsTurn(message) && (message.provenance === undefined || message.provenance.kind === "third-party_user");

const textOf = ({ content }: UserMessage): string =>
  typeof content === "string"
    ? content
    : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

const answerText = ({ content }: AssistantMessage): string =>
  content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");

/** The words alone: clients change the white space and the markup of what they keep. */
const wordsOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, " ").trim();

/**
 * Whether two exchanges are the same. The transcript may have more in an answer than the client, such as thoughts and the
 * words before a call, and a client that stopped an answer has only its beginning.
 */
function isSame(theirs: Exchange, ours: Exchange): boolean {
  if (theirs.calls.length > 0 && theirs.calls.some((id) => ours.calls.includes(id))) return true;
  const isSaid = theirs.said === ours.said || (theirs.said !== "" && ours.said.endsWith(theirs.said));
  return (
    isSaid && (theirs.answer === "" || ours.answer.includes(theirs.answer) || isWithin(ours.answer, theirs.answer))
  );
}

const isWithin = (part: string, whole: string): boolean => part !== "" && whole.includes(part);
