import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import type { InboundMessage, Peer } from "../../../src/types/chat/message.ts";
import { mediaId } from "../../../src/types/ids.ts";
import { discordAccounts, discordConfig } from "../config.ts";
import { discord } from "../index.ts";
import { idAt } from "../inbound/places.ts";
import { nonceOf, rowsOf } from "../send.ts";
import { objectsIn, textIn } from "./json.ts";
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
    const { platform, direct, fake, host } = await begin();
    Object.assign(fake, { token: "another" });
    platform.say(direct, "hello");
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

  test("a command is text for the gateway, and its answer replaces the waiting one", async () => {
    const { link, group, world, fake, host, posts, platform } = await begin();
    const data = { id: "1", name: "think", type: 1, options: [{ type: 3, name: "args", value: "high" }] };
    fake.gateway.dispatch("INTERACTION_CREATE", world.interaction("901", { type: 2, data }));
    expect(await host.heard("/think high")).toMatchObject({ event: "command", from: group, guildId: "900" });
    expect(await link.send(group, says("thinking high"), KEY)).toMatchObject({ kind: "sent" });
    expect(world.callbacks).toEqual([{ type: 5 }]);
    expect(posts()).toEqual([]);
    await link.send(group, says("thinking high"), KEY);
    await link.send(group, says("and more"), { idempotencyKey: "k2" });
    expect(platform.shown(group)).toEqual(["thinking high", "and more"]);
    expect(posts()).toHaveLength(1);
  });

  test("a command without an answer stops waiting, and takes no other command's answer", async () => {
    const { link, group, world, fake, host, posts, platform } = await begin();
    const call = (name: string) => {
      const data = { id: "1", name, type: 1 };
      fake.gateway.dispatch("INTERACTION_CREATE", world.interaction("901", { type: 2, data }));
      return host.heard(`/${name}`);
    };
    const dropped = await call("status");
    const answered = await call("think");
    await link.clearPending?.(dropped);
    const removals = () => fake.calls.filter(({ method }) => method === "DELETE").map(({ path }) => path);
    expect(removals()).toEqual([expect.stringMatching(/^\/webhooks\/.*\/messages\/@original$/)]);
    expect(await link.send(group, says("thinking"), KEY)).toMatchObject({ kind: "sent" });
    expect(posts()).toEqual([]);
    await link.clearPending?.(answered);
    await link.clearPending?.(dropped);
    expect(removals()).toHaveLength(1);
    await link.send(group, says("to somebody else"), { idempotencyKey: "k2" });
    expect(posts()).toHaveLength(1);
    expect(platform.shown(group)).toEqual(["thinking", "to somebody else"]);
  });

  test("two commands at once get their own answers", async () => {
    const { link, group, world, fake, host, posts, platform } = await begin();
    for (const name of ["status", "think"]) {
      const data = { id: "1", name, type: 1 };
      fake.gateway.dispatch("INTERACTION_CREATE", world.interaction("901", { type: 2, data }));
      await host.heard(`/${name}`);
    }
    await link.send(group, says("fine"), KEY);
    await link.send(group, says("thinking"), { idempotencyKey: "k2" });
    expect(posts()).toEqual([]);
    expect(platform.shown(group)).toEqual(["fine", "thinking"]);
  });

  test("an answer that comes too late is a separate message", async () => {
    const { link, group, world, fake, host, platform } = await begin();
    const data = { id: "1", name: "status", type: 1 };
    fake.gateway.dispatch("INTERACTION_CREATE", world.interaction("901", { type: 2, data, token: "forgotten" }));
    await host.heard("/status");
    expect(await link.send(group, says("fine"), KEY)).toMatchObject({ kind: "sent" });
    expect(platform.shown(group)).toEqual(["fine"]);
  });

  test("an expired token of a command is not the bot's token, which stays valid", async () => {
    const { link, group, world, fake, host, platform } = await begin();
    const call = (name: string) => {
      fake.gateway.dispatch(
        "INTERACTION_CREATE",
        world.interaction("901", { type: 2, data: { id: "1", name, type: 1 } }),
      );
      return host.heard(`/${name}`);
    };
    await call("status");
    const dropped = await call("think");
    world.aheadMs = 15 * 60_000;
    await link.clearPending?.(dropped);
    expect(fake.calls.at(-1)).toMatchObject({ method: "DELETE", status: 401 });
    expect(await link.send(group, says("fine"), KEY)).toMatchObject({ kind: "sent" });
    expect(fake.calls.at(-2)).toMatchObject({ method: "PATCH", status: 401 });
    expect(await link.send(group, says("and more"), { idempotencyKey: "k2" })).toMatchObject({ kind: "sent" });
    expect(platform.shown(group)).toEqual(["fine", "and more"]);
  });

  test("no call is made for a command that Discord has forgotten", async () => {
    const { link, world, fake, host } = await begin();
    const id = idAt(Date.now() - 15 * 60_000);
    const data = { id: "1", name: "status", type: 1 };
    fake.gateway.dispatch("INTERACTION_CREATE", world.interaction("901", { type: 2, data, id }));
    await link.clearPending?.(await host.heard("/status"));
    expect(fake.calls.filter(({ method }) => method === "DELETE")).toEqual([]);
  });

  test("an answer that Discord refuses as a replacement is a separate message, and nothing keeps waiting", async () => {
    const { link, group, world, fake, host, platform } = await begin();
    const data = { id: "1", name: "status", type: 1 };
    fake.gateway.dispatch("INTERACTION_CREATE", world.interaction("901", { type: 2, data }));
    await host.heard("/status");
    fake.fail("403", { fits: /^PATCH .webhooks/ });
    expect(await link.send(group, says("fine"), KEY)).toMatchObject({ kind: "sent" });
    expect(platform.shown(group)).toEqual(["fine"]);
    expect(fake.calls.filter(({ method }) => method === "DELETE")).toMatchObject([
      { path: expect.stringMatching(/^\/webhooks\/.*\/messages\/@original$/), status: 204 },
    ]);
  });

  test("a command that could not be acknowledged is still answered", async () => {
    const { link, group, world, fake, host, platform } = await begin();
    fake.fail("500", { fits: /callback$/ });
    const data = { id: "1", name: "status", type: 1 };
    fake.gateway.dispatch("INTERACTION_CREATE", world.interaction("901", { type: 2, data }));
    await host.heard("/status");
    expect(await link.send(group, says("fine"), KEY)).toMatchObject({ kind: "sent" });
    expect(platform.shown(group)).toEqual(["fine"]);
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
