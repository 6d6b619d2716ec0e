import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openJournal, type OpenJournal } from "../../src/store/journal/journal.ts";
import { sessionKey } from "../../src/types/ids.ts";

const key = sessionKey("agent:main:telegram:direct:1");
const other = sessionKey("agent:main:telegram:direct:2");
const DAY_MS = 86_400_000;

let dir: string;
let journal: OpenJournal;
let now = 5;

const open = () =>
  openJournal({ path: join(dir, "j.sqlite"), bootId: "b", clock: { now: () => now, after: () => () => undefined } });
const texts = (events: readonly { text: string }[]) => events.map(({ text }) => text);

beforeEach(async () => {
  now = 5;
  dir = await mkdtemp(join(tmpdir(), "events-"));
  journal = await open();
});
afterEach(async () => {
  await journal.close();
  await rm(dir, { recursive: true });
});

it("gives a turn the events of its session, oldest first, without repeats in a row", async () => {
  for (const text of ["a", "a ", " ", "b", "a"]) await journal.events.add(key, text);
  await journal.events.add(other, "elsewhere");
  expect(await journal.events.claims(key)).toEqual({ turnIds: [], waiting: true });
  expect(await journal.events.claim(key, "t1")).toEqual(["a", "b", "a"].map((text) => ({ at: 5, text })));
  expect(await journal.events.claims(key)).toEqual({ turnIds: ["t1"], waiting: false });
});

it("gives a turn the same events again, with what came since, also after a restart", async () => {
  await journal.events.add(key, "a");
  await journal.events.claim(key, "t1");
  await journal.close();
  journal = await open();
  await journal.events.add(key, "a");
  expect(texts(await journal.events.claim(key, "t1"))).toEqual(["a", "a"]);
  await journal.events.remove(key, "t1");
  expect(await journal.events.claim(key, "t2")).toEqual([]);
});

it("keeps the newest twenty of a session", async () => {
  for (let index = 0; index < 30; index += 1) await journal.events.add(key, `event ${index}`);
  await journal.events.claim(key, "failed");
  for (let index = 30; index < 50; index += 1) await journal.events.add(key, `event ${index}`);
  const kept = texts(await journal.events.claim(key, "t1"));
  expect(kept).toHaveLength(20);
  expect([kept[0], kept.at(-1)]).toEqual(["event 30", "event 49"]);
});

it("deletes events of sessions without a turn for as long as rows are kept", async () => {
  await journal.events.add(key, "old");
  now += 31 * DAY_MS;
  await journal.events.add(other, "new");
  expect(await journal.prune()).toBe(1);
  expect(await journal.events.claim(key, "t1")).toEqual([]);
  expect(texts(await journal.events.claim(other, "t1"))).toEqual(["new"]);
});
