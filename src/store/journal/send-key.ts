import { hash, randomUUID } from "node:crypto";
import type { Peer } from "../../types/chat/message.ts";
import { text } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";

const JOURNAL_ID = "journal:id";

/** A message to a platform, as far as its name goes. */
interface Named {
  readonly to: Peer;
  /** The event key of the message that is answered, or the key of a reply that answers none. */
  readonly source: string;
  /** Place of the message in the reply. */
  readonly name: string;
}

/**
 * The name by which a platform recognises a message that it is sent again. Row numbers begin anew in a new journal and repeat in a
 * restored one, so the name consists of the journal's id, the account, the chat and the event that is answered.
 */
export const sendKeyOf = (journalId: string, { to, source, name }: Named): string =>
  hash("sha256", JSON.stringify([journalId, to.channel, to.account, to.chat.id, to.thread, source, name]), "base64url");

/** The random id of a journal, which is made when it is first opened for writing. */
export function journalId(commits: Commits): Promise<string> {
  return commits.write((sql) => {
    sql.run("INSERT OR IGNORE INTO kept (key, value) VALUES (?, ?)", JOURNAL_ID, randomUUID());
    const row = sql.one("SELECT value FROM kept WHERE key = ?", JOURNAL_ID);
    return row ? text(row, "value") : "";
  });
}
