import type { Clock } from "../../../types/clock.ts";
import type { InboxRow, Outcome, Refusal, Withdrawn } from "../../../types/journal.ts";
import type { InboundMessage } from "../../../types/chat/message.ts";
import { maskedJson } from "../../../utils/secrets/mask-strings.ts";
import { anyJson, textOr } from "../columns.ts";
import { readMessage } from "./read-message.ts";
import type { Row, Statements } from "../sqlite.ts";
import { acceptOne, sessionList } from "./rows.ts";

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

/** Ends rows inside one transaction, and accepts what their messages name as `whenEnded`. */
export class RowEnds {
  /** What was accepted because rows ended. */
  readonly next: InboxRow[] = [];
  readonly #sql: Statements;
  readonly #at: number;

  constructor(sql: Statements, clock: Clock) {
    this.#sql = sql;
    this.#at = clock.now();
  }

  finish(ids: readonly number[], outcome: Outcome, refused?: Refusal): void {
    for (const id of ids) this.#end(id, outcome, refused);
    // Its run may have ended before.
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
    const next = readMessage(anyJson(row, "message"), this.#at).message.options?.whenEnded;
    if (kind !== "aborted") this.#accept(next, textOr(row, "works_in"));
    else if (textOr(row, "reports_to") !== "") this.#accept(next?.options?.whenEnded, next?.options?.sessionKey);
  }

  /** Unless work in this session is open, or work of which it will be told. */
  #accept(message: InboundMessage | undefined, session: string | undefined): void {
    if (!message || (session !== undefined && this.#sql.one(AT_WORK, session, sessionList([session])))) return;
    const { row, isNew } = acceptOne(this.#sql, message, this.#at);
    if (isNew) this.next.push(row);
  }
}
