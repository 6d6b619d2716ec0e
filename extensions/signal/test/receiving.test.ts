import { afterEach, describe, expect, test } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import { signal, signalAccounts } from "../index.ts";
import { ADA, SELF, sender, startFakeSignal } from "./fake-signal.ts";
import type { FakeOptions } from "./fake-signal.ts";
import { GROUP, signalPlatform } from "./platform.ts";

afterEach(stopAll);

async function begin(config: Record<string, unknown> = {}, options: FakeOptions = {}, host = new Host()) {
  const platform = await signalPlatform(options);
  const started = await start(platform, host, config);
  await started.host.until(() => host.reports.some((report) => report.kind === "alive"));
  return { ...started, fake: platform.fake };
}
const mention = (start: number, who: { number: string | null; uuid: string }) => ({
  name: who.number ?? who.uuid,
  number: who.number,
  uuid: who.uuid,
  start,
  length: 1,
});
const texts = (host: Host) => host.received.map(({ text }) => text);

describe("a message", () => {
  test("has its sender, by id and number", async () => {
    const { fake, host } = await begin();
    const timestamp = fake.say("hi");
    expect(await host.heard("hi")).toMatchObject({
      id: `${timestamp}:${ADA.uuid}`,
      eventKey: `${ADA.uuid}/1/${timestamp}`,
      sender: { id: `uuid:${ADA.uuid}`, name: "Ada Byron", e164: ADA.number },
      sentAt: timestamp,
    });
  });

  test("has the id of a sender with a hidden number, and the number from older versions", async () => {
    const { fake, host } = await begin();
    fake.say("hidden", {}, { source: ADA.uuid, sourceNumber: null });
    fake.say("old", {}, { sourceNumber: null, sourceUuid: null });
    expect((await host.heard("hidden")).sender).toEqual({ id: `uuid:${ADA.uuid}`, name: "Ada Byron" });
    expect((await host.heard("old")).from.chat).toEqual({ kind: "direct", id: ADA.number });
  });

  test("has names instead of mentions; ours at the start is removed", async () => {
    const { fake, host } = await begin();
    const bob = { number: null, uuid: "22222222-2222-4222-8222-222222222222" };
    fake.say("before", { groupInfo: GROUP });
    fake.say("\uFFFC ask \uFFFC and \uFFFC 👍", {
      groupInfo: GROUP,
      mentions: [mention(0, SELF), mention(6, ADA), mention(12, bob)],
    });
    expect(await host.heard("ask")).toMatchObject({
      text: `ask @Ada Byron and @${bob.uuid} 👍`,
      mentionsBot: true,
    });
    fake.say("\uFFFC", { groupInfo: GROUP, mentions: [mention(0, SELF)] });
    expect(await host.heard(`@${SELF.number}`)).toMatchObject({ mentionsBot: true });
    const bare = { ...mention(3, SELF), name: SELF.uuid, number: null };
    fake.say("is \uFFFC there", { groupInfo: GROUP, mentions: [bare] });
    expect(await host.heard("there")).toMatchObject({ text: `is @${SELF.number} there`, mentionsBot: true });
    fake.say("a broken one", { groupInfo: GROUP, mentions: [mention(50, ADA)] });
    expect(await host.heard("a broken one")).toMatchObject({ mentionsBot: false });
  });

  test("that answers a picture brings it: as it came, else its small copy, else its kind", async () => {
    const { fake, host, link } = await begin();
    fake.attachments.set("whole.jpg", Buffer.from("whole"));
    fake.attachments.set("small.jpg", Buffer.from("small"));
    const sent = { contentType: "image/jpeg", filename: null, id: "whole.jpg", size: 5 };
    const id = fake.say("", { groupInfo: GROUP, attachments: [sent] });
    const thumbnail = { contentType: "image/jpeg", filename: null, id: "small.jpg", size: 5 };
    const ask = (words: string, quoted: number, file: object) => {
      const who = { id: quoted, author: ADA.number, authorNumber: ADA.number, authorUuid: ADA.uuid, text: "" };
      const quote = { ...who, attachments: [{ contentType: "image/jpeg", filename: null, ...file }] };
      fake.say(words, { groupInfo: GROUP, quote });
    };
    ask("the whole one?", id, { thumbnail });
    ask("an earlier one?", 5, { thumbnail });
    ask("one without a copy?", 6, { thumbnail: null });
    const fetched = async (words: string) => {
      const [file, ...more] = (await host.heard(words)).replyTo?.media ?? [];
      expect([file?.kind, more]).toEqual(["image", []]);
      return Buffer.from((await link.download!(file!)).bytes).toString();
    };
    expect(await fetched("the whole one?")).toBe("whole");
    expect(await fetched("an earlier one?")).toBe("small");
    await expect(fetched("one without a copy?")).rejects.toMatchObject({ code: "MEDIA_UNAVAILABLE" });
  });

  test("has contacts, polls and limits on keeping it as untrusted lines", async () => {
    const { fake, host } = await begin();
    fake.say("keep", {
      expiresInSeconds: 60,
      viewOnce: true,
      contacts: [{ name: { given: "Bob", family: "Boole" }, phone: [{ value: "+1555", type: "MOBILE", label: null }] }],
      previews: [{ url: "https://example.com", title: "A page", description: "About it", image: null }],
      pollCreate: { question: "Tea?", allowMultiple: false, options: ["yes", "no"] },
    });
    expect((await host.heard("keep")).untrusted).toEqual([
      "Contact: Bob Boole, +1555",
      "Link preview: A page, About it",
      "Poll: Tea? (yes / no)",
      "To be viewed once",
      "Disappears after 60 s",
    ]);
  });

  test("has a sticker or a voice message by reference", async () => {
    const { fake, host, link } = await begin();
    fake.attachments.set("abcd", Buffer.from("webp"));
    fake.say(null, { sticker: { packId: "abcd", stickerId: 3 } });
    fake.say("listen", { attachments: [{ contentType: "audio/aac", filename: null, id: "v.aac", size: 9 }] });
    await host.heard("listen");
    const [sticker, voice] = host.received.map(({ media }) => media[0]!);
    expect(sticker).toMatchObject({ kind: "sticker", mime: "image/webp" });
    expect(voice).toMatchObject({ kind: "voice", mime: "audio/aac", bytes: 9 });
    const file = await link.download?.(sticker!);
    expect(Buffer.from(file?.bytes ?? []).toString()).toBe("webp");
    await expect(link.download?.(voice!)).rejects.toMatchObject({ code: "MEDIA_UNAVAILABLE" });
    await expect(link.download?.({ ...voice!, bytes: 200 * 1_048_576 })).rejects.toMatchObject({
      code: "MEDIA_TOO_LARGE",
    });
  });

  test.each(["network", "500", "drop"] as const)("has files that can be fetched later (%s)", async (how) => {
    const { fake, host, link } = await begin();
    fake.attachments.set("a.png", Buffer.from("dot"));
    fake.say("see", { attachments: [{ contentType: "image/png", filename: "a.png", id: "a.png", size: 3 }] });
    const [file] = (await host.heard("see")).media;
    fake.fail("getAttachment", how);
    await expect(link.download?.(file!)).rejects.toMatchObject({ name: "NotNow" });
    expect(Buffer.from((await link.download!(file!)).bytes).toString()).toBe("dot");
  });

  test("names files that are not loaded", async () => {
    const { fake, host } = await begin({ ignoreAttachments: true });
    fake.say("see", { attachments: [{ contentType: "image/png", filename: "a.png", id: "a.png", size: 9 }] });
    expect(await host.heard("see")).toMatchObject({ media: [], untrusted: ["File, not loaded: a.png"] });
  });

  test("that Signal cut is completed, with its mentions, or stays cut if the remaining text cannot be fetched", async () => {
    const { fake, host } = await begin();
    const whole = `\uFFFC ${"long ".repeat(600)}end`;
    fake.attachments.set("long.txt", Buffer.from(whole));
    const longText = (id: string) => ({
      groupInfo: GROUP,
      mentions: [mention(0, SELF)],
      attachments: [{ contentType: "text/x-signal-plain", filename: null, id, size: whole.length }],
    });
    fake.fail("getAttachment", "network");
    fake.say(whole.slice(0, 2000), longText("long.txt"));
    const message = await host.heard("long");
    expect(message).toMatchObject({ text: whole.slice(2), mentionsBot: true, media: [] });
    fake.say("gone long", longText("gone.txt"));
    await host.heard("gone long");
    expect(host.lines.join("\n")).toContain("a long message is cut");
  });
});

describe("events that are no messages to the bot are left out", () => {
  test("updates, receipts, typing, stories, our own messages and other accounts", async () => {
    const { fake, host } = await begin();
    fake.say(null, { groupInfo: { ...GROUP, type: "UPDATE" } });
    fake.say(null, { expiresInSeconds: 60, isExpirationUpdate: true });
    const at = fake.now();
    fake.emit({ ...sender(at), receiptMessage: { when: at, isDelivery: true, isRead: false, timestamps: [5] } });
    fake.emit({ ...sender(at), typingMessage: { action: "STARTED", timestamp: at } });
    fake.emit({ ...sender(at), storyMessage: { allowsReplies: true } });
    const own = { ...SELF, name: "Bot" };
    fake.emit({ ...sender(fake.now(), own), dataMessage: { timestamp: at, message: "ours" } });
    fake.emit({ ...sender(fake.now(), own), syncMessage: { sentMessage: sent(ADA, "to Ada") } });
    fake.emit({ ...sender(fake.now(), own), syncMessage: { sentMessage: sent(SELF, "note") } });
    fake.emit(
      { ...sender(fake.now()), dataMessage: { timestamp: at, message: "theirs" } },
      { account: "+15557777777" },
    );
    fake.say("to us");
    await host.heard("to us");
    expect(texts(host)).toEqual(["to us"]);
  });

  test("a note to self is received if that is configured", async () => {
    const { fake, host } = await begin({ selfChatMode: true });
    const own = { ...SELF, name: "Owner" };
    fake.emit({ ...sender(fake.now(), own), syncMessage: { sentMessage: sent(ADA, "to Ada") } });
    fake.emit({ ...sender(fake.now(), own), syncMessage: { sentMessage: sent(SELF, "note") } });
    expect(await host.heard("note")).toMatchObject({ from: { chat: { kind: "direct", id: `uuid:${SELF.uuid}` } } });
    expect(texts(host)).toEqual(["note"]);
  });

  test("an unreadable event blocks nothing, and is logged", async () => {
    const { fake, host } = await begin();
    fake.raw("event:receive\ndata:{broken\n\n");
    fake.raw('event:receive\ndata:{"envelope":{"timestamp":"soon"}}\n\n');
    fake.emit({ ...sender(fake.now()) }, { exception: { type: "UntrustedIdentityException", message: "new key" } });
    fake.raw(
      `data:${JSON.stringify({ jsonrpc: "2.0", method: "receive", params: { envelope: wrapped("wrapped") } })}\n\n`,
    );
    await host.heard("wrapped");
    const told = host.lines.join("\n");
    expect(told.match(/could not be read/g)).toHaveLength(2);
    expect(told).toContain(`trust -v <safety number> ${ADA.number}`);
  });
});

const sent = (to: { number: string; uuid: string }, message: string) => ({
  destination: to.number,
  destinationNumber: to.number,
  destinationUuid: to.uuid,
  timestamp: 7,
  message,
  expiresInSeconds: 0,
});
const wrapped = (message: string) => ({ ...sender(8), dataMessage: { timestamp: 8, message } });

describe("nothing is lost", () => {
  test("a restart asks for events after the last stored one", async () => {
    const { fake, host, link, platform } = await begin();
    fake.say("one");
    await host.heard("one");
    await link.close();
    fake.say("two");
    fake.say("three");
    const next = new Host();
    next.notes.get = host.notes.get;
    next.notes.set = host.notes.set;
    await start(platform, next);
    await next.heard("three");
    expect(texts(next)).toEqual(["two", "three"]);
    expect(fake.listened.at(-1)?.after).toMatch(/^\d+-1$/);
  });

  test("a restarted daemon sends all events that it has, with the same keys", async () => {
    const { fake, host, platform } = await begin();
    const held = fake.say("held");
    await host.heard("held");
    const next = new Host();
    await next.notes.set("lastEvent", "1234-77");
    await start(platform, next);
    expect((await next.heard("held")).eventKey).toBe(`${ADA.uuid}/1/${held}`);
  });

  test("a version without event ids works too", async () => {
    const { fake, host, link, platform } = await begin({}, { withoutIds: true });
    fake.say("one");
    await host.heard("one");
    const tooOld = {
      problem: expect.stringContaining("does not number its events"),
      fix: expect.stringContaining("0.14"),
    };
    await expect.poll(() => host.reports).toContainEqual({ kind: "notices", notices: [tooOld] });
    expect(host.lines.join("\n")).toContain("does not number its events");
    await link.close();
    await expect.poll(() => fake.listeners).toBe(0);
    fake.say("two");
    const { host: next } = await start(platform, new Host());
    await next.heard("two");
    expect(texts(next)).toEqual(["two"]);
  });

  test("while the host stores nothing, nobody listens; what came meanwhile follows", async () => {
    const { fake, host } = await begin();
    host.refuse = Number.POSITIVE_INFINITY;
    fake.say("one");
    await host.until(() => host.offered > 0);
    await expect.poll(() => fake.listeners).toBe(0);
    fake.say("two");
    host.refuse = 0;
    await host.heard("two");
    expect(texts(host)).toEqual(["one", "two"]);
  });

  test("read receipts follow the journal", async () => {
    const { fake, host } = await begin({ sendReadReceipts: true });
    const timestamp = fake.say("read me");
    await host.heard("read me");
    await expect
      .poll(() => fake.calls.find(({ method }) => method === "sendReceipt")?.params)
      .toMatchObject({
        recipient: ADA.uuid,
        targetTimestamp: [timestamp],
        type: "read",
      });
  });

  test("a silent stream is closed and opened again", async () => {
    const { fake, host } = await begin({ stallThresholdMs: 1000 }, { keepAliveMs: 60_000 });
    await host.until(() => host.reports.some((report) => report.kind === "trouble"));
    expect(host.reports).toContainEqual(expect.objectContaining({ reason: "signal-cli was silent for 1 s" }));
    fake.say("again");
    await host.heard("again");
  });

  test("a request for events that is never answered is given up", async () => {
    const { fake, host } = await begin({ stallThresholdMs: 1000 }, { keepAliveMs: 200 });
    fake.hangStreams(1);
    await host.until(() =>
      host.reports.some((report) => report.kind === "trouble" && report.reason.includes("silent")),
    );
    fake.say("again");
    await host.heard("again");
  });

  test("a missing signal-cli is reported with the command that starts it", async () => {
    const { fake, host } = await begin();
    const httpUrl = fake.url;
    await fake.close();
    const unreached = {
      kind: "trouble",
      reason: expect.stringContaining("cannot be reached"),
      fix: expect.stringContaining("signal-cli daemon --http"),
    };
    await expect.poll(() => host.reports).toContainEqual(expect.objectContaining(unreached));
    const late = await start({ ...(await signalPlatform()), config: { httpUrl } }, new Host());
    expect(late.host.reports[0]).toMatchObject(unreached);
  });

  test("an account that is gone needs a person", async () => {
    const { fake, host } = await begin();
    fake.unlink();
    await host.until(() => host.reports.some((report) => report.kind === "dead"));
    expect(host.reports.at(-1)).toMatchObject({ kind: "dead", fix: expect.stringContaining("signal-cli link") });
  });
});

describe("who we are", () => {
  test("for a daemon of one account, the config has the number and the daemon the id", async () => {
    const fake = await startFakeSignal();
    const config = { httpUrl: fake.url, account: SELF.number };
    const { host } = await start({ ...(await signalPlatform()), config, close: () => fake.close() });
    await host.until(() => host.reports.some((report) => report.kind === "alive"));
    expect(fake.listened[0]?.query).toBe("?account=%2B15550009999");
    fake.say("\uFFFC hey", { groupInfo: GROUP, mentions: [mention(0, { number: null, uuid: SELF.uuid })] });
    expect((await host.heard("hey")).mentionsBot).toBe(true);
  });

  test.each([
    { accounts: [], code: "CHANNEL_AUTH" },
    { accounts: [{ number: SELF.number }, { number: ADA.number }], code: "CHANNEL_CONFIG" },
    { accounts: undefined, code: "CHANNEL_CONFIG" },
  ])("an account that cannot be determined is $code", async ({ accounts, code }) => {
    const fake = await startFakeSignal(accounts ? { accounts } : {});
    const config = signal.config.parse({ httpUrl: fake.url });
    await expect(signal.connect(config, new Host())).rejects.toMatchObject({ code });
    await fake.close();
  });

  test("doctor reports the number, or why it is unknown", async () => {
    const { fake } = await begin();
    const httpUrl = fake.url;
    const ask = (config: object) => signal.probe?.(signal.config.parse(config), AbortSignal.timeout(5000));
    expect(await ask({ httpUrl })).toBe(SELF.number);
    await expect(ask({ httpUrl, account: "+15550000000" })).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
    fake.fail("listDevices", "unregistered");
    await expect(ask({ httpUrl })).rejects.toMatchObject({
      code: "CHANNEL_AUTH",
      message: expect.stringContaining(SELF.number),
      fix: expect.stringContaining("signal-cli link"),
    });
    fake.fail("listDevices", "network");
    await expect(ask({ httpUrl })).rejects.toMatchObject({ name: "NotNow" });
    await fake.close();
    await expect(ask({ httpUrl })).rejects.toThrow("signal-cli cannot be reached");
    await expect(ask({ account: SELF.number, cliPath: "/nowhere/signal-cli" })).rejects.toMatchObject({
      code: "CHANNEL_CONFIG",
    });
  });

  test("accounts take over the channel's keys", () => {
    const accounts = { home: { account: SELF.number }, work: { account: ADA.number, httpPort: 9000 } };
    expect(signalAccounts({ cliPath: "/opt/signal-cli", accounts })).toMatchObject([
      { account: "home", config: { cliPath: "/opt/signal-cli", account: SELF.number } },
      { account: "work", config: { cliPath: "/opt/signal-cli", httpPort: 9000 } },
    ]);
    expect(() => signalAccounts({ account: "015550009999" })).toThrow("country code");
  });
});
