import type { Clock } from "../../types/clock.ts";
import type {
  SpendLedger,
  SpendPlace,
  AccountRequest,
  SpendAccount,
  Amount,
  HoldAmount,
  HoldRequest,
  SettledCall,
  SpentCall,
} from "../../types/spend/ledger.ts";
import type { Commits } from "../database/commits.ts";
import type { Statements, Row } from "../database/sqlite.ts";
import {
  addRaise,
  balanceOf,
  raisedAt,
  readLines,
  spentAt,
  addSpent,
  addUnknown,
  type CountedCall,
  countedNames,
} from "./sums.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { defined } from "../../utils/defined.ts";
import { anyJson, textOr, count, text } from "../database/columns.ts";
import { readInbound } from "./read-inbound.ts";

/** Opens the ledger. `bootId`: holds with another id belong to an earlier process. */
export function createSpendLedger(
  commits: Commits,
  { bootId, clock }: { readonly bootId: string; readonly clock: Pick<Clock, "now"> },
): SpendLedger {
  return {
    hold: (request, decide) =>
      commits.writeAhead((sql) => {
        const account = accountOf(sql, request);
        const decision = decide(account, balancesIn(sql));
        if ("refusal" in decision) return { refusal: decision.refusal, account };
        return { id: putHold(sql, bootId, request, { account, hold: decision.hold }), account };
      }),
    // The write of the answer's plan follows, and shares its commit. If the process is killed before, the hold stays and counts in full.
    settle: (id, call) => commits.writeAhead((sql) => settleHold(sql, id, call), "with others"),
    look: (of, look) => commits.readAhead((sql) => look(accountOf(sql, of), balancesIn(sql))),
    resolveAbandoned: () => commits.write((sql) => leaveAbandoned(sql, bootId, clock.now())),
    raise: ({ place, ...raise }) => commits.write((sql) => addRaise(sql, place, raise)),
    balance: (place) => commits.readAhead((sql) => balancesIn(sql)(place)),
    lines: (ask) => commits.readAhead((sql) => readLines(sql, ask)),
    calls: (session, limit) => commits.readAhead((sql) => sql.all(CALLS, session, limit).map(toCall).toReversed()),
    held: () => commits.readAhead((sql) => new OpenHolds(sql).total),
  };
}

/** Reads the open holds once, and only when a balance is asked for. */
function balancesIn(sql: Statements) {
  let holds: OpenHolds | undefined;
  return (place: SpendPlace) => {
    holds ??= new OpenHolds(sql);
    const held = holds.at(place);
    return balanceOf(spentAt(sql, place), familyToo(sql, holds, place, held), raisedAt(sql, place));
  };
}

/** A session's balance has that of its subagents in it. */
function familyToo(sql: Statements, holds: OpenHolds, place: SpendPlace, held: { tokens: number; usd: number }) {
  if (place.scope !== "session") return held;
  const family = { ...place, scope: "family" as const };
  const [spent, open] = [spentAt(sql, family), holds.at(family)];
  return { tokens: held.tokens + spent.tokens + open.tokens, usd: held.usd + spent.usd + open.usd };
}

// Several messages can be one turn; the first decides whose it is.
const MESSAGE = "SELECT message FROM inbox WHERE run_id = ? ORDER BY id LIMIT 1";
const OF_RUN =
  "SELECT session_key, root, root_session, job, sender FROM model_calls WHERE run_id = ? ORDER BY id DESC LIMIT 1";
const OF_SESSION =
  "SELECT session_key, root, root_session, job, sender FROM model_calls WHERE session_key = ? ORDER BY id DESC LIMIT 1";

/** Accounts that a call draws from besides its own agent and session. */
type Roots = Pick<SpendAccount, "root" | "rootSession" | "job" | "sender">;

/** Whose budgets a call draws from: by its run's earlier calls, else by the message of its run. */
function accountOf(sql: Statements, { agentId, sessionKey, runId }: AccountRequest): SpendAccount {
  const own = { agent: agentId, session: sessionKey };
  const known = runId === undefined ? undefined : sql.one(OF_RUN, runId);
  const roots = known ? rootsIn(known) : fromMessage(sql, runId, sessionKey);
  return defined({ ...own, rootSession: sessionKey, root: runId, ...roots });
}

const rootsIn = (row: Row): Roots =>
  defined({
    root: textOr(row, "root"),
    rootSession: textOr(row, "root_session"),
    job: textOr(row, "job"),
    sender: textOr(row, "sender"),
  });

/** A turn that another run brought about is part of that run's tree, and draws from the same budgets as that run. */
function fromMessage(sql: Statements, runId: string | undefined, session: string | undefined): Roots {
  const row = runId === undefined ? undefined : sql.one(MESSAGE, runId);
  if (!row) return {};
  const { message } = readInbound(anyJson(row, "message"), 0);
  const { subagent, broughtBy, cron } = message.options ?? {};
  const parent = subagent?.parent;
  const isBelow = parent !== undefined && parent !== session;
  const by = runBefore(sql, broughtBy, isBelow ? parent : undefined);
  if (!by) return isBelow ? { rootSession: parent } : defined({ job: cron?.jobId, sender: senderOf(message) });
  const { rootSession, ...roots } = rootsIn(by);
  // A message to another session counts in the conversation that it is written to.
  const isSameTree = isBelow || textOr(by, "session_key") === session;
  return isSameTree ? defined({ ...roots, rootSession }) : roots;
}

/** The name of a person who wrote, on whatever channel; undefined for a turn that nobody wrote for. */
function senderOf({ from, sender, options }: InboundMessage): string | undefined {
  if (options?.kind !== undefined || options?.operator !== undefined) return undefined;
  return `${from.channel}:${sender.e164 ?? sender.id}`;
}

/** The newest call of the run that brought the turn about; of a subagent's parent, where a person asked for it. */
function runBefore(sql: Statements, by: string | undefined, parent: string | undefined): Row | undefined {
  const found = by === undefined ? undefined : sql.one(OF_RUN, by);
  return found ?? (parent === undefined ? undefined : sql.one(OF_SESSION, parent));
}

const HOLD = `
  INSERT INTO model_calls (state, boot, at, day, cause, provider, model, profile, plugin, agent, session_key, run_id, root, root_session,
    job, sender, is_priced, held_tokens, held_cost, held_input, held_output)
  VALUES ('held', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const COUNTED = "day, provider, model, agent, session_key, root, root_session, job, sender, is_priced";
// An index has the open ones alone: as many as calls run at the same time.
const ALL_OPEN = "SELECT * FROM model_calls WHERE state = 'held'";
const ABANDONED = "SELECT * FROM model_calls WHERE state = 'held' AND boot <> ? ORDER BY id";
const SETTLE = `
  UPDATE model_calls SET state = ?, ended_at = ?, input = ?, output = ?, cache_read = ?, cache_write = ?, cost = ?, is_estimate = ?
  WHERE id = ? AND state = 'held' RETURNING ${COUNTED}`;
const CALLS = `
  SELECT at, ended_at, provider, model, input, output, cache_read, cache_write, cost FROM model_calls
  WHERE session_key = ? AND state = 'settled' ORDER BY id DESC LIMIT ?`;
const LEAVE = "UPDATE model_calls SET state = 'unknown', ended_at = ? WHERE id = ?";

/** Writes a hold and returns its id. */
function putHold(
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
function settleHold(sql: Statements, id: number, { usage, isEstimate, at }: SettledCall): void {
  const { input, output, cacheRead, cacheWrite, cost } = usage;
  const isSpent = input + output + cacheRead + cacheWrite > 0 || cost.total > 0;
  const figures = [input, output, cacheRead, cacheWrite, cost.total, isEstimate ? 1 : 0];
  const row = sql.one(SETTLE, isSpent ? "settled" : "void", at, ...figures, id);
  if (row && isSpent) addSpent(sql, countedOf(row, at), usage);
}

/** Ends the holds of other processes at their worst case. Returns how many there were. */
function leaveAbandoned(sql: Statements, boot: string, at: number): number {
  const rows = sql.all(ABANDONED, boot);
  for (const row of rows) {
    sql.run(LEAVE, at, count(row, "id"));
    addUnknown(sql, countedOf(row, at), heldIn(row));
  }
  return rows.length;
}

/** Amounts that open holds take of places, all read at once. */
class OpenHolds {
  readonly #rows: readonly Row[];

  constructor(sql: Statements) {
    this.#rows = sql.all(ALL_OPEN);
  }

  /** Sum of all held calls. */
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
  return countedNames(countedOf(row, 0)).some(([other, called]) => other === scope && called === name);
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
  isPriced: count(row, "is_priced") === 1,
});

const toCall = (row: Row): SpentCall => ({
  at: count(row, "at"),
  endedAt: count(row, "ended_at"),
  model: { provider: text(row, "provider"), id: text(row, "model") },
  input: count(row, "input"),
  output: count(row, "output"),
  cacheRead: count(row, "cache_read"),
  cacheWrite: count(row, "cache_write"),
  costUsd: count(row, "cost"),
});
