import fc from "fast-check";
import { expect, it } from "vitest";
import { partByAge } from "../../../src/dispatch/admission/stale.ts";
import { openDispatchFixture } from "../../kit/dispatch.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { nextMessage } from "../../kit/inbound.ts";

const HOUR = 3_600_000;

it("parts turns so that none is lost, none changes its order, and the limits hold", async () => {
  const fixture = await openDispatchFixture();
  const { ports } = await fixture.boot();
  const now = Date.now();
  const at = (hours: number, id: number) => ({
    id,
    message: nextMessage("x"),
    state: "accepted" as const,
    attempts: 0,
    acceptedAt: now - hours * HOUR,
  });
  const turns = fc.array(fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 3 }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(turns, fc.integer({ min: 1, max: 10 }), async (ages, maxRows) => {
      let id = 0;
      const groups = ages.map((own) => own.map((hours) => at(hours, (id += 1))));
      const { fresh, stale } = await partByAge(groups, ports, { maxAgeMs: 6.5 * HOUR, maxRows });
      expect([...fresh, ...stale].toSorted((a, b) => (a[0]?.id ?? 0) - (b[0]?.id ?? 0))).toEqual(groups);
      for (const part of [fresh, stale]) expect(part).toEqual(groups.filter((group) => part.includes(group)));
      expect(fresh.flat().length).toBeLessThanOrEqual(maxRows);
      for (const group of fresh) expect(group.at(-1)?.acceptedAt).toBeGreaterThan(now - 7 * HOUR);
    }),
    { numRuns: 50 },
  );
  await fixture.close();
});

it("counts no messages of strangers and no reactions, however many wait", async () => {
  const fixture = await openDispatchFixture();
  const { ports } = await fixture.boot();
  const gate: typeof ports.chats.gate = async ({ sender, event }) => {
    if (event === "reaction") return { kind: "event" };
    return sender.id === "stranger" ? { kind: "drop", why: "a stranger" } : { kind: "pass" };
  };
  const row = (id: number, more: Partial<InboundMessage>) => [
    { id, message: { ...nextMessage("x"), ...more }, state: "accepted" as const, attempts: 0, acceptedAt: Date.now() },
  ];
  const groups = [
    row(1, {}),
    row(2, { event: "reaction" }),
    row(3, { sender: { id: "stranger" } }),
    row(4, { sender: { id: "stranger" } }),
  ];
  expect(
    await partByAge(groups, { ...ports, chats: { ...ports.chats, gate } }, { maxAgeMs: HOUR, maxRows: 1 }),
  ).toEqual({
    fresh: groups,
    stale: [],
  });
  await fixture.close();
});
