import { afterEach, describe, expect, test } from "vitest";
import { discord } from "../../extensions/discord/index.ts";
import type { ChannelLink } from "../../src/types/chat/channel.ts";
import type { Peer } from "../../src/types/chat/message.ts";
import { DEFAULT_ACCOUNT } from "../../src/types/ids.ts";
import { Host, KEY, textAs } from "../contracts/channel.ts";
import { hasTwin, HELPERS, Twin } from "./twin.ts";

/**
 * Our adapter at a Discord that others wrote. Where that one departs from Discord:
 * - it never lists who is mentioned; only roles are kept, in its rows
 * - every message is of type 0, also one that answers another
 * - a thread has an id of its own, other than that of the message it was begun from
 * - a session is never resumed: RESUME gets no answer
 * - REST takes any token, knows no direct chats, and does not look at nonces
 * - a deferred command has no message until its answer is put in
 * - a message for one person is in the channel, with its flag
 */
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const says = textAs("discord");
const place = { channel: discord.id, account: DEFAULT_ACCOUNT };

async function begin(): Promise<Twin> {
  const twin = await Twin.start();
  closers.push(() => twin.close());
  return twin;
}

async function join(twin: Twin, host = new Host(), more = {}): Promise<{ host: Host; link: ChannelLink }> {
  const link = await discord.connect(discord.config.parse({ ...twin.config, ...more }), host);
  closers.push(() => link.close());
  return { host, link };
}

async function beginAndJoin() {
  const twin = await begin();
  const crew: Peer = { ...place, chat: { kind: "group", id: twin.crew, title: "#crew" } };
  return { twin, crew, ...(await join(twin)) };
}

const alive = (host: Host) => host.until(() => host.reports.some(({ kind }) => kind === "alive"));
const troubles = (host: Host) => host.reports.filter(({ kind }) => kind === "trouble");

describe.skipIf(!hasTwin)("a connection to the third party", () => {
  test("is connected once Discord sends the guild, and knows who it is", async () => {
    const { twin, host } = await beginAndJoin();
    expect(host.reports).toEqual([{ kind: "alive", self: { id: twin.botId, name: "TestBot" } }]);
    expect(host.lines).toEqual([]);
  });

  test("is probed: the bot's name, and its leave to read texts", async () => {
    const twin = await begin();
    const config = discord.config.parse(twin.config);
    expect(await discord.probe?.(config, AbortSignal.timeout(10_000))).toBe("TestBot");
  });

  test("is refused for another token", async () => {
    const twin = await begin();
    const { host } = await join(twin, new Host(), { token: "another" });
    const refused = { kind: "dead", reason: expect.stringContaining("token"), fix: expect.any(String) };
    expect(host.reports).toEqual([refused]);
  });

  test("finds the gateway by asking for it", async () => {
    const twin = await begin();
    const { host } = await join(twin, new Host(), { gatewayUrl: undefined });
    await alive(host);
    const id = await twin.say("hello");
    expect(await host.heard("hello")).toMatchObject({ id });
  });

  test("that fails is opened again, and what was written meanwhile is requested", async () => {
    const { twin, host, link } = await beginAndJoin();
    await twin.say("before");
    await host.heard("before");
    const since = Date.now();
    host.reports.length = 0;
    twin.wire.cut();
    await host.until(() => troubles(host).length > 0);
    await twin.say("in the gap");
    await alive(host);
    expect(troubles(host).at(-1)).toMatchObject({ reason: "the gateway was not ready in time" });
    const missed = (await link.missedSince?.(since)) ?? [];
    expect(missed.map(({ text, eventKey }) => [text, eventKey])).toContainEqual([
      "in the gap",
      expect.stringMatching(/^m\d+$/),
    ]);
    await twin.say("after");
    await host.heard("after");
  });

  test("of a later start continues the same way, from an earlier one's notes", async () => {
    const { twin, crew, host: first, link } = await beginAndJoin();
    await twin.say("before");
    await first.heard("before");
    await link.close();
    const since = Date.now();
    const id = await twin.say("while away");
    const { host, link: next } = await join(twin, new Host(first));
    await alive(host);
    const missed = (await next.missedSince?.(since)) ?? [];
    expect(missed.find(({ text }) => text === "while away")).toMatchObject({
      id,
      from: crew,
      guildId: twin.guildId,
      sender: { id: twin.ada, name: "ada", roles: [] },
    });
  });
});

describe.skipIf(!hasTwin)("what the third party sends", () => {
  test("a message is normalised", async () => {
    const { twin, crew, host } = await beginAndJoin();
    const id = await twin.say(`in <#${twin.crew}>, all`);
    const message = await host.heard("all");
    expect(message).toEqual({
      id,
      eventKey: `m${id}`,
      from: crew,
      sender: { id: twin.ada, name: "ada", username: "ada", roles: [] },
      guildId: twin.guildId,
      text: "in #crew, all",
      media: [],
      mentionsBot: false,
      receivedAt: expect.any(Number),
      sentAt: expect.any(Number),
    });
    expect(Math.abs(message.receivedAt - Number(message.sentAt))).toBeLessThan(10_000);
  });

  test("messages come in their order", async () => {
    const { twin, host } = await beginAndJoin();
    const texts = Array.from({ length: 30 }, (_, number) => `message ${number};`);
    for (const text of texts) await twin.say(text);
    await host.heard("message 29;");
    expect(host.received.map(({ text }) => text)).toEqual(texts);
  });

  test("the bot's role names it", async () => {
    const twin = await begin();
    await twin.addRole();
    const { host } = await join(twin);
    const id = await twin.say("soon");
    await host.heard("soon");
    await twin.change(id, `<@&${HELPERS}> your turn`, { mentionRoles: JSON.stringify([HELPERS]) });
    expect(await host.heard("your turn")).toMatchObject({ id, text: "your turn", mentionsBot: true });
  });

  test("an answer to the bot names it, with the words that it answers", async () => {
    const { twin, crew, host, link } = await beginAndJoin();
    const sent = await link.send(crew, says("what I said"), KEY);
    if (sent.kind !== "sent") throw new Error(sent.reason);
    const answer = { content: "soon", messageReference: { message_id: sent.messageId } };
    const { id } = await twin.person().sendMessage(answer);
    await host.heard("soon");
    await twin.change(id, "why?", { type: 19 });
    expect(await host.heard("why?")).toMatchObject({
      mentionsBot: true,
      replyTo: { id: sent.messageId, sender: "TestBot", text: "what I said", fromBot: true },
    });
  });

  test("an edit has a key of its own; a removal is an event without words", async () => {
    const { twin, host } = await beginAndJoin();
    const id = await twin.say("first words");
    await twin.person().editMessage({ messageId: id, content: "better words" });
    expect(await host.heard("better words")).toMatchObject({
      id,
      isEdit: true,
      eventKey: expect.stringMatching(`^m${id}:\\d+$`),
    });
    await twin.person().deleteMessage({ messageId: id });
    await twin.say("and on");
    await host.heard("and on");
    expect(host.received.map(({ text }) => text)).toEqual(["first words", "better words", "", "and on"]);
    expect(host.received[2]).toMatchObject({ news: { kind: "deleted", messageId: id } });
  });

  test("a file without words", async () => {
    const { twin, host } = await beginAndJoin();
    const { id } = await twin.person().sendVoiceMessage();
    await host.until(() => host.received.length > 0);
    const file = { kind: "audio", mime: "audio/ogg", name: "voice-message.ogg", bytes: 1024 };
    expect(host.received[0]).toMatchObject({ id, text: "", media: [file] });
  });

  test("a thread keeps its id both ways, and names the message that it began from", async () => {
    const { twin, crew, host, link } = await beginAndJoin();
    const topic = await twin.beginThread(await twin.say("a topic"), "Topic");
    await twin.say("in the thread", topic);
    const message = await host.heard("in the thread");
    expect(message).toMatchObject({
      from: { ...crew, thread: topic },
      context: { threadStarter: "a topic" },
      mentionsBot: false,
    });
    expect(await link.send(message.from, says("there too"), KEY)).toMatchObject({ kind: "sent" });
    expect(await twin.shown(topic)).toEqual(["there too"]);
    expect(await twin.shown()).toEqual([]);
  });
});

describe.skipIf(!hasTwin)("what the third party receives", () => {
  test("an answer is below its question, with buttons, and is not received as a message", async () => {
    const { twin, crew, host, link } = await beginAndJoin();
    const asked = await twin.say("may I?");
    const buttons = [{ label: "Yes", command: "/approve 1" }];
    const sent = await link.send(crew, says("**Surely?**"), { ...KEY, replyTo: asked, silent: true, buttons });
    const [message] = await twin.own();
    expect(sent).toEqual({ kind: "sent", messageId: message?.id });
    expect(message).toMatchObject({
      content: "**Surely?**",
      flags: 4100,
      message_reference: { message_id: asked },
      components: [{ type: 1, components: [{ type: 2, label: "Yes", custom_id: "/approve 1" }] }],
    });
    await twin.say("well");
    await host.heard("well");
    expect(host.received.map(({ text }) => text)).toEqual(["may I?", "well"]);
  });

  test("text is sent, changed and removed, twice each", async () => {
    const { twin, crew, link } = await beginAndJoin();
    const sent = await link.send(crew, says("first"), KEY);
    if (sent.kind !== "sent") throw new Error(sent.reason);
    for (const words of ["second", "second"])
      expect(await link.edit?.(crew, sent.messageId, says(words))).toEqual(sent);
    expect(await twin.shown()).toEqual(["second"]);
    for (let times = 0; times < 2; times++) expect(await link.remove?.(crew, sent.messageId)).toEqual(sent);
    expect(await twin.shown()).toEqual([]);
  });

  test("a message has one reaction of ours", async () => {
    const { twin, crew, host, link } = await beginAndJoin();
    const id = await twin.say("look");
    for (const emoji of ["👀", "👍"]) {
      expect(await link.react?.(crew, id, emoji)).toMatchObject({ kind: "sent" });
      expect(await twin.reactions(id)).toEqual([emoji]);
    }
    await link.react?.(crew, id, undefined);
    expect(await twin.reactions(id)).toEqual([]);
    await twin.say("after");
    await host.heard("after");
    expect(host.received.map(({ text }) => text)).toEqual(["look", "after"]);
  });

  test("typing is shown where it belongs", async () => {
    const { twin, crew, host, link } = await beginAndJoin();
    await link.typing?.(crew);
    expect(twin.digital.channel(twin.crew).getTypingEvents()).toHaveLength(1);
    expect(host.lines).toEqual([]);
  });

  test("a channel that is not there ends the message, with the reason", async () => {
    const { twin, link } = await beginAndJoin();
    const gone: Peer = { ...place, chat: { kind: "group", id: "999" } };
    const reason = "Discord answers 404: Unknown Channel (10003)";
    expect(await link.send(gone, says("hello"), KEY)).toEqual({ kind: "refused", reason });
    expect(await link.edit?.({ ...gone, chat: { kind: "group", id: twin.crew } }, "999", says("x"))).toEqual({
      kind: "refused",
      reason: "Discord answers 404: Unknown Message (10008)",
    });
  });

  test("a later start finds what an earlier one sent", async () => {
    const { twin, crew, host, link } = await beginAndJoin();
    const sent = await link.send(crew, says("arrived"), KEY);
    await link.close();
    const { link: next } = await join(twin, new Host(host));
    expect(await next.find?.(crew, says("arrived"), KEY)).toEqual(sent);
    const other = { idempotencyKey: "another" };
    expect(await next.find?.(crew, says("never sent"), other)).toMatchObject({ kind: "retry" });
  });
});

describe.skipIf(!hasTwin)("the third party's menu", () => {
  const menuOf = async (twin: Twin) => {
    const rows = await twin.digital.prisma.applicationCommand.findMany();
    return rows.map(({ name }) => name);
  };
  const run = async (twin: Twin) =>
    twin.person().runSlashCommand({ name: "status", options: [{ name: "args", type: 3, value: "now" }] });

  test("has our commands; each is acknowledged within three seconds, and its answer replaces the acknowledgement", async () => {
    const { twin, crew, host, link } = await beginAndJoin();
    await expect.poll(() => menuOf(twin)).toEqual(["status"]);
    const { id } = await run(twin);
    expect(await host.heard("/status now")).toMatchObject({
      id,
      eventKey: `i${id}`,
      event: "command",
      from: crew,
      sender: { id: twin.ada, name: "ada", roles: [] },
      guildId: twin.guildId,
      mentionsBot: true,
    });
    const response = () => twin.digital.channel(twin.crew).getInteractionResponse(id);
    await expect.poll(response).toMatchObject({ acknowledged: true, type: 5 });
    expect(await link.send(crew, says("all well"), { ...KEY, answers: `i${id}` })).toMatchObject({ kind: "sent" });
    expect(await twin.own()).toMatchObject([{ content: "all well", webhook_id: twin.botId }]);
    expect(await link.send(crew, says("and more"), { idempotencyKey: "more" })).toMatchObject({ kind: "sent" });
    const [, second] = await twin.own();
    expect(second).not.toHaveProperty("webhook_id");
  });

  test("a command without an answer has a sentence for its sender alone", async () => {
    const { twin, host, link } = await beginAndJoin();
    await run(twin);
    await link.clearPending?.(await host.heard("/status now"));
    expect(await twin.own()).toMatchObject([{ content: "There is no answer to this.", flags: 64 }]);
  });

  test("a pressed button sends its command, and is acknowledged", async () => {
    const { twin, crew, host, link } = await beginAndJoin();
    const sent = await link.send(crew, says("Run it?"), { ...KEY, buttons: [{ label: "Yes", command: "/approve 1" }] });
    if (sent.kind !== "sent") throw new Error(sent.reason);
    const { id } = await twin.person().clickButton({ messageId: sent.messageId, customId: "/approve 1" });
    expect(await host.heard("/approve 1")).toMatchObject({ id: sent.messageId, eventKey: `i${id}`, event: "button" });
    const response = () => twin.digital.channel(twin.crew).getInteractionResponse(id);
    await expect.poll(response).toMatchObject({ acknowledged: true, type: 6 });
  });
});
