import { own } from "../../utils/own.ts";
import type { PluginsConfig } from "../config.ts";

interface Plugin {
  readonly id: string;
  /** Context engines that the plugin registers. */
  readonly engines: readonly string[];
}

/** Whether the operator lets a plugin's hooks read conversations. Selecting the plugin for a slot also allows it. */
export function hasConversations({ id, engines }: Plugin, { entries, slots }: PluginsConfig): boolean {
  if (own(entries, id)?.hooks.allowConversationAccess === true) return true;
  return slots.memory === id || engines.includes(slots.contextEngine);
}
