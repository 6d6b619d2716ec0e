import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Commits } from "../../src/store/database/commits.ts";
import { readCounts } from "../../src/store/database/counts.ts";
import { openJournal, type OpenJournal } from "../../src/store/journal/journal.ts";
import { pruneJournal } from "../../src/store/journal/prune.ts";
import { type Params, Statements } from "../../src/store/database/sqlite.ts";
import { accountId, channelId } from "../../src/types/ids.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";

const DAY_MS = 86_400_000;
let dir: string;
let path: string;
let journal: OpenJournal;
let now = 1_750_000_000_000;

const message = (n: number): InboundMessage => ({
  id: `m${n}`,
  eventKey: `e${n}`,
  from: { channel: channelId("telegram"), account: accountId("default"), chat: { kind: "direct", id: "1" } },
  sender: { id: "1" },
  text: "hello",
  media: [],
  mentionsBot: true,
  receivedAt: now,
});

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prune-"));
  path = join(dir, "journal.sqlite");
  journal = await openJournal({
    path,
    bootId: "b",
    sync: "normal",
    clock: { now: () => now, after: () => () => undefined },
  });
});
afterEach(async () => {
  await journal.close();
  await rm(dir, { recursive: true });
});

/** What SQLite would read for each statement that is run. */
class Explained extends Statements {
  readonly plans: string[] = [];
  readonly #db: DatabaseSync;
  constructor(db: DatabaseSync) {
    super(db, "");
    this.#db = db;
  }
  override run(sql: string, ...params: Params) {
    this.#explain(sql, params);
    return super.run(sql, ...params);
  }
  override one(sql: string, ...params: Params) {
    this.#explain(sql, params);
    return super.one(sql, ...params);
  }
  #explain(sql: string, params: Params): void {
    if (sql.startsWith("PRAGMA")) return;
    const lines = this.#db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params);
    this.plans.push(...lines.map(({ detail }) => String(detail)));
  }
}

it("neither counting nor pruning reads a whole table", async () => {
  const db = new DatabaseSync(path);
  const explained = new Explained(db);
  class ExplainedCommits extends Commits {
    override readonly sql = explained;
  }
  readCounts(explained, now);
  await pruneJournal(new ExplainedCommits(db, path), now, { maxBytes: 1 });
  db.close();
  expect(explained.plans).toContain("SEARCH inbox USING INDEX inbox_stale (done_at>?)");
  expect(explained.plans.length).toBeGreaterThan(20);
  expect(explained.plans.filter((plan) => /^SCAN \w+$/.test(plan))).toEqual([]);
  // Of the partial indexes alone everything may be read: they hold what is open.
  const whole = explained.plans.filter((plan) => plan.startsWith("SCAN "));
  expect(whole.filter((plan) => !/USING (COVERING )?INDEX (inbox_open|outbox_open)$/.test(plan))).toEqual([]);
});

it("removes in steps between which messages are taken", async () => {
  const many = await journal.inbox.accept(Array.from({ length: 1000 }, (_, n) => message(n)));
  await journal.inbox.finish(
    many.map(({ row }) => row.id),
    { kind: "silent" },
  );
  await journal.outbox.notePreview(many[0]?.row.id ?? 0, message(0).from, "p");
  now += 31 * DAY_MS;
  const order: string[] = [];
  const pruning = journal.prune().then((removed) => order.push(`pruned ${removed}`));
  for (let n = 1000; n < 1003; n += 1) order.push(`taken ${(await journal.inbox.accept([message(n)])).length}`);
  await pruning;
  expect(order).toEqual(["taken 1", "taken 1", "taken 1", "pruned 1000"]);
  expect(await journal.outbox.previewOf(many[0]?.row.id ?? 0)).toBeUndefined();
  expect(await journal.inbox.open()).toHaveLength(3);
  expect(await journal.inbox.accept([message(5)])).toMatchObject([{ isNew: false }]);
  now += 400 * DAY_MS;
  await journal.inbox.finish(
    (await journal.inbox.open()).map(({ id }) => id),
    { kind: "silent" },
  );
  await journal.prune();
  expect(await journal.inbox.accept([message(5)])).toMatchObject([{ isNew: true }]);
});
