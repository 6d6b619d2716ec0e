import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openBudgets } from "../../../src/providers/budget/budgets.ts";
import { budgetsConfig } from "../../../src/providers/budget/config.ts";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { agentId, runId, sessionKey } from "../../../src/types/ids.ts";
import type { PlannedCall } from "../../../src/types/run/model-meter.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { message } from "../../kit/inbound.ts";
import { recordLog } from "../../kit/log.ts";

/** Of whom a call is. */
interface Caller {
  readonly run: string;
  readonly session: string;
  readonly agent?: string;
  readonly at?: number;
  readonly options?: InboundMessage["options"];
  readonly sender?: string;
}

const NOON = Date.UTC(2026, 10, 27, 12);
const DAY_MS = 86_400_000;
/** What each call holds. */
const TOKENS = 30;
const USD = 0.03;

async function open(config: object) {
  const dir = mkdtempSync(join(tmpdir(), "oc-caps-"));
  const journal = await openJournal({ path: join(dir, "journal.sqlite"), bootId: "one" });
  onTestFinished(async () => {
    await journal.close();
    rmSync(dir, { recursive: true, force: true });
  });
  let now = NOON;
  const parsed = budgetsConfig.parse({ timezone: "UTC", ...config });
  const budgets = openBudgets({
    ledger: journal.spend,
    clock: { now: () => now },
    log: recordLog(),
    config: () => parsed,
  });
  return {
    budgets,
    async call({ run, session, agent = "main", at = NOON, options, sender = "7" }: Caller): Promise<string> {
      now = at;
      const key = sessionKey(session);
      const said = { ...message({ sender: { id: sender } }), eventKey: run, ...(options && { options }) };
      const [row] = await journal.inbox.accept([said]);
      if (row?.isNew) await journal.inbox.claim([row.row.id], { sessionKey: key, runId: runId(run), turnId: run });
      const answer = await budgets.meter.reserve(planned(run, session, agent));
      return answer.kind === "allowed" ? "allowed" : (/budgets\.[\w.]+/.exec(answer.reason)?.[0] ?? answer.reason);
    },
  };
}

const planned = (run: string, session: string, agent: string): PlannedCall => ({
  cause: "message",
  agentId: agentId(agent),
  sessionKey: sessionKey(session),
  runId: runId(run),
  model: { provider: "fake", id: "fake-1" },
  profileId: "fake:default",
  estimatedInputTokens: 10,
  highestCost: 0,
  most: { inputTokens: 10, outputTokens: 20, leastOutputTokens: 20, price: { input: 0.001, output: 0.001 } },
});

const job = (id: string): InboundMessage["options"] => ({
  kind: "cron",
  operator: true,
  cron: { jobId: id, name: id, setUpBy: "owner" },
});

const A: Caller = { run: "a", session: "telegram:default:1" };
/** A key, whose second call it refuses, and whose it does not. */
const ROWS: readonly (readonly [key: string, first: Caller, refused: Caller, free: Caller])[] = [
  ["run", A, A, { ...A, run: "b" }],
  ["jobRun", { ...A, options: job("x") }, { ...A, options: job("x") }, { ...A, run: "b", options: job("x") }],
  ["job", { ...A, options: job("x") }, { ...A, run: "b", options: job("x") }, { ...A, run: "c", options: job("y") }],
  ["session", A, { ...A, run: "b" }, { ...A, run: "c", session: "telegram:default:2" }],
  ["agent", A, { ...A, run: "b", session: "other" }, { ...A, run: "c", agent: "two" }],
  ["sender", A, { ...A, run: "b", session: "other" }, { ...A, run: "c", sender: "8" }],
  ["day", A, { ...A, run: "b", session: "other", agent: "two" }, { ...A, run: "c", at: NOON + DAY_MS }],
  ["month", A, { ...A, run: "b", at: NOON + DAY_MS }, { ...A, run: "c", at: NOON + 7 * DAY_MS }],
];

test.each(ROWS)(
  "budgets.%s limits money and tokens of what it is for, and nothing else",
  async (key, first, refused, free) => {
    for (const cap of [{ tokens: 2 * TOKENS - 1 }, { money: 2 * USD - 0.001 }]) {
      const { call } = await open({ [key]: cap });
      expect([await call(first), await call(refused), await call(free)]).toEqual([
        "allowed",
        `budgets.${key}`,
        "allowed",
      ]);
    }
  },
);

test("one call has its own limit, in money and in tokens", async () => {
  for (const cap of [{ tokens: TOKENS - 1 }, { money: USD - 0.001 }])
    expect(await (await open({ call: cap })).call(A)).toBe("budgets.call");
  expect(await (await open({ call: { tokens: TOKENS, money: USD } })).call(A)).toBe("allowed");
});

test("single agents and jobs have their own limits instead of those of all", async () => {
  const most = { tokens: TOKENS, money: USD };
  const { call } = await open({ agent: { tokens: 0 }, agents: { main: most }, job: { tokens: 0 }, jobs: { x: most } });
  expect(await call({ ...A, options: job("x") })).toBe("allowed");
  expect(await call({ ...A, run: "b", options: job("x") })).toBe("budgets.jobs.x");
  expect(await call({ ...A, run: "c" })).toBe("budgets.agents.main");
  expect(await call({ ...A, run: "d", agent: "two" })).toBe("budgets.agent");
  expect(await call({ ...A, run: "e", options: job("y") })).toBe("budgets.job");
});

test("money is in the currency of the config, and a day begins in its time zone", async () => {
  const euros = await open({ currency: "EUR", usdPerUnit: 2, timezone: "Pacific/Auckland", day: { money: USD / 2 } });
  expect(await euros.call(A)).toBe("allowed");
  expect(await euros.call({ ...A, run: "b" })).toBe("budgets.day");
  // It is 1 o'clock of the next day there; a day ends at 11 o'clock UTC.
  expect(await euros.call({ ...A, run: "c", at: Date.UTC(2026, 10, 27, 10) })).toBe("allowed");
});

test("from a share of a limit on, a smaller model is to answer, and the text names why", async () => {
  const { budgets, call } = await open({ day: { tokens: 100 }, soft: { share: 0.5, model: "fake/small" } });
  const origin = { cause: "message", sessionKey: sessionKey(A.session) } as const;
  await call(A);
  expect(await budgets.softFor(origin)).toBeUndefined();
  await call({ ...A, run: "b" });
  expect(await budgets.softFor(origin)).toEqual({
    model: { provider: "fake", id: "small" },
    text: "💰 Most of the budget for today is used (60 of 100 tokens), so fake/small answers.",
    day: "2026-11-27",
  });
});
