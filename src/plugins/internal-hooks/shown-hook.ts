import type { JudgedHook } from "./judge-hooks.ts";

/** A hook for scripts and clients, with the field's names. */
export const shownHook = (hook: JudgedHook) => ({
  name: hook.name,
  description: hook.description,
  ...(hook.emoji !== undefined && { emoji: hook.emoji }),
  eligible: hook.unmet === undefined,
  disabled: hook.state === "off",
  state: hook.state,
  ...(hook.why !== undefined && { why: hook.why }),
  ...(hook.fix !== undefined && { fix: hook.fix }),
  source: hook.root.source,
  ...(hook.root.plugin !== undefined && { pluginId: hook.root.plugin }),
  ...(hook.root.agent !== undefined && { agentId: hook.root.agent }),
  events: hook.events,
  ...(hook.unknownEvents.length > 0 && { unknownEvents: hook.unknownEvents }),
  ...(hook.homepage !== undefined && { homepage: hook.homepage }),
  hookKey: hook.key,
  folder: hook.folder,
  handler: hook.handler,
});
