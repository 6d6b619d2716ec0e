import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type OpenJournal, openJournal } from "../../src/store/journal/journal.ts";
import type { PairingDesk } from "../../src/types/journal.ts";

const HOUR = 3_600_000;
const from = (senderId: string, account = "default") => ({ channel: "telegram", account, senderId });

let dir: string;
let now: number;
let journal: OpenJournal;
let pairing: PairingDesk;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pairing-"));
  now = 1_000_000;
  const clock = { now: () => now, after: () => () => undefined };
  journal = await openJournal({ path: join(dir, "journal.sqlite"), bootId: "boot", clock });
  ({ pairing } = journal);
});
afterEach(async () => {
  await journal.close();
  await rm(dir, { recursive: true });
});

const waiting = async () => (await pairing.list()).map(({ senderId }) => senderId);

/** The code that the stranger has after writing; empty for none. */
async function codeOf(senderId: string): Promise<string> {
  const asked = await pairing.request(from(senderId));
  return asked.kind === "full" ? "" : asked.request.code;
}

it("hands out at most three codes an account for an hour", async () => {
  const first = await pairing.request(from("1"));
  expect(first.kind === "new" && first.request.code).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
  expect(await pairing.request(from("1"))).toEqual({ ...first, kind: "again" });
  await pairing.request(from("2"));
  await pairing.request(from("3"));
  expect(await pairing.request(from("4"))).toEqual({ kind: "full" });
  expect(await pairing.request(from("4", "work"))).toMatchObject({ kind: "new" });
  now += 3_600_000;
  expect(await pairing.list()).toEqual([]);
  expect(await pairing.request(from("4"))).toMatchObject({ kind: "new" });
});

it("approves a code however it is typed, once, and lets in only that sender", async () => {
  const asked = await pairing.request(from("1"));
  const code = asked.kind === "full" ? "" : asked.request.code;
  expect(await pairing.approve("slack", code)).toBeUndefined();
  expect(await pairing.approve("telegram", ` ${code.toLowerCase()} `)).toMatchObject({ senderId: "1" });
  expect(await pairing.approve("telegram", code)).toBeUndefined();
  expect(await pairing.isPaired("telegram", "default", "1")).toBe(true);
  expect(await pairing.isPaired("telegram", "work", "1")).toBe(false);
});

it("lets three accounts keep nobody else from pairing: a code of ten minutes gives way, and its owner takes no other", async () => {
  for (const id of ["301", "401", "402"]) await pairing.request(from(id));
  const waits = () => pairing.list().then((rows) => rows.map(({ senderId }) => senderId));
  expect(await pairing.request(from("500"))).toEqual({ kind: "full" });
  expect(await pairing.turnedAway()).toMatchObject([{ senderId: "500", firstAt: now, lastAt: now }]);
  now += 600_000;
  expect(await pairing.request(from("500"))).toMatchObject({ kind: "new" });
  expect(await waits()).toEqual(["401", "402", "500"]);
  expect(await pairing.turnedAway()).toMatchObject([{ senderId: "301" }]);
  now += 600_000;
  expect(await pairing.request(from("301"))).toEqual({ kind: "full" });
  expect(await waits()).toContain("500");
});

it("lets in by the id of the platform who has no code", async () => {
  for (const id of ["1", "2", "3"]) await pairing.request(from(id));
  await pairing.request(from("500"));
  for (const id of ["1", "2", "3"]) await pairing.request(from(id, "work"));
  await pairing.request(from("500", "work"));
  expect(await pairing.approve("telegram", "500")).toBeUndefined();
  expect(await pairing.approve("telegram", "999")).toBeUndefined();
  expect(await pairing.approve("telegram", "500", "work")).toEqual({
    channel: "telegram",
    account: "work",
    senderId: "500",
  });
  expect(await pairing.isPaired("telegram", "work", "500")).toBe(true);
  expect(await pairing.isPaired("telegram", "default", "500")).toBe(false);
  expect(await pairing.turnedAway()).toMatchObject([{ account: "default", senderId: "500" }]);
});

it("remembers fifty of an account for a day", async () => {
  for (let id = 1; id <= 70; id++) await pairing.request(from(String(id)));
  expect(await pairing.turnedAway()).toHaveLength(50);
  now += 86_400_000;
  expect(await pairing.turnedAway()).toEqual([]);
});

it("refuses a code that is over", async () => {
  const asked = await pairing.request(from("1"));
  now += 3_600_000;
  expect(await pairing.approve("telegram", asked.kind === "full" ? "" : asked.request.code)).toBeUndefined();
});

it("keeps a code for an hour to the millisecond, then gives the same stranger another", async () => {
  const code = await codeOf("1");
  now += HOUR - 1;
  expect(await waiting()).toEqual(["1"]);
  expect(await codeOf("1")).toBe(code);
  now += 1;
  expect(await waiting()).toEqual([]);
  expect(await pairing.request(from("1"))).toMatchObject({ kind: "new", request: { expiresAt: now + HOUR } });
  expect(await pairing.approve("telegram", code)).toBeUndefined();
});

it("lets nobody in by a code of an hour ago, and lets in by one a millisecond younger", async () => {
  const old = await codeOf("1");
  now += 1;
  const young = await codeOf("2");
  now += HOUR - 1;
  expect(await pairing.approve("telegram", old)).toBeUndefined();
  expect(await pairing.isPaired("telegram", "default", "1")).toBe(false);
  expect(await pairing.approve("telegram", young)).toMatchObject({ senderId: "2" });
});

it("has three codes of an account at a time, also after one of them was used", async () => {
  const codes = [await codeOf("1"), await codeOf("2"), await codeOf("3")];
  expect(new Set(codes).size).toBe(3);
  expect(await pairing.request(from("4"))).toEqual({ kind: "full" });
  await pairing.approve("telegram", codes[1] ?? "");
  expect(await pairing.request(from("4"))).toMatchObject({ kind: "new" });
  expect(await pairing.request(from("5"))).toEqual({ kind: "full" });
  expect(await waiting()).toEqual(["1", "3", "4"]);
});

it("takes the code of the oldest for a newer stranger once it is ten minutes old, not before", async () => {
  const first = await codeOf("1");
  now += 1;
  await codeOf("2");
  await codeOf("3");
  now += 600_000 - 2;
  expect(await pairing.request(from("4"))).toEqual({ kind: "full" });
  now += 1;
  expect(await pairing.request(from("4"))).toMatchObject({ kind: "new" });
  expect(await waiting()).toEqual(["2", "3", "4"]);
  expect(await pairing.approve("telegram", first)).toBeUndefined();
});

it("gives a code again to whoever lost one an hour ago, not earlier", async () => {
  for (const id of ["1", "2", "3"]) await codeOf(id);
  now += 600_000;
  await codeOf("4");
  // Those who wait now are not old enough to give way before the last line.
  now += HOUR - 1_200_000;
  for (const id of ["2", "3", "4"]) await pairing.approve("telegram", id);
  for (const id of ["5", "6", "7"]) await codeOf(id);
  now += 1_200_000 - 1;
  expect(await pairing.request(from("1"))).toEqual({ kind: "full" });
  now += 1;
  expect(await pairing.request(from("1"))).toMatchObject({ kind: "new" });
});

it("takes a code away, after which the stranger may ask again", async () => {
  const asked = await pairing.request(from("1"));
  if (asked.kind === "full") throw new Error("nobody waits yet");
  const { request } = asked;
  expect(await pairing.dismiss({ ...request, account: "other" })).toBe(false);
  expect(await pairing.dismiss({ ...request, code: "AAAAAAAA" })).toBe(false);
  expect(await waiting()).toEqual(["1"]);
  expect([await pairing.dismiss(request), await pairing.dismiss(request)]).toEqual([true, false]);
  expect(await waiting()).toEqual([]);
  expect(await pairing.approve("telegram", request.code)).toBeUndefined();
  expect(await codeOf("1")).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
});

it("lists who was let in, and lets in no more who was put out, at one account or at all", async () => {
  for (const account of ["default", "work"]) {
    const { request } = (await pairing.request(from("7", account))) as { request: { code: string } };
    await pairing.approve("telegram", request.code);
    now += 1;
  }
  expect(await pairing.admitted()).toEqual([
    { ...from("7", "work"), at: 1_000_001 },
    { ...from("7"), at: 1_000_000 },
  ]);
  expect(await pairing.revoke("telegram", "7", "work")).toEqual([{ ...from("7", "work"), at: 1_000_001 }]);
  expect([await pairing.isPaired("telegram", "work", "7"), await pairing.isPaired("telegram", "default", "7")]).toEqual(
    [false, true],
  );
  expect(await pairing.revoke("telegram", "7")).toHaveLength(1);
  expect(await pairing.revoke("telegram", "7")).toEqual([]);
  expect((await pairing.request(from("7"))).kind).toBe("new");
});

it("rejects by code or id, and only the one who is meant", async () => {
  await pairing.request(from("7"));
  await pairing.request(from("7", "work"));
  expect(await pairing.reject("telegram", "7")).toBeUndefined();
  expect(await pairing.reject("telegram", "7", "work")).toMatchObject(from("7", "work"));
  expect(await waiting()).toEqual(["7"]);
  const code = (await pairing.list())[0]?.code ?? "";
  expect(await pairing.reject("signal", code)).toBeUndefined();
  expect(await pairing.reject("telegram", code.toLowerCase())).toMatchObject({ code });
  expect(await waiting()).toEqual([]);
  expect(await pairing.isPaired("telegram", "default", "7")).toBe(false);
});

it("lets in whom another gateway had let in, once, and takes away what they wait with", async () => {
  await pairing.request(from("1"));
  await pairing.admit([from("1"), { ...from("2", "work"), name: "Bo" }]);
  now += 1;
  await pairing.admit([from("1"), from("3")]);
  const people = (await pairing.admitted()).toSorted((one, other) => (one.senderId < other.senderId ? -1 : 1));
  expect(people).toEqual([
    { ...from("1"), at: 1_000_000 },
    { ...from("2", "work"), name: "Bo", at: 1_000_000 },
    { ...from("3"), at: 1_000_001 },
  ]);
  expect(await waiting()).toEqual([]);
  expect(await pairing.isPaired("telegram", "work", "2")).toBe(true);
  expect(await pairing.isPaired("telegram", "default", "2")).toBe(false);
});
