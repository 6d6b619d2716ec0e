import { afterEach, describe, expect, test } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import { discordPlatform } from "./platform.ts";

afterEach(stopAll);

async function begin() {
  const platform = await discordPlatform();
  const { link } = await start(platform, new Host());
  const { fake, direct, group } = platform;
  const { actions } = link;
  if (!actions) throw new Error("Discord has actions");
  return { actions, fake, direct, group, channel: group.chat.id };
}

describe("what a bot can do besides messages", () => {
  test("sends a poll and a sticker, which notify nobody", async () => {
    const { actions, fake, group, channel } = await begin();
    const poll = { question: "Lunch?", options: ["yes", "no"], isMulti: false };
    expect(await actions.poll?.(group, poll)).toMatchObject({ kind: "sent" });
    const posted = await fake.waitFor(
      ({ path, method }) => method === "POST" && path === `/channels/${channel}/messages`,
    );
    expect(posted.body).toMatchObject({
      allowed_mentions: { parse: [] },
      poll: {
        question: { text: "Lunch?" },
        answers: [{ poll_media: { text: "yes" } }, { poll_media: { text: "no" } }],
        allow_multiselect: false,
        duration: 24,
      },
    });
    expect(await actions.sticker?.(group, "55")).toMatchObject({ kind: "sent" });
    fake.fail("403");
    expect(await actions.poll?.(group, poll)).toMatchObject({ kind: "refused" });
  });

  test("pins, lists and unpins a message", async () => {
    const { actions, fake, group, channel } = await begin();
    const id = fake.say(channel, "keep this");
    expect(await actions.pin?.(group, id, true)).toEqual({ kind: "sent", messageId: id });
    expect(await actions.pins?.(group)).toMatchObject({
      kind: "found",
      value: [{ id, sender: "Ada", text: "keep this" }],
    });
    await actions.pin?.(group, id, false);
    expect(await actions.pins?.(group)).toEqual({ kind: "found", value: [] });
    expect(await actions.pin?.(group, "1", true)).toMatchObject({ kind: "refused" });
  });

  test("reads messages oldest first, before and around one", async () => {
    const { actions, fake, group, channel } = await begin();
    const ids = ["one", "two", "three"].map((text) => fake.say(channel, text));
    const texts = async (query: object) => {
      const read = await actions.read?.(group, { limit: 20, ...query });
      return read?.kind === "found" ? read.value.map(({ text }) => text) : read;
    };
    expect(await texts({})).toEqual(["one", "two", "three"]);
    expect(await texts({ limit: 2 })).toEqual(["two", "three"]);
    expect(await texts({ before: ids[2], limit: 1 })).toEqual(["two"]);
    expect(await texts({ after: ids[0] })).toEqual(["two", "three"]);
    expect(await texts({ around: ids[1], limit: 1 })).toEqual(["two"]);
    fake.fail("500", { count: 9, fits: /^GET/ });
    expect(await actions.read?.(group, { limit: 1 })).not.toMatchObject({ kind: "found" });
  });

  test("searches the channel, of anybody or one person, and says when the server is not indexed yet", async () => {
    const { actions, fake, group, direct, channel } = await begin();
    for (const text of ["the blue lamp", "a red lamp", "a chair"]) fake.say(channel, text);
    const texts = async (query: object) => {
      const found = await actions.search?.(group, { text: "lamp", limit: 20, ...query });
      return found?.kind === "found" ? found.value.map(({ text }) => text) : found;
    };
    expect(await texts({})).toEqual(["a red lamp", "the blue lamp"]);
    expect(await texts({ limit: 1 })).toEqual(["a red lamp"]);
    expect(await texts({ userId: "nobody" })).toEqual([]);
    expect(await actions.search?.(direct, { text: "lamp", limit: 1 })).toMatchObject({ kind: "refused" });
    fake.world.isIndexed = false;
    expect(await texts({})).toEqual({ kind: "retry", reason: "Discord still indexes the server", afterMs: 2000 });
  });

  test("makes a thread alone or below a message, lists and renames it", async () => {
    const { actions, fake, group, channel } = await begin();
    const id = fake.say(channel, "a topic");
    expect(await actions.createThread?.(group, { name: "Below", messageId: id })).toEqual({
      kind: "sent",
      messageId: id,
    });
    const alone = await actions.createThread?.(group, { name: "Alone" });
    expect(await actions.threads?.(group)).toMatchObject({
      kind: "found",
      value: [{ name: "a thread" }, { id, name: "Below" }, { name: "Alone" }],
    });
    const thread = alone?.kind === "sent" ? alone.messageId : "";
    expect(await actions.renameThread?.({ ...group, thread }, "Renamed")).toMatchObject({ kind: "sent" });
    expect(fake.world.channel(thread)).toMatchObject({ name: "Renamed" });
  });

  test("tells of reactions, a member, the channel and the server's emoji, and says where there is no server", async () => {
    const { actions, fake, group, direct, channel } = await begin();
    const emoji = { id: null, name: "👍" };
    const id = fake.say(channel, "a", { more: { reactions: [{ emoji, count: 3, me: false }] } });
    expect(await actions.reactions?.(group, id)).toEqual({ kind: "found", value: [{ emoji: "👍", count: 3 }] });
    expect(await actions.member?.(group, "1001")).toMatchObject({
      kind: "found",
      value: { id: "1001", name: "Ada of Crew", roles: "950", bot: false },
    });
    expect(await actions.chat?.(group)).toMatchObject({ kind: "found", value: { name: "crew", server: "900" } });
    expect(await actions.emojis?.(group)).toEqual({ kind: "found", value: ["<:wave:70>"] });
    expect(await actions.emojis?.(direct)).toEqual({ kind: "refused", reason: "the chat is not on a server" });
  });
});
