import { estimateAll, estimatePromptTokens } from "../../../sessions/transcript/tokens.ts";
import type { EngineAnswer } from "../../../types/engine/engine-turn.ts";
import type { ChatMessage } from "../../../types/run/model.ts";
import { isFields } from "../../../utils/fields.ts";
import { thrownText } from "../bounded.ts";
import { type Handed, type InputPlaces, placesOf } from "../identify.ts";
import { readEngineMessage } from "./read-engine-message.ts";

/** The part of a question by which its answer is checked. */
export interface EngineQuestion extends Handed {
  /** The present turn, with the messages that the engine did not get. */
  readonly turn: readonly ChatMessage[];
  readonly tokenBudget: number;
  /** Puts the present turn into the engine's messages. */
  cover(answer: readonly ChatMessage[], turn: readonly ChatMessage[], places: InputPlaces): readonly ChatMessage[];
}

/** Estimates differ, so an answer may be this much larger than requested. */
const OVER_BUDGET = 1.25;

/** An engine's answer as messages that can be sent, or the reason why it cannot be sent. Never throws. */
export function readAnswer(value: unknown, asked: EngineQuestion): EngineAnswer | { readonly unfit: string } {
  try {
    return read(value, asked);
  } catch (error) {
    return { unfit: `its answer cannot be read: ${thrownText(error)}` };
  }
}

function read(value: unknown, asked: EngineQuestion): EngineAnswer | { readonly unfit: string } {
  if (!isFields(value)) return { unfit: "its answer is no object" };
  const { messages, estimatedTokens, systemPromptAddition: addition } = value;
  if (!Array.isArray(messages)) return { unfit: "its messages are no list" };
  if (typeof estimatedTokens !== "number" || !(estimatedTokens >= 0 && estimatedTokens < Infinity))
    return { unfit: "its estimatedTokens is no number" };
  const known = readAll(messages);
  if (!Array.isArray(known)) return known;
  if (known.length === 0 && asked.earlier > 0) return { unfit: "it left out the whole conversation" };
  const places = placesOf(known, messages, asked);
  const covered = asked.cover(withOriginals(known, messages, asked.given, places), asked.turn, inTurn(places, asked));
  const tokens = estimateAll(covered);
  const systemAddition = typeof addition === "string" && addition.trim() !== "" ? { systemAddition: addition } : {};
  const added = estimatePromptTokens(systemAddition.systemAddition ?? "");
  if (isTooLarge(tokens + added, asked)) return { unfit: tooLargeText(tokens, added, asked) };
  return { messages: covered, estimatedTokens: Math.max(tokens, Math.ceil(estimatedTokens)), ...systemAddition };
}

function tooLargeText(tokens: number, added: number, { tokenBudget }: EngineQuestion): string {
  const what =
    added === 0 ? `messages take ${tokens}` : `messages take ${tokens} and its systemPromptAddition ${added}`;
  return `its ${what} of ${tokenBudget} tokens`;
}

/** Converts indexes of all messages into indexes of the present turn. */
function inTurn(places: InputPlaces, { given, turn }: EngineQuestion): InputPlaces {
  const indexes = new Map(turn.map((message, at) => [message, at]));
  return places.map((place) => {
    const message = given[place ?? -1];
    return message && indexes.get(message);
  });
}

function readAll(messages: readonly unknown[]): ChatMessage[] | { readonly unfit: string } {
  const known: ChatMessage[] = [];
  for (const [at, one] of messages.entries()) {
    const message = readEngineMessage(one);
    if (!message) return { unfit: `its message ${at} is none of a user, a model or a tool` };
    known.push(message);
  }
  return known;
}

/** The engine is not at fault when the present turn alone is too large. */
function isTooLarge(tokens: number, { turn, tokenBudget }: EngineQuestion): boolean {
  const most = tokenBudget * OVER_BUDGET;
  return tokens > most && tokens - estimateAll(turn) > most - tokenBudget;
}

/**
 * Restores the fields that an engine did not change. The engine's own text for a message stays; all other fields are as
 * the host gave them, such as the origin of a turn, or that an answer was cut off. `raw` is the engine's answer,
 * `places` gives the index in `given` for each message.
 */
function withOriginals(
  answer: readonly ChatMessage[],
  raw: readonly unknown[],
  given: readonly ChatMessage[],
  places: InputPlaces,
): ChatMessage[] {
  return answer.map((message, at) => restored(message, given[places[at] ?? -1], raw[at]));
}

function restored(message: ChatMessage, original: ChatMessage | undefined, raw: unknown): ChatMessage {
  if (!original) return message;
  // An unchanged message is not read again: a transcript of another program may contain what only the passes can repair.
  if (isFields(raw) && isSame(raw["content"], original.content)) return original;
  if (message.role === "user" && original.role === "user") return { ...original, content: message.content };
  if (message.role === "assistant" && original.role === "assistant") return { ...original, content: message.content };
  if (message.role !== "toolResult" || original.role !== "toolResult") return message;
  return { ...original, content: message.content, isError: message.isError };
}

function isSame(one: unknown, other: unknown): boolean {
  try {
    return JSON.stringify(one) === JSON.stringify(other);
  } catch {
    // A value that is no JSON, such as a cycle, is not one that the engine got.
    return false;
  }
}
