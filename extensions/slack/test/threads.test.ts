import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import { TOPIC } from "./fake-slack.ts";
import { slackPlatform } from "./slack-platform.ts";

/** No time limit of the adapter ends during a test, so that the speed of the machine has no effect. */
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(async () => {
  vi.useRealTimers();
  await stopAll();
});
const mrkdwn = textAs("slack-mrkdwn");

/** A thread with so many answers of others. */
async function longThread(answers: number) {
  const platform = await slackPlatform();
  const { fake } = platform;
  for (let number = 0; number < answers; number++) {
    fake.say("C9", `answer ${number}`, { thread_ts: TOPIC, user: "U2" }, true);
  }
  return { platform, fake };
}

const asked = (platform: Awaited<ReturnType<typeof slackPlatform>>) =>
  platform.fake.calls.filter(({ method }) => method === "conversations.replies").length;

describe("a long thread", () => {
  test.each([1000, 60])("is known as the bot's after a restart, by pages of %i", async (page) => {
    const { platform, fake } = await longThread(230);
    fake.page = page;
    fake.say("C9", "of the bot", { thread_ts: TOPIC, user: fake.self.userId, bot_id: fake.self.botId }, true);
    const { host } = await start(platform);
    fake.say("C9", "go on", { thread_ts: TOPIC });
    expect(await host.heard("go on")).toMatchObject({ mentionsBot: true, context: { threadStarter: "the topic" } });
    expect(asked(platform)).toBe(page === 60 ? 4 : 1);
  });

  test("is described by its last lines", async () => {
    const { platform, fake } = await longThread(230);
    fake.page = 60;
    const { host } = await start(platform, new Host(), { thread: { initialHistoryLimit: 2 } });
    fake.say("C9", `<@${fake.self.userId}> what now?`, { thread_ts: TOPIC });
    expect((await host.heard("what now?")).context?.threadHistory).toEqual([
      "Earlier in the thread, U2: answer 228",
      "Earlier in the thread, U2: answer 229",
    ]);
  });

  test("brings what was said before the first message that came here, also when that was not for the bot", async () => {
    const { platform, fake } = await longThread(3);
    const { host } = await start(platform);
    fake.say("C9", "among us", { thread_ts: TOPIC });
    expect((await host.heard("among us")).context?.threadHistory).toBeUndefined();
    fake.say("C9", `<@${fake.self.userId}> what now?`, { thread_ts: TOPIC });
    expect((await host.heard("what now?")).context?.threadHistory).toEqual(
      [0, 1, 2].map((number) => `Earlier in the thread, U2: answer ${number}`),
    );
    fake.say("C9", `<@${fake.self.userId}> and now?`, { thread_ts: TOPIC });
    expect((await host.heard("and now?")).context?.threadHistory).toBeUndefined();
  });

  test("in which the bot has written is noted, and need not be asked for", async () => {
    const { platform, fake } = await longThread(1);
    const first = await start(platform);
    await first.link.send(platform.topic, mrkdwn("my view"), KEY);
    await expect.poll(() => first.host.notes.get("threads")).toContain(TOPIC);
    await first.link.close();
    const { host } = await start(platform, new Host(first.host));
    fake.fail("conversations.replies", "429", 100);
    fake.say("C9", "go on", { thread_ts: TOPIC });
    expect((await host.heard("go on")).mentionsBot).toBe(true);
  });

  test("in which the bot has written stay noted beside an odd note, also when another is added", async () => {
    const { platform, fake } = await longThread(1);
    const noted = new Host();
    await noted.notes.set("threads", JSON.stringify([null, `C9 ${TOPIC}`, { a: 1 }]));
    const { link } = await start(platform, noted);
    const own = { ...platform.topic, thread: fake.say("C9", "another topic") };
    await link.send(own, mrkdwn("my view"), KEY);
    await expect.poll(() => noted.notes.get("threads")).toContain(own.thread);
    expect(await noted.notes.get("threads")).toBe(JSON.stringify([`C9 ${TOPIC}`, `C9 ${own.thread}`]));
  });
});
