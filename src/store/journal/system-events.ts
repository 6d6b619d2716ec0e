import type { Clock } from "../../types/clock.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { SystemEvents } from "../../types/journal.ts";
import { count, text, textOr } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";

/** The most events that a session keeps. */
const MOST = 20;

const NEWEST = "SELECT text FROM system_events WHERE session_key = ? AND turn_id IS NULL ORDER BY id DESC LIMIT 1";
const ADD = "INSERT INTO system_events (session_key, text, at) VALUES (?, ?, ?)";
const DROP_WAITING = `
  DELETE FROM system_events WHERE session_key = ? AND turn_id IS NULL AND id NOT IN (
    SELECT id FROM system_events WHERE session_key = ? AND turn_id IS NULL ORDER BY id DESC LIMIT ${MOST})`;
const CLAIMS = "SELECT turn_id FROM system_events WHERE session_key = ?";
const CLAIM = "UPDATE system_events SET turn_id = ? WHERE session_key = ?";
const DROP_CLAIMED = `
  DELETE FROM system_events WHERE session_key = ? AND id NOT IN (
    SELECT id FROM system_events WHERE session_key = ? ORDER BY id DESC LIMIT ${MOST})`;
const OF_SESSION = "SELECT at, text FROM system_events WHERE session_key = ? ORDER BY id";
const REMOVE = "DELETE FROM system_events WHERE session_key = ? AND turn_id = ?";

/** The journal's queue of system events. */
export function createSystemEvents(commits: Commits, clock: Clock): SystemEvents {
  return {
    async add(key, said) {
      const event = said.trim();
      if (event === "") return;
      await commits.write((sql) => {
        const newest = sql.one(NEWEST, key);
        if (newest && text(newest, "text") === event) return;
        sql.run(ADD, key, event, clock.now());
        sql.run(DROP_WAITING, key, key);
      });
    },
    claims: (key: SessionKey) =>
      commits.readAhead((sql) => {
        const turnIds = new Set(sql.all(CLAIMS, key).map((row) => textOr(row, "turn_id")));
        return { turnIds: [...turnIds].filter((id) => id !== undefined), waiting: turnIds.has(undefined) };
      }),
    claim: (key, turnId) =>
      commits.write((sql) => {
        sql.run(CLAIM, turnId, key);
        sql.run(DROP_CLAIMED, key, key);
        return sql.all(OF_SESSION, key).map((row) => ({ at: count(row, "at"), text: text(row, "text") }));
      }),
    remove: (key, turnId) =>
      commits.write((sql) => {
        sql.run(REMOVE, key, turnId);
      }),
  };
}
