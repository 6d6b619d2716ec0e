import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { openBudgets } from "../../../src/providers/budget/budgets.ts";
import { budgetsConfig } from "../../../src/providers/budget/config.ts";
import { diskFull } from "../../../src/store/disk.ts";
import { openJournal, type OpenJournal } from "../../../src/store/journal/journal.ts";
import { agentId, runId, sessionKey } from "../../../src/types/ids.ts";
import type { PlannedCall, Reservation } from "../../../src/types/run/model-meter.ts";
import type { SpendLedger } from "../../../src/types/spend/ledger.ts";
import { emptyUsage } from "../../../src/types/run/usage.ts";
import { message } from "../../kit/inbound.ts";
import { recordLog } from "../../kit/log.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});
const newPath = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "oc-ledger-"));
  dirs.push(dir);
  return join(dir, "journal.sqlite");
};

const AT = Date.UTC(2026, 10, 27, 12);
const PRICE = { input: 0.001, output: 0.002 };
const TODAY = { scope: "all", name: "", since: "2026-11-27", until: "2026-11-27" } as const;

interface Wish {
  readonly session: number;
  readonly input: number;
  readonly output: number;
}

const planned = ({ session, input, output }: Wish, id: string, isPriced = true): PlannedCall => ({
  cause: "message",
  agentId: agentId(session % 2 === 0 ? "main" : "other"),
  sessionKey: sessionKey(`telegram:default:${session}`),
  runId: runId(id),
  model: { provider: "fake", id: "fake-1" },
  profileId: "fake:default",
  estimatedInputTokens: input,
  maxOutputTokens: output,
  highestCost: 0,
  most: {
    inputTokens: input,
    outputTokens: output,
    leastOutputTokens: Math.min(output, 5),
    ...(isPriced && { price: PRICE }),
  },
});

const CONFIG = budgetsConfig.parse({
  timezone: "UTC",
  call: { tokens: 90 },
  run: { tokens: 150 },
  session: { money: 0.4 },
  agents: { other: { tokens: 260 } },
  day: { money: 0.9, tokens: 900 },
  month: { money: 5 },
});

const open = (path: string, boot: number, config = CONFIG) =>
  openJournal({ path, bootId: `boot-${boot}` }).then((journal) => ({
    journal,
    budgets: openBudgets({ ledger: journal.spend, clock: { now: () => AT }, log: recordLog(), config: () => config }),
  }));

type Opened = Awaited<ReturnType<typeof open>>;

const usageOf = (input: number, output: number) => {
  const cost = { ...emptyUsage().cost, input: input * PRICE.input, output: output * PRICE.output };
  return {
    ...emptyUsage(),
    input,
    output,
    totalTokens: input + output,
    cost: { ...cost, total: cost.input + cost.output },
  };
};

interface Open {
  readonly wish: Wish;
  readonly granted: number;
  readonly allowed: Extract<Reservation, { kind: "allowed" }>;
}

/** What happens: a call begins, one ends in some way, or the process is killed. */
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("call" as const),
      wish: fc.record({
        session: fc.integer({ min: 0, max: 3 }),
        input: fc.integer({ min: 0, max: 60 }),
        output: fc.integer({ min: 1, max: 80 }),
      }),
      run: fc.integer({ min: 0, max: 5 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("end" as const),
      which: fc.nat(20),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      how: fc.constantFrom("answered" as const, "failed" as const, "aborted" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("kill" as const) }) },
);

test("whatever the order of calls, ends, failures and kills: no limit is passed, and no hold is lost", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const path = newPath();
      let boot = 0;
      let now: Opened = await open(path, boot);
      let running: Open[] = [];
      /** What the provider counted, and what killed calls may have taken. */
      const seen = { tokens: 0, usd: 0, calls: 0 };
      const begin = async (wish: Wish, run: number) => {
        const answer = await now.budgets.meter.reserve(planned(wish, `run-${wish.session}-${run}`));
        if (answer.kind !== "allowed") return;
        const granted = answer.outputTokens ?? wish.output;
        expect(granted).toBeGreaterThanOrEqual(Math.min(5, wish.output));
        running.push({ wish, granted, allowed: answer });
      };
      const finish = ({ wish, granted, allowed }: Open, share: number, outcome: "answered" | "failed" | "aborted") => {
        const usage = outcome === "failed" ? emptyUsage() : usageOf(wish.input, Math.floor(granted * share));
        seen.tokens += usage.totalTokens;
        seen.usd += usage.cost.total;
        allowed.settle({ outcome, usage, isEstimate: outcome === "aborted" });
        // A second settlement, as of a retry, changes nothing.
        allowed.settle({ outcome, usage: usageOf(1000, 1000), isEstimate: false });
      };
      const kill = async () => {
        await now.budgets.meter.flushed();
        await now.journal.close();
        for (const { wish, granted } of running) {
          seen.tokens += wish.input + granted;
          seen.usd += wish.input * PRICE.input + granted * PRICE.output;
        }
        const lost = running.length;
        running = [];
        now = await open(path, (boot += 1));
        expect(await now.journal.spend.resolveAbandoned()).toBe(lost);
        expect(await now.journal.spend.resolveAbandoned()).toBe(0);
      };
      for (const one of steps) {
        if (one.kind === "call") await begin(one.wish, one.run);
        else if (one.kind === "kill") await kill();
        else {
          const [ended] = running.splice(one.which % Math.max(1, running.length), 1);
          if (ended) finish(ended, one.share, one.how);
        }
        await check(now, running, seen);
      }
      await now.journal.close();
    }),
    { numRuns: 60 },
  );
}, 120_000);

/** The ledger has what the provider counted and what is under way, and every limit holds. */
async function check({ journal, budgets }: Opened, running: readonly Open[], seen: { tokens: number; usd: number }) {
  await budgets.meter.flushed();
  const held = await journal.spend.held();
  expect(held.calls).toBe(running.length);
  expect(held.tokens).toBe(running.reduce((sum, { wish, granted }) => sum + wish.input + granted, 0));
  const { taken } = await journal.spend.balance(TODAY);
  expect(taken.tokens).toBe(seen.tokens + held.tokens);
  expect(taken.usd).toBeCloseTo(seen.usd + held.usd, 9);
  expect(taken.tokens).toBeLessThanOrEqual(900);
  expect(taken.usd).toBeLessThanOrEqual(0.9 + 1e-6);
  for (const session of [0, 1, 2, 3]) {
    const name = `telegram:default:${session}`;
    const { taken: ofSession } = await journal.spend.balance({ ...TODAY, scope: "session", name });
    expect(ofSession.usd).toBeLessThanOrEqual(0.4 + 1e-6);
    for (const run of [0, 1, 2, 3, 4, 5]) {
      const tree = await journal.spend.balance({ scope: "run", name: `run-${session}-${run}` });
      expect(tree.taken.tokens).toBeLessThanOrEqual(150);
    }
  }
  const { taken: ofAgent } = await journal.spend.balance({ ...TODAY, scope: "agent", name: "other" });
  expect(ofAgent.tokens).toBeLessThanOrEqual(260);
}

async function withBudgets(config: object, work: (opened: Opened) => Promise<void>): Promise<void> {
  const opened = await open(newPath(), 0, budgetsConfig.parse({ timezone: "UTC", ...config }));
  await work(opened);
  await opened.budgets.meter.flushed();
  await opened.journal.close();
}

const WISH: Wish = { session: 0, input: 10, output: 20 };

test("a limit in money does not allow a model without a price, and names both ways out", () =>
  withBudgets({ day: { money: 5 } }, async ({ budgets }) => {
    expect(await budgets.meter.reserve(planned(WISH, "r", false))).toEqual({
      kind: "refused",
      reason: expect.stringMatching(
        /^budgets\.day limits money, and the price of fake\/fake-1 is not known: .*models\.providers/,
      ),
    });
  }));

test("a limit in tokens counts a model without a price", () =>
  withBudgets({ day: { money: 5, tokens: 50 } }, async ({ budgets }) => {
    expect(await budgets.meter.reserve(planned(WISH, "r", false))).toMatchObject({ kind: "allowed" });
    // 20 tokens are left: the request takes 10, the answer may have 10.
    expect(await budgets.meter.reserve(planned(WISH, "s", false))).toMatchObject({ kind: "allowed", outputTokens: 10 });
    expect(await budgets.meter.reserve(planned(WISH, "t", false))).toMatchObject({ kind: "refused" });
  }));

test("a currency without its rate allows nothing that costs money", () =>
  withBudgets({ currency: "EUR", day: { money: 5 } }, async ({ budgets }) => {
    const reason = expect.stringContaining("budgets.usdPerUnit");
    expect(await budgets.meter.reserve(planned(WISH, "r"))).toEqual({ kind: "refused", reason });
  }));

test("a raise holds for its day and its limit alone", () =>
  withBudgets({ day: { tokens: 40 }, session: { tokens: 1000 } }, async ({ budgets, journal }) => {
    const origin = { cause: "message", sessionKey: sessionKey("telegram:default:0") } as const;
    const first = await budgets.meter.reserve(planned(WISH, "r"));
    expect(await budgets.meter.reserve(planned(WISH, "s"))).toMatchObject({ kind: "refused" });
    expect(budgets.refusedIn(runId("s"))).toMatchObject({ raise: "20 tokens for today" });
    await budgets.allow(runId("s"));
    expect(await budgets.meter.reserve(planned(WISH, "s"))).toMatchObject({ kind: "allowed" });
    expect(budgets.refusedIn(runId("s"))).toBeUndefined();
    expect(await budgets.raise(origin, { tokens: 100, key: "day" })).toMatchObject({
      tokens: { taken: 60, limit: 160 },
    });
    const tomorrow = { ...TODAY, since: "2026-11-28", until: "2026-11-28" };
    expect((await journal.spend.balance(tomorrow)).raised.tokens).toBe(0);
    if (first.kind === "allowed") first.settle({ outcome: "answered", usage: usageOf(10, 3), isEstimate: false });
  }));

test("without a limit a call is allowed before anything is written, and is counted all the same", () =>
  withBudgets({}, async ({ budgets, journal }) => {
    const answer = await budgets.meter.reserve(planned(WISH, "r"));
    if (answer.kind !== "allowed") throw new Error("refused");
    answer.settle({ outcome: "answered", usage: usageOf(10, 3), isEstimate: false });
    await budgets.meter.flushed();
    const lines = await journal.spend.lines({ scope: "model", since: "2026-11-01", until: "2026-11-30" });
    expect(lines).toMatchObject([{ day: "2026-11-27", name: "fake/fake-1", calls: 1, input: 10, output: 3 }]);
  }));

test("a subagent draws from the run and the conversation above it", async () => {
  const path = newPath();
  const { journal, budgets } = await open(path, 0, budgetsConfig.parse({ timezone: "UTC", run: { tokens: 100 } }));
  const parent = sessionKey("telegram:default:0");
  const child = sessionKey("agent:main:subagent:a");
  await budgets.meter.reserve(planned({ ...WISH, session: 0 }, "top"));
  const [accepted] = await journal.inbox.accept([subagentMessage(parent, child)]);
  await journal.inbox.claim([accepted?.row.id ?? 0], { sessionKey: child, runId: runId("below"), turnId: "t" });
  const below = { ...planned({ ...WISH, output: 200 }, "below"), sessionKey: child };
  expect(await budgets.meter.reserve(below)).toMatchObject({ kind: "allowed", outputTokens: 60 });
  const tree = await journal.spend.balance({ scope: "run", name: "top" });
  const ofSession = await journal.spend.balance({ ...TODAY, scope: "session", name: parent });
  expect([tree.taken.tokens, ofSession.taken.tokens]).toEqual([100, 100]);
  await journal.close();
});

function subagentMessage(parent: string, child: string): Parameters<OpenJournal["inbox"]["accept"]>[0][number] {
  const key = sessionKey(child);
  return {
    ...message(),
    id: "below",
    eventKey: "below",
    options: {
      operator: true,
      sessionKey: key,
      kind: "subagent",
      subagent: { depth: 1, parent: sessionKey(parent) },
    },
  };
}

/** The kind of the turn, its session, and what is taken of that session's budget. */
const BROUGHT: readonly (readonly [kind: string, session: string, taken: number])[] = [
  ["announce", "telegram:default:0", 100],
  ["exec", "telegram:default:0", 100],
  ["relay", "telegram:default:1", 70],
];

test.each(BROUGHT)(
  "a turn that a run brings about (%s) draws from the budgets of that run",
  async (kind, session, ofSession) => {
    const limits = { timezone: "UTC", run: { tokens: 100 }, sender: { tokens: 1000 } };
    const { journal, budgets } = await open(newPath(), 0, budgetsConfig.parse(limits));
    const guest = { ...message({ sender: { id: "guest" } }), id: "top", eventKey: "top" };
    await claimed(journal, guest, "telegram:default:0", "top");
    await budgets.meter.reserve(planned({ ...WISH, session: 0 }, "top"));
    const options = { operator: true, sessionKey: sessionKey(session), kind, broughtBy: runId("top") };
    await claimed(journal, { ...message(), id: "next", eventKey: "next", options }, session, "next");
    const next = { ...planned({ ...WISH, output: 200 }, "next"), sessionKey: sessionKey(session) };
    expect(await budgets.meter.reserve(next)).toMatchObject({ kind: "allowed", outputTokens: 60 });
    const taken = async (place: object) => (await journal.spend.balance({ ...TODAY, ...place })).taken.tokens;
    expect(await taken({ scope: "sender", name: "telegram:guest" })).toBe(100);
    expect(await taken({ scope: "session", name: session })).toBe(ofSession);
    await journal.close();
  },
);

async function claimed(journal: OpenJournal, said: Accepted, session: string, run: string): Promise<void> {
  const [accepted] = await journal.inbox.accept([said]);
  const claim = { sessionKey: sessionKey(session), runId: runId(run), turnId: run };
  await journal.inbox.claim([accepted?.row.id ?? 0], claim);
}

type Accepted = Parameters<OpenJournal["inbox"]["accept"]>[0][number];

test("a request counts as many times its estimate as the provider counted for the last one of its conversation", async () => {
  const config = budgetsConfig.parse({ timezone: "UTC", day: { tokens: 1000 } });
  const { journal, budgets } = await open(newPath(), 0, config);
  const call = (session: number, id: string) => budgets.meter.reserve(planned({ session, input: 100, output: 10 }, id));
  const first = await call(1, "r1");
  if (first.kind === "allowed") first.settle({ outcome: "answered", usage: usageOf(400, 10), isEstimate: false });
  await budgets.meter.flushed();
  expect((await call(1, "r2")).kind).toBe("allowed");
  expect(await journal.spend.held()).toMatchObject({ tokens: 430 });
  // 410 are spent and 430 held: 110 more fit for another conversation, and no 430 for this one.
  expect((await call(1, "r3")).kind).toBe("refused");
  expect((await call(2, "r4")).kind).toBe("allowed");
  await journal.close();
});

test("whatever a provider counts, its next requests count at most eight times their estimate", async () => {
  const { journal, budgets } = await open(
    newPath(),
    0,
    budgetsConfig.parse({ timezone: "UTC", call: { tokens: 5000 } }),
  );
  const wish = planned({ session: 1, input: 100, output: 10 }, "r1");
  const first = await budgets.meter.reserve(wish);
  if (first.kind === "allowed") first.settle({ outcome: "answered", usage: usageOf(1e9, 10), isEstimate: false });
  expect((await budgets.meter.reserve(wish)).kind).toBe("allowed");
  await budgets.meter.flushed();
  expect(await journal.spend.held()).toMatchObject({ tokens: 850 });
  await journal.close();
});

test("while the disk is full a call waits for its hold, and its settlement is written once there is space", async () => {
  const { journal } = await open(newPath(), 0);
  let isFull = false;
  const onDisk = <T>(write: () => Promise<T>): Promise<T> =>
    isFull ? Promise.reject(diskFull("/state", new Error("ENOSPC"))) : write();
  const ledger: SpendLedger = {
    ...journal.spend,
    hold: (request, decide) => onDisk(() => journal.spend.hold(request, decide)),
    settle: (id, call) => onDisk(() => journal.spend.settle(id, call)),
  };
  const log = recordLog();
  const config = budgetsConfig.parse({ timezone: "UTC", day: { tokens: 1000 } });
  const { meter } = openBudgets({ ledger, clock: { now: () => AT }, log, config: () => config });
  const first = await meter.reserve(planned({ session: 1, input: 10, output: 10 }, "r1"));
  isFull = true;
  if (first.kind === "allowed") first.settle({ outcome: "answered", usage: usageOf(10, 5), isEstimate: false });
  const second = meter.reserve(planned({ session: 1, input: 10, output: 10 }, "r2"));
  await expect.poll(() => JSON.stringify(log).match(/cost of a call waits for the disk/g)?.length).toBe(2);
  expect(await journal.spend.held()).toMatchObject({ calls: 1 });
  isFull = false;
  expect((await second).kind).toBe("allowed");
  await expect.poll(async () => (await journal.spend.lines(TODAY))[0]).toMatchObject({ input: 10, output: 5 });
  expect(await journal.spend.held()).toMatchObject({ calls: 1, tokens: 20 });
  await meter.flushed();
  await journal.close();
});
