import { once } from "node:events";
import fs from "node:fs/promises";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { HttpError } from "grammy";
import { afterEach, describe, expect, test } from "vitest";
import { Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import { telegramPlatform } from "../../../test/contracts/telegram-platform.ts";
import { mediaId } from "../../../src/types/ids.ts";
import { telegramAccounts } from "../config.ts";
import { failureOf } from "../send/failures.ts";
import { probe, telegram } from "../index.ts";

afterEach(stopAll);
const html = textAs("telegram-html");

async function begin(config: Record<string, unknown> = {}, host = new Host()) {
  const platform = await telegramPlatform();
  const started = await start(platform, host, config);
  return { ...started, fake: platform.fake, direct: platform.direct, topic: platform.topic! };
}

describe("sending", () => {
  test("HTML is sent as HTML, and as plain text when Telegram cannot parse it", async () => {
    const { link, fake, direct } = await begin();
    await link.send(direct, html("<b>bold</b> &amp; <code>x</code>", "bold & x"), KEY);
    await link.send(direct, html("<b>broken", "broken"), KEY);
    expect(fake.shown(1001)).toEqual(["bold & x", "broken"]);
    expect(fake.sent.map((call) => [call.ok, call.body["parse_mode"]])).toEqual([
      [true, "HTML"],
      [false, "HTML"],
      [true, undefined],
    ]);
  });

  test("topic, reply, silence, buttons and link preview reach Telegram", async () => {
    const { link, fake, topic } = await begin();
    const buttons = [1, 2, 3, 4].map((n) => ({ label: `B${n}`, command: `/do ${n}` }));
    const tooLong = { label: "no", command: "x".repeat(65) };
    const result = await link.send(topic, html("hi"), {
      ...KEY,
      replyTo: "5",
      silent: true,
      buttons: [...buttons, tooLong],
    });
    expect(result.kind).toBe("sent");
    expect(fake.sent[0]?.body).toMatchObject({
      chat_id: -1009,
      message_thread_id: 77,
      disable_notification: true,
      reply_parameters: { message_id: 5, allow_sending_without_reply: true },
      link_preview_options: { is_disabled: true },
      reply_markup: {
        inline_keyboard: [buttons.slice(0, 3), buttons.slice(3)].map((row) =>
          row.map((it) => ({ text: it.label, callback_data: it.command })),
        ),
      },
    });
  });

  test.each(["../x", "-5", "0", "1e9", "9".repeat(400)])(
    "an id that is none of Telegram's quotes nothing, and the message is sent: %s",
    async (replyTo) => {
      const { link, fake, direct } = await begin();
      expect(await link.send(direct, html("hi"), { ...KEY, replyTo })).toMatchObject({ kind: "sent" });
      expect(fake.sent.map(({ body }) => body["reply_parameters"])).toEqual([undefined]);
    },
  );

  test("links have previews if the config says so, in edits too", async () => {
    const previews = async (more: Record<string, unknown>) => {
      const { link, fake, direct } = await begin(more);
      const sent = await link.send(direct, html("http://a.b/?d=secret"), KEY);
      await link.edit?.(direct, sent.kind === "sent" ? sent.messageId : "", html("http://a.b/?d=more"));
      return fake.sent.map(({ body }) => body["link_preview_options"]);
    };
    expect(await previews({})).toEqual([{ is_disabled: true }, { is_disabled: true }]);
    expect(await previews({ linkPreview: true })).toEqual([undefined, undefined]);
  });

  test("files are sent by their kind, from the store and by Telegram's own id", async () => {
    const host = new Host();
    const bytes = new Uint8Array([137, 80, 78, 71, 13, 10, 45, 45]);
    host.media.set("m1", bytes);
    const { link, fake, direct } = await begin({}, host);
    const source = { at: "store", id: mediaId("m1") } as const;
    await link.send(
      direct,
      { kind: "media", media: { kind: "image", mime: "image/png", source }, caption: html("<b>look</b>", "visual") },
      KEY,
    );
    await link.send(direct, { kind: "media", media: { kind: "audio", mime: "audio/ogg", source }, asVoice: true }, KEY);
    await link.send(
      direct,
      { kind: "media", media: { kind: "document", source: { at: "platform", ref: "file-9" } } },
      KEY,
    );
    expect(fake.sent.map((call) => call.method)).toEqual(["sendPhoto", "sendVoice", "sendDocument"]);
    expect(fake.sent[0]?.body["photo"]).toMatchObject({ name: "image.png", bytes: Buffer.from(bytes) });
    expect(fake.sent[0]?.text).toBe("<b>look</b>");
    expect(fake.sent[2]?.body["document"]).toBe("file-9");
  });

  test("a picture that Telegram refuses is sent as a file; one that is lost is refused with the reason", async () => {
    const host = new Host();
    host.media.set("m1", new Uint8Array([1]));
    const { link, fake, direct } = await begin({}, host);
    fake.fail("sendPhoto", "photo");
    const media = (id: string) =>
      ({ kind: "media", media: { kind: "image", source: { at: "store", id: mediaId(id) } } }) as const;
    expect((await link.send(direct, media("m1"), KEY)).kind).toBe("sent");
    expect(fake.sent.map((call) => call.method)).toEqual(["sendPhoto", "sendDocument"]);
    expect(await link.send(direct, media("gone"), KEY)).toEqual({
      kind: "refused",
      reason: "the file cannot be read: no such file",
    });
  });

  test("a caption that is too long for a file is sent before it", async () => {
    const { link, fake, direct } = await begin();
    const caption = "c".repeat(1025);
    await link.send(
      direct,
      { kind: "media", media: { kind: "video", source: { at: "platform", ref: "f" } }, caption: html(caption) },
      KEY,
    );
    expect(fake.sent.map((call) => [call.method, call.text])).toEqual([
      ["sendMessage", caption],
      ["sendVideo", ""],
    ]);
  });

  test("a reaction is set and removed, typing is shown", async () => {
    const { link, fake, direct } = await begin();
    const id = String(fake.say("hi"));
    await link.react?.(direct, id, "👍");
    await link.react?.(direct, id, undefined);
    await link.typing?.(direct);
    expect(fake.sent.map((call) => call.body["reaction"] ?? call.body["action"])).toEqual([
      [{ type: "emoji", emoji: "👍" }],
      [],
      "typing",
    ]);
  });

  test("sends overlap: 299 are answered while the first gets no answer", async () => {
    const { link, fake, direct } = await begin();
    fake.fail("sendMessage", "hang");
    const first = link.send(direct, html("n0"), KEY);
    await Promise.all(Array.from({ length: 299 }, async (_, n) => link.send(direct, html(`n${n + 1}`), KEY)));
    expect(fake.shown(1001)).toHaveLength(299);
    await fake.goDown();
    expect((await first).kind).not.toBe("sent");
  });
});

describe("receiving", () => {
  test("a pressed button is a message, and stops spinning once it is stored", async () => {
    const { host, fake } = await begin();
    const from = { id: 1001, is_bot: false, first_name: "Ada" };
    const message = { message_id: 4, date: 1, chat: { id: 1001, type: "private" }, text: "Run it?" };
    fake.inject({ callback_query: { id: "77", from, message, chat_instance: "1", data: "/approve x once" } });
    expect(await host.heard("/approve x once")).toMatchObject({ sender: { id: "1001" }, mentionsBot: true });
    const call = await fake.waitFor((it) => it.method === "answerCallbackQuery");
    expect(call.body["callback_query_id"]).toBe("77");
  });

  test("updates without content are acknowledged and not passed on; a group's new id is logged", async () => {
    const { host, fake } = await begin();
    fake.inject({
      message: { message_id: 1, date: 1, chat: { id: -5, type: "group", title: "G" }, migrate_to_chat_id: -1005 },
    });
    fake.inject({ message: null });
    fake.say("after it");
    await host.heard("after it");
    expect(host.received).toHaveLength(1);
    expect(host.lines.join()).toContain('"to":-1005');
  });

  test("an update that has not the documented form is left out, and does not hold up later ones", async () => {
    const { fake, host } = await begin();
    const said = { message_id: 1, date: 1, chat: { id: 1001, type: "private" }, from: { id: 1001 } };
    const broken: readonly Record<string, unknown>[] = [
      { message: 5 },
      { message: null },
      { message: {} },
      { channel_post: { ...said, chat: 5 } },
      { message: { ...said, text: { a: 1 } } },
      { edited_message: { ...said, chat: {} } },
      { callback_query: { id: 5, data: 7, from: null } },
      { message_reaction: {} },
    ];
    for (const update of broken) fake.inject(update);
    fake.say("still there?");
    await host.until(() => host.received.length > 0);
    expect(host.received.map(({ text }) => text)).toEqual(["still there?"]);
  });

  test("a file is fetched; the errors of too large or unknown ones do not contain the token", async () => {
    const { link, fake } = await begin({ mediaMaxMb: 1 });
    fake.file("f1", new Uint8Array([1, 2, 3]));
    fake.file("big", new Uint8Array(1_048_577));
    const fetched = (ref: string) => link.download!({ kind: "document", source: { at: "platform", ref } });
    expect([...(await fetched("f1")).bytes]).toEqual([1, 2, 3]);
    await expect(fetched("big")).rejects.toMatchObject({ code: "MEDIA_TOO_LARGE" });
    const lost = await fetched("nowhere").catch((error: unknown) => error);
    expect(lost).toMatchObject({ code: "MEDIA_UNAVAILABLE" });
    expect(String(lost)).not.toContain(fake.token);
  });

  test.each([
    ["getFile", "429", 4000],
    ["getFile", "500", undefined],
    ["getFile", "drop", undefined],
    ["file", "429", 4000],
    ["file", "500", undefined],
    ["file", "drop", undefined],
  ] as const)("a file may be available later when %s fails with %s", async (call, how, afterMs) => {
    const { link, fake } = await begin();
    fake.file("f1", new Uint8Array([1, 2, 3]));
    const fetched = () => link.download!({ kind: "document", source: { at: "platform", ref: "f1" } });
    fake.fail(call, how, 1, 4);
    const error = await fetched().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "NotNow" });
    if (afterMs !== undefined) expect(error).toMatchObject({ afterMs });
    expect(String(error)).not.toContain(fake.token);
    expect([...(await fetched()).bytes]).toEqual([1, 2, 3]);
  });
});

describe("polling", () => {
  test.each([
    ["its bot", 0, 0, ["third"]],
    ["another bot", 1, 0, ["first", "second", "third"]],
    ["its bot, of two days ago", 0, 48 * 3_600_000, ["first", "second", "third"]],
  ])("begins after the position that an import brought of %s, once", async (_, otherBot, ageMs, expected) => {
    const platform = await telegramPlatform();
    const { fake } = platform;
    ["first", "second", "third"].forEach((text) => fake.say(text));
    const host = new Host();
    const botId = String(fake.self.id + otherBot);
    const position = { botId, lastUpdateId: fake.pending[1], atMs: Date.now() - ageMs };
    await host.notes.set("position", JSON.stringify(position));
    await start(platform, host);
    await host.until(() => host.received.length === expected.length);
    expect(host.received.map(({ text }) => text)).toEqual(expected);
    expect(await host.notes.get("position")).toBe(otherBot || ageMs ? JSON.stringify(position) : "null");
  });

  test("another program's webhook is reported and kept, and removed if the config says so", async () => {
    const platform = await telegramPlatform();
    platform.fake.fail("getUpdates", "webhook", 1);
    const { host } = await start(platform);
    await host.until(() => host.reports.some((it) => it.kind === "trouble"));
    expect(host.reports.find((it) => it.kind === "trouble")).toMatchObject({
      reason: expect.not.stringContaining("takeOverWebhook"),
      fix: expect.stringContaining("takeOverWebhook: true"),
    });
    expect(platform.fake.sent.some((call) => call.method === "deleteWebhook")).toBe(false);

    const other = await telegramPlatform();
    other.fake.fail("getUpdates", "webhook", 1);
    await start({ ...other, config: { ...other.config, takeOverWebhook: true } });
    await other.fake.waitFor((call) => call.method === "deleteWebhook");
  });

  test.each(["null", "[]", '{"result":[]}', "<html>"])(
    "an answer that the Bot API does not give is reported: %s",
    async (said) => {
      const server = createServer((_request, response) => void response.end(said)).listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      const apiRoot = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
      try {
        const platform = await telegramPlatform();
        const { host, link } = await start(platform, new Host(), { apiRoot });
        expect(host.reports[0]).toMatchObject({ kind: "trouble", reason: "no answer from Telegram (not JSON)" });
        const part = { kind: "text", format: "telegram-html", body: "x", plain: "x" } as const;
        expect(await link.send(platform.direct, part, { idempotencyKey: "k" })).toMatchObject({ kind: "unknown" });
      } finally {
        server.close();
        server.closeAllConnections();
      }
    },
  );

  test("a second poller and a revoked token are reported", async () => {
    const { host, fake } = await begin();
    fake.fail("getUpdates", "409", 1);
    fake.fail("getUpdates", "401", 1);
    fake.say("wake");
    await host.until(() => host.reports.some((it) => it.kind === "dead"));
    expect(host.reports.find((it) => it.kind === "trouble")).toMatchObject({
      reason: "another program polls this bot",
      fix: expect.stringContaining("Stop that program"),
    });
    expect(host.reports.at(-1)).toMatchObject({ kind: "dead", fix: expect.stringMatching(/BotFather/) });
  });

  test("a refusal says whether the message or its chat is at fault", async () => {
    const { link, fake, direct } = await begin();
    fake.fail("sendMessage", "bare", 1);
    expect(await link.send(direct, html("<b>x</b>", "x"), KEY)).toMatchObject({ kind: "refused", isUnfit: true });
    for (const mode of ["400", "403"] as const) {
      fake.fail("sendMessage", mode, 1);
      expect(await link.send(direct, html("x"), KEY)).toEqual({ kind: "refused", reason: expect.any(String) });
    }
  });

  test("a token that is refused during a send is reported with a fix, also without polling", async () => {
    const { link, fake, direct } = await begin();
    fake.fail("sendMessage", "401", 1);
    const fix = expect.stringMatching(/BotFather/);
    expect(await link.send(direct, html("x"), KEY)).toMatchObject({ kind: "retry", fix });
  });

  test("after a rate limit, polling waits as long as Telegram says", async () => {
    const platform = await telegramPlatform();
    platform.fake.fail("getUpdates", "429", 1, 1);
    const { host } = await start(platform);
    await host.until(() => host.reports.some((it) => it.kind === "trouble"));
    expect(host.reports.find((it) => it.kind === "trouble")).toMatchObject({ retryInMs: 1000 });
  });

  test("a stalled poll is restarted", async () => {
    const platform = await telegramPlatform();
    platform.fake.fail("getUpdates", "hang", 1);
    const { host } = await start(platform, new Host(), { pollingStallThresholdMs: 2000 });
    platform.fake.say("still here");
    await host.heard("still here");
    expect(host.reports.some((it) => it.kind === "trouble" && it.reason.includes("timeout"))).toBe(true);
  });

  test("starts without a network and connects when there is one", async () => {
    const platform = await telegramPlatform();
    platform.fake.fail("getMe", "drop", 1);
    const { host } = await start(platform);
    platform.fake.say("late");
    await host.heard("late");
  });
});

describe("settings", () => {
  test("accounts take over the section's keys and may set their own", () => {
    const accounts = telegramAccounts({
      apiRoot: "http://localhost:1/",
      accounts: { a: { botToken: "1:a" }, b: { mediaMaxMb: 5 } },
    });
    expect(accounts.map(({ account, config }) => [account, config.apiRoot, config.mediaMaxMb])).toEqual([
      ["a", "http://localhost:1", 20],
      ["b", "http://localhost:1", 5],
    ]);
    expect(JSON.stringify(accounts)).not.toContain("1:a");
  });

  test("the token may be in a file; without one, the error has a fix", async () => {
    const platform = await telegramPlatform();
    const file = path.join(await fs.mkdtemp(path.join(os.tmpdir(), "token-")), "token");
    await fs.writeFile(file, `${platform.fake.token}\n`);
    const config = telegram.config.parse({ tokenFile: file, apiRoot: platform.fake.url });
    expect(await probe(config, AbortSignal.timeout(5000))).toBe("@test_bot");
    await expect(probe(telegram.config.parse(platform.wrongConfig), AbortSignal.timeout(5000))).rejects.toMatchObject({
      code: "CHANNEL_AUTH",
    });
    await expect(probe(telegram.config.parse({}), AbortSignal.timeout(5000))).rejects.toMatchObject({
      code: "CHANNEL_CONFIG",
    });
    await platform.close();
  });
});

test("the error shows whether a request was sent", () => {
  const network = (code: string, message = "") =>
    failureOf(new HttpError("failed", Object.assign(new Error(message), { code }))).kind;
  expect(network("ECONNREFUSED")).toBe("unreached");
  expect(network("ENOTFOUND")).toBe("unreached");
  expect(network("ETIMEDOUT", "connect ETIMEDOUT 1.2.3.4:443")).toBe("unreached");
  expect(network("ETIMEDOUT", "read ETIMEDOUT")).toBe("unanswered");
  expect(network("ECONNRESET")).toBe("unanswered");
});
