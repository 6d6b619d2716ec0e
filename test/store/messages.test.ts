import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checks } from "../../src/store/checks.ts";
import { openJournal, type OpenJournal } from "../../src/store/journal/journal.ts";
import type { Clock } from "../../src/types/clock.ts";
import { accountId, channelId, runId, sessionKey } from "../../src/types/ids.ts";
import type { InboundMessage, Peer } from "../../src/types/chat/message.ts";

const DAY = 86_400_000;
const peer = (channel: string): Peer => ({
  channel: channelId(channel),
  account: accountId("default"),
  chat: { kind: "direct", id: "8001" },
});
const message = (id: string, channel = "telegram"): InboundMessage => ({
  id,
  eventKey: `event-${id}`,
  from: peer(channel),
  sender: { id: "8001" },
  text: `text of ${id}`,
  media: [],
  mentionsBot: true,
  receivedAt: 1,
});
const text = (body: string) => ({ kind: "text", body, format: "plain", plain: body }) as const;

let dir: string;
let path: string;
let now: number;
let journal: OpenJournal;
const clock: Clock = { now: () => now, after: () => () => undefined };

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "messages-"));
  path = join(dir, "journal.sqlite");
  now = Date.now();
  journal = await openJournal({ path, bootId: "boot", clock });
});
afterEach(async () => {
  await journal.close();
  await rm(dir, { recursive: true });
});

const accept = async (...messages: InboundMessage[]) => (await journal.inbox.accept(messages)).map(({ row }) => row.id);
const ids = (rows: readonly { id: number }[]) => rows.map(({ id }) => id);

describe("looking", () => {
  it("finds rows by state, channel, session and the platform's id", async () => {
    await accept(message("a"), message("b", "slack"), message("a", "slack"));
    await journal.inbox.claim([2], { sessionKey: sessionKey("k"), runId: runId("r"), turnId: "t" });
    await journal.inbox.finish([1], { kind: "silent" });
    const { messages } = journal;
    expect(ids(await messages.inboxRows(9))).toEqual([3, 2, 1]);
    expect(ids(await messages.inboxRows(1))).toEqual([3]);
    expect(ids(await messages.inboxRows(9, { isOpen: true }))).toEqual([3, 2]);
    expect(ids(await messages.inboxRows(9, { isOpen: true, channel: "telegram" }))).toEqual([]);
    expect(ids(await messages.inboxRows(9, { sessionKey: "k" }))).toEqual([2]);
    expect(ids(await messages.inboxOfMessage("a"))).toEqual([3, 1]);
    expect(ids(await messages.inboxOfMessage("a", "telegram"))).toEqual([1]);
    expect(await messages.inboxRow(2)).toMatchObject({ id: 2, claimedAt: now, acceptedAt: now });
    expect(await messages.inboxRow(7)).toBeUndefined();
  });

  it("counts how often an event was offered", async () => {
    await accept(message("a"));
    expect(await journal.messages.seen(message("a"))).toEqual({ times: 1 });
    now += 5;
    await accept(message("a"), message("a"));
    expect(await journal.messages.seen(message("a"))).toEqual({ times: 3, lastAt: now });
    expect(await journal.messages.seen(message("b"))).toBeUndefined();
  });

  it("finds replies that were not sent, and what was sent by its id", async () => {
    const { outbox, messages } = journal;
    await accept(message("a"));
    await outbox.plan({ replyKey: "x", inboxId: 1, to: peer("telegram"), parts: [text("1"), text("2")] });
    await outbox.plan({ replyKey: "y", to: peer("slack"), parts: [text("3")], isRepeat: true });
    now += 7;
    await outbox.mark(1, { state: "sent", messageId: "m1" });
    expect(ids(await messages.outboxRows(9, { isOpen: true }))).toEqual([3, 2]);
    expect(ids(await messages.outboxRows(9, { channel: "slack" }))).toEqual([3]);
    expect(await messages.outboxOfMessage("m1")).toMatchObject([{ id: 1, sentAt: now, inboxId: 1 }]);
    expect(ids(await messages.outboxOf(1))).toEqual([1, 2]);
    expect(await messages.outboxRow(3)).toMatchObject({ isRepeat: true });
    expect(await messages.outboxRow(1)).not.toHaveProperty("isRepeat");
  });
});

describe("running a message again", () => {
  const copied = async (id: number) => {
    const again = await journal.messages.runAgain(id);
    if (again?.kind !== "copied") throw new Error(`row ${id} was not copied`);
    return again;
  };
  const failed = { kind: "failed", why: "auth: no" } as const;

  it("makes a row of its own of one that is done, as often as it is not answered", async () => {
    const [id = 0] = await accept(message("a"));
    expect(await journal.messages.runAgain(id)).toBeUndefined();
    await journal.inbox.finish([id], { kind: "failed", why: "auth: no" });
    const again = (await copied(id)).row;
    await journal.inbox.finish([again.id], failed);
    const more = (await copied(id)).row;
    expect(again).toMatchObject({ id: 2, state: "accepted", againOf: id, message: { id: "a", text: "text of a" } });
    expect(more.message.eventKey).not.toBe(again.message.eventKey);
    expect(ids(await journal.messages.againOf(id))).toEqual([2, 3]);
    expect(await journal.messages.inboxRow(id)).toMatchObject({ outcome: { kind: "failed" } });
    expect(await journal.inbox.accept([message("a")])).toMatchObject([{ isNew: false, row: { id } }]);
  });

  it("gives an operator's message a run of its own", async () => {
    const [id = 0] = await accept({ ...message("k1"), options: { operator: true } });
    await journal.inbox.finish([id], { kind: "aborted" });
    expect((await copied(id)).row.message.id).not.toBe("k1");
  });

  it("makes no second copy while one exists, even of a copy", async () => {
    const [id = 0] = await accept(message("a"));
    await journal.inbox.finish([id], failed);
    const first = (await copied(id)).row.id;
    const standing = (row: number) => ({ kind: "standing", copy: { id: row } });
    expect(await journal.messages.runAgain(id)).toMatchObject(standing(first));
    await journal.inbox.finish([first], { kind: "aborted" });
    const second = (await copied(first)).row.id;
    for (const one of [id, first]) expect(await journal.messages.runAgain(one)).toMatchObject(standing(second));
    await journal.inbox.finish([second], { kind: "silent" });
    for (const one of [id, first]) expect(await journal.messages.runAgain(one)).toMatchObject(standing(second));
    expect(await journal.messages.inboxRows(9)).toHaveLength(3);
  });

  it("takes along what was part of its turn, unless that was answered elsewhere", async () => {
    const [one = 0, two = 0, three = 0] = await accept(message("a"), message("b"), message("c"));
    await journal.inbox.finish([one], failed);
    await journal.inbox.finish([two, three], { kind: "merged", into: one });
    const first = await copied(one);
    expect(first.others).toMatchObject([
      { againOf: two, message: { text: "text of b" } },
      { againOf: three, message: { text: "text of c" } },
    ]);
    const [again = 0, other = 0] = ids(first.others);
    await journal.inbox.finish([first.row.id], failed);
    await journal.inbox.finish([again], { kind: "merged", into: first.row.id });
    await journal.inbox.finish([other], { kind: "replied" });
    expect((await copied(one)).others.map(({ againOf }) => againOf)).toEqual([two]);
  });
});

describe("sending a reply again", () => {
  const planned = async () => {
    const [row] = await journal.outbox.plan({ replyKey: "x", to: peer("telegram"), parts: [text("1")] });
    return row?.id ?? 0;
  };

  it("leaves what was sent alone", async () => {
    const id = await planned();
    await journal.outbox.mark(id, { state: "sent", messageId: "m" });
    expect(await journal.messages.sendAgain(id)).toBeUndefined();
    expect(await journal.messages.sendAgain(99)).toBeUndefined();
  });

  it("knows what may have arrived, however it ended", async () => {
    const id = await planned();
    await journal.outbox.mark(id, { state: "failed", error: "chat not found" });
    now += 3;
    expect(await journal.messages.sendAgain(id)).toMatchObject({ state: "planned", retriedAt: now });
    await journal.outbox.mark(id, { state: "unknown", error: "reset" });
    await journal.outbox.mark(id, { state: "failed", error: "twice" });
    const again = await journal.messages.sendAgain(id);
    expect(again).toMatchObject({ state: "unknown" });
    expect(again).not.toHaveProperty("error");
    await journal.outbox.mark(id, { state: "sending", isRepeat: true });
    await journal.outbox.mark(id, { state: "sent", messageId: "m" });
    expect(await journal.messages.outboxRow(id)).toMatchObject({ isRepeat: true, state: "sent" });
  });
});

describe("retention", () => {
  it("forgets strangers sooner, and their keys no sooner than any other", async () => {
    const [stranger = 0, guest = 0] = await accept(message("s"), message("g"));
    await journal.inbox.finish([stranger], { kind: "dropped", why: "pairing (new)" }, "pair");
    await journal.inbox.finish([guest], { kind: "replied" });
    now += 8 * DAY;
    expect(await journal.prune()).toBe(1);
    expect(ids(await journal.messages.inboxRows(9))).toEqual([guest]);
    now += 30 * DAY;
    await journal.prune({ dedupeDays: 1 });
    expect(await journal.inbox.accept([message("s"), message("g")])).toMatchObject([
      { isNew: false },
      { isNew: false },
    ]);
    now += 40 * DAY;
    await journal.prune({ dedupeDays: 60 });
    expect(await journal.inbox.accept([message("s")])).toMatchObject([{ isNew: true }]);
  });

  it("shortens the time when the rows are too many", async () => {
    const long = "x".repeat(20_000);
    for (let day = 0; day < 20; day += 1) {
      const [id = 0] = await accept({ ...message(`m${day}`), text: long });
      await journal.inbox.finish([id], { kind: "replied" });
      now += DAY;
    }
    const [open = 0] = await accept({ ...message("open"), text: long });
    await journal.prune({ maxBytes: 250_000 });
    const left = await journal.messages.inboxRows(99);
    expect(left[0]?.id).toBe(open);
    expect(left.length).toBeGreaterThan(1);
    expect(left.length).toBeLessThan(12);
  });
});

describe("retention of replies", () => {
  const plan = async (replyKey: string, inboxId?: number) => {
    const parts = [text("x".repeat(20_000))];
    const to = peer("telegram");
    const [row] = await journal.outbox.plan({ replyKey, to, parts, ...(inboxId !== undefined && { inboxId }) });
    return row?.id ?? 0;
  };
  const left = async () => (await journal.messages.outboxRows(9)).map(({ replyKey }) => replyKey).toSorted();

  it("keeps those of a message that has no end yet, also when the rows are too many", async () => {
    const [open = 0, done = 0] = await accept(message("open"), message("done"));
    for (const [key, id] of [
      ["of open", open],
      ["of done", done],
      ["of nobody", undefined],
    ] as const)
      await journal.outbox.mark(await plan(key, id), { state: "sent", messageId: "m" });
    await journal.inbox.finish([done], { kind: "replied" });
    now += 40 * DAY;
    await journal.prune({ maxBytes: 1 });
    expect(await left()).toEqual(["of open"]);
    await journal.inbox.finish([open], { kind: "replied" });
    now += 40 * DAY;
    await journal.prune();
    expect(await left()).toEqual([]);
  });

  it("keeps those that have no end themselves", async () => {
    await plan("planned");
    await journal.outbox.mark(await plan("sending"), { state: "sending" });
    await journal.outbox.mark(await plan("unknown"), { state: "unknown" });
    await journal.outbox.mark(await plan("failed"), { state: "failed", error: "no" });
    now += 400 * DAY;
    await journal.prune({ maxBytes: 1 });
    expect(await left()).toEqual(["planned", "sending", "unknown"]);
  });
});

describe("health", () => {
  const told = async () => {
    const [inbox, outbox] = await Promise.all(
      checks({ stateDir: dir, journal: path, sessions: join(dir, "sessions") })
        .filter(({ id }) => /inbox|outbox/.test(id))
        .map((check) => check.run(AbortSignal.timeout(1000))),
    );
    return [...(inbox ?? []), ...(outbox ?? [])].map(({ status, message: words }) => `${status} ${words}`);
  };

  it("is well with nothing open", async () => {
    expect(journal.counts()).toMatchObject({ openInbox: 0, openOutbox: 0, staleLastDay: 0 });
    expect(await told()).toEqual([
      "ok 0 wait or are being answered.",
      "ok 0 not sent yet, 0 of them with an unknown outcome, 0 given up in the last day.",
    ]);
  });

  it("reports the age of unclaimed messages, what was too old, and what was not sent", async () => {
    now -= 20 * 60_000;
    const [, stale = 0] = await accept(message("a"), message("b"));
    await journal.inbox.finish([stale], { kind: "dropped", why: "stale: waited 9 h" });
    const rows = await journal.outbox.plan({ replyKey: "x", to: peer("telegram"), parts: [text("1"), text("2")] });
    await journal.outbox.mark(rows[0]?.id ?? 0, { state: "failed", error: "chat not found" });
    await journal.outbox.mark(rows[1]?.id ?? 0, { state: "failed", error: "by the operator" });
    expect(journal.counts()).toMatchObject({ openInbox: 1, oldestInboxAt: now, staleLastDay: 1 });
    expect(await told()).toEqual([
      "warn 1 wait or are being answered, the oldest for 20 min.",
      expect.stringMatching(/^warn 1 of the last day/),
      "warn 0 not sent yet, 0 of them with an unknown outcome, 1 given up in the last day.",
    ]);
  });
});
