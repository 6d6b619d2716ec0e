import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Outbox, type Reply } from "../../src/outbox/deliver.ts";
import type { OpenJournal } from "../../src/store/journal/journal.ts";
import type { ChannelLimits, ChannelLink, SendResult } from "../../src/types/chat/channel.ts";
import { mediaId } from "../../src/types/ids.ts";
import type { Peer } from "../../src/types/chat/message.ts";
import type { OutboundPart } from "../../src/types/chat/reply.ts";
import { manualClock } from "../kit/clock.ts";
import { LIMITS, ChatPlatform } from "../fakes/chat-platform.ts";
import { recordLog } from "../kit/log.ts";
import { peer } from "../kit/inbound.ts";
import { untilIdle } from "../kit/idle.ts";
import { diskOfDatabases } from "../kit/store/full-disk.ts";
import { openStateDir } from "../kit/store/state-dir.ts";
import { until } from "../kit/until.ts";

let clock: ReturnType<typeof manualClock>;
let place: Awaited<ReturnType<typeof openStateDir>>;
let journal: OpenJournal;
let platform: ChatPlatform;
let link: ChannelLink | undefined;
let limits: ChannelLimits;
let outbox: Outbox;
let log: ReturnType<typeof recordLog>;

const open = () =>
  new Outbox({ journal: journal.outbox, links: { link: () => link, limits: () => limits }, log, clock });
const reply = (key: string, text: string, more: Partial<Reply> = {}): Reply => ({
  replyKey: key,
  to: peer("8001"),
  blocks: [{ kind: "text", markdown: text }],
  ...more,
});
/** State and error of the rows of one reply. */
const fate = async (row: { inboxId: number }) =>
  (await journal.outbox.of(row.inboxId)).map(({ state, error }) => [state, error ?? ""]);

const PART = { kind: "text", body: "after", plain: "after", format: "plain" } as const;

beforeEach(async () => {
  clock = manualClock();
  place = await openStateDir(clock);
  journal = await place.journal();
  platform = new ChatPlatform();
  link = platform;
  limits = LIMITS;
  log = recordLog();
  outbox = open();
});
afterEach(() => place.remove());

describe("a reply of an earlier start", () => {
  it("waits for the connection of its channel without a try, and is sent as soon as there is one", async () => {
    await journal.outbox.plan({ replyKey: "in:2:final", to: peer("8001"), inboxId: 2, parts: [PART] });
    link = undefined;
    const connection = Promise.withResolvers<void>();
    const links = { link: () => link, limits: () => limits, linked: () => connection.promise };
    const next = new Outbox({ journal: journal.outbox, links, log, clock });
    await next.recover();
    await untilIdle();
    expect(await fate({ inboxId: 2 })).toEqual([["planned", ""]]);
    expect(log.lines.filter((line) => line.includes("send again"))).toEqual([]);
    link = platform;
    connection.resolve();
    await until(() => platform.texts.includes("after"), "the reply, without any time in between");
    await next.close(0);
  });

  it("says that it waits when the connection does not come, and is still sent when it does", async () => {
    await journal.outbox.plan({ replyKey: "in:2:final", to: peer("8001"), inboxId: 2, parts: [PART] });
    link = undefined;
    const connection = Promise.withResolvers<void>();
    const links = { link: () => link, limits: () => limits, linked: () => connection.promise };
    const next = new Outbox({ journal: journal.outbox, links, log, clock });
    await next.recover();
    await untilIdle();
    clock.pass(30_000);
    await until(async () => (await fate({ inboxId: 2 }))[0]?.[1] === "channel is not connected");
    await untilIdle();
    link = platform;
    connection.resolve();
    await until(() => platform.texts.includes("after"), "the reply");
    await next.close(0);
  });
});

describe("a text with files", () => {
  const media = { kind: "image", source: { at: "store", id: mediaId("1") } } as const;
  const album: Partial<Reply> = {
    blocks: [{ kind: "text", markdown: "both" }, ...[1, 2].map(() => ({ kind: "media", media }) as const)],
    replyTo: "q1",
    silent: true,
    inboxId: 1,
  };

  it("is one row: tried again, labelled and answered as a whole, and as silent as at first", async () => {
    limits = { ...LIMITS, caption: { text: 100 }, album: { files: 2 } };
    platform.script.push({ result: { kind: "retry", reason: "busy", afterMs: 100 } });
    platform.script.push({ result: { kind: "unknown", reason: "lost" }, lands: true });
    await outbox.deliver(reply("a", "", album));
    for (const ms of [100, 1000]) {
      await until(() => clock.waits.length > 0);
      clock.pass(ms);
    }
    await until(async () => (await journal.stats()).openOutbox === 0);
    const key = platform.calls[0]?.key;
    expect(platform.calls).toEqual([
      { call: "send", text: "both <media><media>", key, silent: true },
      { call: "send", text: "both <media><media>", key, silent: true },
      { call: "send", text: "(possible repeat) both <media><media>", key, silent: true },
    ]);
    expect(platform.messages.map(({ replyTo }) => replyTo)).toEqual(["q1", "q1"]);
    expect(await fate({ inboxId: 1 })).toEqual([["sent", ""]]);
  });

  it("keeps both after a restart, and with a preview its text apart", async () => {
    limits = { ...LIMITS, caption: { text: 100 }, album: { files: 2 } };
    link = undefined;
    await outbox.deliver(reply("a", "", album));
    const closing = outbox.close(0);
    clock.pass(0);
    await closing;
    link = platform;
    outbox = open();
    await outbox.recover();
    await until(() => platform.texts.length === 1);
    expect(platform.calls.at(-1)).toMatchObject({ text: "both <media><media>", silent: true });
    const [shown] = platform.messages;
    await outbox.deliver(reply("b", "", { ...album, inboxId: 2, editOf: shown!.id }));
    await until(() => platform.texts.length === 2);
    expect(platform.texts).toEqual(["both", "<media><media>"]);
  });
});

describe("sending", () => {
  it("makes the pause that is asked for, once, before its first message and in the chat's order", async () => {
    limits = { ...LIMITS, text: 60 };
    await outbox.deliver(reply("a", "first"));
    await until(() => platform.texts.length === 1);
    const rows = await outbox.deliver(reply("b", `${"second ".repeat(5)}\n\n${"third ".repeat(5)}`), { pauseMs: 700 });
    await until(() => clock.waits.includes(700));
    await outbox.deliver(reply("c", "last"));
    await untilIdle();
    expect(platform.texts).toEqual(["first"]);
    clock.pass(700);
    await until(() => platform.texts.length === rows.length + 2);
    expect(platform.texts.at(-1)).toBe("last");
  });

  it("keeps the order of a chat while another chat goes ahead", async () => {
    platform.script.push({ result: { kind: "retry", reason: "429", afterMs: 5000, rateLimited: true } });
    await outbox.deliver(reply("a", "first"));
    await outbox.deliver(reply("b", "second"));
    await until(() => clock.waits.includes(5000));
    await outbox.deliver(reply("c", "elsewhere", { to: peer("9") }));
    await until(() => platform.texts.includes("elsewhere"));
    expect(platform.texts).toEqual(["elsewhere"]);
    clock.pass(4999);
    await untilIdle();
    expect(platform.texts).toEqual(["elsewhere"]);
    clock.pass(1);
    await until(() => platform.messages.length === 3);
    expect(platform.texts).toEqual(["elsewhere", "first", "second"]);
  });

  it("sends what is delivered twice under one key once, also while the first send is under way", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    platform.gate = promise;
    await Promise.all([outbox.deliver(reply("a", "once")), outbox.deliver(reply("a", "once"))]);
    await outbox.deliver(reply("a", "once"));
    resolve();
    await until(() => platform.messages.length > 0);
    await outbox.close(1000);
    expect(platform.texts).toEqual(["once"]);
    await open().deliver(reply("a", "once"));
    await untilIdle();
    expect(platform.texts).toEqual(["once"]);
  });

  it("is planned and begun in one write when nothing delays it", async () => {
    const disk = diskOfDatabases();
    let writes = 0;
    disk.isFull = () => {
      writes += 1;
      return false;
    };
    const taken = Promise.withResolvers<void>();
    platform.gate = taken.promise;
    await outbox.deliver(reply("a", "hello", { inboxId: 1 }));
    await until(() => platform.calls.length === 1);
    expect(writes).toBe(1);
    expect(await journal.outbox.of(1)).toMatchObject([{ state: "sending", attempts: 1 }]);
    taken.resolve();
    await until(() => platform.texts.length === 1);
  });

  it("sends all parts of a reply before a reply that came while the first was being planned", async () => {
    limits = { ...LIMITS, text: 60 };
    const long = ["first ", "second ", "third "].map((word) => word.repeat(6)).join("\n\n");
    await Promise.all([outbox.deliver(reply("a", long)), outbox.deliver(reply("b", "last"))]);
    await until(() => platform.texts.includes("last"));
    expect(platform.texts.map((text) => text.split(" ")[0])).toEqual(["first", "second", "third", "last"]);
  });

  it("is sent by the next start without a label when the gateway stopped before the platform was called", async () => {
    // The last look before the reply is planned.
    const stopNow = (): ChannelLink => {
      void outbox.close(0);
      clock.pass(0);
      return platform;
    };
    outbox = new Outbox({ journal: journal.outbox, links: { link: stopNow, limits: () => limits }, log, clock });
    await outbox.deliver(reply("a", "hello", { inboxId: 1 }));
    await until(async () => (await fate({ inboxId: 1 }))[0]?.[0] === "planned");
    expect(platform.calls).toEqual([]);
    await open().recover();
    await until(() => platform.texts.length === 1);
    expect(platform.texts).toEqual(["hello"]);
  });

  it("plans nothing for nothing", async () => {
    expect(await outbox.deliver(reply("a", " \n"))).toEqual([]);
  });

  it("cuts a long text into chunks in their order, none above the limit", async () => {
    limits = { ...LIMITS, text: 200 };
    const paragraphs = Array.from({ length: 30 }, (_, at) => `${at}. ${"words ".repeat(20)}`.trim());
    await outbox.deliver(reply("a", paragraphs.join("\n\n"), { replyTo: "q1" }));
    await until(async () => (await journal.stats()).openOutbox === 0);
    expect(platform.messages.length).toBeGreaterThan(10);
    expect(platform.texts.every((text) => text.length <= 200)).toBe(true);
    expect(platform.texts.join("\n\n").match(/^\d+(?=\.)/gm)).toEqual(paragraphs.map((_, at) => String(at)));
    expect(platform.messages.map((message) => message.replyTo)).toEqual([
      "q1",
      ...platform.messages.slice(1).map(() => undefined),
    ]);
  });

  it("tries again without a label when nothing arrived", async () => {
    platform.script.push({ result: { kind: "retry", reason: "ECONNREFUSED" } });
    await outbox.deliver(reply("a", "hello", { inboxId: 1 }));
    await until(() => clock.waits.includes(500));
    clock.pass(500);
    await until(() => platform.messages.length === 1);
    expect(platform.texts).toEqual(["hello"]);
    const keys = platform.calls.map((call) => call.key);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  });

  it("sends once more with a label when the end is unknown, and no third time", async () => {
    platform.script.push({ result: { kind: "unknown", reason: "timeout" }, lands: true });
    await outbox.deliver(reply("a", "hello", { inboxId: 1 }));
    await until(() => clock.waits.includes(500));
    clock.pass(500);
    await until(() => platform.messages.length === 2);
    expect(platform.texts).toEqual(["hello", "(possible repeat) hello"]);

    platform.script.push(
      { result: { kind: "unknown", reason: "timeout" } },
      { result: { kind: "unknown", reason: "timeout" } },
    );
    await outbox.deliver(reply("b", "bye", { inboxId: 2 }));
    await until(() => clock.waits.includes(500));
    clock.pass(500);
    await until(async () => (await fate({ inboxId: 2 }))[0]?.[0] === "failed");
    clock.pass(60_000);
    await untilIdle();
    expect(platform.calls.filter((call) => call.text.includes("bye"))).toHaveLength(2);
    expect(await fate({ inboxId: 2 })).toEqual([["failed", expect.stringContaining("timeout")]]);
  });

  it("fits the label within the platform's limit", async () => {
    limits = { ...LIMITS, text: 100 };
    platform.script.push({ result: { kind: "unknown", reason: "timeout" } });
    await outbox.deliver(reply("a", "word ".repeat(100)));
    await until(() => clock.waits.includes(500));
    clock.pass(500);
    await until(async () => (await journal.stats()).openOutbox === 0);
    expect(platform.texts[0]).toMatch(/^\(possible repeat\) word/);
    expect(Math.max(...platform.texts.map((text) => text.length))).toBeLessThanOrEqual(100);
  });

  it("takes an adapter's throw for an unknown end", async () => {
    link = {
      send: async () => {
        link = platform;
        throw new Error("bug");
      },
      close: async () => undefined,
    };
    await outbox.deliver(reply("a", "hello"));
    await until(() => clock.waits.includes(500));
    clock.pass(500);
    await until(() => platform.messages.length === 1);
    expect(platform.texts).toEqual(["(possible repeat) hello"]);
  });

  it("ends a refused reply with the reason, and continues with the next", async () => {
    platform.script.push({ result: { kind: "refused", reason: "bot was blocked" } });
    await outbox.deliver(reply("a", "hello", { inboxId: 1 }));
    await outbox.deliver(reply("b", "again", { inboxId: 2 }));
    await until(() => platform.messages.length === 1);
    expect(await fate({ inboxId: 1 })).toEqual([["failed", "bot was blocked"]]);
    expect(log.lines).toContain("error platform refused the reply");
  });

  it("sends a new message when the preview it should replace is gone", async () => {
    await outbox.deliver(reply("a", "final words", { editOf: "gone" }));
    await until(() => platform.messages.length === 1);
    expect(platform.calls.map(({ call, text }) => [call, text])).toEqual([
      ["edit", "final words"],
      ["send", "final words"],
    ]);
  });

  it("waits for a channel that is down, and gives up after six hours", async () => {
    link = undefined;
    await outbox.deliver(reply("a", "hello", { inboxId: 1 }));
    await until(() => clock.waits.length > 0);
    clock.pass(5 * 3_600_000);
    await untilIdle();
    expect(await fate({ inboxId: 1 })).toEqual([["planned", "channel is not connected"]]);
    clock.pass(3_600_001);
    await until(async () => (await fate({ inboxId: 1 }))[0]?.[0] === "failed");
    expect(log.lines).toContain("error reply not sent: too old");
  });

  it("leaves what it cannot send for the next start", async () => {
    link = undefined;
    await outbox.deliver(reply("a", "hello"));
    await until(() => clock.waits.length === 1);
    const closing = outbox.close(100);
    clock.pass(100);
    await closing;
    await outbox.deliver(reply("b", "later"));
    link = platform;
    clock.pass(60_000);
    await untilIdle();
    expect(platform.texts).toEqual([]);
    expect(await open().recover()).toBe(2);
    await until(() => platform.messages.length === 2);
    expect(platform.texts).toEqual(["hello", "later"]);
  });
});

describe("after a start", () => {
  const plan = async (
    key: string,
    state: "planned" | "sending" | "unknown",
    more: { editOf?: string; replyTo?: string } = {},
  ) => {
    const [row] = await journal.outbox.plan({
      replyKey: key,
      to: peer("8001"),
      parts: [{ kind: "text", body: key, format: "plain", plain: key }],
      ...more,
    });
    if (state !== "planned") await journal.outbox.mark(row!.id, { state });
    return row!;
  };

  it("sends the planned plainly and labels what may have arrived, but no edit", async () => {
    await platform.send(
      peer("8001"),
      { kind: "text", body: "preview", format: "plain", plain: "" },
      { idempotencyKey: "p" },
    );
    await plan("planned", "planned");
    await plan("sending", "sending");
    await plan("unknown", "unknown");
    await plan("edit", "sending", { editOf: "m1" });
    expect(await outbox.recover()).toBe(4);
    await until(async () => (await journal.stats()).openOutbox === 0);
    expect(platform.texts).toEqual(["edit", "planned", "(possible repeat) sending", "(possible repeat) unknown"]);
  });

  it("asks a platform that knows, and labels only what stays unknown", async () => {
    const asked: Parameters<NonNullable<ChannelLink["find"]>>[2][] = [];
    const fates: Record<string, SendResult> = {};
    link = Object.assign(platform, {
      find: async (_to: Peer, _part: OutboundPart, options: (typeof asked)[number]) => {
        asked.push(options);
        return fates[options.idempotencyKey] ?? Promise.reject(new Error("broken"));
      },
    });
    const there = await plan("there", "sending", { replyTo: "m5" });
    const lost = await plan("lost", "unknown");
    const dark = await plan("dark", "sending");
    const throws = await plan("throws", "unknown");
    await plan("planned", "planned");
    fates[there.sendKey] = { kind: "sent", messageId: "m77" };
    fates[lost.sendKey] = { kind: "retry", reason: "is not there" };
    fates[dark.sendKey] = { kind: "unknown", reason: "cannot tell" };
    await outbox.recover();
    await until(async () => (await journal.stats()).openOutbox === 0);
    expect(asked).toEqual([
      { idempotencyKey: there.sendKey, replyTo: "m5" },
      ...[lost, dark, throws].map(({ sendKey }) => ({ idempotencyKey: sendKey })),
    ]);
    expect(platform.texts).toEqual(["lost", "(possible repeat) dark", "(possible repeat) throws", "planned"]);
    expect(log.lines.filter((line) => line.includes("delivered"))).toHaveLength(5);
  });

  it("finds out at once what became of a send with unknown end", async () => {
    platform.script.push({ result: { kind: "unknown", reason: "lost" }, lands: true });
    link = Object.assign(platform, { find: async () => ({ kind: "sent", messageId: "m1" }) as const });
    await outbox.deliver(reply("a", "hello"));
    await until(() => clock.waits.length > 0);
    clock.pass(1000);
    await until(async () => (await journal.stats()).openOutbox === 0);
    expect(platform.texts).toEqual(["hello"]);
  });

  it("does not send what is planned again by the turn it belongs to", async () => {
    await plan("same", "planned");
    const { promise, resolve } = Promise.withResolvers<void>();
    platform.gate = promise;
    await outbox.recover();
    await outbox.deliver(reply("same", "same"));
    resolve();
    await until(async () => (await journal.stats()).openOutbox === 0);
    expect(platform.texts).toEqual(["same"]);
  });

  it("labels one that was planned as a repeat no second time, so that it fits", async () => {
    limits = { ...LIMITS, text: 200 };
    platform.script.push({ result: { kind: "unknown", reason: "lost" } });
    await outbox.deliver(reply("a", "x".repeat(181), { isRepeat: true }));
    await until(() => clock.waits.length > 0);
    clock.pass(1000);
    await until(async () => (await journal.stats()).openOutbox === 0);
    expect(platform.calls.map(({ text }) => text)).toEqual([1, 2].map(() => `(possible repeat) ${"x".repeat(181)}`));
  });

  it("labels once, and keeps in mind that it may have arrived while the channel is down", async () => {
    link = undefined;
    const row = await plan("hello", "sending");
    await outbox.recover();
    await until(() => clock.waits.length > 0);
    expect((await journal.outbox.open()).find(({ id }) => id === row.id)?.state).toBe("unknown");
    link = platform;
    clock.pass(500);
    await until(() => platform.messages.length === 1);
    expect(platform.texts).toEqual(["(possible repeat) hello"]);
  });

  it("notes at once what may have arrived, whatever ends it before it is tried again", async () => {
    link = undefined;
    const [dropped, old] = [await plan("dropped", "sending"), await plan("old", "sending")];
    await outbox.recover();
    expect(await journal.outbox.open()).toMatchObject([{ state: "unknown" }, { state: "unknown" }]);
    await outbox.drop(dropped.id);
    for (const ms of [500, 6 * 3_600_000]) {
      await until(() => clock.waits.length > 0);
      clock.pass(ms);
    }
    await until(async () => (await journal.stats()).openOutbox === 0);
    for (const { id } of [dropped, old])
      expect(await journal.messages.sendAgain(id)).toMatchObject({ state: "unknown" });
  });

  it("knows of a row that was given up in the middle of its send that it may have arrived", async () => {
    const row = await plan("hello", "sending");
    await outbox.drop(row.id);
    expect(await journal.messages.sendAgain(row.id)).toMatchObject({ state: "unknown" });
    const unsent = await plan("never tried", "planned");
    await outbox.drop(unsent.id);
    expect(await journal.messages.sendAgain(unsent.id)).toMatchObject({ state: "planned" });
  });

  it("does not send replies older than six hours", async () => {
    await plan("old", "planned");
    clock.pass(6 * 3_600_000 + 1);
    await plan("new", "planned");
    await outbox.recover();
    await until(async () => (await journal.stats()).openOutbox === 0);
    expect(platform.texts).toEqual(["new"]);
    expect(log.lines).toContain("error reply not sent: too old");
  });
});

describe("preview", () => {
  const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`).join(" ");

  it("is not shown for a quick answer", async () => {
    const preview = outbox.preview(peer("8001"), { inboxId: 1, eventKey: "e1" })!;
    clock.pass(799);
    preview.update(words(20));
    await untilIdle();
    expect(await preview.finish()).toBeUndefined();
    expect(platform.messages).toEqual([]);
  });

  it("makes its text once an edit is due, not at every delta", async () => {
    const preview = outbox.preview(peer("8001"), { inboxId: 1, eventKey: "e1" })!;
    clock.pass(800);
    let made = 0;
    for (let count = 10; count < 500; count += 1)
      preview.update(() => {
        made += 1;
        return words(count);
      });
    await until(() => platform.messages.length === 1);
    await untilIdle();
    expect(made).toBe(1);
    clock.pass(1000);
    await until(() => platform.texts[0] === words(499));
    expect(made).toBe(2);
  });

  it("grows at the platform's pace and becomes the final", async () => {
    limits = { ...LIMITS, editEveryMs: 3000 };
    const preview = outbox.preview(peer("8001"), { inboxId: 1, eventKey: "e1" }, { replyTo: "q1" })!;
    clock.pass(800);
    preview.update(words(10));
    await until(() => platform.messages.length === 1);
    await untilIdle();
    preview.update(words(11));
    clock.pass(2999);
    preview.update(words(12));
    await untilIdle();
    expect(platform.calls).toHaveLength(1);
    clock.pass(1);
    await until(() => platform.calls.length === 2);
    const editOf = await preview.finish();
    clock.pass(10_000);
    preview.update(words(14));
    await outbox.deliver(reply("a", "all of it", { inboxId: 1, ...(editOf !== undefined && { editOf }) }));
    await until(() => platform.texts[0] === "all of it");
    expect(platform.messages).toMatchObject([{ replyTo: "q1", edits: [words(10), words(12)] }]);
    expect(await journal.outbox.previewOf(1)).toBe("m1");
  });

  it("shows the last words of a model that falls silent, once", async () => {
    const preview = outbox.preview(peer("8001"), { inboxId: 1, eventKey: "e1" })!;
    preview.update(words(9));
    clock.pass(799);
    await untilIdle();
    expect(platform.messages).toEqual([]);
    clock.pass(1);
    await until(() => platform.messages.length === 1);
    await untilIdle();
    preview.update(words(10));
    preview.update(words(11));
    clock.pass(1000);
    await until(() => platform.calls.length === 2);
    clock.pass(60_000);
    await untilIdle();
    expect(platform.messages).toMatchObject([{ text: words(11), edits: [words(9)] }]);
    await preview.finish();
    clock.pass(60_000);
    await untilIdle();
    expect(platform.calls).toHaveLength(2);
  });

  it("is taken over after a crash", async () => {
    await platform.send(
      peer("8001"),
      { kind: "text", body: "half", format: "plain", plain: "" },
      { idempotencyKey: "p" },
    );
    const preview = outbox.preview(peer("8001"), { inboxId: 1, eventKey: "e1" })!;
    preview.adopt("m1");
    clock.pass(800);
    preview.update(words(10));
    await until(() => platform.texts[0] === words(10));
    expect(await preview.finish()).toBe("m1");
  });

  it("is no second message when its first send has an unknown end", async () => {
    platform.script.push({ result: { kind: "unknown", reason: "timeout" }, lands: true });
    const preview = outbox.preview(peer("8001"), { inboxId: 1, eventKey: "e1" })!;
    for (const count of [10, 20, 30]) {
      clock.pass(2000);
      preview.update(words(count));
      await untilIdle();
    }
    expect(await preview.finish()).toBeUndefined();
    expect(preview.mayRemain).toBe(true);
    expect(platform.messages).toHaveLength(1);
  });

  it("is noted before it is sent, so that a crash in between is known", async () => {
    let noted: string | undefined;
    link = {
      ...platform,
      edit: (to, id, part) => platform.edit(to, id, part),
      close: async () => undefined,
      send: async (to, part, options) => {
        noted = await journal.outbox.previewOf(7);
        return platform.send(to, part, options);
      },
    };
    const preview = outbox.preview(peer("8001"), { inboxId: 7, eventKey: "e7" })!;
    clock.pass(800);
    preview.update(words(10));
    await until(() => platform.messages.length === 1);
    expect(await preview.finish()).toBe("m1");
    expect(noted).toBe("");
    const afterCrash = outbox.preview(peer("8001"), { inboxId: 7, eventKey: "e7" })!;
    afterCrash.adopt("");
    clock.pass(5000);
    afterCrash.update(words(20));
    await untilIdle();
    expect(platform.calls).toHaveLength(1);
    expect(await afterCrash.finish()).toBeUndefined();
    expect(afterCrash.mayRemain).toBe(true);
  });

  it("waits the time that a 429 asks for", async () => {
    platform.script.push({ result: { kind: "retry", reason: "429", afterMs: 9000 } });
    const preview = outbox.preview(peer("8001"), { inboxId: 1, eventKey: "e1" })!;
    clock.pass(800);
    preview.update(words(10));
    await until(() => platform.calls.length === 1);
    await untilIdle();
    clock.pass(8999);
    preview.update(words(11));
    await untilIdle();
    expect(platform.calls).toHaveLength(1);
    clock.pass(1);
    preview.update(words(12));
    await until(() => platform.messages.length === 1);
  });

  it("does not delay the final text after a reply that waits for its platform", async () => {
    platform.script.push({ result: { kind: "retry", reason: "429", afterMs: 3_600_000 } });
    await outbox.deliver(reply("before", "before"));
    await until(() => clock.waits.includes(3_600_000));
    const preview = outbox.preview(peer("8001"), { inboxId: 1, eventKey: "e1" })!;
    clock.pass(800);
    preview.update(words(10));
    expect(await preview.finish()).toBeUndefined();
  });

  it("needs a platform that edits", () => {
    link = { send: (to: Peer, part, options) => platform.send(to, part, options), close: async () => undefined };
    expect(outbox.preview(peer("8001"), { inboxId: 1, eventKey: "e1" })).toBeUndefined();
  });
});

describe("what an operator does", () => {
  const rowOf = async (id: number) => journal.messages.outboxRow(id);
  const sendAgain = async (id: number) => {
    const row = await journal.messages.sendAgain(id);
    if (row) outbox.retry(row);
  };

  it("ends a reply that waits for its next try, and the chat continues", async () => {
    platform.script.push({ result: { kind: "retry", reason: "down", afterMs: 60_000 } });
    const [row] = await outbox.deliver(reply("a", "first"));
    await outbox.deliver(reply("b", "second"));
    await until(() => clock.waits.includes(60_000));
    expect(outbox.isUnderway(row!.id)).toBe(true);
    await outbox.drop(row!.id);
    await until(() => platform.texts.length === 1);
    expect(platform.texts).toEqual(["second"]);
    expect(await rowOf(row!.id)).toMatchObject({ state: "failed", error: "by the operator" });
    expect(outbox.isUnderway(row!.id)).toBe(false);
  });

  it("counts as sent what the platform takes while it is dropped", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    platform.gate = promise;
    const [row] = await outbox.deliver(reply("a", "first"));
    await until(() => platform.calls.length === 1);
    await outbox.drop(row!.id);
    resolve();
    await until(async () => (await rowOf(row!.id))?.state === "sent");
    await untilIdle();
    expect(await rowOf(row!.id)).toMatchObject({ state: "sent", messageId: "m1" });
  });

  it("sends a refused reply again, plainly, however old it is", async () => {
    platform.script.push({ result: { kind: "refused", reason: "blocked" } });
    const [row] = await outbox.deliver(reply("a", "first"));
    await until(async () => (await rowOf(row!.id))?.state === "failed");
    clock.pass(7 * 3_600_000);
    await sendAgain(row!.id);
    await until(() => platform.texts.length === 1);
    expect(platform.texts).toEqual(["first"]);
    await until(async () => (await rowOf(row!.id))?.state === "sent");
    expect(await rowOf(row!.id)).not.toHaveProperty("isRepeat");
  });

  it("labels a reply that may have arrived, and the journal knows it", async () => {
    const lost: SendResult = { kind: "unknown", reason: "reset" };
    platform.script.push({ result: lost, lands: true }, { result: lost });
    const [row] = await outbox.deliver(reply("a", "first"));
    await until(() => clock.waits.length > 0);
    clock.pass(60_000);
    await until(async () => (await rowOf(row!.id))?.state === "failed");
    await sendAgain(row!.id);
    await until(async () => (await rowOf(row!.id))?.state === "sent");
    expect(platform.texts).toEqual(["first", "(possible repeat) first"]);
    expect(await rowOf(row!.id)).toMatchObject({ isRepeat: true });
  });

  it("keeps the label to the journal where readers are not to see it", async () => {
    const links = { link: () => link, limits: () => limits };
    outbox = new Outbox({ journal: journal.outbox, links, log, clock, labelsRepeats: () => false });
    const [planned] = await outbox.deliver(reply("a", "again", { isRepeat: true }));
    platform.script.push(
      { result: { kind: "sent", messageId: "x" } },
      { result: { kind: "unknown", reason: "reset" } },
    );
    const [row] = await outbox.deliver(reply("b", "second"));
    await until(() => clock.waits.length > 0);
    clock.pass(60_000);
    await until(async () => (await rowOf(row!.id))?.state === "sent");
    expect(platform.calls.map(({ text }) => text)).toEqual(["again", "second", "second"]);
    for (const { id } of [planned!, row!]) expect(await rowOf(id)).toMatchObject({ isRepeat: true });
  });
});
