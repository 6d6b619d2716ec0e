import { afterEach, describe, expect, test } from "vitest";
import type { Host } from "../../../test/contracts/channel.ts";
import { start, stopAll } from "../../../test/contracts/channel.ts";
import type { InboundMessage } from "../../../src/types/message.ts";
import { ADA, TOPIC } from "./fake-slack.ts";
import { slackPlatform } from "./slack-platform.ts";

afterEach(stopAll);

async function begin(tells: "mentions first" | "mentions alone") {
  const platform = await slackPlatform();
  const { host } = await start(platform);
  await host.until(() => host.reports.some((report) => report.kind === "alive"));
  const { fake } = platform;
  fake.tells = tells;
  const file = fake.upload(new Uint8Array([7]), { name: "a.png", mimetype: "image/png" });
  const show = (more: Record<string, unknown> = {}) =>
    fake.say("C9", `<@${fake.self.userId}> look`, { subtype: "file_share", files: [file], ...more });
  const asked = () => fake.calls.filter(({ method }) => method === "conversations.replies").length;
  return { host, fake, show, asked, file, ref: String(file["id"]) };
}

/** What a host that takes each key once has got. */
const taken = ({ received }: Host): readonly InboundMessage[] =>
  received.filter(({ eventKey }, at) => received.findIndex((other) => other.eventKey === eventKey) === at);
const refs = (host: Host) => taken(host).map(({ media }) => media.map(({ source }) => source));

describe("a mention that Slack tells without its file", () => {
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

test("a mention whose other event is there is not asked about", async () => {
  const { host, fake, asked } = await begin("mentions first");
  fake.tells = "both";
  fake.say("C9", `<@${fake.self.userId}> hello`);
  await host.until(() => host.received.length === 2);
  expect(asked()).toBe(0);
});
