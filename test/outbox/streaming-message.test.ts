import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Outbox, type Reply } from "../../src/outbox/deliver.ts";
import type { OpenJournal } from "../../src/store/journal/journal.ts";
import type { ChannelLink, NativeStream, StreamOptions, SendResult } from "../../src/types/chat/channel.ts";
import { manualClock, type ManualClock } from "../kit/clock.ts";
import { LIMITS, ChatPlatform } from "../fakes/chat-platform.ts";
import { recordLog } from "../kit/log.ts";
import { peer } from "../kit/inbound.ts";
import { untilIdle } from "../kit/idle.ts";
import { diskOfDatabases } from "../kit/store/full-disk.ts";
import { openStateDir } from "../kit/store/state-dir.ts";
import { until } from "../kit/until.ts";

let journal: OpenJournal;
let state: Awaited<ReturnType<typeof openStateDir>>;
let platform: ChatPlatform;
let clock: ManualClock;

beforeEach(async () => {
  state = await openStateDir();
  journal = await state.journal();
  platform = new ChatPlatform();
  clock = manualClock();
});
afterEach(() => state.remove());

const ADA = peer("8001");
const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`).join(" ");

/** How a platform shows what is being written, and what it says to it. */
class Sight implements NativeStream {
  readonly isMessage: boolean;
  readonly keepAliveMs = 20_000;
  readonly told: string[] = [];
  readonly script: SendResult[] = [];
  options: StreamOptions | undefined;
  keepAlive = async () => this.#answer("keepAlive");
  show = async (_part: unknown, markdown: string) => this.#answer(markdown);
  end = async () => void this.told.push("end");

  constructor(isMessage: boolean) {
    this.isMessage = isMessage;
  }

  #answer(words: string): SendResult {
    this.told.push(words);
    return this.script.shift() ?? { kind: "sent", messageId: "g1" };
  }
}

function stage(isMessage: boolean, limits = LIMITS) {
  const sight = new Sight(isMessage);
  const link: ChannelLink = {
    send: (to, part, options) => platform.send(to, part, options),
    edit: (to, id, part) => platform.edit(to, id, part),
    stream: (_to, options) => {
      sight.options = options;
      return sight;
    },
    close: async () => undefined,
  };
  const log = recordLog();
  const outbox = new Outbox({ journal: journal.outbox, links: { link: () => link, limits: () => limits }, log, clock });
  return { sight, outbox, log };
}

const final = (text: string, more: Partial<Reply> = {}): Reply => ({
  replyKey: "in:1:reply",
  inboxId: 1,
  to: ADA,
  blocks: [{ kind: "text", markdown: text }],
  ...more,
});

async function grown(preview: { update(text: string): void }, sight: Sight, text: string): Promise<void> {
  const before = sight.told.length;
  clock.pass(1000);
  preview.update(text);
  await until(() => sight.told.length > before);
  await untilIdle();
}

describe("an answer that the platform shows as being written", () => {
  it("is a message of its own kind, which the final edits", async () => {
    const { sight, outbox } = stage(true);
    const preview = outbox.preview(
      ADA,
      { inboxId: 1, eventKey: "e1" },
      { replyTo: "q1", recipient: { id: "U1", teamId: "T1" } },
    )!;
    await grown(preview, sight, words(10));
    await grown(preview, sight, words(12));
    expect(sight.options).toEqual({
      key: journal.outbox.previewKey(ADA, "e1"),
      replyTo: "q1",
      answers: "e1",
      recipient: { id: "U1", teamId: "T1" },
    });
    expect(await journal.outbox.previewOf(1)).toBe("g1");
    expect(await preview.finish(words(14))).toBe("g1");
    expect(sight.told).toEqual([words(10), words(12), words(14)]);
    expect(platform.calls).toEqual([]);
  });

  it("is continued by edits where it is refused", async () => {
    const { sight, outbox } = stage(true);
    await platform.send(ADA, { kind: "text", body: "", format: "plain", plain: "" }, { idempotencyKey: "x" });
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    sight.script.push({ kind: "sent", messageId: "m1" }, { kind: "refused", reason: "expired" });
    await grown(preview, sight, words(10));
    await grown(preview, sight, words(12));
    expect(platform.texts).toEqual([words(12)]);
    clock.pass(1000);
    preview.update(words(13));
    await until(() => platform.texts[0] === words(13));
    expect(sight.told).toHaveLength(2);
    expect(await preview.finish(words(14))).toBe("m1");
    expect(platform.texts).toEqual([words(13)]);
  });

  it("is a message where the platform refuses from the first word", async () => {
    const { sight, outbox } = stage(true);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    sight.script.push({ kind: "refused", reason: "missing_scope" });
    await grown(preview, sight, words(10));
    await until(() => platform.messages.length === 1);
    expect(await preview.finish()).toBe("m1");
    expect(await journal.outbox.previewOf(1)).toBe("m1");
  });

  it("is edited once it is longer than one message", async () => {
    const { sight, outbox } = stage(true, { ...LIMITS, text: 120 });
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    sight.script.push({ kind: "sent", messageId: "m1" });
    await platform.send(ADA, { kind: "text", body: "", format: "plain", plain: "" }, { idempotencyKey: "x" });
    await grown(preview, sight, words(10));
    clock.pass(1000);
    preview.update(words(60));
    await until(() => platform.calls.length === 2);
    expect(words(60).startsWith(platform.texts[0] ?? "?")).toBe(true);
    expect(await preview.finish(words(70))).toBe("m1");
    expect(sight.told).toEqual([words(10)]);
  });

  it.each([
    { kind: "refused", reason: "no" },
    { kind: "retry", reason: "429", afterMs: 5000 },
  ] as const)("is not in the journal where the platform did not take it: $kind", async (result) => {
    const { sight, outbox } = stage(true);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    sight.script.push({ kind: "refused", reason: "missing_scope" });
    platform.script.push({ result });
    await grown(preview, sight, words(10));
    await until(() => platform.calls.length === 1);
    await untilIdle();
    expect(await journal.outbox.previewOf(1)).toBeUndefined();
    const other = stage(true);
    other.sight.script.push({ kind: "retry", reason: "429", afterMs: 5000 });
    await grown(other.outbox.preview(ADA, { inboxId: 2, eventKey: "e2" })!, other.sight, words(10));
    expect(await journal.outbox.previewOf(2)).toBeUndefined();
  });

  it("may be in the chat when nobody knows whether it began", async () => {
    const { sight, outbox } = stage(true);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    sight.script.push({ kind: "unknown", reason: "timeout" });
    await grown(preview, sight, words(10));
    clock.pass(1000);
    preview.update(words(12));
    await untilIdle();
    expect(sight.told).toHaveLength(1);
    expect(preview.mayRemain).toBe(true);
    expect(await journal.outbox.previewOf(1)).toBe("");
  });

  it.each([true, false])("may be in the chat when the adapter failed as it began, natively %s", async (isNative) => {
    const { sight, outbox } = stage(true);
    const breaks = vi.fn(() => Promise.reject(new Error("broken")));
    if (isNative) sight.show = breaks;
    else platform.send = breaks;
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" }, { isNative })!;
    for (const count of [10, 12, 14]) {
      clock.pass(2000);
      preview.update(words(count));
      await until(() => breaks.mock.calls.length > 0);
      await untilIdle();
    }
    expect(breaks).toHaveBeenCalledTimes(1);
    expect(await preview.finish()).toBeUndefined();
    expect(preview.mayRemain).toBe(true);
    expect(await journal.outbox.previewOf(1)).toBe("");
  });

  it("is not begun again after a crash", async () => {
    const { sight, outbox } = stage(true);
    await platform.send(ADA, { kind: "text", body: "half", format: "plain", plain: "" }, { idempotencyKey: "x" });
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    preview.adopt("m1");
    clock.pass(1000);
    preview.update(words(10));
    await until(() => platform.texts[0] === words(10));
    expect(sight.told).toEqual([]);
  });

  it("is ended where no final follows", async () => {
    const { sight, outbox } = stage(true);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    await grown(preview, sight, words(10));
    await preview.leave();
    await until(() => sight.told.at(-1) === "end");
  });

  it("is not used where the settings do not want it", async () => {
    const { sight, outbox } = stage(true);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" }, { isNative: false })!;
    clock.pass(1000);
    preview.update(words(10));
    await until(() => platform.messages.length === 1);
    expect(sight.options).toBeUndefined();
  });
});

describe("what a chat shows of an answer", () => {
  it("waits for more words when the model begins again", async () => {
    const { outbox } = stage(false);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" }, { isNative: false })!;
    for (const count of [20, 7, 19, 21]) {
      clock.pass(2000);
      preview.update(words(count));
      await untilIdle();
    }
    expect(platform.messages).toMatchObject([{ text: words(21), edits: [words(20)] }]);
  });

  it("waits for more words than an earlier boot has shown, of which the journal knows", async () => {
    const before = stage(false).outbox.preview(ADA, { inboxId: 1, eventKey: "e1" }, { isNative: false })!;
    clock.pass(1000);
    before.update(words(20));
    await until(() => platform.texts[0] === words(20));
    const shownBefore = await journal.outbox.previewLengthOf(1);
    expect(shownBefore).toBeGreaterThanOrEqual(words(20).length);

    const preview = stage(false).outbox.preview(ADA, { inboxId: 1, eventKey: "e1" }, { shownBefore })!;
    preview.adopt("m1");
    for (const count of [7, 19, 40]) {
      clock.pass(60_000);
      preview.update(words(count));
      await untilIdle();
    }
    expect(platform.messages).toMatchObject([{ text: words(40), edits: [words(20)] }]);
  });

  it("is shown although its length could not be noted", async () => {
    const { outbox, log } = stage(false);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" }, { isNative: false })!;
    clock.pass(1000);
    preview.update(words(10));
    await until(() => platform.texts[0] === words(10));
    await untilIdle();
    const disk = diskOfDatabases();
    disk.isFull = () => true;
    clock.pass(60_000);
    preview.update(words(40));
    await until(() => platform.texts[0] === words(40));
    disk.isFull = () => false;
    expect(log.lines.join()).toContain("not noted");
  });
});

describe("a draft", () => {
  it("of an earlier boot is not made shorter while it may still be seen, and not waited for once it has gone", async () => {
    const { sight, outbox } = stage(false);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" }, { shownBefore: words(30).length })!;
    for (const [ms, count] of [
      [1000, 5],
      [15_000, 12],
      [4000, 15],
    ] as const) {
      clock.pass(ms);
      preview.update(words(count));
      await untilIdle();
    }
    expect(sight.told).toEqual([words(15)]);
  });

  it("leaves nothing in the journal, and the final is sent", async () => {
    const { sight, outbox } = stage(false);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    await grown(preview, sight, words(10));
    expect(preview.fading).toBe(words(10));
    expect(await preview.finish(words(14))).toBeUndefined();
    expect(sight.told).toEqual([words(10)]);
    expect(await journal.outbox.previewOf(1)).toBeUndefined();
    await outbox.deliver(final(words(14)));
    await until(() => platform.texts.length === 1);
    expect(platform.messages).toMatchObject([{ text: words(14), edits: [] }]);
  });

  it("is shown again before it fades, until the end", async () => {
    const { sight, outbox } = stage(false);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    await grown(preview, sight, words(10));
    for (const times of [1, 2]) {
      clock.pass(20_000);
      await until(() => sight.told.length === 1 + times);
      await untilIdle();
    }
    expect(sight.told.slice(1)).toEqual(["keepAlive", "keepAlive"]);
    await preview.finish();
    clock.pass(20_000);
    await untilIdle();
    expect(sight.told).toHaveLength(3);
    expect(clock.waits).toEqual([]);
  });

  it("that is refused becomes a message", async () => {
    const { sight, outbox } = stage(false);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    await grown(preview, sight, words(10));
    sight.script.push({ kind: "refused", reason: "400" });
    await grown(preview, sight, words(11));
    await until(() => platform.messages.length === 1);
    expect(preview.fading).toBeUndefined();
    expect(await preview.finish()).toBe("m1");
  });

  it("waits the time that a 429 asks for", async () => {
    const { sight, outbox } = stage(false);
    const preview = outbox.preview(ADA, { inboxId: 1, eventKey: "e1" })!;
    sight.script.push({ kind: "retry", reason: "429", afterMs: 9000, rateLimited: true });
    await grown(preview, sight, words(10));
    clock.pass(8999);
    preview.update(words(11));
    await untilIdle();
    expect(sight.told).toHaveLength(1);
    expect(preview.fading).toBeUndefined();
    clock.pass(1);
    await until(() => sight.told.length === 2);
    expect(preview.fading).toBe(words(11));
  });
});

it("whatever the platform says to what grows, at most one message is made, and the final knows it", async () => {
  const answer = fc.constantFrom<SendResult>(
    { kind: "sent", messageId: "m1" },
    { kind: "retry", reason: "busy", afterMs: 1 },
    { kind: "refused", reason: "no" },
    { kind: "unknown", reason: "timeout" },
  );
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(answer, { maxLength: 6 }), fc.nat(), async (isMessage, answers, inbox) => {
      platform = new ChatPlatform();
      const { sight, outbox } = stage(isMessage);
      sight.script.push(...answers);
      const preview = outbox.preview(ADA, { inboxId: inbox + 1, eventKey: `e${inbox}` })!;
      for (const count of [10, 20, 30, 40]) {
        clock.pass(2000);
        preview.update(words(count));
        await untilIdle();
      }
      const id = await preview.finish();
      const said = sight.told.map((_, index) => answers[index]?.kind ?? "sent");
      const began = isMessage && said.some((kind) => kind === "sent" || kind === "unknown");
      expect(platform.messages.length + Number(began)).toBeLessThanOrEqual(1);
      if (platform.messages.length === 1) expect(id).toBe("m1");
      if (began) expect(id !== undefined || preview.mayRemain).toBe(true);
    }),
    { numRuns: 25 },
  );
});
