import { objectOf, textIn } from "../foreign.ts";
import type { PluginScope } from "../scope.ts";

/** Where conversations are as files. The rows are an export: writing to the file changes nothing. */
export function sessionFiles({ ports: { sessions } }: PluginScope) {
  return {
    resolveStorePath: (_store: unknown, options: unknown = {}) =>
      sessions.storePath(textIn(objectOf(options, "resolveStorePath"), "agentId")),
    loadSessionStore: () => sessions.load(),
    resolveSessionFilePath: (sessionId: unknown) => sessions.filePath(String(sessionId)),
  };
}
