import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Outbox, type Reply } from "../../src/outbox/deliver.ts";
import { RateLimiter, type RateLimits } from "../../src/outbox/rate-limiter.ts";
import { renderText } from "../../src/outbox/render.ts";
import type { OpenJournal } from "../../src/store/journal/journal.ts";
import { accountId } from "../../src/types/ids.ts";
import { manualClock } from "../kit/clock.ts";
import { LIMITS, ChatPlatform } from "../fakes/chat-platform.ts";
import { recordLog } from "../kit/log.ts";
import { peer } from "../kit/inbound.ts";
import { untilIdle } from "../kit/idle.ts";
import { openStateDir } from "../kit/store/state-dir.ts";
import { until } from "../kit/until.ts";

let clock: ReturnType<typeof manualClock>;
const never = new AbortController().signal;

beforeEach(() => {
  clock = manualClock();
});

/** Goes on from moment to moment until the call may go; milliseconds that it took. */
async function waited(turn: Promise<unknown>): Promise<number> {
  const began = clock.now();
  let isThere = false;
  void turn.then(() => (isThere = true));
  await untilIdle();
  while (!isThere) {
    clock.pass(Math.min(...clock.waits));
    await untilIdle();
  }
  return clock.now() - began;
}

const limitedTwice = async (rate: RateLimiter, to = peer("1")) => {
  rate.refused(to, 1000);
  await waited(rate.waitTurn(to, never));
  rate.refused(to, 1000);
  await waited(rate.waitTurn(to, never));
};

describe("the rate limiter", () => {
  it("holds nothing back by itself", async () => {
    const rate = new RateLimiter(clock);
    for (let call = 0; call < 100; call += 1) expect(await waited(rate.waitTurn(peer("1"), never))).toBe(0);
  });

  it("keeps a chat waiting as long as its platform said, and no other", async () => {
    const rate = new RateLimiter(clock);
    rate.refused(peer("1"), 3000);
    expect(await waited(rate.waitTurn(peer("2"), never))).toBe(0);
    expect(await waited(rate.waitTurn(peer("1"), never))).toBe(3000);
    expect(await waited(rate.waitTurn(peer("1"), never))).toBe(0);
  });

  it("takes two chats that are limited at once for the whole account", async () => {
    const rate = new RateLimiter(clock);
    rate.refused(peer("1"), 3000);
    rate.refused(peer("2"), 2000);
    const other = { ...peer("3"), account: accountId("other") };
    expect(await waited(rate.waitTurn(other, never))).toBe(0);
    expect(await waited(rate.waitTurn(peer("3"), never))).toBe(2000);
  });

  it("learns to leave time between calls from refusals that follow each other, and forgets it", async () => {
    const rate = new RateLimiter(clock);
    await limitedTwice(rate);
    expect(await waited(rate.waitTurn(peer("1"), never))).toBe(500);
    rate.refused(peer("1"), 1000);
    await waited(rate.waitTurn(peer("1"), never));
    expect(await waited(rate.waitTurn(peer("1"), never))).toBe(1000);
    clock.pass(60_000);
    await waited(rate.waitTurn(peer("1"), never));
    expect(await waited(rate.waitTurn(peer("1"), never))).toBe(500);
    clock.pass(600_000);
    await waited(rate.waitTurn(peer("1"), never));
    expect(await waited(rate.waitTurn(peer("1"), never))).toBe(0);
  });

  it("sends as fast as the operator allows, per chat and per account", async () => {
    const rate = new RateLimiter(clock, () => ({ perChatPerSecond: 1, perAccountPerSecond: 10 }));
    expect(await waited(rate.waitTurn(peer("1"), never))).toBe(0);
    expect(await waited(rate.waitTurn(peer("2"), never))).toBe(100);
    expect(await waited(rate.waitTurn(peer("1"), never))).toBe(900);
  });

  it("delays no other chat for one that waits", async () => {
    const rate = new RateLimiter(clock, () => ({ perAccountPerSecond: 10 }));
    rate.refused(peer("1"), 30_000);
    void rate.waitTurn(peer("1"), never);
    await untilIdle();
    expect(await waited(rate.waitTurn(peer("2"), never))).toBe(0);
    expect(await waited(rate.waitTurn(peer("3"), never))).toBe(100);
  });

  it("ends a wait when the gateway stops", async () => {
    const rate = new RateLimiter(clock);
    const stop = new AbortController();
    rate.refused(peer("1"), 3000);
    const turn = rate.waitTurn(peer("1"), stop.signal);
    stop.abort();
    await turn;
    expect(clock.waits).toEqual([]);
  });

  it("never lets more calls through than allowed, whichever chats ask", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom("1", "2", "3"), { minLength: 2, maxLength: 12 }), async (chats) => {
        clock = manualClock();
        const rate = new RateLimiter(clock, () => ({ perChatPerSecond: 2, perAccountPerSecond: 5 }));
        const gone: { chat: string; at: number }[] = [];
        for (const chat of chats) {
          await waited(rate.waitTurn(peer(chat), never));
          gone.push({ chat, at: clock.now() });
        }
        for (const [index, { chat, at }] of gone.entries()) {
          const before = gone.slice(0, index);
          expect(at - (before.at(-1)?.at ?? -Infinity)).toBeGreaterThanOrEqual(200);
          expect(at - (before.findLast((one) => one.chat === chat)?.at ?? -Infinity)).toBeGreaterThanOrEqual(500);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe("the outbox", () => {
  let place: Awaited<ReturnType<typeof openStateDir>>;
  let journal: OpenJournal;
  let platform: ChatPlatform;
  let rules: RateLimits;
  let outbox: Outbox;
  const reply = (key: string, to = peer("1")): Reply => ({
    replyKey: key,
    to,
    blocks: [{ kind: "text", markdown: key }],
  });

  beforeEach(async () => {
    place = await openStateDir(clock);
    journal = await place.journal();
    platform = new ChatPlatform();
    rules = {};
    // What renders is loaded with the first text; no test waits for that.
    await renderText("loaded", LIMITS);
    outbox = new Outbox({
      journal: journal.outbox,
      links: { link: () => platform, limits: () => LIMITS },
      log: recordLog(),
      clock,
      pacing: () => rules,
    });
  });
  afterEach(() => place.remove());

  const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`).join(" ");
  /** A growing answer that gets a word every 100 ms. */
  async function grow(preview: { update(text: string): void }, ms: number): Promise<void> {
    for (let at = 100; at <= ms; at += 100) {
      clock.pass(100);
      preview.update(words(10 + at / 100));
      await untilIdle();
    }
  }

  it("lets a growing answer take no more calls than allowed, and its final go in the next free one", async () => {
    rules = { perChatPerSecond: 0.2 };
    const preview = outbox.preview(peer("1"), { inboxId: 1, eventKey: "e1" })!;
    await grow(preview, 7000);
    expect(platform.calls.map(({ call }) => call)).toEqual(["send", "edit"]);
    const editOf = await preview.finish(words(20));
    await outbox.deliver({ ...reply("final"), inboxId: 1, ...(editOf !== undefined && { editOf }) });
    await until(() => clock.waits.length > 0);
    expect(clock.waits).toEqual([3800]);
    expect(platform.calls).toHaveLength(2);
    clock.pass(3800);
    await until(() => platform.texts[0] === "final");
  });

  it("leaves the turns of a growing answer that fills its message to the final", async () => {
    rules = { perChatPerSecond: 0.2 };
    const preview = outbox.preview(peer("1"), { inboxId: 1, eventKey: "e1" })!;
    preview.update(words(2000));
    clock.pass(800);
    await until(() => platform.calls.length === 1);
    await grow({ update: () => preview.update(words(2001)) }, 10_000);
    expect(await preview.finish(words(2001))).toBe("m1");
    await outbox.deliver({ ...reply("final"), inboxId: 1, editOf: "m1" });
    await until(() => platform.texts[0] === "final");
  });

  it("counts the growing answers of an account among its calls", async () => {
    rules = { perAccountPerSecond: 0.5 };
    const previews = ["1", "2", "3"].map((chat, at) =>
      outbox.preview(peer(chat), { inboxId: at + 1, eventKey: chat })!,
    );
    for (let at = 0; at < 40; at += 1) {
      clock.pass(100);
      for (const preview of previews) preview.update(words(10 + at));
      await untilIdle();
    }
    expect(platform.calls).toHaveLength(2);
  });

  it("shows nothing of a growing answer while its platform wants no call", async () => {
    const preview = outbox.preview(peer("1"), { inboxId: 1, eventKey: "e1" })!;
    platform.script.push({ result: { kind: "retry", reason: "429", afterMs: 9000, rateLimited: true } });
    platform.script.push({ result: { kind: "retry", reason: "429", afterMs: 9000, rateLimited: true } });
    await outbox.deliver(reply("a", peer("2")));
    await outbox.deliver(reply("b", peer("3")));
    await until(() => clock.waits.filter((ms) => ms === 9000).length === 2);
    await grow(preview, 8900);
    expect(platform.calls).toHaveLength(2);
    await grow(preview, 200);
    await until(() => platform.messages.some(({ chat }) => chat === "1"));
  });

  it("spaces the messages of a chat and keeps their order", async () => {
    rules = { perChatPerSecond: 1 };
    for (const key of ["a", "b", "c"]) await outbox.deliver(reply(key));
    await until(() => platform.texts.length === 1 && clock.waits.includes(1000));
    await outbox.deliver(reply("elsewhere", peer("2")));
    await until(() => platform.texts.length === 2);
    clock.pass(999);
    await untilIdle();
    expect(platform.texts).toEqual(["a", "elsewhere"]);
    clock.pass(1);
    await until(() => platform.texts.length === 3 && clock.waits.includes(1000));
    clock.pass(1000);
    await until(() => platform.texts.length === 4);
    expect(platform.texts).toEqual(["a", "elsewhere", "b", "c"]);
  });

  it("holds a whole account back once two of its chats were refused", async () => {
    const refusal = { kind: "retry", reason: "429", afterMs: 5000, rateLimited: true } as const;
    platform.script.push({ result: refusal }, { result: refusal });
    await outbox.deliver(reply("a", peer("1")));
    await outbox.deliver(reply("b", peer("2")));
    await until(() => clock.waits.filter((ms) => ms === 5000).length === 2);
    await outbox.deliver(reply("c", peer("3")));
    await until(() => clock.waits.filter((ms) => ms === 5000).length === 3);
    expect(platform.calls).toHaveLength(2);
    clock.pass(5000);
    await until(() => platform.texts.length === 3);
    expect(platform.texts.toSorted()).toEqual(["a", "b", "c"]);
  });
});
