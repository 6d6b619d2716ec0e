import { expect, it } from "vitest";
import { Approvals, type ApprovalPrompter } from "../../../src/dispatch/approvals/approvals.ts";
import type { Approval, ApprovalDecision } from "../../../src/types/run/tool.ts";
import { runFacts } from "../../kit/run-facts.ts";
import { recordLog } from "../../kit/log.ts";
import { manualClock } from "../../kit/clock.ts";

const MINUTE = 60_000;
const QUESTION = { command: "rm -rf build", cwd: "/work", reason: "not allowed", files: [] };
const FACTS = runFacts("r1");

/** What outlives a start. */
function memory() {
  const kept = new Map<string, string>();
  return {
    get: async (key: string) => kept.get(key),
    set: async (key: string, value: string) => void kept.set(key, value),
  };
}

function openDesk(whyUnasked?: ApprovalPrompter["whyUnasked"], values = memory()) {
  const clock = manualClock();
  const asked: Approval[] = [];
  const answered: ApprovalDecision[] = [];
  const allowed: unknown[] = [];
  const rules = { remember: async (...rule: unknown[]) => void allowed.push(rule) };
  const approvals = new Approvals(rules, values, clock, recordLog());
  const desk = approvals.deskFor(
    { facts: FACTS, principal: { kind: "owner", id: "telegram:1" } },
    {
      asked: (approval) => void asked.push(approval),
      answered: (_approval, decision) => void answered.push(decision),
      ...(whyUnasked && { whyUnasked }),
    },
  );
  const stopped = new AbortController();
  return {
    approvals,
    clock,
    asked,
    answered,
    allowed,
    stopped,
    ask: (more = {}) => desk.ask({ ...QUESTION, ...more }, stopped.signal),
  };
}

it("nobody's answer within five minutes is a denial, and one that comes later is for nothing", async () => {
  const { approvals, clock, asked, answered, ask } = openDesk();
  const decision = ask();
  const [{ id, createdAt, expiresAt }] = approvals.list() as [Approval];
  expect(expiresAt - createdAt).toBe(5 * MINUTE);
  clock.pass(5 * MINUTE - 1);
  expect(approvals.list()).toHaveLength(1);
  clock.pass(1);
  expect(await decision).toBe("timeout");
  expect(approvals.list()).toEqual([]);
  expect(approvals.resolve(id, "allow-once")).toBeUndefined();
  expect([await approvals.endOf(id.toUpperCase()), await approvals.endOf("nobody")]).toEqual([
    { how: "timeout" },
    undefined,
  ]);
  expect([asked.length, answered]).toEqual([1, ["timeout"]]);
});

it("a question may wait for less time, but for no more", async () => {
  const { approvals, clock, ask } = openDesk();
  const short = ask({ timeoutMs: 1000 });
  const long = ask({ timeoutMs: 60 * MINUTE });
  expect(approvals.list().map(({ createdAt, expiresAt }) => expiresAt - createdAt)).toEqual([1000, 5 * MINUTE]);
  clock.pass(1000);
  expect(await short).toBe("timeout");
  clock.pass(5 * MINUTE);
  expect(await long).toBe("timeout");
});

it("an answer in time is accepted in upper and lower case, and its timer ends", async () => {
  const { approvals, clock, ask } = openDesk();
  const decision = ask();
  expect(approvals.resolve(approvals.list()[0]!.id.toUpperCase(), "allow-once")).toBe("allow-once");
  expect(await decision).toBe("allow-once");
  expect(clock.waits).toEqual([]);
});

it("what cannot be allowed for good is allowed once, and no rule is written", async () => {
  const { approvals, allowed, ask } = openDesk();
  const decision = ask();
  expect(approvals.resolve(approvals.list()[0]!.id, "allow-always")).toBe("allow-once");
  expect(await decision).toBe("allow-once");
  expect(allowed).toEqual([]);
});

it("the end of its run ends a question", async () => {
  const { approvals, clock, stopped, ask } = openDesk();
  const decision = ask();
  stopped.abort();
  expect(await decision).toBe("abort");
  expect([approvals.list(), clock.waits]).toEqual([[], []]);
});

it("closing denies what waits, and what is asked afterwards without asking anybody", async () => {
  const { approvals, clock, asked, ask } = openDesk();
  const waits = ask();
  approvals.close();
  expect(await waits).toBe("deny");
  expect(await ask()).toBe("deny");
  expect([asked.length, approvals.list(), clock.waits]).toEqual([1, [], []]);
});

it("closing while the length of a question is being measured denies it too", async () => {
  const measured = Promise.withResolvers<undefined>();
  const { approvals, asked, ask } = openDesk(() => measured.promise);
  const decision = ask();
  approvals.close();
  measured.resolve(undefined);
  expect([await decision, asked]).toEqual(["deny", []]);
});

it("the next start knows who answered a question, and that it denied those that were open", async () => {
  const values = memory();
  const first = openDesk(undefined, values);
  const answered = first.ask();
  const [{ id: decided }] = first.approvals.list() as [Approval];
  first.approvals.resolve(decided, "deny", "telegram:42");
  await answered;
  void first.ask();
  const [{ id: open }] = first.approvals.list() as [Approval];
  await expect.poll(() => values.get("approvals.questions")).toContain(open);
  expect(await first.approvals.endOf(open)).toBeUndefined();
  const next = openDesk(undefined, values);
  expect(await next.approvals.endOf(decided)).toEqual({ how: "deny", by: "telegram:42" });
  expect(await next.approvals.endOf(open)).toEqual({ how: "restart" });
  expect(await next.approvals.endOf("aaaaaa")).toBeUndefined();
  expect(next.approvals.resolve(open, "allow-once")).toBeUndefined();
});

it("an orderly stop denies what waits because of the restart", async () => {
  const values = memory();
  const { approvals, ask } = openDesk(undefined, values);
  const decision = ask();
  const [{ id }] = approvals.list() as [Approval];
  approvals.close();
  expect(await decision).toBe("deny");
  expect(await openDesk(undefined, values).approvals.endOf(id)).toEqual({ how: "restart" });
});

it("questions are asked and answered though their ends can be neither read nor kept", async () => {
  const fail = async () => Promise.reject(new Error("disk full"));
  const { approvals, ask } = openDesk(undefined, { get: fail, set: fail });
  const decision = ask();
  const [{ id }] = approvals.list() as [Approval];
  approvals.resolve(id, "allow-once");
  expect(await decision).toBe("allow-once");
  expect(await approvals.endOf(id)).toEqual({ how: "allow-once", by: "operator" });
});

it("the second of two answers at the same moment learns of the first one", async () => {
  const { approvals, ask } = openDesk();
  const decision = ask();
  const [{ id }] = approvals.list() as [Approval];
  expect([approvals.resolve(id, "deny", "telegram:42"), approvals.resolve(id, "allow-once")]).toEqual([
    "deny",
    undefined,
  ]);
  expect(await approvals.endOf(id)).toEqual({ how: "deny", by: "telegram:42" });
  expect(await decision).toBe("deny");
});

it("the ends of the last 200 questions are kept, whichever start they are from", async () => {
  const values = memory();
  for (let start = 0; start < 3; start += 1) {
    const { approvals, ask } = openDesk(undefined, values);
    for (let count = 0; count < 90; count += 1) {
      const decision = ask();
      approvals.resolve(approvals.list()[0]!.id, "deny");
      await decision;
    }
  }
  expect(JSON.parse((await values.get("approvals.questions")) ?? "")).toHaveLength(200);
});
