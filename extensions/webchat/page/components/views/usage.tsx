import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { dayText, dollars, money, factLine, sessionTitle, shortCount } from "../../model/format.ts";
import { useNow } from "../common/hooks.ts";
import {
  isUsedUp,
  Pick,
  PickButtons,
  ListRow,
  RowList,
  USED_UP,
  useAnswer,
  ViewFrame,
  type ViewProps,
  when,
} from "./view-parts.tsx";
import { t } from "../../words/words.ts";

type Figures = Answers["usage.cost"]["totals"];
type Budget = Answers["usage.status"]["budgets"][number];

const CHANGED = { changedBy: ["health", "sessions.changed"] };
const GROUPS = [
  ["model", t("Models")],
  ["sender", t("People")],
  ["session", t("Conversations")],
  ["agent", t("Agents")],
  ["job", t("Jobs")],
] as const;
type Group = (typeof GROUPS)[number][0];
const PERIODS = [
  ["7d", t("the last 7 days")],
  ["30d", t("the last 30 days")],
  ["90d", t("the last 90 days")],
  ["1y", t("the last year")],
] as const;
type Period = (typeof PERIODS)[number][0];

/** What models took: by day, by model, person, conversation, agent or job; the budgets, and the limits of providers. */
export function UsageView(props: ViewProps): VNode {
  const now = useNow(60_000);
  const [by, setBy] = useState<Group>("model");
  const [period, setPeriod] = useState<Period>("30d");
  const cost = useAnswer(props, { method: "usage.cost", params: { by, range: period }, ...CHANGED });
  const status = useAnswer(props, { method: "usage.status", ...CHANGED });
  const { totals, rows = [] } = cost.answer ?? {};
  const { budgets = [], providers = [] } = status.answer ?? {};
  return (
    <ViewFrame
      tools={
        <>
          <PickButtons label={t("Period")} value={period} options={PERIODS} choose={setPeriod} />
          <Pick label={t("Grouped by")} value={by} options={GROUPS} choose={setBy} />
        </>
      }
      problems={[cost.problem, status.problem]}
      isRead={totals !== undefined}
    >
      {totals && <p class="view-sum">{amountText(totals)}</p>}
      {cost.answer && <Days cost={cost.answer} />}
      <RowList title={t("Budgets")}>
        {budgets.map((budget) => (
          <BudgetRow key={`${budget.key}:${budget.what}`} budget={budget} />
        ))}
      </RowList>
      <RowList title={GROUPS.find(([value]) => value === by)?.[1] ?? by} empty={t("Nothing was used.")}>
        {rows.map(({ name, ...figures }) => (
          <ListRow
            key={name}
            title={by === "session" ? sessionTitle(name, titleIn(props, name)) : name}
            facts={[amountText(figures), callsText(figures.calls), unpriced(figures)]}
          />
        ))}
      </RowList>
      <RowList title={t("Limits of the providers")}>
        {providers.map(({ provider, displayName, profileId, windows, fetchedAt }) => (
          <ListRow
            key={`${provider}:${profileId ?? ""}`}
            title={profileId === undefined ? displayName : `${displayName}, ${profileId}`}
            facts={[
              ...windows.map(({ label, usedPercent }) =>
                t("{label}: {share} % used", { label, share: Math.round(usedPercent) }),
              ),
              t("as of {time}", { time: when(fetchedAt, now) }),
            ]}
          />
        ))}
      </RowList>
    </ViewFrame>
  );
}

const titleIn = ({ state }: ViewProps, key: string): string | undefined =>
  state.sessions.find((row) => row.key === key)?.label;

function amountText({ totalCost, totalTokens, input, output }: Figures): string {
  const tokens = t("{count} tokens ({input} in, {output} out)", {
    count: shortCount(totalTokens),
    input: shortCount(input),
    output: shortCount(output),
  });
  return factLine([dollars(totalCost), tokens]);
}

const callsText = (count: number): string => t("{n} call|{n} calls", { n: count });

const unpriced = ({ missingCostEntries }: Figures): string | undefined =>
  missingCostEntries > 0 ? t("the price of {calls} is not known", { calls: callsText(missingCostEntries) }) : undefined;

const DAY_MS = 86_400_000;

/** The days of a period, both ends included, as `2026-11-27`. */
function daysBetween(since: string, until: string): readonly string[] {
  const [first, last] = [Date.parse(since), Date.parse(until)];
  const count = Math.round((last - first) / DAY_MS) + 1;
  return Array.from({ length: count }, (_, day) => new Date(first + day * DAY_MS).toISOString().slice(0, 10));
}

/** A bar for each day; its height is the cost, or the tokens where nothing has a price. */
function Days({ cost }: { cost: Answers["usage.cost"] }): VNode {
  const { daily } = cost;
  const isPriced = daily.some(({ totalCost }) => totalCost > 0);
  const heightOf = ({ totalCost, totalTokens }: Figures): number => (isPriced ? totalCost : totalTokens);
  const most = Math.max(...daily.map(heightOf), Number.MIN_VALUE);
  return (
    <ol class="days" aria-label={isPriced ? t("Cost of each day") : t("Tokens of each day")}>
      {daysBetween(cost.since, cost.until).map((date) => {
        const day = daily.find((one) => one.date === date);
        const words = `${dayText(date)}: ${day ? amountText(day) : t("nothing")}`;
        const height = day ? Math.round((heightOf(day) / most) * 100) : 0;
        return (
          <li key={date} title={words}>
            <span class="day-bar" style={{ height: `${height}%` }} />
            <span class="unseen">{words}</span>
          </li>
        );
      })}
    </ol>
  );
}

function BudgetRow({ budget }: { budget: Budget }): VNode {
  const { key, what, usd, tokens } = budget;
  const parts = [
    ...(usd ? [[usd, t("{taken} of {limit}", { taken: money(usd.taken), limit: money(usd.limit) })] as const] : []),
    ...(tokens
      ? [
          [
            tokens,
            t("{taken} of {limit} tokens", { taken: shortCount(tokens.taken), limit: shortCount(tokens.limit) }),
          ] as const,
        ]
      : []),
  ];
  return (
    <ListRow
      title={what}
      facts={[...parts.map(([, text]) => text), key]}
      error={isUsedUp(budget) ? USED_UP : undefined}
    >
      {parts.map(([{ taken, limit }, text]) => (
        <progress key={text} aria-label={text} max={limit} value={Math.min(taken, limit)} />
      ))}
    </ListRow>
  );
}
