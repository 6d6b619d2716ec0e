import { afterEach, describe, expect, test } from "vitest";
import { Host, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import type { NativeStream } from "../../../src/types/chat/channel.ts";
import { ADA, TOPIC } from "./fake-slack.ts";
import { slackPlatform } from "./slack-platform.ts";

afterEach(stopAll);

const mrkdwn = textAs("slack-mrkdwn");
const TO_ADA = { key: "preview:1", recipient: { id: ADA, teamId: "T1" } };

async function begin(config: Record<string, unknown> = {}) {
  const platform = await slackPlatform();
  const started = await start(platform, new Host(), config);
  const { fake, direct, group, topic } = platform;
  await started.host.until(() => started.host.reports.some((report) => report.kind === "alive"));
  const startNativeStream = (to = topic, options: object = TO_ADA) =>
    started.link.stream?.(to, { ...TO_ADA, ...options });
  const calls = () => fake.calls.filter(({ method }) => method.startsWith("chat.")).map(({ method }) => method);
  return { ...started, fake, direct, group, topic, startNativeStream, calls };
}

const show = async (growth: NativeStream | undefined, markdown: string, body = markdown) => {
  const result = await growth?.show(mrkdwn(body), markdown);
  if (result?.kind !== "sent") throw new Error(`not shown: ${result?.kind}`);
  return result.messageId;
};

describe("an answer in a thread", () => {
  test("is streamed to whom it is for, as markdown, and ended without an edit", async () => {
    const { link, fake, topic, startNativeStream, calls } = await begin();
    const growth = startNativeStream();
    const id = await show(growth, "**one** ", "*one*");
    await show(growth, "**one** two\n", "*one* two");
    const { body } = fake.calls.find(({ method }) => method === "chat.startStream")!;
    expect(body).toMatchObject({
      channel: "C9",
      thread_ts: TOPIC,
      markdown_text: "**one**",
      recipient_user_id: ADA,
      recipient_team_id: "T1",
    });
    expect(await link.edit?.(topic, id, mrkdwn("*one* two"))).toEqual({ kind: "sent", messageId: id });
    expect(fake.messages.at(-1)).toMatchObject({ text: "**one** two", isOpen: false, thread_ts: TOPIC });
    expect(fake.messages.at(-1)?.edited).toBeUndefined();
    expect(calls()).toEqual(["chat.startStream", "chat.appendStream", "chat.stopStream"]);
  });

  test("that turns out otherwise, or gets buttons, is edited when it is ended", async () => {
    const { link, fake, topic, startNativeStream, calls } = await begin();
    const id = await show(startNativeStream(), "one");
    await link.edit?.(topic, id, mrkdwn("two"));
    expect(fake.messages.at(-1)).toMatchObject({ text: "two", isOpen: false });
    const next = await show(startNativeStream(), "sure?");
    await link.edit?.(topic, next, mrkdwn("sure?"), { buttons: [{ label: "Yes", command: "/yes" }] });
    expect(fake.messages.at(-1)?.blocks).toHaveLength(2);
    const each = ["chat.startStream", "chat.stopStream", "chat.update"];
    expect(calls()).toEqual([...each, ...each]);
  });

  test("that Slack has ended by itself continues as edits", async () => {
    const { link, fake, topic, startNativeStream } = await begin();
    const growth = startNativeStream();
    const id = await show(growth, "one");
    fake.messages.at(-1)!.isOpen = false;
    expect(await growth?.show(mrkdwn("one two"), "one two")).toMatchObject({ kind: "refused" });
    expect(await link.edit?.(topic, id, mrkdwn("one two"))).toMatchObject({ kind: "sent" });
    expect(fake.messages.at(-1)?.text).toBe("one two");
    expect(startNativeStream()).toBeDefined();
  });

  test("whose end Slack has brought about before the final is edited", async () => {
    const { link, fake, topic, startNativeStream } = await begin();
    const id = await show(startNativeStream(), "one");
    fake.messages.at(-1)!.isOpen = false;
    fake.messages.at(-1)!.text = "(error)";
    await link.edit?.(topic, id, mrkdwn("one"));
    expect(fake.messages.at(-1)?.text).toBe("one");
  });

  test.each(["lost", "drop"])("of which nobody knows what it says (%s) is edited", async (how) => {
    const { link, fake, topic, startNativeStream } = await begin();
    const growth = startNativeStream();
    const id = await show(growth, "one");
    fake.fail("chat.appendStream", how);
    expect(await growth?.show(mrkdwn("one two"), "one two")).toMatchObject({ kind: "unknown" });
    expect(await growth?.show(mrkdwn("one two three"), "one two three")).toMatchObject({ kind: "refused" });
    await link.edit?.(topic, id, mrkdwn("one two three"));
    expect(fake.messages.at(-1)).toMatchObject({ text: "one two three", isOpen: false });
  });

  test("that Slack slows down loses nothing", async () => {
    const { fake, startNativeStream } = await begin();
    const growth = startNativeStream();
    await show(growth, "one");
    fake.fail("chat.appendStream", "429");
    expect(await growth?.show(mrkdwn("one two"), "one two")).toMatchObject({
      kind: "retry",
      afterMs: 1000,
      rateLimited: false,
    });
    await show(growth, "one two three");
    expect(fake.messages.at(-1)?.text).toBe("one two three");
  });

  test("whose end is not answered is ended by the next try", async () => {
    const { link, fake, topic, startNativeStream } = await begin();
    const id = await show(startNativeStream(), "one");
    fake.fail("chat.stopStream", "drop");
    expect(await link.edit?.(topic, id, mrkdwn("one"))).toMatchObject({ kind: "unknown" });
    expect(await link.edit?.(topic, id, mrkdwn("one"))).toMatchObject({ kind: "sent" });
    expect(fake.messages.at(-1)).toMatchObject({ text: "one", isOpen: false });
  });

  test("to which nothing comes for long is ended, and stays", async () => {
    const { fake, startNativeStream } = await begin();
    const growth = startNativeStream();
    await show(growth, "one");
    expect(growth?.keepAliveMs).toBeLessThan(30_000);
    expect(await growth?.keepAlive()).toMatchObject({ kind: "refused" });
    expect(fake.messages.at(-1)).toMatchObject({ text: "one", isOpen: false });
  });

  test("sends no notification", async () => {
    const { fake, startNativeStream } = await begin();
    const growth = startNativeStream();
    await show(growth, "to <");
    for (const words of ["to <!channel>", "to <@U1001>", "to <#C9>"])
      expect(await growth?.show(mrkdwn(words), words)).toMatchObject({ kind: "refused" });
    expect(fake.messages.at(-1)?.text).toBe("to <");
  });

  test("has a key in the end, so that other sends can still be looked for", async () => {
    const { link, topic, startNativeStream } = await begin();
    const id = await show(startNativeStream(), "one");
    const lost = { idempotencyKey: "lost" };
    expect(await link.find?.(topic, mrkdwn("x"), lost)).toMatchObject({ kind: "unknown" });
    await link.edit?.(topic, id, mrkdwn("one"));
    expect(await link.find?.(topic, mrkdwn("x"), lost)).toMatchObject({ kind: "retry" });
  });
});

describe("where it is streamed", () => {
  test("in threads alone, and outside direct chats only for a known person of a known team", async () => {
    const { direct, group, topic, startNativeStream, fake } = await begin();
    expect(startNativeStream(group)).toBeUndefined();
    expect(startNativeStream(direct)).toBeUndefined();
    expect(startNativeStream(topic, { recipient: { id: ADA } })).toBeUndefined();
    const asked = fake.say("C9", "question");
    await show(startNativeStream(group, { replyTo: asked }), "one");
    expect(fake.messages.at(-1)?.thread_ts).toBe(asked);
    const below = fake.say("D1", "question");
    await show(startNativeStream(direct, { replyTo: below, recipient: { id: ADA } }), "two");
    expect(fake.messages.at(-1)).toMatchObject({ channel: "D1", thread_ts: below });
  });

  test.each([
    ["missing_scope", false],
    ["unknown_method", false],
    ["channel_type_not_supported", true],
  ])("not again where Slack answered %s", async (word, isElsewhere) => {
    const { direct, startNativeStream, fake, host } = await begin();
    const below = fake.say("D1", "question");
    fake.fail("chat.startStream", word);
    expect(await startNativeStream()?.show(mrkdwn("one"), "one")).toMatchObject({ kind: "refused" });
    expect(startNativeStream()).toBeUndefined();
    expect(startNativeStream(direct, { replyTo: below }) !== undefined).toBe(isElsewhere);
    expect(host.lines.some((line) => line.includes(word))).toBe(true);
  });

  test("later again when Slack begins no more of them for now", async () => {
    const { startNativeStream, fake } = await begin();
    fake.fail("chat.startStream", "429");
    expect(await startNativeStream()?.show(mrkdwn("one"), "one")).toMatchObject({ kind: "refused" });
    await show(startNativeStream(), "two");
  });

  test("again after a thread that is gone", async () => {
    const { startNativeStream, group } = await begin();
    const gone = startNativeStream(group, { replyTo: "1.000001" });
    expect(await gone?.show(mrkdwn("one"), "one")).toMatchObject({ kind: "refused" });
    expect(startNativeStream()).toBeDefined();
  });

  test("the typing reaction goes with the first words, and does not come back", async () => {
    const { link, platform, host, fake, topic, startNativeStream } = await begin({
      typingReaction: "hourglass_flowing_sand",
    });
    const id = platform.say(topic, `work <@${fake.self.userId}>`);
    const { eventKey } = await host.heard("work");
    await link.typing?.(topic, id);
    expect(platform.reactions?.(topic, id)).toEqual(["⏳"]);
    const stream = link.stream?.(topic, { ...TO_ADA, answers: eventKey });
    await show(stream ?? startNativeStream(), "one");
    while (platform.reactions?.(topic, id).length !== 0) await new Promise((resolve) => setImmediate(resolve));
    await link.typing?.(topic, id);
    expect(platform.reactions?.(topic, id)).toEqual([]);
  });
});
