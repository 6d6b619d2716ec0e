import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Credentials } from "../../../src/providers/auth/credentials.ts";
import { createModels, type Models } from "../../../src/providers/catalog.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import type { ModelRef } from "../../../src/types/run/model.ts";
import type { Receipt, RunResult } from "../../../src/types/run/run.ts";
import { Secret } from "../../../src/types/secret.ts";
import type { ModelReply } from "../../fakes/model.ts";
import { eventsOf, openRunFixture, userTurn, type RunFixture } from "../../kit/run.ts";

const MINUTE = 60_000;
const FIRST: ModelRef = { provider: "own", id: "m1" };
const SISTER: ModelRef = { provider: "own", id: "m2" };
const SPARE: ModelRef = { provider: "spare", id: "s1" };
const BOTH = [FIRST, SPARE];

const REFUSED: ModelReply = { status: 401, message: "Incorrect API key provided" };
const POOR: ModelReply = { status: 402, message: "Insufficient credits" };
const HASTY: ModelReply = { status: 429, message: "Rate limit reached" };
const BUSY: ModelReply = { status: 529, message: "Overloaded" };
const ABSENT: ModelReply = { status: 404, message: "The model `m1` does not exist" };
const FINE: ModelReply = { text: "fine" };

/** Time passes when told; short pauses take none. */
function movingClock() {
  let time = Date.UTC(2026, 0, 1);
  return {
    now: () => time,
    after(ms: number, call: () => void) {
      if (ms > MINUTE) return () => undefined;
      const timer = setImmediate(call);
      return () => clearImmediate(timer);
    },
    pass: (ms: number) => void (time += ms),
  };
}

let fixture: RunFixture;
let clock: ReturnType<typeof movingClock>;
let models: Models;
/** `profile at model`, in the order in which they were asked. */
let asked: string[];
let runs: number;

beforeEach(async () => {
  fixture = await openRunFixture();
  clock = movingClock();
  asked = [];
  runs = 0;
  const credentials = new Credentials(join(fixture.dir, "credentials"));
  for (const provider of ["own", "spare"])
    for (const name of ["a", "b"])
      await credentials.put(`${provider}:${name}`, {
        type: "api_key",
        provider,
        key: new Secret(`sk-${provider}-${name}-0123456789`),
      });
  const provider = (...ids: string[]) => ({
    baseUrl: fixture.model.url,
    api: "openai-completions",
    models: ids.map((id) => ({ id, contextWindow: 100_000, maxTokens: 4096 })),
  });
  const plain = createModels({
    providers: { own: provider("m1", "m2"), spare: provider("s1") },
    env: {},
    probeLocal: false,
    credentials,
    clock,
  });
  models = {
    ...plain,
    find: async (ref, profileId) => {
      const found = await plain.find(ref, profileId);
      if ("missing" in found) return found;
      return {
        ...found,
        openStream: (...call) => {
          asked.push(`${found.profile.id} at ${found.info.id}`);
          return found.openStream(...call);
        },
      };
    },
  };
});
afterEach(() => fixture.close());

/** Decides by who is asked; everybody else is fine. */
const answers = (rules: Readonly<Record<string, ModelReply>>) =>
  fixture.model.answer((call) => rules[asked.at(-1) ?? ""] ?? rules[call.model] ?? FINE);

interface Told {
  readonly result: RunResult;
  readonly receipt: Receipt;
  /** Lines about changes of model. */
  readonly changes: readonly string[];
}

async function ask(
  candidates: readonly ModelRef[],
  more: Partial<Parameters<RunFixture["start"]>[0]> = {},
): Promise<Told> {
  runs += 1;
  const events = await eventsOf(
    fixture.start({
      models,
      clock,
      candidates,
      turn: userTurn(`ask ${runs}`, `turn-${runs}`),
      ...more,
    }).stream,
  );
  const end = events.at(-1);
  if (end?.type !== "run_end") throw new Error("the run has no end");
  const changes = events.flatMap((event) => (event.type === "model_change" ? [event.text] : []));
  return { result: end.result, receipt: end.receipt, changes };
}

const triesOf = ({ receipt }: Told) =>
  (receipt.tries ?? []).map(({ profile, outcome, remedy }) => [profile, outcome, ...(remedy ? [remedy] : [])]);
const skippedBy = ({ receipt }: Told) => (receipt.skipped ?? []).map(({ profile, why }) => `${profile} ${why}`);

describe("two keys of one provider", () => {
  it.each([
    ["auth", REFUSED],
    ["billing", POOR],
    ["rate_limit", HASTY],
  ] as const)("replace each other after %s, without a notice", async (kind, reply) => {
    answers({ "own:a at m1": reply });
    const first = await ask([FIRST]);
    expect(first.result.kind).toBe("replied");
    expect(first.changes).toEqual([]);
    expect(triesOf(first)).toEqual([
      ["own:a", kind, "rotate_profile"],
      ["own:b", "replied"],
    ]);
    expect(first.receipt).toMatchObject({ profile: "own:b", candidates: [FIRST], skipped: [] });

    const second = await ask([FIRST]);
    expect(triesOf(second)).toEqual([["own:b", "replied"]]);
    expect(skippedBy(second)).toEqual([expect.stringMatching(new RegExp(`^own:a cooldown until .* after ${kind}$`))]);
  });

  it("cool down at one model only", async () => {
    answers({ "own:a at m1": REFUSED });
    await ask([FIRST]);
    asked = [];
    const sister = await ask([SISTER]);
    expect(asked).toEqual(["own:a at m2"]);
    expect(skippedBy(sister)).toEqual([]);
  });

  it("cool down for each reason as long as that reason needs", async () => {
    answers({ "own:a at m1": HASTY });
    await ask([FIRST]);
    answers({ "own:a at m1": POOR });
    clock.pass(2 * MINUTE);
    // Its rest is over: this run finds out, and the key is out of credit.
    expect(triesOf(await ask([FIRST], { keys: { last: "own:b" } }))).toEqual([["own:b", "replied"]]);
    expect(triesOf(await ask([FIRST], { keys: { pinned: "own:a" } }))).toEqual([["own:a", "billing"]]);
    answers({});
    clock.pass(60 * MINUTE);
    const later = await ask([FIRST]);
    expect(triesOf(later)).toEqual([["own:b", "replied"]]);
    expect(skippedBy(later)).toEqual([expect.stringContaining("after billing")]);
  });

  it("serve a session that they served before", async () => {
    answers({});
    expect(triesOf(await ask([FIRST], { keys: { last: "own:b" } }))).toEqual([["own:b", "replied"]]);
    expect(triesOf(await ask([FIRST], { keys: { last: "own:b" } }))).toEqual([["own:b", "replied"]]);
    answers({ "own:b at m1": REFUSED });
    expect(triesOf(await ask([FIRST], { keys: { last: "own:b" } }))).toEqual([
      ["own:b", "auth", "rotate_profile"],
      ["own:a", "replied"],
    ]);
  });

  it("do not replace one that its user pinned", async () => {
    answers({ "own:a at m1": REFUSED });
    const told = await ask([FIRST], { keys: { pinned: "own:a" } });
    expect(told.result).toMatchObject({ kind: "failed", failure: { kind: "auth" } });
    expect(asked).toEqual(["own:a at m1"]);
  });

  it("leave the other provider's keys alone when one is pinned", async () => {
    answers({ "own:a at m1": REFUSED });
    const told = await ask(BOTH, { keys: { pinned: "own:a" } });
    expect(told.result.kind).toBe("replied");
    expect(asked).toEqual(["own:a at m1", "spare:a at s1"]);
  });
});

describe("when every key cools down", () => {
  it("the one whose cooldown ends first is asked once", async () => {
    answers({ "own:a at m1": POOR, "own:b at m1": REFUSED });
    expect((await ask([FIRST])).result).toMatchObject({ failure: { kind: "auth" } });
    asked = [];
    const told = await ask([FIRST]);
    expect(asked).toEqual(["own:b at m1"]);
    expect(told.result).toMatchObject({ kind: "failed", failure: { kind: "auth" } });
    expect(skippedBy(told)).toHaveLength(2);
    answers({});
    expect((await ask([FIRST])).result.kind).toBe("replied");
  });

  it("of all models, one model is asked", async () => {
    answers({ m1: POOR, s1: REFUSED });
    await ask(BOTH);
    asked = [];
    const told = await ask(BOTH);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/at s1$/);
    expect(told.result).toMatchObject({ kind: "failed", failure: { kind: "auth" } });
  });
});

describe("a model that failed", () => {
  const keys = { pinned: "own:a" };

  it("is used again after its cooldown, with one notice", async () => {
    answers({ m1: BUSY });
    const first = await ask(BOTH, { keys });
    expect(first.changes).toEqual(["↪️ Answered by spare/s1 in place of own/m1: it is overloaded."]);
    expect(triesOf(first)).toEqual([
      ["own:a", "overloaded", "wait"],
      ["own:a", "overloaded", "wait"],
      ["own:a", "overloaded", "fallback_model"],
      ["spare:a", "replied"],
    ]);

    answers({});
    asked = [];
    const second = await ask(BOTH, { keys });
    expect(asked.map((one) => one.split(" at ")[1])).toEqual(["s1"]);
    expect(second.changes).toEqual([]);
    expect(skippedBy(second)).toEqual([expect.stringMatching(/^own:a cooldown until .* after overloaded$/)]);

    clock.pass(30 * MINUTE);
    const third = await ask(BOTH, { keys });
    expect(triesOf(third)).toEqual([["own:a", "replied"]]);
    expect(third.changes).toEqual(["↩️ Answered by own/m1 again."]);
    expect((await ask(BOTH, { keys })).changes).toEqual([]);
  });

  it("is named with its own failure, not with that of the next model", async () => {
    let spares = 0;
    fixture.model.answer((call) => {
      if (call.model === "m1") return POOR;
      spares += 1;
      return spares === 1 ? { status: 500, message: "Internal server error" } : FINE;
    });
    const told = await ask(BOTH, { keys });
    expect(told.changes).toEqual(["↪️ Answered by spare/s1 in place of own/m1: its account is out of credit."]);
  });

  it("is probed by one run alone when its cooldown is over", async () => {
    answers({ m1: BUSY });
    await ask(BOTH, { keys });
    clock.pass(30 * MINUTE);
    const answered = Promise.withResolvers<ModelReply>();
    fixture.model.answer((call) => (call.model === "m1" ? answered.promise : FINE));
    asked = [];
    const before = fixture.model.calls.length;
    const sessions = await Promise.all(
      Array.from({ length: 10 }, (_, at) => fixture.sessions.acquire(sessionKey(`telegram:default:10${at}`))),
    );
    const running = sessions.map((conversation) => ask(BOTH, { keys, conversation }));
    await fixture.model.called(before + 10);
    answered.resolve(FINE);
    const told = await Promise.all(running);
    for (const session of sessions) session.release();
    expect(told.map(({ result }) => result.kind)).toEqual(Array.from({ length: 10 }, () => "replied"));
    expect(asked.filter((one) => one.endsWith("at m1"))).toHaveLength(1);
    expect(asked).toHaveLength(10);
    asked = [];
    await ask(BOTH, { keys });
    expect(asked).toEqual(["own:a at m1"]);
  });

  it("cools down again and longer when the probe fails", async () => {
    answers({ m1: BUSY });
    await ask(BOTH, { keys });
    clock.pass(1.5 * MINUTE);
    expect(triesOf(await ask(BOTH, { keys }))[0]).toEqual(["own:a", "overloaded", "wait"]);
    asked = [];
    clock.pass(1.5 * MINUTE);
    await ask(BOTH, { keys });
    expect(asked.map((one) => one.split(" at ")[1])).toEqual(["s1"]);
  });

  it("does not cool down when it is missing: the next run asks again", async () => {
    answers({ m1: ABSENT });
    for (const _ of ["once", "twice"]) {
      const told = await ask(BOTH);
      expect(triesOf(told)[0]).toEqual([expect.any(String), "model_missing", "fallback_model"]);
      expect(skippedBy(told)).toEqual([]);
    }
  });
});
