import type {
  Amount,
  Balance,
  SpendAccount,
  SpendAsk,
  SpendLine,
  SpendPlace,
  SpendScope,
} from "../../types/spend/ledger.ts";
import type { Usage } from "../../types/run/model.ts";
import { count, text } from "../database/columns.ts";
import type { Row, Statements } from "../database/sqlite.ts";

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
export interface CountedCall {
  readonly account: SpendAccount;
  /** As `provider/id`. */
  readonly model: string;
  readonly day: string;
  readonly at: number;
  /** Whether the model's price is known. */
  readonly isPriced: boolean;
}

/** The names under which a call counts, in their order. */
export function countedNames({
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
export function addSpent(
  sql: Statements,
  call: CountedCall,
  { input, output, cacheRead, cacheWrite, cost }: Usage,
): void {
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
export function addUnknown(sql: Statements, call: CountedCall, { tokens, usd }: Amount): void {
  for (const [scope, name] of countedNames(call))
    sql.run(ADD_UNKNOWN, scope, periodOf(scope, call.day), name, call.at, tokens, usd);
}

/** Amount that is spent at a place, without holds. */
export function spentAt(sql: Statements, { scope, name, since = TREE, until = TREE }: SpendPlace): Amount {
  return amountOf(sql.one(SPENT, scope, name, since, until));
}

/** A raise belongs to the days for which it was given, exactly. */
export const raisedAt = (sql: Statements, place: SpendPlace): Amount =>
  amountOf(sql.one(RAISED, place.scope, place.name, raisePeriod(place)));

export function addRaise(
  sql: Statements,
  place: SpendPlace,
  { tokens, usd, at }: Amount & { readonly at: number },
): void {
  sql.run(RAISE, place.scope, place.name, raisePeriod(place), at, tokens, usd);
}

const raisePeriod = ({ since = TREE, until = TREE }: SpendPlace): string => `${since}/${until}`;

export const readLines = (sql: Statements, { scope, since, until, name }: SpendAsk): readonly SpendLine[] =>
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

export const balanceOf = (spent: Amount, held: Amount, raised: Amount): Balance => ({
  taken: { tokens: spent.tokens + held.tokens, usd: spent.usd + held.usd },
  raised,
});
