import { afterEach, describe, expect, test } from "vitest";
import { closeLater, Host, start, stopAll } from "../../../test/contracts/channel.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { Account } from "../account.ts";
import { slackConfig } from "../config.ts";
import { Intake } from "../inbound/intake.ts";
import { ADA, TOPIC } from "./fake-slack.ts";
import { slackPlatform } from "./slack-platform.ts";

afterEach(stopAll);

async function begin(tells: "mentions first" | "mentions alone") {
  const platform = await slackPlatform();
  const { host, link } = await start(platform);
  await host.until(() => host.reports.some((report) => report.kind === "alive"));
  const { fake } = platform;
  fake.tells = tells;
  const file = fake.upload(new Uint8Array([7]), { name: "a.png", mimetype: "image/png" });
  const show = (more: Record<string, unknown> = {}) =>
    fake.say("C9", `<@${fake.self.userId}> look`, { subtype: "file_share", files: [file], ...more });
  const asked = () => fake.calls.filter(({ method }) => method === "conversations.replies").length;
  return { platform, host, link, fake, show, asked, file, ref: String(file["id"]) };
}

/** What a host that takes each key once has got. */
const taken = ({ received }: Host): readonly InboundMessage[] =>
  received.filter(({ eventKey }, at) => received.findIndex((other) => other.eventKey === eventKey) === at);
const refs = (host: Host) => taken(host).map(({ media }) => media.map(({ source }) => source));

describe("a mention that Slack sends without its file", () => {
  test.each([{}, { thread_ts: TOPIC }])(
    "has it all the same, before its other event and without one (%j)",
    async (more) => {
      for (const tells of ["mentions first", "mentions alone"] as const) {
        const { host, fake, show, ref } = await begin(tells);
        show(more);
        await host.until(() => host.received.length === (tells === "mentions first" ? 2 : 1));
        expect(refs(host)).toEqual([[{ at: "platform", ref }]]);
        await expect.poll(() => fake.pending).toEqual([]);
      }
    },
  );

  test("has it as soon as Slack's history has it", async () => {
    const { host, fake, show, ref, asked } = await begin("mentions alone");
    fake.hides = 1;
    show();
    await host.heard("look");
    expect(refs(host)).toEqual([[{ at: "platform", ref }]]);
    expect(asked()).toBe(2);
  });

  test("brings it later where Slack may not be asked", async () => {
    const { host, fake, show, file, asked } = await begin("mentions alone");
    fake.fail("conversations.replies", "missing_scope");
    const again = { type: "message", subtype: "file_share", channel: "C9", user: ADA, text: "look", files: [file] };
    for (let number = 1; number <= 2; number++) {
      const ts = show();
      await host.until(() => host.received.length === number * 2 - 1);
      fake.inject({ ...again, ts });
      await host.until(() => host.received.length === number * 2);
      fake.inject({ ...again, ts });
      await host.until(() => host.received.length === number * 2 + 1);
      host.received.pop();
    }
    expect(refs(host).map(({ length }) => length)).toEqual([0, 1, 0, 1]);
    expect(host.received.map(({ isEdit }) => isEdit === true)).toEqual([false, true, false, true]);
    expect(asked()).toBe(1);
  });
});

describe("a file that comes later than its mention", () => {
  async function doubted() {
    const { platform, host, link, fake, show, file } = await begin("mentions alone");
    fake.fail("conversations.replies", "missing_scope");
    const event = { subtype: "file_share", channel: "C9", user: ADA, text: "look", files: [file] };
    const ts = show();
    await host.until(() => host.received.length === 1);
    await expect.poll(() => fake.pending).toEqual([]);
    return { platform, host, link, fake, told: { type: "message", ...event, ts } };
  }
  const late = { isEdit: true, eventKey: expect.stringMatching(/^f:/), media: [expect.anything()] };

  test("is not lost where its event has to be read again, as it could not be stored", async () => {
    const { host, fake, told } = await doubted();
    host.refuse = 1;
    fake.inject(told);
    fake.redeliver();
    await host.until(() => host.received.length === 3);
    expect(host.received.slice(1)).toMatchObject([late, late]);
    expect(taken(host)).toHaveLength(2);
  });

  test("is not lost by a restart in between", async () => {
    const { platform, host, link, fake, told } = await doubted();
    await link.close();
    const next = new Host(host);
    const again = await start(platform, next);
    fake.inject(told);
    await next.heard("look");
    expect(next.received).toMatchObject([late]);
    expect(await again.link.missedSince?.(Date.now() - 60_000)).toMatchObject([late]);
  });
});

describe("two events of one mention that are read together", () => {
  const inherit = { historyScope: "thread", inheritParent: true };

  test.each([{}, inherit])("both include the earlier messages of the thread (%j)", async (thread) => {
    const platform = await slackPlatform();
    closeLater(platform);
    const { fake } = platform;
    fake.say("C9", "an answer", { thread_ts: TOPIC, user: "U2" }, true);
    const host = new Host();
    const account = new Account(slackConfig.parse({ ...platform.config, thread }), host);
    const intake = new Intake({
      host,
      signal: host.signal,
      observe: (delivery) => account.mentions.observe(delivery),
      read: (delivery) => account.read(delivery),
    });
    const text = `<@${fake.self.userId}> what now?`;
    const event = { channel: "C9", user: ADA, text, ts: "1800000000.000100", thread_ts: TOPIC };
    const offer = (type: string) => intake.offer({ kind: "events_api", payload: { event: { ...event, type } } });
    // The first alone is read at once, and those that come meanwhile together.
    const other = intake.offer({ kind: "events_api", payload: {} });
    await Promise.all([other, offer("app_mention"), offer("message")]);
    const lines = host.received.map(({ context }) => context?.threadHistory);
    expect(lines[0]).toContain("Earlier in the thread, U2: an answer");
    expect(lines).toEqual([lines[0], lines[0]]);
  });
});

test("a mention whose other event is there is not asked about", async () => {
  const { host, fake, asked } = await begin("mentions first");
  fake.tells = "both";
  fake.say("C9", `<@${fake.self.userId}> hello`);
  await host.until(() => host.received.length === 2);
  expect(asked()).toBe(0);
});
