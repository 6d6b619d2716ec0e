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
  Balance,
  SpendAsk,
  SpendLine,
  SpendScope,
} from "../../types/spend/ledger.ts";
import type { Commits } from "../database/commits.ts";
import type { Statements, Row } from "../database/sqlite.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { defined } from "../../utils/defined.ts";
import { anyJson, textOr, count, text } from "../database/columns.ts";
import { readInbound } from "./read-inbound.ts";
import type { Usage } from "../../types/run/model.ts";

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

/** The period of a run's tree, which has no days. */
const TREE = "tree";

/** The figures of a call, in the order of their columns after `at`. */
const FIGURES = [
  "input",
  "output",
  "cache_read",
  "cache_write",
  "cost",
  "input_cost",
  "output_cost",
  "cache_read_cost",
  "cache_write_cost",
  "unpriced",
] as const;
const FIGURE_MARKS = FIGURES.map((_, at) => `?${at + 2}`).join(", ");

/** The names of a sum's row, after the figures of the call. */
function rowMarks(_sum: unknown, at: number): string {
  const first = FIGURES.length + 2 + 3 * at;
  return `(?${first}, ?${first + 1}, ?${first + 2}, ?1, 1, ${FIGURE_MARKS})`;
}

/** Adds a call's time and figures to several sums in one statement. The scope, the period and the name of each sum follow. */
const addTo = (sums: number): string => `
  INSERT INTO spend (scope, period, name, at, calls, ${FIGURES.join(", ")})
  VALUES ${Array.from({ length: sums }, rowMarks).join(", ")}
  ON CONFLICT (scope, period, name) DO UPDATE SET calls = calls + 1,
    ${FIGURES.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;
/** The index is the number of sums. A call counts in at most seven sums of a day. */
const ADD = Array.from({ length: 8 }, (_, sums) => addTo(sums));
// The sum of a day is as old as its day, whenever it was changed last. Each change of the time would be written into an index, too.
const ADD_TO_TREE = `${addTo(1)}, at = excluded.at`;
const ADD_UNKNOWN = `
  INSERT INTO spend (scope, period, name, at, calls, unknown_tokens, unknown_cost) VALUES (?, ?, ?, ?, 1, ?, ?)
  ON CONFLICT (scope, period, name) DO UPDATE SET at = excluded.at, calls = calls + 1,
    unknown_tokens = unknown_tokens + excluded.unknown_tokens, unknown_cost = unknown_cost + excluded.unknown_cost`;
// A month is at most 31 rows of one name.
const SPENT = `
  SELECT coalesce(sum(input + output + cache_read + cache_write + unknown_tokens), 0) AS tokens,
    coalesce(sum(cost + unknown_cost), 0) AS usd
  FROM spend WHERE scope = ? AND name = ? AND period BETWEEN ? AND ?`;
const RAISED = "SELECT tokens, usd FROM spend_raises WHERE scope = ? AND name = ? AND period = ?";
const RAISE = `
  INSERT INTO spend_raises (scope, name, period, at, tokens, usd) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (scope, name, period) DO UPDATE SET at = excluded.at, tokens = tokens + excluded.tokens, usd = usd + excluded.usd`;
const LINES =
  "SELECT * FROM spend WHERE scope = ? AND period BETWEEN ? AND ? AND (? IS NULL OR name = ?) ORDER BY period, name";

/** A call as the sums count it. */
interface CountedCall {
  readonly account: SpendAccount;
  /** As `provider/id`. */
  readonly model: string;
  readonly day: string;
  readonly at: number;
  /** Whether the model's price is known. */
  readonly isPriced: boolean;
}

/** The names under which a call counts, in their order. */
function countedNames({
  account,
  model,
}: Pick<CountedCall, "account" | "model">): readonly (readonly [SpendScope, string])[] {
  const { agent, session, rootSession, job, sender, root } = account;
  const isOfTree = rootSession !== undefined && rootSession !== session;
  const names: readonly (readonly [SpendScope, string | undefined])[] = [
    ["all", ""],
    ["agent", agent],
    ["session", session],
    ["family", isOfTree ? rootSession : undefined],
    ["job", job],
    ["sender", sender],
    ["model", model],
    ["run", root],
  ];
  return names.flatMap(([scope, name]) => (name === undefined ? [] : [[scope, name] as const]));
}

const periodOf = (scope: SpendScope, day: string): string => (scope === "run" ? TREE : day);

/** Adds a settled call to each sum that it is part of. */
function addSpent(sql: Statements, call: CountedCall, { input, output, cacheRead, cacheWrite, cost }: Usage): void {
  const costs = [cost.total, cost.input, cost.output, cost.cacheRead, cost.cacheWrite];
  const figures = [call.at, input, output, cacheRead, cacheWrite, ...costs, call.isPriced ? 0 : 1];
  const names = countedNames(call);
  const days = names.filter(([scope]) => scope !== "run");
  sql.run(
    ADD[days.length] ?? addTo(days.length),
    ...figures,
    ...days.flatMap(([scope, name]) => [scope, call.day, name]),
  );
  for (const [scope, name] of names) if (scope === "run") sql.run(ADD_TO_TREE, ...figures, scope, TREE, name);
}

/** Adds the possible cost of a call of a killed process. */
function addUnknown(sql: Statements, call: CountedCall, { tokens, usd }: Amount): void {
  for (const [scope, name] of countedNames(call))
    sql.run(ADD_UNKNOWN, scope, periodOf(scope, call.day), name, call.at, tokens, usd);
}

/** Amount that is spent at a place, without holds. */
function spentAt(sql: Statements, { scope, name, since = TREE, until = TREE }: SpendPlace): Amount {
  return amountOf(sql.one(SPENT, scope, name, since, until));
}

/** A raise belongs to the days for which it was given, exactly. */
const raisedAt = (sql: Statements, place: SpendPlace): Amount =>
  amountOf(sql.one(RAISED, place.scope, place.name, raisePeriod(place)));

function addRaise(sql: Statements, place: SpendPlace, { tokens, usd, at }: Amount & { readonly at: number }): void {
  sql.run(RAISE, place.scope, place.name, raisePeriod(place), at, tokens, usd);
}

const raisePeriod = ({ since = TREE, until = TREE }: SpendPlace): string => `${since}/${until}`;

const readLines = (sql: Statements, { scope, since, until, name }: SpendAsk): readonly SpendLine[] =>
  sql.all(LINES, scope, since, until, name ?? null, name ?? null).map(toLine);

function toLine(row: Row): SpendLine {
  return {
    day: text(row, "period"),
    name: text(row, "name"),
    calls: count(row, "calls"),
    input: count(row, "input"),
    output: count(row, "output"),
    cacheRead: count(row, "cache_read"),
    cacheWrite: count(row, "cache_write"),
    costUsd: count(row, "cost"),
    costs: {
      input: count(row, "input_cost"),
      output: count(row, "output_cost"),
      cacheRead: count(row, "cache_read_cost"),
      cacheWrite: count(row, "cache_write_cost"),
    },
    unpriced: count(row, "unpriced"),
    unknown: { tokens: count(row, "unknown_tokens"), usd: count(row, "unknown_cost") },
  };
}

const amountOf = (row: Row | undefined): Amount => ({ tokens: count(row, "tokens"), usd: count(row, "usd") });

const balanceOf = (spent: Amount, held: Amount, raised: Amount): Balance => ({
  taken: { tokens: spent.tokens + held.tokens, usd: spent.usd + held.usd },
  raised,
});
