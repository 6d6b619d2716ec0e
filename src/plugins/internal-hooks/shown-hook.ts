import { z } from "zod";
import type { Answer } from "../../types/method.ts";
import type { JudgedHook } from "./judge-hooks.ts";

const text = z.string().exactOptional();
const hook = z.looseObject({
  name: z.string(),
  description: z.string(),
  emoji: text,
  eligible: z.boolean(),
  disabled: z.boolean(),
  state: z.string(),
  why: text,
  fix: text,
  source: z.string(),
  pluginId: text,
  agentId: text,
  events: z.array(z.string()),
  unknownEvents: z.array(z.string()).exactOptional(),
  homepage: text,
  hookKey: z.string(),
  folder: z.string(),
  handler: z.string(),
});

/** The answer of `hooks.status`. */
export const hooksAnswer = z.looseObject({
  workspaceDir: z.string(),
  managedHooksDir: z.string(),
  hooks: z.array(hook),
  leftOut: z.array(z.looseObject({ folder: z.string(), name: text, source: z.string(), why: z.string() })),
});

/** A hook for scripts and clients, with the field's names. */
export const shownHook = (hook: JudgedHook): Answer<z.output<typeof hooksAnswer>>["hooks"][number] => ({
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
