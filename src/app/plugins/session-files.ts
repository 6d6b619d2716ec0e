import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PluginSessions } from "../../plugins/ports.ts";
import { fileOf, readRow, writeRow } from "../../sessions/rows/row.ts";
import type { SessionRow, Sessions } from "../../types/session.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { isMissing } from "../../utils/missing.ts";
import type { Live } from "../live.ts";

/**
 * Conversations as files. With a running gateway the rows are its own, so that a plugin that changes them and writes the file
 * does not write old ones; in a command they are those of the file.
 */
export function sessionFiles(
  { paths: { sessionsDir } }: Live,
  sessions?: Pick<Sessions, "list" | "withId">,
): PluginSessions {
  const storePath = join(sessionsDir, "sessions.json");
  return {
    storePath: () => storePath,
    load() {
      const file = readStore(storePath);
      return withPaths(sessions ? current(file, sessions.list()) : file, sessionsDir);
    },
    filePath(sessionId, entry) {
      const row = entry ?? sessions?.withId(sessionId)?.entry;
      const sessionFile = row?.["sessionFile"];
      return fileOf({ sessionId, updatedAt: 0, ...(typeof sessionFile === "string" && { sessionFile }) }, sessionsDir);
    },
  };
}

/** Plugins open a row's file by its path. */
const withPaths = (members: Fields, dir: string): Fields =>
  Object.fromEntries(
    Object.entries(members).map(([key, member]) => {
      const row = readRow(member);
      return [key, isFields(member) && row?.sessionFile ? { ...member, sessionFile: fileOf(row, dir) } : member];
    }),
  );

/** What the file has besides rows is kept: it may be another program's. */
function current(file: Fields, rows: readonly SessionRow[]): Fields {
  const others = Object.entries(file).filter(([, member]) => readRow(member) === undefined);
  return Object.fromEntries([
    ...others,
    ...rows.map(({ key, entry }) => [key, structuredClone(writeRow(entry))] as const),
  ]);
}

/** Empty when there is no file yet. Throws when it is not JSON. */
function readStore(path: string): Fields {
  try {
    const rows: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isFields(rows) ? rows : {};
  } catch (error) {
    if (isMissing(error)) return {};
    throw error;
  }
}
