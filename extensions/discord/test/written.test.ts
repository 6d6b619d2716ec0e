import { afterEach, describe, expect, test } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import { ADA, BOT } from "./fake-world.ts";
import type { Json } from "./json.ts";
import { discordPlatform } from "./platform.ts";

afterEach(stopAll);

async function begin() {
  const platform = await discordPlatform();
  const host = new Host();
  const { link } = await start(platform, host, { thread: { initialHistoryLimit: 5 } });
  const { fake } = platform;
  /** The message that the gateway gets of one that somebody writes. */
  const heard = async (text: string, more: Json, from: Json = ADA, channel = "901") => {
    const message = fake.world.write(channel, text, { from, more });
    fake.gateway.dispatch("MESSAGE_CREATE", fake.world.told(message));
    await host.until(() => host.received.some(({ id }) => id === message["id"]));
    return host.received.find(({ id }) => id === message["id"])!;
  };
  return { platform, host, fake, link, heard };
}

const EMBED = {
  type: "rich",
  author: { name: "CI" },
  title: "Build failed",
  description: "<@1001>, look",
  url: "https://ci.example/5",
  fields: [{ name: "Job", value: "tests" }],
  footer: { text: "run 5" },
  image: { url: "https://ci.example/5.png" },
};
const EMBED_LINE =
  "Embed: CI | Build failed | @Ada, look | Job: tests | run 5 | https://ci.example/5 | https://ci.example/5.png";
const CARD = {
  flags: 1 << 15,
  components: [
    {
      type: 17,
      components: [
        { type: 10, content: "# Deploy" },
        {
          type: 9,
          components: [{ type: 10, content: "by <@1001>" }],
          accessory: { type: 2, style: 5, label: "Open", url: "https://ci.example" },
        },
        { type: 14 },
        { type: 12, items: [{ media: { url: "https://ci.example/a.png" }, description: "A curve" }] },
      ],
    },
  ],
};
const CARD_TEXT = "# Deploy\nby @Ada\nOpen (https://ci.example)\nA curve https://ci.example/a.png";

describe("what is written outside of a message's content", () => {
  test("in components is its text", async () => {
    const { heard } = await begin();
    const read = await heard("", { ...CARD, mentions: [ADA] }, BOT);
    expect(read).toMatchObject({ text: CARD_TEXT });
    expect(read.untrusted).toBeUndefined();
  });

  test("in the embeds of a bot is a line with all that is shown", async () => {
    const { heard } = await begin();
    const read = await heard("New alert", { embeds: [EMBED], mentions: [ADA] }, BOT);
    expect(read).toMatchObject({ text: "New alert", untrusted: [EMBED_LINE] });
    expect((await heard("see https://ci.example/5", { embeds: [EMBED] })).untrusted).toBeUndefined();
  });

  test("in a forwarded message is a line, with its stickers and embeds", async () => {
    const { heard } = await begin();
    const inIt = { content: "", mentions: [ADA], attachments: [], timestamp: "2026-01-01T00:00:00Z" };
    const sticker = { id: "70", name: "Wave", format_type: 1 };
    const snapshot = { ...inIt, embeds: [EMBED], sticker_items: [sticker] };
    const forward = { message_reference: { type: 1, message_id: "5" } };
    const read = await heard("", { ...forward, message_snapshots: [{ message: snapshot }] });
    expect(read.untrusted).toEqual([`Forwarded message: Sticker: Wave\n${EMBED_LINE}`]);
    expect(read.media).toMatchObject([{ kind: "sticker", name: "Wave.png" }]);
    const card = { ...inIt, ...CARD, embeds: [] };
    expect((await heard("", { ...forward, message_snapshots: [{ message: card }] })).untrusted).toEqual([
      `Forwarded message: ${CARD_TEXT}`,
    ]);
  });

  test("is seen where the message is quoted, began a thread, is in its history, or is read", async () => {
    const { heard, fake, link, platform } = await begin();
    const alert = fake.world.write("901", "", { from: BOT, more: { embeds: [EMBED], mentions: [ADA] } });
    const reply = { type: 19, message_reference: { message_id: alert["id"] }, referenced_message: alert };
    expect((await heard("why?", reply)).replyTo?.text).toBe(EMBED_LINE);
    const thread = String(alert["id"]);
    fake.world.addChannel({ id: thread, type: 11, guild_id: "900", parent_id: "901", name: "alert" });
    fake.world.write(thread, "", { from: BOT, more: { ...CARD, mentions: [ADA] } });
    const said = await heard(`<@${fake.world.self.id}> why?`, {}, ADA, thread);
    expect(said.context).toMatchObject({
      threadStarter: EMBED_LINE,
      threadHistory: [`Earlier in the thread, beeper: ${CARD_TEXT}`],
    });
    const found = await link.actions?.read?.(platform.group, { limit: 10 });
    expect(found).toMatchObject({ value: expect.arrayContaining([expect.objectContaining({ text: EMBED_LINE })]) });
  });
});

const FULL = {
  member: { nick: "Ada of Crew", roles: ["950"] },
  mentions: [ADA],
  mention_roles: ["950"],
  attachments: [{ id: "5", filename: "a.png", size: 1, url: "http://127.0.0.1:1/a.png", content_type: "image/png" }],
  embeds: [EMBED],
  components: CARD.components,
  sticker_items: [{ id: "70", name: "Wave", format_type: 1 }],
  poll: { question: { text: "Tea?" }, answers: [{ poll_media: { text: "Yes" } }] },
  message_reference: { message_id: "7" },
  message_snapshots: [{ message: { ...CARD, content: "", mentions: [ADA], attachments: [], embeds: [EMBED] } }],
  nonce: "1",
  flags: 0,
  webhook_id: undefined,
};
const ODD: readonly unknown[] = [null, 5, "x", [null], {}, { a: [5] }];
/** These say which and what kind of message it is, and whose and where. */
const NEEDED = new Set(["id", "type", "channel_id", "author", "author.id"]);

/** All places of values in an event, such as `embeds.0.title`. */
const placesIn = (value: unknown): readonly string[] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([key, one]) => [key, ...placesIn(one).map((below) => `${key}.${below}`)]);

function spoilt(value: unknown, [key = "", ...below]: readonly string[], odd: unknown): unknown {
  const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as Json) };
  Reflect.set(copy, key, below.length === 0 ? odd : spoilt(Reflect.get(copy, key), below, odd));
  return copy;
}

test("a field of a wrong type costs a message that field alone", async () => {
  const { host, fake } = await begin();
  const written = fake.world.told(fake.world.write("901", "Kword", { from: ADA, more: FULL }));
  const expected = new Set<string>();
  for (const place of placesIn(written).filter((one) => !NEEDED.has(one))) {
    for (const odd of ODD) {
      const id = fake.world.nextId();
      expected.add(id);
      fake.gateway.dispatch("MESSAGE_CREATE", { ...(spoilt(written, place.split("."), odd) as Json), id });
    }
  }
  fake.say("901", "Klast");
  await host.until(() => host.received.some(({ text }) => text === "Klast"));
  for (const { id } of host.received) expected.delete(id);
  expect(expected.size).toBe(0);
  // Where the content itself is odd, the other parts are left.
  expect(host.received.filter(({ text }) => text === "").every(({ untrusted }) => untrusted?.length)).toBe(true);
  expect(host.lines.filter((line) => line.includes("could not be read"))).toEqual([]);
}, 60_000);

test("a message of a history with odd fields costs none of the others, after a gap and when it is read", async () => {
  const { fake, link, platform } = await begin();
  fake.world.write("901", "before", {});
  fake.world.write("901", "odd", { more: { author: null } });
  fake.world.write("901", "odder", { more: { id: { a: 1 } } });
  fake.world.write("901", "after", { more: { mentions: null, attachments: 5 } });
  const found = await link.actions?.read?.(platform.group, { limit: 10 });
  expect(found).toMatchObject({ kind: "found", value: [{ text: "before" }, { text: "after" }] });
});
