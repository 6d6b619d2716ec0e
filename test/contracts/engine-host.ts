import { describe, expect, it } from "vitest";
import type { ContextEngine } from "../../src/types/engine/context-engine.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import type { EngineCompacted } from "../../src/types/engine/engine-turn.ts";
import { frozen } from "../history/transcripts.ts";
import {
  answer,
  ask,
  compaction,
  ending,
  never,
  result,
  type EngineFixture,
  engineFixture,
  textOf,
  TIMEOUTS,
  turns,
  user,
} from "../kit/engine.ts";

const hang = () => new Promise<never>(() => undefined);

/** What a method may do instead of its work. */
const MANNERS: Record<string, { readonly fails: boolean; act(): unknown }> = {
  "throws at once": {
    fails: true,
    act() {
      throw new Error("disk on fire");
    },
  },
  rejects: { fails: true, act: () => Promise.reject(new Error("disk on fire")) },
  "throws what cannot be printed": {
    fails: true,
    act() {
      // oxlint-disable-next-line typescript/only-throw-error
      throw Object.create(null);
    },
  },
  hangs: { fails: true, act: hang },
  "answers what cannot be read": {
    fails: true,
    act: () =>
      new Proxy(
        {},
        {
          get() {
            throw new Error("no");
          },
        },
      ),
  },
  "answers nothing": { fails: false, act: () => undefined },
  "answers a word": { fails: false, act: () => "yes" },
  "answers of everything too much": {
    fails: false,
    act: () => ({
      ok: true,
      compacted: true,
      result: { tokensBefore: 10, tokensAfter: 10 },
      messages: turns(200, "long ".repeat(900)),
      estimatedTokens: 1,
      bootstrapped: 7,
      changed: "often",
    }),
  },
};

const METHODS = [
  "bootstrap",
  "maintain",
  "assemble",
  "afterTurn",
  "ingest",
  "ingestBatch",
  "commitTurn",
  "compact",
  "dispose",
] as const;
type Method = (typeof METHODS)[number];

/** The name under which the log tells of it: all that tells a turn is told as one. */
const TOLD_AS: Partial<Record<Method, string>> = {
  ingest: "afterTurn",
  ingestBatch: "afterTurn",
  commitTurn: "afterTurn",
};

const SEMANTICS = {
  currentTurnFence: "before-current-turn-entry-v1",
  turnAdvancementIdempotency: "atomic-idempotent-v1",
} as const;

/** Well-behaved but for one method. */
function engineWith(method: Method, act: () => unknown, { owns, letGo }: { owns: boolean; letGo(): void }) {
  const engine: ContextEngine = {
    info: {
      id: "hostile",
      name: "Hostile",
      ownsCompaction: owns,
      ...(method === "commitTurn" && { transcriptSemantics: SEMANTICS }),
    },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: 1 }),
    compact: async () => ({ ok: true, compacted: false, reason: "small" }),
    dispose: async () => letGo(),
  };
  const hostile = { ...engine, [method]: act };
  return method === "ingest" || method === "ingestBatch" ? hostile : { afterTurn: async () => undefined, ...hostile };
}

const history = turns(2);
const asked = user("look at it");
const loop = [answer("looking", "c1"), result("c1", "found")];

/** One turn with all that may happen in it; how long it was waited for. */
async function live(on: EngineFixture) {
  let waited = 0;
  const wait = async <T>(work: Promise<T>): Promise<T> => {
    waited += await on.clock.until(work);
    return work;
  };
  const before = frozen([...history, asked]);
  const later = frozen([...before, ...loop]);
  const turn = await on.open();
  await wait(turn.begin(never));
  const shown = await wait(turn.assemble(ask(before, history.length)));
  const again = await wait(turn.reassemble(ask(later, history.length)));
  const compacted = await wait(turn.compact(compaction("overflow")));
  await wait(turn.end(ending([...later, answer("there")], history.length)));
  await wait(on.background.idle());
  return { turn, shown, again, compacted, waited };
}

function expectTurnShown(messages: readonly ChatMessage[] | undefined): void {
  if (!messages) return;
  expect(messages.filter((message) => textOf(message) === "look at it")).toHaveLength(1);
}

function expectSmaller(done: EngineCompacted): void {
  if (done.kind === "nothing") expect(done.reason).toMatch(/\S/);
  else expect(done.tokensAfter ?? 0).toBeLessThan(done.tokensBefore ?? Infinity);
}

/** What the host owes its users whatever an engine does: a context engine that keeps no contract takes nothing down. */
export function hostileEngineContract(): void {
  describe.each([true, false])("a hostile context engine that owns compaction: %s", (owns) => {
    const cases = METHODS.flatMap((method) => Object.keys(MANNERS).map((manner) => ({ method, manner })));

    it.each(cases)("whose $method $manner costs its turn no answer, and its time is limited", async (one) => {
      const manner = MANNERS[one.manner];
      if (!manner) throw new Error(one.manner);
      let letGo = 0;
      const on = engineFixture(engineWith(one.method, manner.act, { owns, letGo: () => (letGo += 1) }));
      const { turn, shown, again, compacted, waited } = await live(on);
      expectTurnShown(shown?.messages);
      expectTurnShown(again?.messages);
      expectSmaller(compacted);
      if (owns) expect(on.builtIn).toEqual([]);
      expect(waited).toBeLessThanOrEqual(longestFor(one.method));
      expect(on.clock.waiting).toBe(0);
      expect(letGo).toBe(one.method === "dispose" ? 0 : 1);
      expectToldOf(on, { ...one, fails: manner.fails });
      // What stands in front of the model call is told in the receipt, too; what follows the answer is not.
      const isFront = on.log.lines.some(({ code }) => code === "ENGINE_DEGRADED");
      expect(turn.degraded === undefined).toBe(!isFront);
      expect((await on.open()).degraded).toBeUndefined();
    });

    it.each(["bootstrap", "assemble", "afterTurn", "compact"] as const)(
      "whose %s hangs holds up no abort",
      async (method) => {
        const on = engineFixture(engineWith(method, hang, { owns, letGo: () => undefined }));
        const stop = new AbortController();
        const turn = await on.open();
        const messages = [...history, asked];
        const more = { signal: stop.signal };
        const calls = {
          bootstrap: () => turn.begin(stop.signal),
          assemble: () => turn.assemble(ask(messages, history.length, more)),
          afterTurn: () => turn.reassemble(ask([...messages, ...loop], history.length, more)),
          compact: () => turn.compact({ ...compaction("overflow"), ...more }),
        };
        const call = calls[method]();
        stop.abort();
        expect(await on.clock.until(call)).toBe(0);
        expect(turn.degraded).toBeUndefined();
      },
    );
  });

  describe("a hostile context engine", () => {
    it.each(Object.keys(MANNERS))("whose factory %s cannot be used, and that is said in time", async (name) => {
      const on = engineFixture(engineWith("compact", hang, { owns: true, letGo: () => undefined }));
      const act = MANNERS[name]?.act;
      const opened = on.open({
        engines: { get: () => Promise.resolve(() => act?.() as ContextEngine), whyMissing: () => undefined },
      });
      const failure = opened.catch((error: unknown) => error);
      expect(await on.clock.until(failure)).toBeLessThanOrEqual(TIMEOUTS.bootstrap);
      expect(await failure).toMatchObject({ code: "ENGINE_UNUSABLE" });
      expect(on.clock.waiting).toBe(0);
    });

    it("that never shrinks is skipped once it does not heed the budget, and its compactions end", async () => {
      const words = "word ".repeat(1000);
      const crowd = Array.from({ length: 50 }, () => ({ role: "user", content: words, timestamp: 0 }));
      const engine = engineWith("assemble", () => ({ messages: crowd, estimatedTokens: 1 }), {
        owns: true,
        letGo: () => undefined,
      });
      const done = { ok: true, compacted: true, result: { tokensBefore: 62_500, tokensAfter: 62_500 } };
      const turn = await engineFixture({ ...engine, compact: async () => done }).open();
      expect((await turn.assemble(ask([asked], 0, { tokenBudget: 60_000 })))?.estimatedTokens).toBeGreaterThan(62_000);
      expect(await turn.compact(compaction("overflow"))).toMatchObject({ kind: "nothing" });
      expect(await turn.assemble(ask([asked], 0, { tokenBudget: 30_000 }))).toBeUndefined();
      expect(turn.degraded).toContain("30000 tokens");
    });

    it.each<[string, unknown]>([
      ["has a role of its own", { messages: [{ role: "critic", content: "x" }], estimatedTokens: 1 }],
      ["is no list", { messages: "all", estimatedTokens: 1 }],
      ["has an estimate that is none", { messages: history, estimatedTokens: NaN }],
      ["leaves everything out", { messages: [], estimatedTokens: 0 }],
      ["is nothing", undefined],
      ["does not heed the budget", { messages: turns(200, "long ".repeat(900)), estimatedTokens: 1 }],
      [
        "cannot be read",
        {
          estimatedTokens: 1,
          get messages(): never {
            throw new Error("no");
          },
        },
      ],
    ])("whose answer %s is skipped in this turn alone, and that is logged once", async (_, said) => {
      const on = engineFixture(engineWith("assemble", async () => said, { owns: false, letGo: () => undefined }));
      const turn = await on.open();
      await turn.begin(never);
      for (let call = 0; call < 2; call += 1)
        expect(await turn.assemble(ask([...history, asked], history.length))).toBeUndefined();
      expect(turn.degraded).toMatch(/hostile.*assemble/);
      expect(on.log.lines).toMatchObject([{ code: "ENGINE_DEGRADED", engine: "hostile", method: "assemble" }]);
      await turn.end(ending([...history, asked], history.length));
      expect((await on.open()).degraded).toBeUndefined();
    });
  });
}

/** Milliseconds; maintenance is asked for in front of a turn, and behind it in the background. */
function longestFor(method: Method): number {
  if (method === "maintain") return TIMEOUTS.bootstrap + TIMEOUTS.maintain;
  return method === "ingest" || method === "ingestBatch" || method === "commitTurn"
    ? TIMEOUTS.afterTurn
    : TIMEOUTS[method];
}

function expectToldOf(on: EngineFixture, { method, fails }: { method: Method; fails: boolean }): void {
  const name = TOLD_AS[method] ?? method;
  for (const line of on.log.lines) {
    expect(line).toMatchObject({ engine: "hostile", why: expect.stringMatching(/\S/) });
    expect(["ENGINE_DEGRADED", "ENGINE_FAILED"]).toContain(line["code"]);
  }
  if (fails) expect(on.log.lines.map((line) => line["method"])).toContain(name);
}
