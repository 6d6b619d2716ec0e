import type { Clock } from "../../types/clock.ts";
import { runId } from "../../types/ids.ts";
import type { Claim, Inbox, InboxRow, RowChange, Outcome, Refusal, Withdrawn } from "../../types/journal.ts";
import { Feed, KeyedFeed } from "../../utils/feed.ts";
import type { Commits } from "../database/commits.ts";
import { putRun } from "./ledger.ts";
import type { Statements, Row } from "../database/sqlite.ts";
import { acceptOne, findRow, toInboxRow, sessionList } from "./inbox-rows.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { maskedJson } from "../../utils/secrets/mask-strings.ts";
import { anyJson, text, textOr } from "../database/columns.ts";
import { readInbound } from "./read-inbound.ts";

const OPEN = "SELECT * FROM inbox WHERE state <> 'done' ORDER BY id";
const OF_RUN = "SELECT * FROM inbox WHERE run_id = ? ORDER BY id";
const RUNS_OF = `
  SELECT inbox.turn_id, inbox.run_id FROM runs JOIN inbox ON inbox.run_id = runs.run_id
  WHERE runs.session_key = ? AND inbox.turn_id IS NOT NULL
  GROUP BY inbox.turn_id ORDER BY max(runs.at) DESC, max(inbox.id) DESC LIMIT ?`;
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
/** The result of a write that ended rows, and the messages that were accepted because of that. */
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
): Pick<Inbox, "changes" | "open" | "find" | "ofRun" | "runsOf"> {
  return {
    changes: (id, signal, told) =>
      changes.watch(id, signal, (change) => {
        told?.(change);
        return true;
      }),
    open: () => commits.read((sql) => sql.all(OPEN).map(toInboxRow)),
    find: (channel, account, eventKey) => commits.read((sql) => findRow(sql, channel, account, eventKey)),
    ofRun: (run) => commits.read((sql) => sql.all(OF_RUN, run).map(toInboxRow)),
    runsOf: (key, most) =>
      commits.read(
        (sql) => new Map(sql.all(RUNS_OF, key, most).map((row) => [text(row, "turn_id"), runId(text(row, "run_id"))])),
      ),
  };
}

function claimRows(
  sql: Statements,
  ids: readonly number[],
  { sessionKey: key, agentId: agent, runId: run, turnId, bootId, at }: Claim & { bootId: string; at: number },
): readonly number[] {
  return ids.filter((id) => sql.run(CLAIM, key, run, turnId, bootId, at, id, agent ?? null).changes > 0);
}

const CLAIMED_BY = "SELECT id FROM inbox WHERE id = ? AND claimed_boot = ?";
// A message ends once, so only the first outcome counts.
const FINISH = `
  UPDATE inbox SET state = 'done', outcome = ?, done_at = ?, refused = ? WHERE id = ? AND state <> 'done'
  RETURNING reports_to, works_in, CASE WHEN reports_to IS NULL THEN NULL ELSE message END AS message`;
// Messages that joined the run of this one, which failed or was stopped, got no answer: they end as part of its turn.
const SHARE_END = `
  UPDATE inbox SET outcome = json_object('kind', 'merged', 'into', head.id)
  FROM (
    SELECT id, run_id FROM inbox
    WHERE run_id = (SELECT run_id FROM inbox WHERE id = ?) AND outcome ->> 'kind' IN ('failed', 'aborted')
    ORDER BY id LIMIT 1) AS head
  WHERE inbox.run_id = head.run_id AND inbox.outcome ->> 'kind' = 'steered'`;
const AT_WORK = `
  SELECT 1 FROM inbox
  WHERE state <> 'done' AND reports_to IS NOT NULL AND (works_in = ?1 OR instr(reports_to, ?2) > 0) LIMIT 1`;

/** Ends rows inside one transaction, and accepts the messages that theirs name as `whenEnded`. */
class RowEnds {
  /** Messages that were accepted because rows ended. */
  readonly next: InboxRow[] = [];
  readonly #sql: Statements;
  readonly #at: number;

  constructor(sql: Statements, clock: Clock) {
    this.#sql = sql;
    this.#at = clock.now();
  }

  finish(ids: readonly number[], outcome: Outcome, refused?: Refusal): void {
    for (const id of ids) this.#end(id, outcome, refused);
    // The run of the row may have ended before.
    if (outcome.kind === "steered") for (const id of ids) this.#shareEnd(id);
  }

  withdraw(id: number, outcome: Outcome, bootId: string): Withdrawn {
    const isBegun = this.#sql.one(CLAIMED_BY, id, bootId) !== undefined;
    if (!this.#end(id, outcome)) return "ended";
    return isBegun ? "begun" : "untouched";
  }

  finishTurn(ids: readonly number[], outcome: Outcome): void {
    const head = ids.findIndex((id) => this.#end(id, outcome));
    const into = ids[head];
    if (into === undefined) return;
    for (const id of ids.slice(head + 1)) this.#end(id, { kind: "merged", into });
    if (outcome.kind === "failed" || outcome.kind === "aborted") this.#shareEnd(into);
  }

  #shareEnd(id: number): void {
    this.#sql.run(SHARE_END, id);
  }

  #end(id: number, outcome: Outcome, refused?: Refusal): boolean {
    const row = this.#sql.one(FINISH, maskedJson(outcome), this.#at, refused ?? null, id);
    if (row && textOr(row, "reports_to") !== undefined) this.#follow(row, outcome);
    return row !== undefined;
  }

  /** The end of stopped work is not announced, but sessions above it no longer wait for it. */
  #follow(row: Row, { kind }: Outcome): void {
    const next = readInbound(anyJson(row, "message"), this.#at).message.options?.whenEnded;
    if (kind !== "aborted") this.#accept(next, textOr(row, "works_in"));
    else if (textOr(row, "reports_to") !== "") this.#accept(next?.options?.whenEnded, next?.options?.sessionKey);
  }

  /** Accepts the message, unless work in this session is open, or work whose end will be announced there. */
  #accept(message: InboundMessage | undefined, session: string | undefined): void {
    if (!message || (session !== undefined && this.#sql.one(AT_WORK, session, sessionList([session])))) return;
    const { row, isNew } = acceptOne(this.#sql, message, this.#at);
    if (isNew) this.next.push(row);
  }
}
