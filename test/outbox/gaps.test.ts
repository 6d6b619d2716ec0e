import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Outbox, type Reply } from "../../src/outbox/deliver.ts";
import type { OutboxDeps } from "../../src/outbox/ports.ts";
import type { OpenJournal } from "../../src/store/journal/journal.ts";
import { gapText } from "../../src/dispatch/notices/chat-texts.ts";
import { nextMessage, peer } from "../kit/inbound.ts";
import { type ManualClock, manualClock } from "../kit/clock.ts";
import { LIMITS, ChatPlatform } from "../fakes/chat-platform.ts";
import { recordLog } from "../kit/log.ts";
import { untilIdle } from "../kit/idle.ts";
import { openStateDir } from "../kit/store/state-dir.ts";
import { until } from "../kit/until.ts";

const ADA = peer("8001");
let clock: ManualClock;
let place: Awaited<ReturnType<typeof openStateDir>>;
let journal: OpenJournal;
let platform: ChatPlatform;
let isUp: boolean;

beforeEach(async () => {
  clock = manualClock();
  place = await openStateDir(clock);
  journal = await place.journal();
  platform = new ChatPlatform();
  isUp = true;
});
afterEach(() => place.remove());

function open(more: Partial<OutboxDeps> = {}): Outbox {
  const links = { link: () => (isUp ? platform : undefined), limits: () => ({ ...LIMITS, text: 400 }) };
  const told = { gapText: (gaps: Parameters<typeof gapText>[0]) => gapText(gaps, (at) => `t${at}`) };
  return new Outbox({ journal: journal.outbox, links, log: recordLog(), clock, ...told, ...more });
}

const reply = (replyKey: string, markdown: string, more: Partial<Reply> = {}): Reply => ({
  replyKey,
  to: ADA,
  blocks: [{ kind: "text", markdown }],
  ...more,
});
/** Lets time go by until it is so. */
const passUntil = (isSo: () => boolean) =>
  until(() => {
    clock.pass(1000);
    return isSo();
  });
async function accept(...texts: readonly [string, string]) {
  const [first, second] = await journal.inbox.accept(texts.map((text) => nextMessage(text)));
  return [first!.row, second!.row] as const;
}
const settled = () => until(async () => (await journal.stats()).openOutbox === 0);
const texts = (chat = "8001") => platform.messages.filter((one) => one.chat === chat).map(({ text }) => text);

describe("a chat that may miss something gets one line", () => {
  it("of answers that waited too long, as long as the config says", async () => {
    const outbox = open({ maxAgeMs: () => 3_600_000 });
    isUp = false;
    await outbox.deliver(reply("a", "first"));
    await outbox.deliver(reply("b", "second"));
    await outbox.deliver(reply("other", "elsewhere", { to: peer("8002") }));
    await until(() => clock.waits.length > 0);
    clock.pass(3_600_001);
    await outbox.deliver(reply("c", "in time"));
    isUp = true;
    await passUntil(() => texts().length === 2 && texts("8002").length === 1);
    expect(texts()).toEqual([
      "in time",
      expect.stringMatching(/^⚠️ Of my messages, 2 from t\d+ .*skipped\. Ask again/),
    ]);
    expect(texts("8002")).toEqual([expect.stringMatching(/1 from t\d+ could not be sent in time/)]);
  });

  it("of answers that a platform delayed for longer than they may wait, and those after them", async () => {
    const outbox = open({ maxAgeMs: () => 3_600_000 });
    const hours = { kind: "retry", reason: "429", afterMs: 30 * 86_400_000, rateLimited: true } as const;
    platform.script.push({ result: hours });
    await outbox.deliver(reply("a", "first"));
    await until(() => clock.waits.length > 0);
    clock.pass(1_800_000);
    await outbox.deliver(reply("b", "second"));
    clock.pass(1_800_001);
    await until(async () => (await journal.messages.outboxRow(1))?.state === "failed");
    await until(() => clock.waits.includes(1_800_000));
    clock.pass(1_800_000);
    await until(async () => (await journal.messages.outboxRow(2))?.state === "failed");
    await until(async () => (await journal.outbox.open()).length > 0);
    expect(platform.calls).toHaveLength(1);
    expect(await journal.outbox.open()).toMatchObject([{ replyKey: expect.stringMatching(/^gap:1:\d+$/) }]);
  });

  it("of one that was sent twice with unknown end", async () => {
    const outbox = open();
    for (const _ of [1, 2]) platform.script.push({ result: { kind: "unknown", reason: "lost" } });
    await outbox.deliver(reply("a", "hello"));
    await passUntil(() => texts().length === 1);
    expect(texts()).toEqual([expect.stringMatching(/1 from t\d+ may or may not have arrived/)]);
  });

  it("of a part that was refused, while the other parts were taken", async () => {
    const outbox = open();
    platform.script.push({ result: { kind: "sent", messageId: "m1" }, lands: true });
    platform.script.push({ result: { kind: "refused", reason: "no" } });
    await outbox.deliver(reply("a", Array.from({ length: 200 }, (_, at) => `word${at}`).join(" ")));
    await until(() => texts().some((text) => text.includes("refused by the platform")));
    expect(platform.texts.at(-1)).toMatch(/1 from t\d+ were refused by the platform/);
    expect(platform.messages.length).toBeGreaterThan(2);
  });

  it("of a block that was refused, while another block of the same answer was taken", async () => {
    const outbox = open();
    const [{ id: inboxId }] = await accept("question", "other question");
    await outbox.deliver(reply("in:1:block:0", "one", { inboxId }));
    await settled();
    platform.script.push({ result: { kind: "refused", reason: "no" } });
    await outbox.deliver(reply("in:1:block:1", "two", { inboxId }));
    await passUntil(() => texts().length === 2);
    expect(texts()).toEqual(["one", expect.stringMatching(/1 from t\d+ were refused by the platform/)]);
  });

  it("of no answer that was refused completely, though another message was answered, nor of what a tool already reports", async () => {
    const outbox = open();
    const [{ id: first }, { id: second }] = await accept("question", "other question");
    await outbox.deliver(reply("in:1:block:0", "one", { inboxId: first }));
    await settled();
    for (const _ of [1, 2]) platform.script.push({ result: { kind: "refused", reason: "no" } });
    await outbox.deliver(reply("in:2:block:0", "two", { inboxId: second }));
    await outbox.deliver(reply("in:1:tool:c1:", "three", { inboxId: first }));
    await settled();
    expect(await journal.outbox.unreportedGaps()).toEqual([]);
  });

  it("after the next start, once, where the gateway ended before it could send the line", async () => {
    const before = open({ maxAgeMs: () => 3_600_000 });
    isUp = false;
    await before.deliver(reply("a", "first"));
    await before.deliver(reply("b", "second"));
    await until(() => clock.waits.length > 0);
    const elsewhere = await journal.outbox.plan({
      replyKey: "c",
      to: peer("8002"),
      parts: [1, 2].map((n) => ({ kind: "text", body: `${n}`, format: "plain", plain: `${n}` })),
    });
    await journal.outbox.mark(elsewhere[0]!.id, { state: "sent", messageId: "m" });
    await journal.outbox.mark(elsewhere[1]!.id, { state: "failed", error: "no", gap: "refused" });
    // As a kill would: the rows are marked, the line is not planned.
    for (const { id } of await journal.outbox.open())
      await journal.outbox.mark(id, { state: "failed", error: "too old", gap: "late" });
    const closing = before.close(0);
    clock.pass(0);
    await closing;
    isUp = true;
    for (const start of [1, 2, 3]) {
      const outbox = open();
      await outbox.recover();
      await settled();
      await until(() => texts().length === 1 && texts("8002").length === 1, `start ${start}`);
      await untilIdle();
    }
    expect(texts()).toEqual([expect.stringMatching(/^⚠️ Of my messages, 2 from t\d+ .*skipped/)]);
    expect(texts("8002")).toEqual([expect.stringMatching(/1 from t\d+ were refused by the platform/)]);
  });

  it("again, where an operator resent it without success", async () => {
    const outbox = open();
    const [lost] = await journal.outbox.plan({
      replyKey: "b",
      to: ADA,
      parts: [{ kind: "text", body: "bye", format: "plain", plain: "bye" }],
    });
    await journal.outbox.mark(lost!.id, { state: "failed", error: "too old", gap: "late" });
    await outbox.recover();
    await until(() => texts().length === 1);
    const again = await journal.messages.sendAgain(lost!.id);
    for (const _ of [1, 2]) platform.script.push({ result: { kind: "unknown", reason: "lost" } });
    outbox.retry(again!);
    await passUntil(() => texts().length === 2);
    expect(texts().at(-1)).toMatch(/1 from t\d+ may or may not have arrived/);
  });

  it("of nothing where nothing is taken, and not of its own line", async () => {
    const outbox = open();
    platform.script.push({ result: { kind: "refused", reason: "blocked" } });
    await outbox.deliver(reply("a", "hello"));
    await settled();
    await untilIdle();
    expect(platform.calls).toHaveLength(1);
    for (const _ of [1, 2, 3, 4]) platform.script.push({ result: { kind: "unknown", reason: "lost" } });
    await outbox.deliver(reply("b", "hello"));
    await passUntil(() => platform.calls.length === 5);
    for (const _ of [1, 2, 3]) {
      clock.pass(60_000);
      await untilIdle();
    }
    expect(platform.calls).toHaveLength(5);
  });
});

describe("a message that is at fault itself", () => {
  const unfit = { kind: "refused", reason: "no reason given", isUnfit: true } as const;
  const links = { link: () => platform, limits: () => ({ ...LIMITS, format: "telegram-html" as const }) };
  const rich = reply("in:1:final", "**bold** words", { replyTo: "7", buttons: [{ label: "Yes", command: "yes" }] });

  it("is sent once more as its plain text", async () => {
    platform.script.push({ result: unfit });
    await open({ links }).deliver(rich);
    await settled();
    expect(platform.calls.map(({ text }) => text)).toEqual(["<b>bold</b> words", "bold words"]);
    expect(platform.messages).toEqual([expect.objectContaining({ text: "bold words", buttons: [] })]);
    expect(platform.messages[0]).not.toHaveProperty("replyTo");
  });

  it("and is refused so too, is told of in its chat", async () => {
    for (const _ of [1, 2]) platform.script.push({ result: unfit });
    await open({ links }).deliver(rich);
    await until(() => texts().length === 1);
    expect(texts()).toEqual([expect.stringMatching(/1 from t\d+ were refused by the platform, also as plain text/)]);
    expect(platform.calls).toHaveLength(3);
    expect(await journal.messages.outboxRow(1)).toMatchObject({ state: "failed", error: "no reason given" });
  });

  it("and is plain already, is not tried twice; of what a tool sent the model learns", async () => {
    platform.script.push({ result: unfit });
    const outbox = open();
    await outbox.deliver(reply("a", "plain"));
    await until(() => texts().length === 1);
    expect(texts()).toEqual([expect.stringContaining("also as plain text")]);
    platform.script.push({ result: unfit });
    await outbox.deliver(reply("in:1:tool:c1:", "plain"));
    await settled();
    expect(await journal.outbox.unreportedGaps()).toEqual([]);
    expect(platform.calls).toHaveLength(3);
  });

  it("and whose chat takes nothing, is tried no more", async () => {
    platform.script.push({ result: unfit }, { result: { kind: "refused", reason: "blocked" } });
    await open({ links }).deliver(rich);
    await settled();
    expect(await journal.outbox.unreportedGaps()).toEqual([]);
    expect(platform.calls).toHaveLength(2);
  });
});

describe("a preview that cannot become the answer", () => {
  const edited = reply("a", "the whole answer", { editOf: "p1", inboxId: 1 });

  it("is removed, and the answer is a message of its own", async () => {
    platform.script.push({ result: { kind: "sent", messageId: "p1" }, lands: true });
    await open().deliver(reply("p", "half"));
    await settled();
    platform.script.push({ result: { kind: "refused", reason: "too old to edit" } });
    await open().deliver({ ...edited, editOf: "m1" });
    await settled();
    expect(platform.texts).toEqual(["the whole answer"]);
  });

  it("that stays is answered with its label", async () => {
    platform.keepsAll = true;
    platform.script.push({ result: { kind: "refused", reason: "too old to edit" } });
    await open().deliver(edited);
    await settled();
    expect(platform.texts).toEqual(["(possible repeat) the whole answer"]);
    expect(await journal.outbox.of(1)).toMatchObject([{ state: "sent", isRepeat: true }]);
  });
});
