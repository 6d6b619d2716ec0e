/** `openclaw/plugin-sdk/memory-host-core`. */
import { pluginHost } from "../plugins/host-slot.ts";

/** The lines that the active memory adds to the system prompt; empty without a memory. */
export function buildActiveMemoryPromptSection(request: {
  readonly availableTools: ReadonlySet<string>;
  readonly citationsMode?: string;
}): string[] {
  return [...(pluginHost()?.memoryPrompt(request) ?? [])];
}
