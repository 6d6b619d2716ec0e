import type { MemoryPromptRequest } from "../../../types/contribution.ts";
import { functionOf, objectOf, optionalMethodIn } from "../foreign.ts";
import type { PluginScope } from "../scope.ts";

type Builder = (request: unknown) => unknown;

/**
 * `api.registerMemoryCapability({promptBuilder, …})`: the memory of the gateway, if `plugins.slots.memory` selects the
 * plugin or nothing else is selected. A second call of one plugin replaces the first.
 */
export function registerMemoryCapability(scope: PluginScope, state: MemoryRegistrations, given: unknown): void {
  const capability = objectOf(given, "registerMemoryCapability");
  state.builder = optionalMethodIn(capability, "promptBuilder");
  if (state.isMemory) return;
  state.isMemory = true;
  scope.registry.addMemory({
    id: scope.id,
    prompt: (request) => (state.builder ? linesOf(scope, state.builder, request) : []),
  });
}

/** `api.registerMemoryPromptSection(builder)` and `registerMemoryPromptSupplement(builder)`: more lines of the memory's section. */
export function registerMemorySupplement(
  scope: PluginScope,
  { supplements }: MemoryRegistrations,
  given: unknown,
): void {
  supplements.push(functionOf(given, "registerMemoryPromptSupplement"));
  if (supplements.length > 1) return;
  scope.registry.addMemory({
    id: scope.id,
    isSupplement: true,
    prompt: (request) => supplements.flatMap((builder) => linesOf(scope, builder, request)),
  });
}

/** Registrations of one plugin for the memory. */
export interface MemoryRegistrations {
  builder: Builder | undefined;
  readonly supplements: Builder[];
  isMemory: boolean;
}

export const noMemory = (): MemoryRegistrations => ({ builder: undefined, supplements: [], isMemory: false });

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
