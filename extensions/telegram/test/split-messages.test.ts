import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import { telegramPlatform } from "../../../test/contracts/telegram-platform.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { accountId, channelId } from "../../../src/types/ids.ts";
import { close, NOTHING_SPLIT, sort } from "../receive/split-messages.ts";
import type { Incoming } from "../receive/split-messages.ts";

afterEach(stopAll);

const QUICK = { mediaGroupFlushMs: 30 };

async function begin(host = new Host(), config: Record<string, unknown> = QUICK) {
  const platform = await telegramPlatform();
  const started = await start(platform, host, config);
  return { ...started, fake: platform.fake, platform };
}

const photo = (album: string, id: string, caption?: string) => ({
  more: {
    text: undefined,
    media_group_id: album,
    photo: [{ file_id: id, file_unique_id: `q${id}`, width: 90, height: 90, file_size: 900 }],
    ...(caption !== undefined && { caption }),
  },
});
const refs = ({ media }: InboundMessage) => media.map(({ source }) => (source.at === "platform" ? source.ref : ""));

describe("an album", () => {
  test("is one message with all of its files, whichever poll brought them", async () => {
    const { fake, host } = await begin();
    fake.say("", photo("a", "p1", "the trip"));
    fake.say("", photo("a", "p2"));
    const message = await host.heard("the trip");
    expect(refs(message)).toEqual(["p1", "p2"]);
    expect(host.received).toHaveLength(1);
    expect(fake.pending).toEqual([]);
  });

  test("comes before what was written after it in its chat, and does not hold up other chats", async () => {
    const { fake, host } = await begin(new Host(), { mediaGroupFlushMs: 60_000 });
    fake.say("", photo("a", "p1", "visual"));
    fake.say("", photo("a", "p2"));
    fake.say("from elsewhere", { from: { id: 1002 } });
    await host.heard("from elsewhere");
    expect(host.received).toHaveLength(1);
    fake.say("what is this?");
    await host.heard("what is this?");
    expect(host.received.map(({ text }) => text)).toEqual(["from elsewhere", "visual", "what is this?"]);
    expect(refs(host.received[1]!)).toEqual(["p1", "p2"]);
  });

  test("of one person is not split by another's in the same group, nor by a reaction", async () => {
    const { fake, host } = await begin();
    const chat = { id: -1009, type: "supergroup", title: "Crew" };
    const reaction = { chat, message_id: 1, user: { id: 1003, is_bot: false, first_name: "Cy" }, date: 1 };
    fake.say("", { ...photo("a", "p1", "hers"), chat, from: { id: 1001 } });
    fake.say("", { ...photo("b", "q1", "his"), chat, from: { id: 1002 } });
    fake.inject({
      message_reaction: { ...reaction, old_reaction: [], new_reaction: [{ type: "emoji", emoji: "👍" }] },
    });
    fake.say("", { ...photo("a", "p2"), chat, from: { id: 1001 } });
    fake.say("", { ...photo("b", "q2"), chat, from: { id: 1002 } });
    expect(refs(await host.heard("hers"))).toEqual(["p1", "p2"]);
    expect(refs(await host.heard("his"))).toEqual(["q1", "q2"]);
  });

  test("is not lost when the process is killed while it waits for more parts, although they were acknowledged", async () => {
    const { fake, host, link, platform } = await begin(new Host(), { mediaGroupFlushMs: 60_000 });
    fake.say("", photo("a", "p1", "kept"));
    fake.say("", photo("a", "p2"));
    while (fake.pending.length > 0) await new Promise((resolve) => setImmediate(resolve));
    await link.close();
    expect(host.received).toEqual([]);
    const next = new Host(host);
    await start(platform, next, QUICK);
    expect(refs(await next.heard("kept"))).toEqual(["p1", "p2"]);
    // A part that remains after the crash becomes its own message and is not lost.
    fake.say("", photo("a", "p3", "late"));
    expect(refs(await next.heard("late"))).toEqual(["p3"]);
    expect(next.received).toHaveLength(2);
  });

  test("is offered again until it can be stored", async () => {
    const host = new Host();
    const { fake } = await begin(host);
    fake.say("first");
    await host.heard("first");
    host.refuse = 1;
    fake.say("", photo("a", "p1", "at last"));
    fake.say("", photo("a", "p2"));
    expect(refs(await host.heard("at last"))).toEqual(["p1", "p2"]);
    expect(host.reports).toContainEqual(
      expect.objectContaining({ kind: "trouble", reason: expect.stringContaining("disk full") }),
    );
  });
});

const SAID = {
  from: { id: 1001, is_bot: false, first_name: "Ada" },
  chat: { id: 1001, type: "private", first_name: "Ada" },
  get date() {
    return Math.floor(Date.now() / 1000);
  },
};

/** Its process is killed when a message with this text has come in: no later note is kept. */
class DyingHost extends Host {
  readonly #last: string;
  readonly #kept = new Map<string, string>();

  constructor(last: string) {
    super();
    this.#last = last;
  }

  override readonly notes = {
    get: async (key: string) => this.#kept.get(key),
    set: async (key: string, value: string) => {
      if (!this.received.some(({ text }) => text.includes(this.#last))) this.#kept.set(key, value);
    },
  };
}

describe("a text that the app split", () => {
  const WORDS = Array.from({ length: 2400 }, (_, at) => `word${at}`).join(" ");
  /** As Telegram's apps split a text: at white space where there is some. */
  const split = (text: string): string[] => {
    if (text.length <= 4096) return [text];
    const space = text.lastIndexOf(" ", 4096);
    const at = space > 4000 ? space : 4096;
    return [text.slice(0, at), ...split(text.slice(at).trimStart())];
  };

  test("is one message, also where a word was cut, and at once when its last part is there", async () => {
    const { fake, host } = await begin();
    for (const text of [WORDS, "x".repeat(9000)]) {
      for (const part of split(text)) fake.say(part);
      const { text: heard } = await host.heard(text.slice(-9));
      expect(heard.replaceAll("\n", " ")).toBe(text);
    }
    expect(host.received).toHaveLength(2);
  });

  test("of a group is meant for the bot as a whole, and nobody else's message becomes part of it", async () => {
    const { fake, host } = await begin();
    const chat = { id: -1009, type: "supergroup", title: "Crew" };
    const [first = "", ...more] = split(`@toy_bot ${WORDS}`);
    fake.say(first, { chat, from: { id: 1001 } });
    fake.say("between", { chat, from: { id: 1002 } });
    for (const part of more) fake.say(part, { chat, from: { id: 1001 } });
    const whole = await host.heard(WORDS.slice(-9));
    expect(whole.text).toContain("word0 word1");
    expect(host.received.map(({ text }) => text.length > 20 || text)).toEqual(["between", true]);
  });

  test("waits for no part that does not come, and a command is none", async () => {
    const { fake, host } = await begin();
    const long = "y".repeat(4096);
    fake.say(long);
    fake.say("/stop");
    await host.heard("/stop");
    fake.say(`${long}z`.slice(1));
    await host.heard("yz");
    expect(host.received.map(({ text }) => text.length)).toEqual([4096, 5, 4096]);
  });

  test("takes in its last part although the process was killed before that came", async () => {
    const { fake, host, link, platform } = await begin();
    fake.say("w".repeat(4096));
    while (fake.pending.length > 0) await new Promise((resolve) => setImmediate(resolve));
    await link.close();
    fake.say("the end");
    const next = new Host(host);
    await start(platform, next, QUICK);
    expect((await next.heard("the end")).text).toBe(`${"w".repeat(4096)}the end`);
    expect([host.received, next.received.length]).toEqual([[], 1]);
  });

  test("takes in nothing more when the process is killed after it was passed on without a last part", async () => {
    const host = new DyingHost("xxx");
    const { fake, link, platform } = await begin(host);
    const date = SAID.date;
    fake.inject({ message: { ...SAID, date, message_id: 76, text: "x".repeat(4096) } });
    const begun = await host.heard("xxx");
    await link.close();
    fake.inject({ message: { ...SAID, date, message_id: 77, text: "the end" } });
    const next = new Host(host);
    await start(platform, next, QUICK);
    await next.heard("the end");
    expect(next.received.map(({ eventKey, text }) => [eventKey, text])).toEqual([
      // The inbox has it already, so that a longer message with its key would be lost.
      [begun.eventKey, begun.text],
      [expect.any(String), "the end"],
    ]);
  });

  test("is not lost when the process is killed between its parts", async () => {
    const { fake, host, link, platform } = await begin();
    fake.say("k".repeat(4096));
    while (fake.pending.length > 0) await new Promise((resolve) => setImmediate(resolve));
    await link.close();
    expect(host.received).toEqual([]);
    const next = new Host(host);
    await start(platform, next, QUICK);
    expect((await next.heard("kkk")).text).toHaveLength(4096);
  });

  test("comes once when the process is killed after it was passed on, and before that is noted", async () => {
    const host = new DyingHost("the end");
    const { fake, link, platform } = await begin(host);
    fake.say("d".repeat(4096));
    while (fake.pending.length > 0) await new Promise((resolve) => setImmediate(resolve));
    const last = { ...SAID, message_id: 77, text: "the end" };
    const update_id = fake.inject({ message: last });
    const whole = await host.heard("the end");
    await link.close();
    const next = new Host(host);
    await start(platform, next, QUICK);
    // Telegram offers the last part again, since it was not acknowledged.
    fake.inject({ update_id, message: last });
    fake.say("after");
    await next.heard("after");
    expect(next.received.map(({ eventKey, text }) => [eventKey, text])).toEqual([
      // The inbox has it already.
      [whole.eventKey, whole.text],
      [expect.any(String), "after"],
    ]);
  });

  test("does not take in what the same person wrote later, even if both arrive together", () => {
    const part = (key: number, text: string, sentAt: number) => ({
      message: { ...message(key, "1"), text, media: [], sentAt },
    });
    const { ready, state } = sort(NOTHING_SPLIT, [part(1, "a".repeat(4096), 10_000), part(2, "later", 40_000)], {
      album: 0,
      text: 0,
    });
    expect([ready.map(({ text }) => text.length), state.open]).toEqual([[4096, 5], []]);
  });
});

const message = (key: number, chat: string): InboundMessage => ({
  id: String(key),
  eventKey: `u${key}`,
  from: { channel: channelId("telegram"), account: accountId("default"), chat: { kind: "direct", id: chat } },
  sender: { id: chat },
  text: "",
  media: [{ kind: "image", source: { at: "platform", ref: `u${key}` } }],
  mentionsBot: true,
  receivedAt: 0,
});

const NOW = { album: 0, text: 0 };
/** The event keys of all parts of a message. */
const keysIn = (heard: InboundMessage): readonly string[] => [
  ...refs(heard),
  ...[...heard.text.matchAll(/<(u\d+)>/g)].map(([, key = ""]) => key),
];

test("every part arrives once and in its chat's order, however often and in whatever batches it is offered", () => {
  const updates = fc.array(
    fc.record({
      chat: fc.constantFrom("1", "2"),
      album: fc.constantFrom("a", "b", undefined),
      length: fc.constantFrom(0, 10, 4096),
      sentAt: fc.constantFrom(0, 60_000),
    }),
    {
      maxLength: 40,
    },
  );
  fc.assert(
    fc.property(updates, fc.integer({ min: 1, max: 5 }), (kinds, size) => {
      const items = kinds.map(({ chat, album, length, sentAt }, index): Incoming => {
        const file = message(index, chat);
        if (album !== undefined) return { message: file, album: `${chat}:${album}` };
        // A text is found again in the whole one by its key.
        const text = `<u${index}>${"t".repeat(length)}`;
        return { message: length === 0 ? file : { ...file, media: [], text, sentAt } };
      });
      let state = NOTHING_SPLIT;
      const out: InboundMessage[] = [];
      for (let at = 0; at < items.length; at += size) {
        const batch = items.slice(at, at + size);
        const first = sort(state, batch, NOW);
        out.push(...first.ready);
        state = first.state;
        // Parts that were collected or passed on are offered once more.
        const again = sort(
          state,
          batch.filter((item) => item.album !== undefined || item.message.text.length > 4000),
          NOW,
        );
        expect(again.ready.flatMap(keysIn).filter((key) => out.flatMap(keysIn).includes(key))).toEqual([]);
        out.push(...again.ready);
        state = again.state;
      }
      out.push(...close(state, () => true).ready);
      for (const chat of ["1", "2"]) {
        const seen = out.filter(({ from }) => from.chat.id === chat).flatMap(keysIn);
        expect(seen).toEqual(items.filter((it) => it.message.from.chat.id === chat).map((it) => it.message.eventKey));
      }
    }),
  );
});
