import { afterEach, expect, test, vi } from "vitest";
import { closeLater, Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import { Account } from "../account.ts";
import { slackConfig } from "../config.ts";
import { FOREIGN, OPEN } from "./fake-slack.ts";
import { slackPlatform } from "./slack-platform.ts";

afterEach(stopAll);

async function begin(more: object = {}) {
  const platform = await slackPlatform();
  const { host, link } = await start(platform, new Host(), { slashCommand: { enabled: true, ...more } });
  await host.until(() => host.reports.some((report) => report.kind === "alive"));
  return { host, link, fake: platform.fake, direct: platform.direct };
}

const privateNote = (text: RegExp) => ({ response_type: "ephemeral", text: expect.stringMatching(text) });

test.each([OPEN, FOREIGN])(
  "a command from a chat without the bot (%s) is answered in the direct chat, and its sender is informed",
  async (place) => {
    const { host, link, fake, direct } = await begin();
    const url = fake.command(place, "hello there");
    const asked = await host.heard("hello there");
    fake.redeliver();
    await host.until(() => host.received.length === 2);
    expect(asked).toMatchObject({ event: "command", from: direct });
    expect(await link.send(asked.from, textAs("slack-mrkdwn")("hi"), KEY)).toMatchObject({ kind: "sent" });
    await expect
      .poll(() => fake.responses(url))
      .toEqual([{ response_type: "ephemeral", text: expect.stringMatching(/direct chat/) }]);
    fake.command("C9", "in between");
    await host.heard("in between");
    expect(fake.responses(url)).toHaveLength(1);
    expect(JSON.stringify([host.received, host.lines, host.reports])).not.toContain(url);
  },
);

test("a command from a chat with the bot is answered there, without a note", async () => {
  const { host, fake } = await begin();
  const urls = ["C9", "D1"].map((place) => fake.command(place, `in ${place}`));
  expect((await host.heard("in C9")).from.chat).toMatchObject({ kind: "group", id: "C9" });
  expect((await host.heard("in D1")).from.chat).toEqual({ kind: "direct", id: "D1" });
  expect(urls.map((url) => fake.responses(url))).toEqual([[], []]);
});

test("with private answers, a command of a channel is answered in the direct chat or not at all", async () => {
  const { host, fake, direct } = await begin({ ephemeral: true });
  fake.fail("conversations.open", "missing_scope");
  const refused = fake.command("C9", "not in C9");
  await expect.poll(() => fake.responses(refused)).toEqual([privateNote(/could not open it/)]);
  const url = fake.command("C9", "in C9");
  expect(await host.heard("in C9")).toMatchObject({ event: "command", from: direct });
  await expect.poll(() => fake.responses(url)).toEqual([privateNote(/only you see it/)]);
  fake.command("D1", "in D1");
  expect((await host.heard("in D1")).from.chat).toEqual({ kind: "direct", id: "D1" });
  expect(host.received.map(({ text }) => text)).toEqual(["in C9", "in D1"]);
});

test("a sender who cannot get a direct message is asked to invite the bot; a response address is never logged", async () => {
  const { host, fake } = await begin();
  fake.fail("conversations.open", "missing_scope", 2);
  const url = fake.command(OPEN, "hello there");
  expect((await host.heard("hello there")).from.chat.id).toBe(OPEN);
  await expect
    .poll(() => fake.responses(url))
    .toEqual([{ response_type: "ephemeral", text: expect.stringMatching(/`.invite` me, or write to me directly/) }]);
  const outsideCommands = {
    command: "/openclaw",
    channel_id: OPEN,
    user_id: "U1001",
    text: "again",
    trigger_id: "9.9",
  };
  const gone = url.replace("-secret", "-gone");
  fake.deliver("slash_commands", { ...outsideCommands, response_url: gone });
  await host.heard("again");
  await expect.poll(() => host.lines.filter((line) => line.includes("404"))).toHaveLength(1);
  expect(JSON.stringify([host.received, host.lines])).not.toMatch(/-secret|-gone/);
});

test("whoever uses what the gateway has not learns so alone and once: selects, shortcuts, commands that are off", async () => {
  const platform = await slackPlatform();
  const { host } = await start(platform, new Host());
  const { fake } = platform;
  await host.until(() => host.reports.some((report) => report.kind === "alive"));
  const command = fake.command("C9", "status");
  fake.redeliver();
  const used = (number: number, what: object) => {
    const address = fake.responseAddress();
    const who = { user: { id: "U1001" }, channel: { id: "C9" }, message: { ts: "1700000000.1" } };
    fake.deliver("interactive", { ...who, trigger_id: `t${number}`, response_url: address, ...what });
    return address;
  };
  const select = { type: "static_select", action_id: "openclaw:0", selected_option: { value: "x" }, action_ts: "1" };
  const told = [
    used(1, { type: "block_actions", actions: [select] }),
    used(2, { type: "message_action", callback_id: "summarize" }),
    used(3, { type: "block_actions", actions: [{ type: "button", action_id: "other", value: "y", action_ts: "1" }] }),
  ];
  const link = used(4, { type: "block_actions", actions: [{ type: "button", action_id: "page", action_ts: "1" }] });
  fake.deliver("interactive", { type: "view_submission", trigger_id: "t5", view: {} });
  fake.say("D1", "last");
  await host.heard("last");
  const private_ = (text: RegExp) => [{ response_type: "ephemeral", text: expect.stringMatching(text) }];
  await expect.poll(() => fake.responses(command)).toEqual(private_(/not take this command/));
  for (const address of told) await expect.poll(() => fake.responses(address)).toEqual(private_(/do not know this/));
  expect(fake.responses(link)).toEqual([]);
  expect(host.received.map(({ text }) => text)).toEqual(["last"]);
});

test("of a direct chat that Slack says nothing of, the answer is for the sender; of the bot's own, Slack is not asked", async () => {
  const { host, fake, link, direct } = await begin();
  fake.fail("conversations.info", "internal_error", 100);
  fake.command(FOREIGN, "from elsewhere");
  const asked = await host.heard("from elsewhere");
  expect(asked.from.chat).toEqual({ kind: "direct", id: "U1001" });
  expect(await link.chatId?.(asked.from)).toBe(direct.chat.id);
  fake.say(direct.chat.id, "hello");
  await host.heard("hello");
  fake.command(direct.chat.id, "from here");
  expect((await host.heard("from here")).from).toEqual(direct);
});

test.each([
  ["nothing at all", Infinity],
  ["slowly that the bot is not there", 1000],
])(
  "a command is read well before Slack wants it acknowledged, although Slack answers %s",
  async (_what, tellsAfter) => {
    const platform = await slackPlatform();
    closeLater(platform);
    const account = new Account(slackConfig.parse({ ...platform.config, slashCommand: { enabled: true } }), new Host());
    await account.ready();
    const { conversations, users } = account.slack.calls;
    vi.useFakeTimers();
    try {
      vi.spyOn(conversations, "info").mockImplementation(async () => {
        const told = Promise.withResolvers<{ ok: true; channel: { is_member: false } }>();
        if (tellsAfter < Infinity)
          setTimeout(() => told.resolve({ ok: true, channel: { is_member: false } }), tellsAfter);
        return told.promise;
      });
      vi.spyOn(conversations, "open").mockReturnValue(Promise.withResolvers<never>().promise);
      vi.spyOn(users, "info").mockReturnValue(Promise.withResolvers<never>().promise);
      const command = { command: "/openclaw", channel_id: OPEN, user_id: "U1001", text: "hi", trigger_id: "1.1" };
      const read = account.read({ kind: "slash_commands", payload: command });
      const begun = Date.now();
      const took = read.then(() => Date.now() - begun);
      await vi.advanceTimersByTimeAsync(5000);
      expect(await read).toMatchObject({ text: "hi", from: { chat: { id: OPEN } }, sender: { id: "U1001" } });
      expect(await took).toBeLessThanOrEqual(1200);
    } finally {
      vi.useRealTimers();
      vi.restoreAllMocks();
    }
  },
);
