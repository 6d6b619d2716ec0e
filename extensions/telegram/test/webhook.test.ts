import { afterEach, describe, expect, test } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import { telegramPlatform } from "../../../test/contracts/telegram-platform.ts";
import { telegram } from "../index.ts";

afterEach(stopAll);

const URL = "https://bot.example/telegram-webhook";
const SECRET = "s3cret-of_the-hook";
const HOOK = { webhookUrl: URL, webhookSecret: SECRET, mediaGroupFlushMs: 30 };

async function begin(host = new Host(), config: Record<string, unknown> = HOOK) {
  const platform = await telegramPlatform();
  const { link } = await start(platform, host, config);
  const post = async (body: string, headers: Record<string, string>, method = "POST"): Promise<number> => {
    const answer = host.routes.get("/telegram-webhook");
    if (!answer) throw new Error("nothing is served");
    return (await answer({ method, headers, query: {}, body: Buffer.from(body) })).status;
  };
  return { platform, fake: platform.fake, host, link, post };
}

const isAlive = (host: Host) => () => host.reports.some(({ kind }) => kind === "alive");

describe("the webhook", () => {
  test("is set with its secret, and nothing is polled", async () => {
    const { fake, host, post } = await begin();
    await host.until(isAlive(host));
    expect(fake.webhook).toEqual({ url: URL, secret: SECRET });
    fake.say("over HTTP");
    await fake.deliver(post);
    expect(host.received).toMatchObject([{ text: "over HTTP", from: { chat: { kind: "direct", id: "1001" } } }]);
    expect(fake.pending).toEqual([]);
    expect(fake.polls.count).toBe(0);
  });

  test("acknowledges an update only when it is stored; a repeated one has the same key", async () => {
    const host = new Host();
    const { fake, post } = await begin(host);
    await host.until(isAlive(host));
    host.refuse = 1;
    fake.say("keep me");
    await fake.deliver(post);
    expect(fake.pending).toHaveLength(1);
    await fake.deliver(post);
    expect(fake.pending).toEqual([]);
    expect(host.received.map(({ text }) => text)).toEqual(["keep me"]);
    expect(JSON.stringify(host.reports)).toContain("disk full");
  });

  test("refuses requests that are not Telegram's or have no update", async () => {
    const { host, post } = await begin();
    await host.until(isAlive(host));
    const good = { "x-telegram-bot-api-secret-token": SECRET };
    const update = JSON.stringify({
      update_id: 1,
      message: { message_id: 1, date: 1, chat: { id: 5, type: "private" }, text: "x" },
    });
    expect(await post(update, {})).toBe(401);
    expect(await post(update, { "x-telegram-bot-api-secret-token": `${SECRET}x` })).toBe(401);
    expect(await post("not JSON", good)).toBe(400);
    expect(await post('{"a":1}', good)).toBe(400);
    expect(await post(update, good, "GET")).toBe(405);
    expect(host.received).toEqual([]);
  });

  test("takes an album part by part, each after the acknowledgement of the one before", async () => {
    const { fake, host, post } = await begin();
    await host.until(isAlive(host));
    const photo = (id: string) => ({
      more: { text: undefined, media_group_id: "9", photo: [{ file_id: id, file_unique_id: id, width: 1, height: 1 }] },
    });
    fake.say("", photo("p1"));
    fake.say("", photo("p2"));
    await fake.deliver(post);
    expect(fake.pending).toEqual([]);
    await host.until(() => host.received.length > 0);
    expect(host.received[0]?.media).toHaveLength(2);
  });

  test("takes nothing after it was closed, so that Telegram keeps the updates", async () => {
    const { fake, host, link, post } = await begin();
    await host.until(isAlive(host));
    await link.close();
    fake.say("later");
    await fake.deliver(post);
    expect(fake.pending).toHaveLength(1);
    expect(host.received).toEqual([]);
  });

  test("that another program changed is reported with a fix", async () => {
    const platform = await telegramPlatform();
    const theirs = { url: "https://other.example/", secret: SECRET };
    Object.defineProperty(platform.fake, "webhook", {
      get: () => theirs,
      set() {
        // The other program sets its webhook first.
      },
    });
    const { host } = await start(platform, new Host(), HOOK);
    await host.until(() => host.reports.some(({ kind }) => kind === "trouble"));
    expect(host.reports.at(-1)).toMatchObject({
      reason: "another program has changed the webhook of this bot",
      fix: expect.stringContaining("Stop that program"),
    });
  });

  test("that we set is removed when polling is configured again", async () => {
    const { fake, host, link, platform } = await begin();
    await host.until(isAlive(host));
    await link.close();
    const next = new Host(host);
    await start(platform, next);
    fake.say("polled");
    await next.heard("polled");
    expect(fake.webhook).toBeUndefined();
  });

  test("without a valid secret is an error of the settings; an address that Telegram refuses is reported with a fix", async () => {
    const platform = await telegramPlatform();
    const config = { ...platform.config, webhookUrl: URL };
    await expect(telegram.connect(telegram.config.parse(config), new Host())).rejects.toMatchObject({
      code: "CHANNEL_CONFIG",
    });
    await platform.close();
    const lost = await begin(new Host(), { ...HOOK, webhookCertPath: "/nowhere/cert.pem" });
    await lost.host.until(() => lost.host.reports.some(({ kind }) => kind === "dead"));
    expect(lost.host.reports.at(-1)).toMatchObject({ fix: expect.stringContaining("webhookCertPath") });
    const { host } = await begin(new Host(), { ...HOOK, webhookUrl: "http://bot.example/x" });
    await host.until(() => host.reports.some(({ kind }) => kind === "dead"));
    expect(host.reports.at(-1)).toMatchObject({ kind: "dead", fix: expect.stringContaining("HTTPS") });
  });
});
