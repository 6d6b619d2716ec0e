import { afterEach, describe, expect, test } from "vitest";
import { Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import { telegramPlatform } from "../../../test/contracts/telegram-platform.ts";

afterEach(stopAll);

async function begin() {
  const platform = await telegramPlatform();
  const { link } = await start(platform, new Host());
  const { fake, direct, topic } = platform;
  const { actions } = link;
  if (!actions || !topic) throw new Error("Telegram has actions");
  return { link, actions, fake, direct, topic };
}

describe("what a bot can do besides messages", () => {
  test("sends a poll to a topic, open for as long as Telegram allows", async () => {
    const { actions, fake, topic } = await begin();
    const poll = { question: "Lunch?", options: ["yes", "no"], isMulti: true, hours: 10_000 };
    expect(await actions.poll?.(topic, poll)).toMatchObject({ kind: "sent" });
    expect(fake.sent.at(-1)).toMatchObject({
      method: "sendPoll",
      body: {
        chat_id: -1009,
        message_thread_id: 77,
        question: "Lunch?",
        options: [{ text: "yes" }, { text: "no" }],
        allows_multiple_answers: true,
        open_period: 2_628_000,
      },
    });
    fake.fail("sendPoll", "429", 1);
    expect(await actions.poll?.(topic, poll)).toMatchObject({ kind: "retry" });
    fake.fail("sendPoll", "lost", 1);
    expect(await actions.poll?.(topic, poll)).toMatchObject({ kind: "unknown" });
  });

  test("pins and unpins a message without a sound", async () => {
    const { link, actions, fake, direct } = await begin();
    const sent = await link.send(direct, textAs("telegram-html")("hello"), KEY);
    const id = sent.kind === "sent" ? sent.messageId : "";
    expect(await actions.pin?.(direct, id, true)).toEqual({ kind: "sent", messageId: id });
    expect(fake.sent.at(-1)).toMatchObject({ method: "pinChatMessage", body: { disable_notification: true } });
    expect(await actions.pin?.(direct, id, false)).toEqual({ kind: "sent", messageId: id });
    expect(await actions.pin?.(direct, "999", true)).toMatchObject({ kind: "refused" });
  });

  test("makes and renames a topic", async () => {
    const { actions, topic, direct } = await begin();
    expect(await actions.createThread?.(topic, { name: "Plans" })).toEqual({ kind: "sent", messageId: "4242" });
    expect(await actions.renameThread?.(topic, "Other")).toMatchObject({ kind: "sent" });
    expect(await actions.renameThread?.({ ...topic, thread: "5" }, "Other")).toMatchObject({ kind: "refused" });
    expect(await actions.renameThread?.(direct, "Other")).toMatchObject({ kind: "refused" });
  });

  test("tells of a member and of the chat", async () => {
    const { actions, topic } = await begin();
    const found = { id: 1001, name: "Ada", status: "administrator", bot: false, username: "ada" };
    expect(await actions.member?.(topic, "1001")).toEqual({ kind: "found", value: found });
    expect(await actions.member?.(topic, "5")).toMatchObject({ kind: "refused" });
    expect(await actions.chat?.(topic)).toEqual({
      kind: "found",
      value: { id: -1009, type: "supergroup", title: "Crew" },
    });
  });

  test("sends a sticker by its id", async () => {
    const { actions, fake, direct } = await begin();
    expect(await actions.sticker?.(direct, "CAAC")).toMatchObject({ kind: "sent" });
    expect(fake.sent.at(-1)).toMatchObject({ method: "sendSticker", body: { sticker: "CAAC" } });
  });
});
