import { type SessionKey, sessionKey } from "../../../src/types/ids.ts";
import type { SessionEntry, SessionTable } from "../../../src/types/session.ts";

/** A table of sessions, and whose rows have been read since `read` was cleared. */
export function watchedRows(rows: readonly (readonly [string, SessionEntry])[]) {
  const read = new Set<SessionKey>();
  const watch = (key: SessionKey, row: SessionEntry): SessionEntry =>
    new Proxy(row, {
      get: (target, field) => {
        read.add(key);
        return Reflect.get(target, field) as unknown;
      },
    });
  const stored = rows.map(([text, row]) => {
    const key = sessionKey(text);
    return { key, row: watch(key, row), exported: undefined };
  });
  const table: SessionTable = {
    all: async () => stored,
    write: async () => undefined,
    lastExport: async () => undefined,
    noteExport: async () => undefined,
  };
  return { read, table };
}
