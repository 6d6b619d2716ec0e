import { hasCalls, isBlank, textOf } from "../../history/parts.ts";
import { writesInTags } from "../../providers/reasoning-tags.ts";
import { createTagStripper, type TagStripper } from "../../reply/tags.ts";
import type { AssistantMessage, ChatMessage, ModelRef } from "../../types/run/model.ts";
import { asksForRest } from "../../types/run/turns.ts";
import type { RunRequest } from "../request.ts";

/** What a run is about, as far as it tells whether an answer is due. */
export type Asked = Pick<RunRequest, "facts" | "tools">;

/**
 * The model ended without a word though somebody waits for one. Behind a tool that did something, such as sending a
 * message, that may be meant; so it may where only the rest of an answer was asked for; and a run of the gateway's own may
 * well have nothing to say.
 */
export function isUnanswered(messages: readonly ChatMessage[], { facts, tools }: Asked): boolean {
  if (facts.trigger !== "message" && facts.trigger !== "api") return false;
  const last = messages.at(-1);
  if (last?.role !== "assistant" || !isWordless(last)) return false;
  const turnAt = messages.findLastIndex((message) => message.role === "user");
  if (asksForRest(messages[turnAt])) return false;
  const since = messages.slice(turnAt + 1);
  return !since.some((message) => message.role === "toolResult" && !message.isError && acts(message.toolName, tools));
}

/** Nothing in it can be shown, and nothing is called. */
export const isWordless = (message: AssistantMessage): boolean =>
  !hasCalls(message) && isBlank(withoutTags(textOf(message), message));

/** Takes tags out of what this model writes. */
export const stripperFor = (model: Pick<ModelRef, "provider">): TagStripper =>
  createTagStripper({ enforceFinal: writesInTags(model) });

/** A model's text as people see it: thoughts that it writes into it stay out. */
export function withoutTags(text: string, model?: Pick<ModelRef, "provider">): string {
  const stripper = model ? stripperFor(model) : createTagStripper();
  return stripper.push(text) + stripper.end();
}

const acts = (name: string, tools: Asked["tools"]): boolean =>
  tools.some((tool) => tool.name === name && tool.hasSideEffects);
