import { afterEach, describe, expect, test } from "vitest";
import { Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import { mediaId } from "../../../src/types/ids.ts";
import { openDaemon } from "../rpc.ts";
import { ADA, SELF } from "./fake-signal.ts";
import { CREW, DIRECT, GROUP, signalPlatform } from "./platform.ts";

afterEach(stopAll);
const plain = textAs("signal-styled");

async function begin(config: Record<string, unknown> = {}, host = new Host()) {
  const platform = await signalPlatform();
  const started = await start(platform, host, config);
  return { ...started, fake: platform.fake };
}

/** The notices in the account's status. */
const noticesOf = (host: Host) => {
  const last = host.reports.findLast((report) => report.kind === "notices");
  return last?.kind === "notices" ? last.notices : [];
};

describe("a message", () => {
  test("is sent to a person by id or number, to a group by its id, with its styles in UTF-16 units", async () => {
    const { link, fake } = await begin();
    const part = { ...plain("👍 bold"), styles: [{ start: 3, length: 4, style: "BOLD" }] } as const;
    await link.send(DIRECT, part, KEY);
    await link.send({ ...DIRECT, chat: { kind: "direct", id: ADA.number } }, plain("number"), KEY);
    await link.send(CREW, plain("all"), KEY);
    const sends = fake.calls.filter(({ method }) => method === "send").map(({ params }) => params);
    expect(sends).toEqual([
      { account: SELF.number, recipient: [ADA.uuid], message: "👍 bold", textStyle: ["3:4:BOLD"] },
      { account: SELF.number, recipient: [ADA.number], message: "number" },
      { account: SELF.number, groupId: GROUP.groupId, message: "all" },
    ]);
  });

  test("quotes with author and text, of others and of our own", async () => {
    const { link, fake, host, platform } = await begin();
    const id = platform.say(CREW, "what is it");
    await host.heard("what is it");
    await link.send(CREW, plain("this"), { ...KEY, replyTo: id });
    await link.send(CREW, plain("and that"), { ...KEY, replyTo: String(fake.messages[0]?.timestamp) });
    expect(fake.messages.map(({ params }) => params)).toMatchObject([
      { quoteTimestamp: Number(id.split(":")[0]), quoteAuthor: ADA.uuid, quoteMessage: "what is it" },
      { quoteTimestamp: fake.messages[0]?.timestamp, quoteAuthor: SELF.uuid },
    ]);
  });

  test("quotes no text of another chat", async () => {
    const { link, fake, host, platform } = await begin();
    const id = platform.say(CREW, "a secret of the crew");
    await host.heard("a secret of the crew");
    await link.send(DIRECT, plain("this"), { ...KEY, replyTo: id });
    expect(fake.messages[0]?.params).toMatchObject({ message: "this", quoteMessage: "" });
  });

  test("mentions members of a group by number or id, and nobody else; styles and emoji keep their places", async () => {
    const { link, fake } = await begin();
    const bob = { number: null, uuid: "22222222-2222-4222-8222-222222222222" };
    const eve = { number: null, uuid: "33333333-3333-4333-8333-333333333333" };
    fake.groupIds = [GROUP.groupId];
    fake.members = [eve, ADA, bob];
    const words = `👍 @${ADA.number}, @uuid:${bob.uuid} and @${bob.uuid.toUpperCase()}: not @+15550009998 or me@+15550001001`;
    const styles = [{ start: 0, length: 2, style: "BOLD" }] as const;
    await link.send(CREW, { ...plain(words), styles }, KEY);
    const [message] = fake.messages;
    expect(message?.text).toBe(words);
    expect(message && fake.namesIn(message)).toBe(
      `👍 [${ADA.uuid}], [${bob.uuid}] and [${bob.uuid}]: not @+15550009998 or me@+15550001001`,
    );
    expect(message?.styles).toEqual(["0:2:BOLD"]);
    await link.edit?.(CREW, String(message?.timestamp), plain(`@${ADA.number}`));
    expect(fake.calls.at(-1)?.params).toMatchObject({ mention: [`0:13:${ADA.uuid}`] });
    await link.send(DIRECT, plain(`@${ADA.number}`), { idempotencyKey: "2" });
    expect(fake.calls.at(-1)?.params).not.toHaveProperty("mention");
    expect(fake.calls.filter(({ method }) => method === "listGroups")).toHaveLength(1);
  });

  test("is sent without mentions if the members cannot be fetched", async () => {
    const { link, fake } = await begin();
    fake.fail("listGroups", "network");
    expect(await link.send(CREW, plain(`@${ADA.number}`), KEY)).toMatchObject({ kind: "sent" });
    expect(fake.messages[0]?.params).not.toHaveProperty("mention");
  });

  test("is edited by its timestamp, no more often than the apps accept", async () => {
    const { link, fake } = await begin();
    const sent = await link.send(DIRECT, plain("0"), KEY);
    const id = sent.kind === "sent" ? sent.messageId : "";
    for (let n = 1; n <= 95; n += 1) expect((await link.edit?.(DIRECT, id, plain(`${n}`)))?.kind).toBe("sent");
    expect(await link.edit?.(DIRECT, id, plain("96"))).toMatchObject({ kind: "refused" });
    expect(fake.shown(ADA.uuid)).toEqual(["95"]);
    expect((await link.remove?.(DIRECT, id))?.kind).toBe("sent");
  });

  test("that is streamed leaves edits for its final text, which is not sent if it is unchanged", async () => {
    const { link, fake } = await begin();
    const stream = link.stream?.(DIRECT, { key: "preview:1", replyTo: `5:${ADA.uuid}` });
    const first = await stream?.show(plain("0"), "0");
    const id = first?.kind === "sent" ? first.messageId : "";
    for (let n = 1; n <= 80; n += 1) expect(await stream?.show(plain(`${n}`), `${n}`)).toEqual(first);
    expect(await stream?.show(plain("81"), "81")).toMatchObject({ kind: "retry" });
    expect(fake.shown(ADA.uuid)).toEqual(["80"]);
    expect(await link.edit?.(DIRECT, id, plain("all"))).toEqual(first);
    expect(await link.edit?.(DIRECT, id, plain("all"))).toEqual(first);
    expect(fake.shown(ADA.uuid)).toEqual(["all"]);
    expect(fake.messages[0]).toMatchObject({ edits: 81, params: { quoteAuthor: ADA.uuid } });
  });

  test("of an earlier connection, and one whose edits are lost, get no more edits than the apps accept", async () => {
    const { link, fake, platform } = await begin();
    const sent = await link.send(DIRECT, plain("half"), KEY);
    const id = sent.kind === "sent" ? sent.messageId : "";
    await link.close();
    const { link: next } = await start(platform);
    expect(await next.edit?.(DIRECT, id, plain("whole"))).toEqual(sent);
    fake.fail("send", "lost");
    expect((await next.edit?.(DIRECT, id, plain("other")))?.kind).toBe("unknown");
    expect(await next.edit?.(DIRECT, id, plain("whole"))).toEqual(sent);
    expect(fake.shown(ADA.uuid)).toEqual(["whole"]);
    const kinds: (string | undefined)[] = [];
    for (let n = 0; n < 10; n += 1) kinds.push((await next.edit?.(DIRECT, id, plain(`${n}`)))?.kind);
    expect(kinds.lastIndexOf("sent")).toBe(6);
    expect(new Set(kinds.slice(7))).toEqual(new Set(["refused"]));
  });

  test("of two days ago is not edited any more", async () => {
    const { link } = await begin();
    const long = String(Date.now() - 49 * 3_600_000);
    expect(await link.edit?.(DIRECT, long, plain("late"))).toMatchObject({ kind: "refused" });
  });

  test("of somebody else is neither edited nor removed", async () => {
    const { link } = await begin();
    expect(await link.edit?.(DIRECT, `5:${ADA.uuid}`, plain("no"))).toMatchObject({ kind: "refused" });
    expect(await link.remove?.(DIRECT, `5:${ADA.uuid}`)).toMatchObject({ kind: "refused" });
    expect(await link.react?.(DIRECT, "nonsense", "👍")).toMatchObject({ kind: "refused" });
  });

  test("a reaction names the author of its message", async () => {
    const { link, fake } = await begin();
    await link.react?.(CREW, `5:${ADA.uuid}`, "🎉");
    await link.react?.(CREW, `5:${ADA.uuid}`, undefined);
    const params = { groupId: GROUP.groupId, targetAuthor: ADA.uuid, targetTimestamp: 5, emoji: "🎉" };
    expect(fake.calls.filter(({ method }) => method === "sendReaction").map((call) => call.params)).toMatchObject([
      { ...params, remove: false },
      { ...params, remove: true },
    ]);
  });
});

describe("a file", () => {
  const file = (name: string, more: object = {}) =>
    ({ kind: "media", media: { kind: "document", name, source: { at: "store", id: mediaId("m") } }, ...more }) as const;

  test("is sent inside the call, with a safe name; a voice message as such", async () => {
    const host = new Host();
    host.media.set("m", new Uint8Array([1, 2, 3]));
    const { link, fake } = await begin({}, host);
    expect((await link.send(DIRECT, file("a;b,c/../ü.txt", { caption: plain("see") }), KEY)).kind).toBe("sent");
    expect((await link.send(DIRECT, file("v.aac", { asVoice: true }), KEY)).kind).toBe("sent");
    expect(fake.messages.map(({ attachments }) => attachments[0]?.uri)).toEqual([
      "data:application/octet-stream;filename=a_b_c_.._ü.txt;base64,AQID",
      "data:application/octet-stream;filename=v.aac;base64,AQID",
    ]);
    expect(fake.messages.map(({ params }) => params["voiceNote"])).toEqual([undefined, true]);
  });

  test("that is too large for a call to somebody else's signal-cli is refused with the reason", async () => {
    const host = new Host();
    host.media.set("m", new Uint8Array(14_000_001));
    const { link } = await begin({}, host);
    expect(await link.send(DIRECT, file("big.bin"), KEY)).toEqual({
      kind: "refused",
      reason: expect.stringContaining("autoStart"),
    });
  });
});

describe("a failure", () => {
  test("a changed safety number is reported to the operator with a fix", async () => {
    const { link, fake, host } = await begin();
    fake.fail("send", "untrusted");
    expect(await link.send(DIRECT, plain("hi"), KEY)).toEqual({
      kind: "refused",
      reason: "the recipient's safety number has changed and is not trusted",
    });
    expect(host.lines.join("\n")).toContain(`signal-cli -a ${SELF.number} trust -v <safety number> ${ADA.uuid}`);
  });

  test("a captcha is reported to the operator with a fix; the message waits as long as Signal says", async () => {
    const { link, fake, host } = await begin();
    fake.fail("send", "captcha");
    expect(await link.send(DIRECT, plain("hi"), KEY)).toMatchObject({
      kind: "retry",
      rateLimited: true,
      afterMs: 86_400_000,
    });
    expect(host.lines.join("\n")).toContain("submitRateLimitChallenge --challenge abc-challenge --captcha");
  });

  test("a message that misses some members counts as sent, and is reported until they are reached again", async () => {
    const { link, fake, host } = await begin();
    const [bob, eve] = [
      { number: "+15550002002", uuid: "b-b" },
      { number: null, uuid: "e-e" },
    ];
    fake.members = [ADA, bob, eve];
    fake.fates = { "b-b": { type: "UNREGISTERED_FAILURE" }, "e-e": { type: "RATE_LIMIT_FAILURE" } };
    const send = async (words: string) => link.send(CREW, plain(words), { idempotencyKey: words });
    expect(await send("one")).toMatchObject({ kind: "sent" });
    expect(fake.shown(GROUP.groupId)).toEqual(["one"]);
    expect(noticesOf(host)).toEqual([
      { problem: expect.stringMatching(/do not reach \+15550002002.*not registered/), fix: expect.any(String) },
      { problem: expect.stringMatching(/did not reach e-e: Signal accepts no more/), fix: expect.any(String) },
    ]);
    fake.fates = { "b-b": { type: "UNREGISTERED_FAILURE" } };
    await send("two");
    expect(noticesOf(host)).toMatchObject([{ problem: expect.stringContaining("+15550002002") }]);
    // A known problem is not reported or logged again.
    const [reports, lines] = [host.reports.filter(({ kind }) => kind === "notices").length, host.lines.length];
    await send("three");
    expect([host.reports.filter(({ kind }) => kind === "notices").length, host.lines.length]).toEqual([reports, lines]);
    fake.fates = { "b-b": { type: "IDENTITY_FAILURE" } };
    await send("four");
    expect(noticesOf(host)).toMatchObject([{ fix: expect.stringContaining("trust -v <safety number> +15550002002") }]);
    fake.fates = {};
    await send("five");
    expect(noticesOf(host)).toEqual([]);
  });

  test("a safety number and a captcha stay in the account's status until a message gets through", async () => {
    const { link, fake, host } = await begin();
    fake.fail("send", "untrusted");
    await link.send(DIRECT, plain("one"), KEY);
    fake.fail("send", "captcha");
    await link.send(CREW, plain("two"), KEY);
    expect(noticesOf(host)).toMatchObject([
      { problem: expect.stringContaining("safety number"), fix: expect.stringContaining("trust -v") },
      { problem: "Signal asks for a captcha", fix: expect.stringContaining("submitRateLimitChallenge") },
    ]);
    await link.send(DIRECT, plain("three"), KEY);
    expect(noticesOf(host)).toEqual([]);
  });

  test("a message lost between signal-cli and Signal waits until Signal is reachable", async () => {
    const { link, fake } = await begin();
    fake.fail("send", "network");
    expect((await link.send(DIRECT, plain("one"), KEY)).kind).toBe("unknown");
    fake.fail("listDevices", "network", 2);
    expect((await link.send(DIRECT, plain("one"), KEY)).kind).toBe("retry");
    expect((await link.send(DIRECT, plain("one"), KEY)).kind).toBe("retry");
    expect((await link.send(DIRECT, plain("one"), KEY)).kind).toBe("sent");
    expect(fake.shown(ADA.uuid)).toEqual(["one"]);
  });

  test("a call that hangs ends with an unknown result", async () => {
    const { link, fake } = await begin({ timeoutSeconds: 1 });
    fake.fail("send", "hang");
    expect(await link.send(DIRECT, plain("hi"), KEY)).toMatchObject({ kind: "unknown" });
    fake.fail("listDevices", "hang");
    expect(await link.send(DIRECT, plain("hi"), KEY)).toMatchObject({ kind: "retry" });
  });

  test("an error without a report is judged by its code and its text", async () => {
    const { outcomeOf } = await import("../failures.ts");
    const kind = (code: number, message: string) => outcomeOf({ code, message }).kind;
    expect(kind(-1, "Invalid group id")).toBe("refused");
    expect(kind(-4, "untrusted")).toBe("refused");
    expect(kind(-5, "limited")).toBe("retry");
    expect(kind(-32_602, "Specified account does not exist")).toBe("refused");
    expect(kind(-32_603, "Failed to send message: chat.signal.org (UnknownHostException)")).toBe("retry");
    expect(kind(-32_603, "Failed to send message: [413] (RateLimitException)")).toBe("retry");
    expect(kind(-32_603, "An internal server error has occurred.")).toBe("unknown");
    expect(kind(-3, "Read timed out (SocketTimeoutException)")).toBe("unknown");
  });

  test("the typing sign is taken back", async () => {
    const { link, fake } = await begin();
    await link.typing?.(DIRECT);
    await link.endTyping?.(DIRECT);
    const calls = fake.calls.filter(({ method }) => method === "sendTyping");
    expect(calls.map(({ params }) => params["stop"])).toEqual([undefined, true]);
  });

  test("another server at the address is reported by its status", async () => {
    const { fake } = await begin();
    const daemon = openDaemon(() => `${fake.url}/elsewhere`, { timeoutMs: 1000, account: () => undefined });
    expect(await daemon.call("send", {})).toEqual({
      kind: "lost",
      outcome: { kind: "refused", reason: "signal-cli answers 404" },
    });
    await expect(daemon.check(AbortSignal.timeout(1000))).rejects.toThrow("signal-cli answers 404");
  });
});
