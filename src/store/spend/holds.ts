import type {
  Amount,
  HoldAmount,
  HoldRequest,
  SettledCall,
  SpendAccount,
  SpendPlace,
} from "../../types/spend/ledger.ts";
import { defined } from "../../utils/defined.ts";
import { count, text, textOr } from "../journal/columns.ts";
import type { Row, Statements } from "../journal/sqlite.ts";
import { addSpent, addUnknown, type CountedCall, namesOf } from "./sums.ts";

const HOLD = `
  INSERT INTO model_calls (state, boot, at, day, cause, provider, model, profile, plugin, agent, session_key, run_id, root, root_session,
    job, sender, is_priced, held_tokens, held_cost, held_input, held_output)
  VALUES ('held', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const COUNTED = "day, provider, model, agent, session_key, root, root_session, job, sender";
// An index has the open ones alone: as many as calls run at the same time.
const ALL_OPEN = "SELECT * FROM model_calls WHERE state = 'held'";
const ABANDONED = "SELECT * FROM model_calls WHERE state = 'held' AND boot <> ? ORDER BY id";
const SETTLE = `
  UPDATE model_calls SET state = ?, ended_at = ?, input = ?, output = ?, cache_read = ?, cache_write = ?, cost = ?, is_estimate = ?
  WHERE id = ? AND state = 'held' RETURNING ${COUNTED}`;
const LEAVE = "UPDATE model_calls SET state = 'unknown', ended_at = ? WHERE id = ?";

/** Writes a hold and returns its id. */
export function putHold(
  sql: Statements,
  boot: string,
  request: HoldRequest,
  { account, hold }: { readonly account: SpendAccount; readonly hold: HoldAmount },
): number {
  const { at, day, cause, model, profileId, plugin = null, runId = null, isPriced } = request;
  const { agent = null, session = null, root = null, rootSession = null, job = null, sender = null } = account;
  const facts = [boot, at, day, cause, model.provider, model.id, profileId, plugin];
  const whose = [agent, session, runId, root, rootSession, job, sender];
  const { tokens, usd, input, output } = hold;
  return sql.run(HOLD, ...facts, ...whose, isPriced ? 1 : 0, tokens, usd, input, output).id;
}

/** Ends a hold, once: a later settlement of the same hold changes nothing. */
export function settleHold(sql: Statements, id: number, { usage, isEstimate, at }: SettledCall): void {
  const { input, output, cacheRead, cacheWrite, cost } = usage;
  const isSpent = input + output + cacheRead + cacheWrite > 0 || cost.total > 0;
  const figures = [input, output, cacheRead, cacheWrite, cost.total, isEstimate ? 1 : 0];
  const row = sql.one(SETTLE, isSpent ? "settled" : "void", at, ...figures, id);
  if (row && isSpent) addSpent(sql, countedOf(row, at), usage);
}

/** Ends the holds of other processes at their worst case. Returns how many there were. */
export function leaveAbandoned(sql: Statements, boot: string, at: number): number {
  const rows = sql.all(ABANDONED, boot);
  for (const row of rows) {
    sql.run(LEAVE, at, count(row, "id"));
    addUnknown(sql, countedOf(row, at), heldIn(row));
  }
  return rows.length;
}

/** What open holds take of places, all read at once. */
export class OpenHolds {
  readonly #rows: readonly Row[];

  constructor(sql: Statements) {
    this.#rows = sql.all(ALL_OPEN);
  }

  /** Of all calls. */
  get total(): Amount & { readonly calls: number } {
    return { ...sum(this.#rows), calls: this.#rows.length };
  }

  at(place: SpendPlace): Amount {
    return sum(this.#rows.filter((row) => isAt(row, place)));
  }
}

const isAt = (row: Row, { scope, name, since, until }: SpendPlace): boolean => {
  const day = text(row, "day");
  if ((since !== undefined && day < since) || (until !== undefined && day > until)) return false;
  return namesOf(countedOf(row, 0)).some(([other, called]) => other === scope && called === name);
};

const sum = (rows: readonly Row[]): Amount =>
  rows.map(heldIn).reduce((all, { tokens, usd }) => ({ tokens: all.tokens + tokens, usd: all.usd + usd }), {
    tokens: 0,
    usd: 0,
  });

const heldIn = (row: Row): Amount => ({ tokens: count(row, "held_tokens"), usd: count(row, "held_cost") });

const countedOf = (row: Row, at: number): CountedCall => ({
  account: defined({
    agent: textOr(row, "agent"),
    session: textOr(row, "session_key"),
    root: textOr(row, "root"),
    rootSession: textOr(row, "root_session"),
    job: textOr(row, "job"),
    sender: textOr(row, "sender"),
  }),
  model: `${text(row, "provider")}/${text(row, "model")}`,
  day: text(row, "day"),
  at,
});
