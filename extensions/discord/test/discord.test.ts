import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import type { InboundMessage, Peer } from "../../../src/types/chat/message.ts";
import { mediaId } from "../../../src/types/ids.ts";
import { discordAccounts, discordConfig } from "../config.ts";
import { discord } from "../index.ts";
import { idAt } from "../places.ts";
import { nonceOf, rowsOf } from "../send.ts";
import { ADA } from "./fake-world.ts";
import { objectsIn, textIn, type Json } from "./json.ts";
import { discordPlatform } from "./platform.ts";

afterEach(stopAll);
const says = textAs("discord");

async function begin(config: Record<string, unknown> = {}, host = new Host()) {
  const platform = await discordPlatform();
  const started = await start(platform, host, config);
  const { fake, direct, group } = platform;
  const posts = () => fake.calls.filter(({ method, path }) => method === "POST" && path.endsWith("/messages"));
  return { ...started, platform, fake, world: fake.world, direct, group, topic: platform.topic!, posts };
}

describe("the id of a chat", () => {
  test("is that of its channel, whether it is named by the person or the channel", async () => {
    const { link, direct, world } = await begin();
    const channel = world.direct(direct.chat.id);
    const named = (chat: Peer["chat"]) => link.chatId?.({ ...direct, chat });
    expect(await link.chatId?.(direct)).toBe(channel);
    expect(await named({ kind: "group", id: channel })).toBe(channel);
    expect(await named({ kind: "group", id: direct.chat.id })).toBe(channel);
    expect(await named({ kind: "direct", id: "1002" })).not.toBe(channel);
  });

  test("is that of the thread, which another thread and the channel do not share", async () => {
    const { link, group, topic } = await begin();
    expect(await link.chatId?.(topic)).toBe(topic.thread);
    expect(await link.chatId?.({ ...group, chat: { kind: "group", id: topic.thread ?? "" } })).toBe(topic.thread);
    expect(await link.chatId?.(group)).toBe(group.chat.id);
  });

  test("is unknown while Discord does not answer", async () => {
    const { link, direct, fake } = await begin();
    fake.fail("drop", { count: 9, fits: /users\/@me\/channels/ });
    await expect(link.chatId?.({ ...direct, chat: { kind: "direct", id: "1002" } })).rejects.toThrow();
  });
});

describe("sending", () => {
  test("thread, reply, silence, buttons and nonce reach Discord, and nobody is notified", async () => {
    const { link, topic, posts, fake } = await begin();
    const asked = fake.say("903", "question");
    const buttons = Array.from({ length: 6 }, (_, n) => ({ label: `B${n}`, command: `/do ${n}` }));
    const tooLong = { label: "no", command: "x".repeat(101) };
    const options = { ...KEY, replyTo: asked, silent: true, buttons: [...buttons, tooLong, buttons[0]!] };
    expect(await link.send(topic, says("@everyone <@1001>"), options)).toMatchObject({ kind: "sent" });
    const [post] = posts();
    expect(post?.path).toBe("/channels/903/messages");
    expect(post?.body).toMatchObject({
      content: "@everyone <@1001>",
      allowed_mentions: { parse: [], replied_user: true },
      flags: 4 | 4096,
      nonce: nonceOf("k"),
      enforce_nonce: true,
      message_reference: { message_id: asked, fail_if_not_exists: false },
    });
    const rows = objectsIn(post?.body, "components").map((row) => objectsIn(row, "components"));
    expect(rows.map(({ length }) => length)).toEqual([5, 1]);
    expect(rows[0]?.[0]).toEqual({ type: 2, style: 2, label: "B0", custom_id: "/do 0" });
  });

  test("the chat with a person is opened when it is unknown; a person who takes no messages is a refusal", async () => {
    const { link, direct, fake } = await begin();
    await link.send(direct, says("one"), KEY);
    await link.send(direct, says("two"), { idempotencyKey: "k2" });
    expect(fake.calls.filter(({ path }) => path === "/users/@me/channels")).toHaveLength(1);
    const nobody = { ...direct, chat: { kind: "direct", id: "666" } } as const;
    expect(await link.send(nobody, says("hi"), KEY)).toEqual({
      kind: "refused",
      reason: "Discord answers 403: Cannot send messages to this user (50007)",
    });
    fake.fail("drop", { fits: /users\/@me\/channels/ });
    const other = { ...direct, chat: { kind: "direct", id: "1002" } } as const;
    expect(await link.send(other, says("hi"), KEY)).toMatchObject({ kind: "retry" });
  });

  test("a bare id of a person leads to the direct chat, and Discord is asked once", async () => {
    const host = new Host();
    const { link, direct, fake } = await begin({}, host);
    const bare = (id: string) => ({ ...direct, chat: { kind: "group", id } }) as const;
    const asked = (path: string) => fake.calls.filter((call) => call.path === path).length;
    fake.fail("500", { fits: /GET .channels.1002/ });
    expect(await link.send(bare("1002"), says("not yet"), KEY)).toMatchObject({ kind: "retry" });
    for (const [n, words] of ["one", "two"].entries())
      expect(await link.send(bare("1002"), says(words), { idempotencyKey: `k${n}` })).toMatchObject({ kind: "sent" });
    expect(fake.shown(fake.world.direct("1002"))).toEqual(["one", "two"]);
    expect([asked("/channels/1002"), asked("/users/@me/channels")]).toEqual([1, 1]);
    await link.close();
    const again = await begin({}, new Host(host));
    const channel = again.world.direct("1002");
    expect(await again.link.send(bare("1002"), says("three"), KEY)).toMatchObject({ kind: "sent" });
    expect(again.fake.shown(channel)).toEqual(["three"]);
    expect(again.fake.calls.some(({ path }) => path === "/channels/1002")).toBe(false);
  });

  test("what is neither a channel nor a person is refused; a hidden channel is no person", async () => {
    const { link, direct, fake } = await begin();
    const bare = (id: string) => ({ ...direct, chat: { kind: "group", id } }) as const;
    expect(await link.send(bare("5"), says("hi"), KEY)).toEqual({
      kind: "refused",
      reason: "Discord answers 404: Unknown Channel (10003)",
    });
    fake.fail("403", { fits: /GET .channels.1002/ });
    expect(await link.send(bare("1002"), says("hi"), KEY)).toMatchObject({ kind: "refused" });
    expect(fake.shown(fake.world.direct("1002"))).toEqual([]);
  });

  test("after a gateway error before Discord, nobody knows whether the message arrived", async () => {
    const { link, direct, fake } = await begin();
    fake.fail("502");
    expect(await link.send(direct, says("hi"), KEY)).toEqual({ kind: "unknown", reason: "Discord answers 502" });
  });

  test("an answer goes out without its quote where the bot may not read the history", async () => {
    const { link, group, fake, world, posts, platform } = await begin();
    const asked = fake.say("901", "question");
    world.showsHistory = false;
    expect(await link.send(group, says("answer"), { ...KEY, replyTo: asked })).toMatchObject({ kind: "sent" });
    expect(platform.shown(group)).toEqual(["answer"]);
    expect(posts().map(({ status, body }) => [status, textIn(body, "nonce")])).toEqual(
      [403, 200].map((status) => [status, nonceOf("k")]),
    );
    expect(platform.answers?.(group)).toEqual([undefined]);
  });

  test("an id that is none of Discord's quotes nothing", async () => {
    const { link, group, posts } = await begin();
    expect(await link.send(group, says("answer"), { ...KEY, replyTo: "../x" })).toMatchObject({ kind: "sent" });
    expect(posts()[0]?.body).not.toHaveProperty("message_reference");
  });

  test("a message waits when the token was reset", async () => {
    const { link, group, fake } = await begin();
    Object.assign(fake, { token: "another" });
    const refused = {
      kind: "retry",
      reason: "Discord refuses the bot token",
      fix: expect.stringMatching(/Reset Token/),
    };
    expect(await link.send(group, says("hi"), KEY)).toEqual(refused);
    expect(await link.send(group, says("hi"), KEY)).toEqual(refused);
  });

  test("a token that is refused while the connection is open stops the account, also when a read finds out", async () => {
    const { fake, host, world } = await begin();
    world.addChannel({ id: "990", type: 0, guild_id: "900", name: "new" });
    Object.assign(fake, { token: "another" });
    fake.say("990", "hello");
    await host.until(() => host.reports.some(({ kind }) => kind === "dead"));
    expect(host.reports.at(-1)).toMatchObject({ kind: "dead", fix: expect.stringMatching(/Reset Token/) });
  });

  test("a text and its files are one message; a lost one is found by the names of all files", async () => {
    const host = new Host();
    host.media.set("m", new Uint8Array([1, 2, 3]));
    const { link, direct, posts } = await begin({}, host);
    const source = { at: "store", id: mediaId("m") } as const;
    const media = { kind: "audio", mime: "audio/mpeg", source } as const;
    const more = [{ kind: "document", name: "a b.txt", source }] as const;
    const part = { kind: "media", media, more, caption: says("**both**") } as const;
    expect(await link.send(direct, part, KEY)).toMatchObject({ kind: "sent" });
    const bytes = new Uint8Array([1, 2, 3]);
    expect(posts().map(({ body, files }) => [textIn(body, "content"), files])).toEqual([
      [
        "**both**",
        [
          { name: "audio.mp3", bytes },
          { name: "a b.txt", bytes },
        ],
      ],
    ]);
  });

  test("a new reaction replaces the last; after a restart Discord is asked which it was", async () => {
    const { link, platform, direct, fake, host } = await begin();
    const id = platform.say(direct, "hm");
    await host.heard("hm");
    await link.react?.(direct, id, "👀");
    await link.react?.(direct, id, "✅");
    expect(platform.reactions?.(direct, id)).toEqual(["✅"]);
    await link.close();
    const { link: second } = await start(platform, new Host(host));
    await second.react?.(direct, id, undefined);
    expect(platform.reactions?.(direct, id)).toEqual([]);
    expect(fake.calls.at(-1)).toMatchObject({ method: "DELETE", status: 204 });
  });

  test("each key becomes its own nonce, which Discord accepts", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(nonceOf(one)).toMatch(/^[\w-]{25}$/);
        expect(nonceOf(one) === nonceOf(other)).toBe(one === other);
      }),
    );
  });

  test("no list of buttons exceeds what Discord accepts", () => {
    const button = fc.record({ label: fc.string({ maxLength: 200 }), command: fc.string({ maxLength: 200 }) });
    fc.assert(
      fc.property(fc.array(button, { maxLength: 60 }), (buttons) => {
        const rows = rowsOf(buttons) as readonly { components: { label: string; custom_id: string }[] }[];
        const keys = rows.flatMap(({ components }) => components);
        expect(rows.length).toBeLessThanOrEqual(5);
        expect(rows.every(({ components }) => components.length > 0 && components.length <= 5)).toBe(true);
        expect(keys.every(({ label, custom_id: id }) => label.length <= 80 && id.length <= 100)).toBe(true);
        expect(new Set(keys.map((key) => key.custom_id)).size).toBe(keys.length);
      }),
    );
  });
});

describe("a send with an unknown outcome", () => {
  test("is found by the gateway's echo, also where the history has no nonces", async () => {
    const { link, direct, fake, world } = await begin();
    world.tellsNonces = false;
    fake.fail("lost");
    expect(await link.send(direct, says("did it"), KEY)).toMatchObject({ kind: "unknown" });
    fake.say(world.direct("1001"), "wake");
    await expect.poll(async () => (await link.find?.(direct, says("did it"), KEY))?.kind).toBe("sent");
  });

  test("stays unknown when a message with the same text is there, and is sent again otherwise", async () => {
    const { link, direct, world } = await begin();
    world.tellsNonces = false;
    world.write(world.direct("1001"), "Done.", { from: world.self });
    expect(await link.find?.(direct, says("Done."), KEY)).toMatchObject({ kind: "unknown" });
    expect(await link.find?.(direct, says("Done, too."), KEY)).toMatchObject({ kind: "retry" });
  });

  test("stays unknown where the bot may not read the history", async () => {
    const { link, group, fake, world } = await begin();
    world.showsHistory = false;
    expect(await link.find?.(group, says("hi"), KEY)).toMatchObject({ kind: "retry" });
    fake.say("901", "something");
    expect(await link.find?.(group, says("hi"), KEY)).toMatchObject({ kind: "unknown" });
  });

  test("stays unknown when the history does not reach back far enough", async () => {
    const { link, group, fake } = await begin();
    for (let number = 0; number < 100; number++) fake.say("901", `line ${number}`);
    expect(await link.find?.(group, says("hi"), KEY)).toMatchObject({ kind: "unknown" });
  });
});

describe("the command menu", () => {
  test("holds the gateway's commands, and is written once", async () => {
    const { world, fake, host, platform, link } = await begin();
    await fake.waitFor(({ method }) => method === "PUT");
    expect(world.commands).toEqual([
      {
        name: "status",
        type: 1,
        description: "How the gateway is.",
        contexts: [0, 1],
        integration_types: [0],
        options: [{ type: 3, name: "args", description: "What follows the command.", required: false }],
      },
    ]);
    await expect.poll(() => host.notes.get("menu")).toBeDefined();
    await link.close();
    await start(platform, new Host(host));
    expect(fake.calls.filter(({ method }) => method === "PUT")).toHaveLength(1);
  });

  test("is written later when Discord could not be reached at first, or did not answer", async () => {
    const platform = await discordPlatform();
    const { fake } = platform;
    await fake.goDown();
    const { host } = await start(platform);
    expect(host.reports.at(-1)).toMatchObject({ kind: "trouble" });
    fake.fail("500", { fits: /^PUT/ });
    await fake.comeBack();
    await host.until(() => host.reports.some(({ kind }) => kind === "alive"));
    await expect.poll(() => host.notes.get("menu")).toBeDefined();
    expect(fake.world.commands.map(({ name }) => name)).toEqual(["status"]);
  });

  test("leaves out a command whose name Discord does not allow, keeps the others, and the log says which", async () => {
    const commands = ["docs/review", "/weather", "status"].map((name) => ({ name, description: "Does it." }));
    const { world, fake, host } = await begin({}, Object.assign(new Host(), { commands }));
    await fake.waitFor(({ method }) => method === "PUT");
    expect(world.commands.map(({ name }) => name)).toEqual(["status"]);
    expect(host.lines).toContainEqual(expect.stringMatching(/left out of Discord's menu.*docs\/review.*\/weather/));
  });

  test("stays unchanged when the config says so", async () => {
    const { fake } = await begin({ commands: { native: false } });
    expect(fake.calls.some(({ path }) => path.startsWith("/applications"))).toBe(false);
  });

  const give = async (running: Awaited<ReturnType<typeof begin>>, name: string, more: Json = {}, channel = "901") => {
    const data = { id: "1", name, type: 1 };
    const interaction = running.world.interaction(channel, { type: 2, data, ...more });
    running.fake.gateway.dispatch("INTERACTION_CREATE", interaction);
    return running.host.heard(`/${name}`);
  };
  const answerTo = ({ eventKey: answers }: InboundMessage, idempotencyKey = "k") => ({ idempotencyKey, answers });
  const removals = ({ fake }: Pick<Awaited<ReturnType<typeof begin>>, "fake">) =>
    fake.calls.filter(({ method }) => method === "DELETE");

  test("a command is text for the gateway, and its answer replaces the waiting one", async () => {
    const running = await begin();
    const { link, group, world, posts, platform } = running;
    const data = { id: "1", name: "think", type: 1, options: [{ type: 3, name: "args", value: "high" }] };
    const asked = await give(running, "think", { data });
    expect(asked).toMatchObject({ text: "/think high", event: "command", from: group, guildId: "900" });
    expect(await link.send(group, says("thinking high"), answerTo(asked))).toMatchObject({ kind: "sent" });
    expect(world.callbacks).toEqual([{ type: 5 }]);
    expect(posts()).toEqual([]);
    await link.send(group, says("thinking high"), answerTo(asked));
    await link.send(group, says("and more"), answerTo(asked, "k2"));
    expect(platform.shown(group)).toEqual(["thinking high", "and more"]);
    expect(posts()).toHaveLength(1);
  });

  test("answers in servers are private where the config says so: all parts, edits, and what is tried again", async () => {
    const running = await begin({ slashCommand: { ephemeral: true } });
    const { link, group, direct, world, fake, platform } = running;
    const asked = await give(running, "status");
    const answer = answerTo(asked);
    const first = await link.send(group, says("pre"), answer);
    if (first.kind !== "sent") throw new Error(first.kind);
    expect(await link.edit?.(group, first.messageId, says("part one"))).toMatchObject({ kind: "sent" });
    expect(world.below(asked.id)).toBe("part one");
    const second = { ...answer, idempotencyKey: "k2" };
    fake.fail("lost", { fits: /^POST .webhooks/ });
    expect(await link.send(group, says("part two"), second)).toMatchObject({ kind: "unknown" });
    // It may have arrived, and nothing can tell: it is not sent again as if it had not.
    expect(await link.find?.(group, says("part two"), second)).toMatchObject({ kind: "unknown" });
    const third = await link.send(group, says("part three"), { ...answer, idempotencyKey: "k3" });
    expect(third).toMatchObject({ kind: "sent" });
    expect(await link.find?.(group, says("part three"), { ...answer, idempotencyKey: "k3" })).toEqual(third);
    expect(world.whispers).toEqual(["part two", "part three"]);
    expect(platform.shown(group)).toEqual([]);
    // Another message is for all, and the direct chat has only one reader.
    await link.send(group, says("for all"), { idempotencyKey: "k4" });
    expect(platform.shown(group)).toEqual(["for all"]);
    const alone = await give(running, "status", {}, world.direct(direct.chat.id));
    await link.send(direct, says("here"), answerTo(alone, "k5"));
    expect(platform.shown(direct)).toEqual(["here"]);
  });

  test("a command is shown as waiting after a second", async () => {
    const running = await begin();
    const asked = await give(running, "think");
    await expect.poll(() => running.world.below(asked.id)).toBe("…");
    await running.link.send(running.group, says("done"), answerTo(asked));
    expect(running.world.below(asked.id)).toBe("done");
  });

  test("a command that gets no answer at once tells its sender why, and shows nothing to others", async () => {
    const running = await begin();
    const { link, world } = running;
    const dropped = await give(running, "status");
    const silent = await give(running, "think");
    await link.clearPending?.(dropped, "You may not do that here.");
    await link.clearPending?.(silent);
    expect(world.callbacks).toEqual(
      ["You may not do that here.", "There is no answer to this."].map((content) => ({
        type: 4,
        data: { content, flags: 64 },
      })),
    );
    expect(removals(running)).toEqual([]);
    expect(running.fake.shown("901")).toEqual([]);
  });

  test("a command that turns out to have no answer stops waiting, and its sender learns why", async () => {
    const running = await begin();
    const { link, group, world, posts, platform } = running;
    const dropped = await give(running, "status");
    const answered = await give(running, "think");
    await expect.poll(() => world.below(dropped.id)).toBe("…");
    await link.clearPending?.(dropped, "You may not do that here.");
    expect(removals(running).map(({ path }) => path)).toEqual([
      expect.stringMatching(/^\/webhooks\/.*\/messages\/@original$/),
    ]);
    expect([world.below(dropped.id), world.whispers]).toEqual([undefined, ["You may not do that here."]]);
    expect(await link.send(group, says("thinking"), answerTo(answered))).toMatchObject({ kind: "sent" });
    expect(posts()).toEqual([]);
    await link.clearPending?.(answered);
    await link.clearPending?.(dropped);
    expect(removals(running)).toHaveLength(1);
    expect(platform.shown(group)).toEqual(["thinking"]);
  });

  test("an answer that comes too late is a separate message", async () => {
    const running = await begin();
    const asked = await give(running, "status", { token: "forgotten" });
    expect(await running.link.send(running.group, says("fine"), answerTo(asked))).toMatchObject({ kind: "sent" });
    expect(running.platform.shown(running.group)).toEqual(["fine"]);
  });

  test("an expired token of a command is not the bot's token, which stays valid", async () => {
    const running = await begin();
    const { link, group, world, fake, platform } = running;
    const asked = await give(running, "status");
    const dropped = await give(running, "think");
    await expect.poll(() => world.below(dropped.id)).toBe("…");
    world.aheadMs = 15 * 60_000;
    await link.clearPending?.(dropped);
    expect(fake.calls.at(-1)).toMatchObject({ method: "DELETE", status: 401 });
    expect(await link.send(group, says("fine"), answerTo(asked))).toMatchObject({ kind: "sent" });
    expect(fake.calls.at(-2)).toMatchObject({ method: "PATCH", status: 401 });
    expect(await link.send(group, says("and more"), { idempotencyKey: "k2" })).toMatchObject({ kind: "sent" });
    expect(platform.shown(group)).toEqual(["fine", "and more"]);
  });

  test("no call is made for a command that Discord has forgotten", async () => {
    const running = await begin();
    const asked = await give(running, "status", { id: idAt(Date.now() - 15 * 60_000) });
    await running.link.clearPending?.(asked, "no");
    expect(running.fake.calls.filter(({ path }) => /webhooks|interactions/.test(path))).toEqual([]);
  });

  test("an answer that Discord refuses as a replacement is a separate message, and nothing keeps waiting", async () => {
    const running = await begin();
    const { link, group, fake, platform } = running;
    const asked = await give(running, "status");
    fake.fail("403", { fits: /^PATCH .webhooks/ });
    expect(await link.send(group, says("fine"), answerTo(asked))).toMatchObject({ kind: "sent" });
    expect(platform.shown(group)).toEqual(["fine"]);
    expect(removals(running)).toMatchObject([
      { path: expect.stringMatching(/^\/webhooks\/.*\/messages\/@original$/), status: 204 },
    ]);
  });

  test("a command that could not be acknowledged is still answered", async () => {
    const running = await begin();
    running.fake.fail("500", { fits: /callback$/ });
    const asked = await give(running, "status");
    expect(await running.link.send(running.group, says("fine"), answerTo(asked))).toMatchObject({ kind: "sent" });
    expect(running.platform.shown(running.group)).toEqual(["fine"]);
  });

  test("a command that an earlier process had acknowledged is filled by its answer", async () => {
    const running = await begin();
    const { link, group, fake, world } = running;
    fake.fail("lost", { fits: /callback$/ });
    const asked = await give(running, "status");
    await expect.poll(() => world.below(asked.id)).toBe("…");
    await link.close();
    const again = await start(running.platform, new Host(running.host));
    // Discord brings an event again that was not stored.
    fake.gateway.dispatch("INTERACTION_CREATE", { ...world.given(asked.id) });
    await again.host.heard("/status");
    expect(await again.link.send(group, says("fine"), answerTo(asked))).toMatchObject({ kind: "sent" });
    expect([world.below(asked.id), fake.shown("901")]).toEqual(["fine", ["fine"]]);
  });

  test("two commands at once get their own answers, in whatever order these come", async () => {
    const running = await begin();
    const { link, group, world, posts } = running;
    const [status, think] = [await give(running, "status"), await give(running, "think")];
    await link.send(group, says("thinking"), answerTo(think));
    await link.send(group, says("fine"), answerTo(status, "k2"));
    expect(posts()).toEqual([]);
    expect([world.below(status.id), world.below(think.id)]).toEqual(["fine", "thinking"]);
  });

  test("a pressed button stops spinning", async () => {
    const { link, platform, direct, world, fake } = await begin();
    const sent = await link.send(direct, says("Run it?"), { ...KEY, buttons: [{ label: "Yes", command: "/yes" }] });
    if (sent.kind !== "sent") throw new Error("not sent");
    platform.press?.(direct, sent.messageId, "/yes");
    await fake.waitFor(({ path }) => path.endsWith("/callback"));
    expect(world.callbacks).toEqual([{ type: 6 }]);
  });
});

describe("an interaction", () => {
  const SLASH = { id: "1", name: "btw", type: 1, options: [{ type: 3, name: "args", value: "x" }] };
  const told = (content: RegExp) => ({ type: 4, data: { content: expect.stringMatching(content), flags: 64 } });
  const [fromFriend, fromGroup] = [1, 3].map((type) => ({
    channel_id: "999",
    channel: { id: "999", type },
    context: 2,
    user: ADA,
    authorizing_integration_owners: { 1: ADA.id },
  }));

  test.for([
    ["in the direct chat of two others", { ...fromFriend, type: 2, data: SLASH }],
    ["in a group chat", { ...fromGroup, type: 2, data: SLASH }],
    [
      "on a button in a group chat",
      { ...fromGroup, type: 3, message: { id: "5" }, data: { component_type: 2, custom_id: "/yes" } },
    ],
    [
      "in a server that has no bot",
      {
        type: 2,
        data: SLASH,
        guild_id: "77",
        channel_id: "78",
        channel: { id: "78", type: 0 },
        context: 0,
        authorizing_integration_owners: { 1: ADA.id },
      },
    ],
    ["in a chat that is not known as the person's", { ...fromFriend, context: undefined, type: 2, data: SLASH }],
  ] as const)("%s is refused in private, and tells nothing of where the person is", async ([, interaction]) => {
    const running = await begin();
    const { fake, world, host, link, direct } = running;
    const asked = fake.say(world.direct(ADA.id), "secret question");
    await host.heard("secret question");
    fake.gateway.dispatch("INTERACTION_CREATE", {
      ...world.interaction("901", {}),
      member: undefined,
      user: ADA,
      guild_id: undefined,
      ...interaction,
    });
    await expect.poll(() => world.callbacks).toEqual([told(/direct chat with me/)]);
    await link.send(direct, says("SECRET"), { ...KEY, answers: `m${asked}` });
    await link.send(direct, says("a reminder"), { idempotencyKey: "cron" });
    expect(fake.shown(world.direct(ADA.id))).toEqual(["SECRET", "a reminder"]);
    expect(await host.notes.get("direct-channels")).toBe(JSON.stringify([[ADA.id, world.direct(ADA.id)]]));
    expect(host.received.map(({ text }) => text)).toEqual(["secret question"]);
    expect(fake.calls.filter(({ path }) => path.startsWith("/channels/999/"))).toEqual([]);
  });

  test("in the bot's own direct chat is the person's, without a question to Discord", async () => {
    const { fake, world, host, direct, link } = await begin();
    const channel = world.direct(ADA.id);
    fake.gateway.dispatch("INTERACTION_CREATE", world.interaction(channel, { type: 2, data: SLASH }));
    const { from, eventKey: answers } = await host.heard("/btw x");
    expect(from).toEqual(direct);
    await link.send(from, says("by the way"), { ...KEY, answers });
    expect(fake.shown(channel)).toEqual(["by the way"]);
    expect(fake.calls.some(({ path }) => path === "/users/@me/channels" || path === `/channels/${channel}`)).toBe(
      false,
    );
  });

  test.for([
    [
      "a command of a context menu",
      { type: 2, data: { id: "1", name: "Report", type: 3 } },
      told(/begin with a slash/),
    ],
    [
      "a choice of a select",
      { type: 3, message: { id: "5" }, data: { component_type: 3, custom_id: "x", values: ["1"] } },
      told(/do not know/),
    ],
    ["a form", { type: 5, data: { custom_id: "x", components: [] } }, told(/do not know/)],
    ["a question for completions", { type: 4, data: SLASH }, { type: 8, data: { choices: [] } }],
    ["something of later versions", { type: 9, data: {} }, told(/do not know/)],
  ] as const)("that is %s is answered at once", async ([, interaction, response]) => {
    const { fake, world, host } = await begin();
    fake.gateway.dispatch("INTERACTION_CREATE", world.interaction("901", interaction));
    await expect.poll(() => world.callbacks).toEqual([response]);
    fake.say("901", "and now?");
    await host.heard("and now?");
    expect(host.received).toHaveLength(1);
  });
});

describe("a direct chat that was noted wrongly", () => {
  test("is opened anew when Discord refuses its channel, and noted", async () => {
    const host = new Host();
    await host.notes.set("direct-channels", JSON.stringify([[ADA.id, "999"]]));
    const { link, direct, fake, world } = await begin({}, host);
    for (const words of ["one", "two"])
      expect(await link.send(direct, says(words), { idempotencyKey: words })).toMatchObject({ kind: "sent" });
    expect(fake.shown(world.direct(ADA.id))).toEqual(["one", "two"]);
    expect(fake.calls.filter(({ path }) => path === "/users/@me/channels")).toHaveLength(1);
    expect(await host.notes.get("direct-channels")).toBe(JSON.stringify([[ADA.id, world.direct(ADA.id)]]));
  });

  test("is read under its right channel after a gap", async () => {
    const host = new Host();
    await host.notes.set("direct-channels", JSON.stringify([[ADA.id, "999"]]));
    const { link, fake, world, direct } = await begin({}, host);
    fake.say(world.direct(ADA.id), "did you get this?", { unheard: true });
    expect(await link.missedSince?.(Date.now() - 60_000)).toMatchObject([{ text: "did you get this?", from: direct }]);
  });

  test("stays as it is when the person takes no messages", async () => {
    const { link, direct, fake, host } = await begin();
    expect(await link.send(direct, says("one"), KEY)).toMatchObject({ kind: "sent" });
    const noted = await host.notes.get("direct-channels");
    fake.fail("403");
    expect(await link.send(direct, says("two"), { idempotencyKey: "k2" })).toMatchObject({ kind: "refused" });
    expect(await host.notes.get("direct-channels")).toBe(noted);
  });
});

describe("files", () => {
  test("a file whose address expired gets a new address", async () => {
    const { link, platform, group, world, host } = await begin();
    const id = platform.attach?.(group, "file", { kind: "image", bytes: new Uint8Array([7]), name: "a.png" }) ?? "";
    const { media } = await host.heard("file");
    const [old] = world.files.keys();
    const fresh = "/attachments/fresh";
    world.files.set(fresh, world.files.get(old!)!);
    world.files.delete(old!);
    const [attachment] = objectsIn(world.find("901", id), "attachments");
    attachment!["url"] = world.url + fresh;
    expect((await link.download?.(media[0]!))?.bytes).toEqual(new Uint8Array([7]));
  });

  test("a file whose new address is unavailable now can be fetched later", async () => {
    const { link, platform, group, fake, world, host } = await begin();
    platform.attach?.(group, "file", { kind: "image", bytes: new Uint8Array([7]), name: "a.png" });
    const { media } = await host.heard("file");
    world.files.clear();
    fake.fail("500", { count: 9, fits: /GET .*messages/ });
    await expect(link.download?.(media[0]!)).rejects.toMatchObject({ name: "NotNow" });
  });

  test("a file that is gone or too large is reported as such", async () => {
    const { link, platform, group, world, host } = await begin({ mediaMaxMb: 0.00001 });
    platform.attach?.(group, "big", { kind: "image", bytes: new Uint8Array(100), name: "a.png" });
    const { media: big } = await host.heard("big");
    await expect(link.download?.(big[0]!)).rejects.toMatchObject({ code: "MEDIA_TOO_LARGE" });
    platform.attach?.(group, "gone", { kind: "image", bytes: new Uint8Array(1), name: "b.png" });
    const { media: gone } = await host.heard("gone");
    world.files.clear();
    await expect(link.download?.(gone[0]!)).rejects.toThrow();
  });
});

describe("the settings", () => {
  test("accounts inherit the channel's keys", () => {
    const accounts = discordAccounts({ token: "a", mediaMaxMb: 3, accounts: { one: {}, two: { token: "b" } } });
    expect(accounts.map(({ account, config }) => [account, config.token?.reveal(), config.mediaMaxMb])).toEqual([
      ["one", "a", 3],
      ["two", "b", 3],
    ]);
  });

  test("an account without a token gets the fix", async () => {
    await expect(discord.connect(discordConfig.parse({}), new Host())).rejects.toMatchObject({
      code: "CHANNEL_CONFIG",
      fix: expect.stringMatching(/developer portal/),
    });
  });

  test("the probe returns the bot's name, or the reason why it fails", async () => {
    const { fake } = await begin();
    const probe = async (more: Record<string, unknown> = {}) =>
      discord.probe?.(discordConfig.parse({ ...fake.config, ...more }), AbortSignal.timeout(2000));
    expect(await probe()).toBe("test_bot");
    await expect(probe({ token: "wrong" })).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
    fake.world.flags = 0;
    await expect(probe()).rejects.toMatchObject({ code: "CHANNEL_CONFIG", fix: /Message Content Intent/ });
    await expect(probe({ apiUrl: "http://127.0.0.1:1" })).rejects.toThrow("Discord cannot be reached (ECONNREFUSED)");
  });
});

describe("threads", () => {
  const historyOf = (context: InboundMessage["context"]) => context?.threadHistory;
  const unheard = { unheard: true } as const;

  test("the first message for the bot brings the thread's earlier messages, once", async () => {
    const { fake, host, world } = await begin({ thread: { initialHistoryLimit: 2 } });
    for (const text of ["one", "two", "three"]) fake.say("903", text, unheard);
    fake.say("903", "among us");
    expect((await host.heard("among us")).context).toMatchObject({ threadName: "a thread" });
    expect(historyOf((await host.heard("among us")).context)).toBeUndefined();
    const asks = `<@${world.self.id}> what now?`;
    fake.say("903", asks);
    // What came since the start is in the history that the gateway keeps.
    const asked = await host.heard("what now?");
    expect(historyOf(asked.context)).toEqual(["Earlier in the thread, Ada: two", "Earlier in the thread, Ada: three"]);
    fake.say("903", `${asks} again`);
    await host.until(() => host.received.length === 3);
    expect(historyOf(host.received[2]?.context)).toBeUndefined();
  });

  test("one in which the bot wrote, or that it may not read, brings none", async () => {
    const { fake, host, world } = await begin();
    const asks = `<@${world.self.id}> what now?`;
    world.write("903", "my view", { from: world.self });
    fake.say("903", asks);
    expect(historyOf((await host.heard("what now?")).context)).toBeUndefined();
    const closed = await begin();
    closed.fake.say("903", "hidden", unheard);
    closed.world.showsHistory = false;
    closed.fake.say("903", `<@${closed.world.self.id}> hello?`);
    expect(historyOf((await closed.host.heard("hello?")).context)).toBeUndefined();
  });
});
