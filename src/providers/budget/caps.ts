import type { SpendAccount, SpendPlace } from "../../types/spend/ledger.ts";
import { defined } from "../../utils/defined.ts";
import type { BudgetsConfig, CapConfig } from "./config.ts";
import type { Days } from "./days.ts";

/** A limit that applies to a call, or to everything of a time. */
export interface Cap {
  /** The config key, such as `budgets.day`. */
  readonly key: string;
  /** Scope of the limit, for a sentence: "this conversation today". */
  readonly what: string;
  /** Place of the limit's sum; unset for the limit of one call. */
  readonly place?: SpendPlace;
  readonly limit: CapLimit;
}

/** `usd`: "unknown" when the config names a currency without its rate. */
export interface CapLimit {
  readonly usd?: number | "unknown";
  readonly tokens?: number;
}

interface Row {
  readonly key: "call" | "run" | "jobRun" | "job" | "session" | "agent" | "sender" | "day" | "month";
  readonly what: string;
  /** Sum of the account that the limit applies to; undefined when the limit does not apply to the account. */
  placeOf(account: SpendAccount, days: Days): SpendPlace | undefined;
}

const named = (
  scope: SpendPlace["scope"],
  name: string | undefined,
  days?: Pick<Days, "day">,
): SpendPlace | undefined =>
  name === undefined ? undefined : { scope, name, ...(days && { since: days.day, until: days.day }) };

/** The limits of the config, the narrowest first: a refusal names the first that is reached. */
const ROWS: readonly Row[] = [
  { key: "run", what: "this run", placeOf: ({ root }) => named("run", root) },
  {
    key: "jobRun",
    what: "this run of the job",
    placeOf: ({ root, job }) => (job === undefined ? undefined : named("run", root)),
  },
  { key: "job", what: "this job today", placeOf: ({ job }, days) => named("job", job, days) },
  {
    key: "session",
    what: "this conversation today",
    placeOf: ({ rootSession }, days) => named("session", rootSession, days),
  },
  { key: "agent", what: "this agent today", placeOf: ({ agent }, days) => named("agent", agent, days) },
  { key: "sender", what: "this person today", placeOf: ({ sender }, days) => named("sender", sender, days) },
  { key: "day", what: "today", placeOf: (_account, days) => named("all", "", days) },
  {
    key: "month",
    what: "this month",
    placeOf: (_account, { monthStart, monthEnd }) => ({ scope: "all", name: "", since: monthStart, until: monthEnd }),
  },
];

/** Whether the config limits anything. */
export const hasCaps = (config: BudgetsConfig): boolean =>
  [config.call, ...ROWS.map(({ key }) => config[key])].some((cap) => cap !== undefined) ||
  Object.keys({ ...config.agents, ...config.jobs }).length > 0;

/** The config keys of all limits, of the limits in money, and of the limits in money alone. */
export function capKeys(
  config: BudgetsConfig,
): Readonly<Record<"all" | "inMoney" | "inMoneyAlone", readonly string[]>> {
  const shared = ["call" as const, ...ROWS.map(({ key }) => key)].map((key) => [key, config[key]] as const);
  const single = (name: "agents" | "jobs") =>
    Object.entries(config[name] ?? {}).map(([id, cap]) => [`${name}.${id}`, cap] as const);
  const caps = [...shared, ...single("agents"), ...single("jobs")].flatMap(([name, cap]) =>
    cap === undefined ? [] : [{ key: `budgets.${name}`, cap }],
  );
  const keysOf = (fits: (cap: CapConfig) => boolean) => caps.flatMap(({ key, cap }) => (fits(cap) ? [key] : []));
  return {
    all: keysOf(() => true),
    inMoney: keysOf(({ money }) => money !== undefined),
    inMoneyAlone: keysOf(({ money, tokens }) => money !== undefined && tokens === undefined),
  };
}

/** The limits that apply to a call of an account. */
export function capsFor(config: BudgetsConfig, account: SpendAccount, days: Days): readonly Cap[] {
  const caps: Cap[] = [];
  if (config.call) caps.push({ key: "budgets.call", what: "one call", limit: limitOf(config.call, config) });
  for (const row of ROWS) {
    const place = row.placeOf(account, days);
    const found = place && settingFor(config, row.key, account);
    if (found) caps.push({ key: found.key, what: row.what, place, limit: limitOf(found.cap, config) });
  }
  return caps;
}

/** A single agent or job has its own limit instead of that of all. */
function settingFor(
  config: BudgetsConfig,
  key: Row["key"],
  { agent = "", job = "" }: SpendAccount,
): { readonly key: string; readonly cap: CapConfig } | undefined {
  const own = { agent: [`agents.${agent}`, config.agents?.[agent]], job: [`jobs.${job}`, config.jobs?.[job]] } as const;
  const [name, cap] = key === "agent" || key === "job" ? own[key] : [key, undefined];
  if (cap) return { key: `budgets.${name}`, cap };
  const shared = config[key];
  return shared && { key: `budgets.${key}`, cap: shared };
}

function limitOf({ money, tokens }: CapConfig, { currency, usdPerUnit }: BudgetsConfig): CapLimit {
  const rate = currency === "USD" ? 1 : usdPerUnit;
  const usd = money !== undefined && rate !== undefined ? money * rate : undefined;
  return defined({ usd: money === undefined ? undefined : (usd ?? ("unknown" as const)), tokens });
}
