import { hasCalls, textOfAnswer } from "../../history/parts.ts";
import { writesInTags } from "../../providers/reasoning-tags.ts";
import { parseDirectives } from "../../reply/directives.ts";
import { isUnseen } from "../../reply/plain-reply.ts";
import { createTagStripper, endsUnbegunThought, type TagStripper } from "../../reply/tags.ts";
import type { AssistantMessage, ChatMessage, ModelRef } from "../../types/run/model.ts";
import { asksForRest } from "../../types/run/turns.ts";
import type { RunRequest } from "../request.ts";

/** The part of a request that decides whether an answer is due. */
export type AnswerRequest = Pick<RunRequest, "facts" | "tools">;

/**
 * Whether the model ended without text although a person waits for an answer. Silence may be intended after a tool with
 * side effects, such as one that sends a message, and when only the rest of an answer was requested. A run that no
 * person started may have nothing to say.
 */
export function isUnanswered(messages: readonly ChatMessage[], { facts, tools }: AnswerRequest): boolean {
  if (facts.trigger !== "message" && facts.trigger !== "api") return false;
  const last = messages.at(-1);
  if (last?.role !== "assistant" || !isWordless(last)) return false;
  const turnAt = messages.findLastIndex((message) => message.role === "user");
  if (asksForRest(messages[turnAt])) return false;
  const since = messages.slice(turnAt + 1);
  return !since.some((message) => message.role === "toolResult" && !message.isError && acts(message.toolName, tools));
}

/** Whether an answer has neither text for people nor tool calls. */
export const isWordless = (message: AssistantMessage): boolean =>
  !hasCalls(message) && !hasWords(textOfAnswer(message), message);

/** UTF-16 units that are looked at before it is known whether the rest is needed. */
const PIECE = 4096;

function hasWords(text: string, model: Pick<ModelRef, "provider">): boolean {
  if (text.includes("[[")) return asksForSomething(text, model);
  const stripper = stripperFor(model);
  for (let at = 0; at < text.length; at += PIECE) if (!isUnseen(stripper.push(text.slice(at, at + PIECE)))) return true;
  return !isUnseen(stripper.end());
}

/**
 * Whether a text with directives is an answer. Directives alone, such as the message that is answered, are none. A
 * file, or the wish to be silent, is one.
 */
function asksForSomething(text: string, model: Pick<ModelRef, "provider">): boolean {
  const { text: shown, media, silent } = parseDirectives(stripped(text, stripperFor(model)));
  return media.length > 0 || silent || !isUnseen(shown);
}

/**
 * A stripper that removes the tags that this model writes. With `mayBeginInThought`, text waits for the tag that may
 * end a thought, or for the end of the message.
 */
export const stripperFor = (model: Pick<ModelRef, "provider">, mayBeginInThought = false): TagStripper =>
  createTagStripper({ enforceFinal: writesInTags(model), mayBeginInThought });

/** The most messages of a model that are looked at. */
const MOST_LOOKED_AT = 4;

/**
 * Whether one of the model's last messages began with a thought that no tag begins, so that the next one may do so too.
 * Undefined when these messages had no text, or there are none.
 */
export function beganInThought(messages: readonly ChatMessage[], { provider, id }: ModelRef): boolean | undefined {
  const last = messages.filter(({ role }) => role === "assistant").slice(-MOST_LOOKED_AT);
  const written = last.flatMap((message) =>
    message.role === "assistant" && message.provider === provider && message.model === id
      ? [textOfAnswer(message)]
      : [],
  );
  return written.every((text) => text.trim() === "") ? undefined : written.some(endsUnbegunThought);
}

/** A model's text as people see it, without thoughts between tags. */
export const withoutTags = (text: string, message?: AssistantMessage): string =>
  stripped(text, message ? stripperFor(message) : createTagStripper(), message && hasCalls(message));

function stripped(text: string, stripper: TagStripper, calls?: boolean): string {
  const begun = stripper.push(text);
  stripper.begunAnew();
  const rest = stripper.end(calls);
  return stripper.begunAnew() ? rest : begun + rest;
}

/** The thoughts of a model between tags of its text. */
export function thoughtsBetweenTags(message: AssistantMessage): string {
  const stripper = stripperFor(message);
  stripper.push(textOfAnswer(message));
  stripper.end(hasCalls(message));
  return stripper.thinking().trim();
}

const acts = (name: string, tools: AnswerRequest["tools"]): boolean =>
  tools.some((tool) => tool.name === name && tool.hasSideEffects);
