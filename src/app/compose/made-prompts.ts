import type { SystemPrompt } from "../../harness/request.ts";
import { joinParts, sizesOf, type TextPart } from "../../prompt/parts.ts";
import type { SystemContext } from "../../prompt/system-context.ts";
import { systemPromptParts } from "../../prompt/system-prompt.ts";
import type { SessionKey } from "../../types/ids.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";
import { isSameData } from "../../utils/fields.ts";

/** Conversations whose last system prompt is kept: some 20 KB each. */
const MOST_KEPT = 64;

export const promptOf = (parts: readonly TextPart[]): SystemPrompt => ({
  text: joinParts(parts),
  parts: sizesOf(parts),
});

/** Makes a system prompt only when something that it is made of has changed since the conversation's last one. */
export class MadePrompts {
  readonly #made = new BoundedMap<SessionKey, { readonly context: SystemContext; readonly prompt: SystemPrompt }>(
    MOST_KEPT,
  );

  of(key: SessionKey, context: SystemContext): SystemPrompt {
    const known = this.#made.get(key);
    if (known && isSameData(known.context, context)) return known.prompt;
    const prompt = promptOf(systemPromptParts(context));
    this.#made.set(key, { context, prompt });
    return prompt;
  }
}

/** The prompt with more pieces at its end. */
export function withParts(prompt: SystemPrompt, parts: readonly TextPart[]): SystemPrompt {
  if (parts.length === 0) return prompt;
  const more = promptOf(parts);
  return { text: prompt.text + more.text, parts: [...prompt.parts, ...more.parts] };
}
