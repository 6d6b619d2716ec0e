import { App, LogLevel, SocketModeReceiver } from "@slack/bolt";
import { afterEach, describe, expect, test } from "vitest";
import { ADA, OPEN, TOPIC } from "../../extensions/slack/test/fake-slack.ts";
import type { FakeSlack } from "../../extensions/slack/test/fake-slack.ts";
import { slackPlatform } from "../../extensions/slack/test/slack-platform.ts";
import { slack } from "../../extensions/slack/index.ts";
import { Host, KEY, textAs } from "../contracts/channel.ts";

const mrkdwn = textAs("slack-mrkdwn");

/** Slack's own library judges the Slack that our adapter is tested with. */
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** `again`: milliseconds after which Bolt connects again, and for which it waits for an answer to a ping. */
async function begin(again = 5000) {
  const platform = await slackPlatform();
  const { fake } = platform;
  closers.push(() => platform.close());
  const clientOptions = { slackApiUrl: fake.url, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true };
  const quiet = { logLevel: LogLevel.ERROR };
  const receiver = new SocketModeReceiver({
    ...quiet,
    clientPingTimeout: again,
    appToken: fake.appToken,
    installerOptions: { clientOptions },
  });
  const app = new App({ ...quiet, token: fake.botToken, receiver, clientOptions });
  const heard: string[] = [];
  const bodies = new Map<string, unknown>();
  listen(app, (line, body) => {
    heard.push(line);
    bodies.set(line, body);
  });
  await app.start();
  closers.push(async () => void (await app.stop()));
  const hears = async (line: string): Promise<unknown> => {
    await expect.poll(() => heard, { interval: 10, timeout: 20_000 }).toContain(line);
    return bodies.get(line);
  };
  return { platform, fake, app, heard, hears, calls: app.client };
}

function listen(app: App, hear: (line: string, body: unknown) => void): void {
  app.message(async ({ message }) => {
    if (message.subtype === undefined || message.subtype === "file_share") hear(`message: ${message.text}`, message);
  });
  app.event("message", async ({ event }) => {
    if (event.subtype === "message_changed") hear(`changed: ${event.message.ts}`, event);
    if (event.subtype === "message_deleted") hear(`deleted: ${event.deleted_ts}`, event);
  });
  app.event("app_mention", async ({ event, context }) => hear(`mention: ${event.text}`, { event, context }));
  app.event("reaction_added", async ({ event }) => hear(`reaction: ${event.reaction}`, event));
  app.event("reaction_removed", async ({ event }) => hear(`no reaction: ${event.reaction}`, event));
  app.command("/openclaw", async ({ command, ack, body, respond }) => {
    await ack("at it");
    if (command.text === "answer me") await respond({ response_type: "ephemeral", text: "only for you" });
    hear(`command: ${command.text}`, body);
  });
  app.action({ type: "block_actions", action_id: /^openclaw:/ }, async ({ action, body, ack }) => {
    await ack();
    hear(`press: ${action.type === "button" ? action.value : ""}`, body);
  });
}

/** docs.slack.dev/interactivity/implementing-slash-commands */
const COMMAND = {
  token: "x",
  api_app_id: "A1",
  team_id: "T1",
  team_domain: "test",
  channel_id: "C9",
  channel_name: "crew",
  user_id: ADA,
  user_name: "ada",
  command: "/openclaw",
  trigger_id: "1.2.3",
  response_url: "http://127.0.0.1:9/commands",
  is_enterprise_install: "false",
};

const allAcknowledged = (fake: FakeSlack) => expect.poll(() => fake.pending, { interval: 10 }).toEqual([]);

describe("a Bolt app on the fake", () => {
  test("gets messages and mentions, and its acknowledgements arrive", async () => {
    const { fake, hears } = await begin();
    expect(fake.sockets).toBe(1);
    fake.say("D1", "hello");
    const words = `<@${fake.self.userId}> here`;
    fake.say("C9", words, { thread_ts: TOPIC });
    expect(await hears("message: hello")).toMatchObject({ channel: "D1", channel_type: "im", user: ADA });
    expect(await hears(`message: ${words}`)).toMatchObject({ channel_type: "channel", thread_ts: TOPIC });
    expect(await hears(`mention: ${words}`)).toMatchObject({
      event: { channel: "C9", thread_ts: TOPIC },
      context: { botUserId: fake.self.userId, botId: fake.self.botId, teamId: fake.self.teamId },
    });
    await allAcknowledged(fake);
  });

  test("gets edits, reactions and files", async () => {
    const { platform, fake, hears } = await begin();
    const { direct } = platform;
    const ts = platform.say(direct, "first words");
    platform.change?.(direct, ts, "better words");
    const edited = { channel: "D1", message: { text: "better words", user: ADA, edited: { user: ADA } } };
    expect(await hears(`changed: ${ts}`)).toMatchObject(edited);
    platform.react?.(direct, ts, "👍");
    const reacted = { user: ADA, item: { type: "message", channel: "D1", ts }, item_user: fake.self.userId };
    expect(await hears("reaction: +1")).toMatchObject(reacted);
    platform.react?.(direct, ts, "👍", { removed: true });
    await hears("no reaction: +1");
    platform.attach?.(direct, "a file", {
      kind: "image",
      bytes: new Uint8Array([1]),
      name: "a.png",
      mime: "image/png",
    });
    expect(await hears("message: a file")).toMatchObject({
      files: [{ name: "a.png", mimetype: "image/png", url_private: expect.any(String) }],
    });
    await allAcknowledged(fake);
  });

  test("gets the slash command and pressed buttons", async () => {
    const { platform, fake, hears } = await begin();
    fake.deliver("slash_commands", { ...COMMAND, text: "status now" });
    expect(await hears("command: status now")).toMatchObject({ user_id: ADA, channel_id: "C9" });
    const ts = fake.say("D1", "Run it?", { user: fake.self.userId, bot_id: fake.self.botId });
    platform.press?.(platform.direct, ts, "/yes");
    expect(await hears("press: /yes")).toMatchObject({ user: { id: ADA }, container: { message_ts: ts } });
    await allAcknowledged(fake);
  });

  test("answers the slash command where the bot is not", async () => {
    const { fake, hears } = await begin();
    const url = fake.command(OPEN, "answer me");
    expect(await hears("command: answer me")).toMatchObject({ channel_id: OPEN, response_url: url });
    expect(fake.responses(url)).toEqual([{ response_type: "ephemeral", text: "only for you" }]);
    await allAcknowledged(fake);
  });

  test("comes back after its socket was rotated or cut, and gets what came in between", async () => {
    const { fake, hears } = await begin(50);
    const away = () => expect.poll(() => fake.sockets, { interval: 5 }).toBe(0);
    fake.rotate("refresh_requested");
    await away();
    fake.say("D1", "while it rotates");
    await hears("message: while it rotates");
    fake.cut();
    await away();
    fake.say("D1", "while it is cut");
    await hears("message: while it is cut");
    await allAcknowledged(fake);
  });
});

describe("Bolt's client on the fake", () => {
  test("posts, changes and deletes a message, and recognises its own", async () => {
    const { fake, calls, heard, hears } = await begin();
    const posted = await calls.chat.postMessage({ channel: "C9", text: "one", thread_ts: TOPIC });
    expect(posted).toMatchObject({ ok: true, channel: "C9", message: { text: "one", bot_id: fake.self.botId } });
    const ts = String(posted.ts);
    expect(await calls.chat.update({ channel: "C9", ts, text: "two" })).toMatchObject({ ok: true, ts, text: "two" });
    const replies = await calls.conversations.replies({ channel: "C9", ts: TOPIC });
    expect(replies.messages?.map(({ text }) => text)).toEqual(["the topic", "two"]);
    expect(replies.messages?.[1]).toMatchObject({ edited: { user: fake.self.userId } });
    await calls.chat.delete({ channel: "C9", ts });
    expect(fake.messages.map(({ text }) => text)).toEqual(["the topic"]);
    fake.say("C9", "of Ada");
    await hears("message: of Ada");
    expect(heard.filter((line) => line.startsWith("message: "))).toEqual(["message: of Ada"]);
  });

  test("sees the buttons of our adapter's question, and none once it is answered", async () => {
    const { platform, calls } = await begin();
    const host = new Host();
    const link = await slack.connect(slack.config.parse(platform.config), host);
    closers.push(() => link.close());
    const buttons = [{ label: "Allow once", command: "/approve 1 once" }];
    const sent = await link.send(platform.group, mrkdwn("May I?"), { ...KEY, buttons });
    if (sent.kind !== "sent") throw new Error(sent.reason);
    const kinds = async () => {
      const { messages } = await calls.conversations.history({ channel: "C9" });
      return messages?.find(({ ts }) => ts === sent.messageId)?.blocks?.map(({ type }) => type);
    };
    expect(await kinds()).toContain("actions");
    await link.edit?.(platform.group, sent.messageId, mrkdwn("Allowed."));
    expect(await kinds()).not.toContain("actions");
  });

  test("reacts, once", async () => {
    const { fake, calls, heard, hears } = await begin();
    const ts = fake.say("C9", "look");
    const reaction = { channel: "C9", timestamp: ts, name: "thumbsup" };
    await calls.reactions.add(reaction);
    await expect(calls.reactions.add(reaction)).rejects.toMatchObject({ data: { error: "already_reacted" } });
    const { message } = await calls.reactions.get({ channel: "C9", timestamp: ts });
    expect(message?.reactions).toEqual([{ name: "thumbsup", users: [fake.self.userId], count: 1 }]);
    await calls.reactions.remove(reaction);
    await expect(calls.reactions.remove(reaction)).rejects.toMatchObject({ data: { error: "no_reaction" } });
    fake.say("C9", "after");
    await hears("message: after");
    expect(heard).toEqual(["message: look", "message: after"]);
  });

  test("uploads files below a message", async () => {
    const { fake, calls } = await begin();
    const file = (name: string, byte: number) => ({ file: Buffer.from([byte, 0, 255]), filename: name });
    const where = { channel_id: "C9", thread_ts: TOPIC, initial_comment: "two files" };
    const { files } = await calls.filesUploadV2({ ...where, file_uploads: [file("a.bin", 1), file("b.bin", 2)] });
    const ids = files.flatMap((done) => (done.files ?? []).map(({ id }) => String(id)));
    expect(ids.map((id) => [...fake.bytesOf(id)])).toEqual([
      [1, 0, 255],
      [2, 0, 255],
    ]);
    expect(fake.messages.at(-1)).toMatchObject({ thread_ts: TOPIC, text: "two files", files: [{}, {}] });
    const { file: about } = await calls.files.info({ file: ids[0] ?? "" });
    expect(about).toMatchObject({ name: "a.bin", shares: { public: { C9: [{ ts: fake.messages.at(-1)?.ts }] } } });
  });

  test("is refused with Slack's words", async () => {
    const { fake, calls } = await begin();
    const post = (channel: string, text: string, more = {}) => calls.chat.postMessage({ channel, text, ...more });
    await expect(post("CGONE", "x")).rejects.toMatchObject({ data: { error: "channel_not_found" } });
    await expect(post("C9", "x", { token: "xoxb-wrong" })).rejects.toMatchObject({ data: { error: "invalid_auth" } });
    await expect(calls.apiCall("no.such")).rejects.toMatchObject({ data: { error: "unknown_method" } });
    fake.fail("chat.postMessage", "500");
    await expect(post("C9", "x")).rejects.toMatchObject({ statusCode: 500 });
    fake.fail("chat.postMessage", "429");
    await expect(post("C9", "x")).rejects.toMatchObject({ code: "slack_webapi_rate_limited_error", retryAfter: 1 });
  });
});
