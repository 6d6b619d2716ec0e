import { isFields } from "../../utils/fields.ts";
import { textIn } from "./foreign.ts";
import { rowsForPlugin } from "../exchanged-keys.ts";
import type { PluginScope } from "./scope.ts";

/**
 * Places of conversations as files. The gateway reads changes of a plugin in the file of the rows, field by field: the
 * journal has the rows, so a row that the plugin did not know stays.
 */
export function sessionFilePlaces({ ports: { sessions, keys } }: PluginScope) {
  return {
    resolveStorePath: (_store: unknown, options: unknown) =>
      sessions.storePath(isFields(options) ? textIn(options, "agentId") : undefined),
    loadSessionStore: () => rowsForPlugin(sessions.load(), keys),
    resolveSessionFilePath: (sessionId: unknown, entry: unknown) =>
      sessions.filePath(String(sessionId), isFields(entry) ? entry : undefined),
  };
}
