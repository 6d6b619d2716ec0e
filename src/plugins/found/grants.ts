import { own } from "../../utils/own.ts";
import type { PluginsConfig } from "../config.ts";

/** Whether the operator lets a plugin's hooks read conversations. Whoever selects it for a slot has given it the conversations. */
export function hasConversations(id: string, { entries, slots }: PluginsConfig): boolean {
  return own(entries, id)?.hooks.allowConversationAccess === true || slots.contextEngine === id || slots.memory === id;
}
