import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openSessions } from "../../src/sessions/sessions.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { SessionEntry, Sessions } from "../../src/types/session.ts";
import { recordLog } from "../kit/log.ts";
import { manualClock } from "../kit/clock.ts";
import { watchedRows } from "../kit/store/watched-rows.ts";

let dir: string;
let sessions: Sessions;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "row-index-"));
});
afterEach(async () => {
  await sessions.close();
  await rm(dir, { recursive: true });
});

const MAIN = agentId("main");
const OTHER = agentId("other");
const keyOf = (id: number) => sessionKey(`${id % 3 === 0 ? "agent:other:" : ""}telegram:default:${id}`);

async function open(rows: readonly (readonly [string, SessionEntry])[]) {
  const watched = watchedRows(rows);
  const { table } = watched;
  sessions = await openSessions({
    dir: join(dir, "sessions"),
    table,
    cwdFor: () => dir,
    log: recordLog(),
    clock: manualClock(),
    defaultAgent: MAIN,
  });
  watched.read.clear();
  return watched;
}

it("finds one of 10000 sessions by its id, and the newest of a kind, without a look at the others", async () => {
  const rows = Array.from({ length: 10_000 }, (_, id) => {
    const chatType = id % 2 === 0 ? ("direct" as const) : ("group" as const);
    return [keyOf(id), { sessionId: `session-${id}`, updatedAt: 1000 + id, chatType }] as const;
  });
  const { read } = await open(rows);
  expect(sessions.withId("session-4242")?.key).toBe(keyOf(4242));
  expect(sessions.withId("session-none")).toBeUndefined();
  const [newest] = sessions.newest({ agent: MAIN, chatType: "direct" });
  expect(newest?.key).toBe(keyOf(9998));
  expect(newest?.entry.updatedAt).toBe(10_998);
  const [other] = sessions.newest({ agent: OTHER, chatType: "group" });
  expect(other?.key).toBe(keyOf(9999));
  expect(read.size).toBeLessThanOrEqual(3);
  const [latest] = sessions.newest();
  expect(latest?.key).toBe(keyOf(9999));
  expect(sessions.count).toBe(10_000);
  expect(read.size).toBeLessThanOrEqual(3);
  await sessions.patch(keyOf(4), { updatedAt: 99_999 });
  const [used] = sessions.newest({ agent: MAIN, chatType: "direct" });
  expect(used?.key).toBe(keyOf(4));
  const [changed] = sessions.newest();
  expect(changed?.key).toBe(keyOf(4));
  expect(read.size).toBeLessThanOrEqual(4);
});

const step = fc.record({
  id: fc.nat(12),
  updatedAt: fc.nat(20),
  chatType: fc.constantFrom("direct" as const, "group" as const),
  sessionId: fc.constantFrom("a", "b", "c", "d"),
  origin: fc.constantFrom({ from: "telegram:3" }, { from: "telegram:x" }, undefined),
  lastChannel: fc.constantFrom("slack", "telegram", undefined),
  isRemoved: fc.boolean(),
});

it("the index says the same as all rows, whatever was changed, added and removed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      await open(
        Array.from({ length: 8 }, (_, id) => [keyOf(id), { sessionId: `s${id}`, updatedAt: 5, chatType: "direct" }]),
      );
      for (const { id, isRemoved, lastChannel, ...rest } of steps) {
        const patch = { ...rest, lastChannel, lastTo: lastChannel && `${lastChannel}:${id}` };
        if (isRemoved) await sessions.remove(keyOf(id));
        else await sessions.patch(keyOf(id), patch);
      }
      const all = sessions.list();
      for (const chatType of ["direct", "group"] as const) {
        const found = [...sessions.newest({ agent: MAIN, chatType }), ...sessions.newest({ agent: OTHER, chatType })];
        const ofKind = all.filter(({ entry }) => entry.chatType === chatType);
        expect(found.map(({ key }) => key).toSorted()).toEqual(ofKind.map(({ key }) => key).toSorted());
        const times = [...sessions.newest({ agent: MAIN, chatType })].map(({ entry }) => entry.updatedAt);
        expect(times).toEqual(times.toSorted((a, b) => b - a));
      }
      const direct = all.filter(({ key, entry }) => !key.startsWith("agent:") && entry.chatType === "direct");
      const people = ["3", "x", "5"];
      const named = direct.filter(({ key, entry: { origin } }) =>
        people.some((person) => key.endsWith(`:${person}`) || origin?.from === `telegram:${person}`),
      );
      const found = [...sessions.newest({ agent: MAIN, chatType: "direct", people })];
      expect(found.map(({ key }) => key).toSorted()).toEqual(named.map(({ key }) => key).toSorted());
      for (const channel of ["slack", "telegram"]) {
        const there = direct.filter(({ entry: { lastChannel = "telegram" } }) => lastChannel === channel);
        const chats = [...sessions.newest({ agent: MAIN, chatType: "direct", channel })];
        expect(chats.map(({ key }) => key).toSorted()).toEqual(there.map(({ key }) => key).toSorted());
      }
      const recent = [...sessions.newest()].map(({ entry }) => entry.updatedAt);
      expect(recent).toEqual(all.map(({ entry }) => entry.updatedAt).toSorted((a, b) => b - a));
      expect(sessions.count).toBe(all.length);
      for (const id of ["a", "b", "s1"]) {
        const known = all.filter(({ entry }) => entry.sessionId === id).map(({ key }) => key);
        const found = sessions.withId(id)?.key;
        expect(found === undefined ? known.length === 0 : known.includes(found)).toBe(true);
      }
      await sessions.close();
      await rm(join(dir, "sessions"), { recursive: true });
    }),
    { numRuns: 30 },
  );
  await open([]);
});
