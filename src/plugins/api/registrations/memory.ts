import type { MemoryPromptRequest } from "../../../types/contribution.ts";
import { functionOf, objectOf, optionalMethodIn } from "../foreign.ts";
import type { PluginScope } from "../scope.ts";

type Builder = (request: unknown) => unknown;

/**
 * `api.registerMemoryCapability({promptBuilder, …})`: the memory of the gateway, if `plugins.slots.memory` selects the
 * plugin or nothing else is selected. A second call of one plugin replaces the first.
 */
export function registerMemoryCapability(scope: PluginScope, state: MemoryParts, given: unknown): void {
  const capability = objectOf(given, "registerMemoryCapability");
  state.builder = optionalMethodIn(capability, "promptBuilder");
  announce(scope, state);
}

/** `api.registerMemoryPromptSection(builder)` and `registerMemoryPromptSupplement(builder)`: more lines of the memory's section. */
export function registerMemorySupplement(scope: PluginScope, state: MemoryParts, builder: unknown): void {
  state.supplements.push(functionOf(builder, "registerMemoryPromptSupplement"));
  announce(scope, state);
}

/** What one plugin has said of the memory. */
export interface MemoryParts {
  builder: Builder | undefined;
  readonly supplements: Builder[];
  isAdded: boolean;
}

export const noMemory = (): MemoryParts => ({ builder: undefined, supplements: [], isAdded: false });

function announce(scope: PluginScope, state: MemoryParts): void {
  if (state.isAdded) return;
  state.isAdded = true;
  scope.registry.addMemory({
    id: scope.id,
    prompt: (request) =>
      [...(state.builder ? [state.builder] : []), ...state.supplements].flatMap((builder) =>
        linesOf(scope, builder, request),
      ),
  });
}

/** A builder that throws adds nothing: the prompt is made without it. */
function linesOf(scope: PluginScope, builder: Builder, request: MemoryPromptRequest): readonly string[] {
  try {
    const lines = scope.call("memory prompt", () => builder(request));
    if (typeof lines === "string") return [lines];
    return Array.isArray(lines) ? lines.filter((line): line is string => typeof line === "string") : [];
  } catch (error) {
    scope.log.warn("a plugin could not add to the memory's prompt", { error });
    return [];
  }
}
