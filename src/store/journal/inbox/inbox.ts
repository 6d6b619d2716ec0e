import type { Clock } from "../../../types/clock.ts";
import type { Claim, Inbox, InboxRow, RowChange } from "../../../types/journal.ts";
import { Feed, KeyedFeed } from "../../../utils/feed.ts";
import type { Commits } from "../commits.ts";
import { putRun } from "../ledger.ts";
import type { Statements } from "../sqlite.ts";
import { RowEnds } from "./ends.ts";
import { acceptOne, findRow, toInboxRow } from "./rows.ts";

const OPEN = "SELECT * FROM inbox WHERE state <> 'done' ORDER BY id";
const OF_RUN = "SELECT * FROM inbox WHERE run_id = ? ORDER BY id";
const CLAIM = `
  UPDATE inbox SET state = 'claimed', session_key = ?1, run_id = ?2, turn_id = ?3, agent = ?7,
    attempts = attempts + (claimed_boot IS NOT ?4),
    starts = CASE WHEN claimed_boot IS NOT ?4 THEN json_insert(coalesce(starts, '[]'), '$[#]', ?5) ELSE starts END,
    claimed_boot = ?4, claimed_at = ?5
  WHERE id = ?6 AND state <> 'done'`;
const BEGIN = `
  UPDATE inbox SET
    attempts = attempts + (claimed_boot IS NOT ?1),
    starts = CASE WHEN claimed_boot IS NOT ?1 THEN json_insert(coalesce(starts, '[]'), '$[#]', ?2) ELSE starts END,
    claimed_boot = ?1
  WHERE id = ?3 AND state <> 'done'`;
/** The result of a write that ended rows, and what was accepted because of that. */
interface Ended<T> {
  readonly value: T;
  readonly next: readonly InboxRow[];
}

export function createInbox(commits: Commits, boot: { bootId: string; clock: Clock }): Inbox {
  const { bootId, clock } = boot;
  const changes = new KeyedFeed<number, RowChange>();
  const followed = new Feed<InboxRow>();
  const reported = async <T>(ids: readonly number[], write: Promise<T>, change: RowChange = {}): Promise<T> => {
    const result = await write;
    for (const id of ids) changes.publish(id, change);
    return result;
  };
  const ending =
    <T>(work: (ends: RowEnds, sql: Statements) => T) =>
    (sql: Statements): Ended<T> => {
      const ends = new RowEnds(sql, clock);
      return { value: work(ends, sql), next: ends.next };
    };
  const ended = async <T>(ids: readonly number[], write: Promise<Ended<T>>): Promise<T> => {
    const { value, next } = await reported(ids, write);
    for (const row of next) followed.publish(row);
    return value;
  };
  const claimed = (ids: readonly number[], claim: Claim) => (sql: Statements) =>
    claimRows(sql, ids, { ...claim, bootId, at: clock.now() });
  return {
    accept: (messages) => commits.write((sql) => messages.map((message) => acceptOne(sql, message, clock.now()))),
    acceptAhead: (messages) =>
      commits.writeAhead((sql) => messages.map((message) => acceptOne(sql, message, clock.now())), "at once"),
    claim: (ids, claim) => reported(ids, commits.write(claimed(ids, claim)), { runId: claim.runId }),
    claimAhead: (ids, claim) => reported(ids, commits.writeAhead(claimed(ids, claim)), { runId: claim.runId }),
    synced: () => commits.synced(),
    begin: (id) => commits.write((sql) => sql.run(BEGIN, bootId, clock.now(), id).changes > 0),
    withdraw: (id, outcome) => ended([id], commits.write(ending((ends) => ends.withdraw(id, outcome, bootId)))),
    finish: (ids, outcome, refused) => ended(ids, commits.write(ending((ends) => ends.finish(ids, outcome, refused)))),
    finishTurn: (ids, outcome) => ended(ids, commits.write(ending((ends) => ends.finishTurn(ids, outcome)))),
    recordTurn: (run, ids, outcome) => {
      const write = ending((ends, sql) => {
        putRun(sql, run);
        if (outcome !== undefined) ends.finishTurn(ids, outcome);
      });
      return ended(ids, commits.writeAhead(write));
    },
    followed: (signal) => followed.watch(signal),
    ...reads(commits, changes),
  };
}

function reads(
  commits: Commits,
  changes: KeyedFeed<number, RowChange>,
): Pick<Inbox, "changes" | "open" | "find" | "ofRun"> {
  return {
    changes: (id, signal, told) =>
      changes.watch(id, signal, (change) => {
        told?.(change);
        return true;
      }),
    open: () => commits.read((sql) => sql.all(OPEN).map(toInboxRow)),
    find: (channel, account, eventKey) => commits.read((sql) => findRow(sql, channel, account, eventKey)),
    ofRun: (run) => commits.read((sql) => sql.all(OF_RUN, run).map(toInboxRow)),
  };
}

function claimRows(
  sql: Statements,
  ids: readonly number[],
  { sessionKey: key, agentId: agent, runId: run, turnId, bootId, at }: Claim & { bootId: string; at: number },
): readonly number[] {
  return ids.filter((id) => sql.run(CLAIM, key, run, turnId, bootId, at, id, agent ?? null).changes > 0);
}
