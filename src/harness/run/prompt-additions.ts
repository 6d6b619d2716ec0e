import type { PromptAdditions } from "../../types/hook/hooks.ts";
import { isFields } from "../../utils/fields.ts";

const TEXTS = ["prependContext", "appendContext", "prependSystemContext", "appendSystemContext"] as const;

/** The additions in a hook's answer; what is no text counts as missing. */
export function additionsIn(answer: unknown): PromptAdditions {
  if (!isFields(answer)) return {};
  const named = [...TEXTS, "systemPrompt"].flatMap((key) => {
    const text = answer[key];
    return typeof text === "string" && text !== "" ? [[key, text] as const] : [];
  });
  const { toolsAllow } = answer;
  const names = Array.isArray(toolsAllow) ? toolsAllow.filter((name) => typeof name === "string") : undefined;
  return { ...Object.fromEntries(named), ...(names && { toolCaps: [names] }) };
}

/** Several answers are joined by an empty line; a later `systemPrompt` replaces an earlier one, and the lists of tools all hold. */
export function joinAdditions(all: PromptAdditions, one: PromptAdditions): PromptAdditions {
  const joined = TEXTS.map((key) => {
    const texts = [all[key], one[key]].filter((text) => text !== undefined);
    return [key, texts.join("\n\n")] as const;
  });
  const systemPrompt = one.systemPrompt ?? all.systemPrompt;
  const toolCaps = [...(all.toolCaps ?? []), ...(one.toolCaps ?? [])];
  return {
    ...Object.fromEntries(joined.filter(([, text]) => text !== "")),
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(toolCaps.length > 0 && { toolCaps }),
  };
}
