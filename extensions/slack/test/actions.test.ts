import { afterEach, describe, expect, test } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import { ADA } from "./fake-slack.ts";
import { slackPlatform } from "./slack-platform.ts";

afterEach(stopAll);

async function begin() {
  const platform = await slackPlatform();
  const { link } = await start(platform, new Host());
  const { fake, direct, group } = platform;
  const { actions } = link;
  if (!actions) throw new Error("Slack has actions");
  return { actions, fake, direct, group, channel: group.chat.id };
}

describe("what an app can do besides messages", () => {
  test("has neither polls nor threads of their own", async () => {
    const { actions } = await begin();
    expect(actions.poll).toBeUndefined();
    expect(actions.createThread).toBeUndefined();
  });

  test("pins, lists and unpins a message", async () => {
    const { actions, fake, group, channel } = await begin();
    const ts = fake.say(channel, "keep this");
    expect(await actions.pin?.(group, ts, true)).toEqual({ kind: "sent", messageId: ts });
    expect(await actions.pins?.(group)).toMatchObject({ kind: "found", value: [{ id: ts, text: "keep this" }] });
    expect(await actions.pin?.(group, ts, true)).toMatchObject({ kind: "refused" });
    expect(await actions.pin?.(group, ts, false)).toMatchObject({ kind: "sent" });
    expect(await actions.pins?.(group)).toEqual({ kind: "found", value: [] });
    expect(await actions.pin?.(group, "nonsense", true)).toMatchObject({ kind: "refused" });
  });

  test("reads the newest messages oldest first, and those before one", async () => {
    const { actions, fake, group, channel } = await begin();
    const all = ["one", "two", "three"].map((text) => fake.say(channel, text));
    const texts = async (query: object) => {
      const read = await actions.read?.(group, { limit: 3, ...query });
      return read?.kind === "found" ? read.value.map(({ text }) => text) : read;
    };
    expect(await texts({})).toEqual(["one", "two", "three"]);
    expect(await texts({ limit: 2 })).toEqual(["two", "three"]);
    expect(await texts({ before: all[2], limit: 2 })).toEqual(["one", "two"]);
    expect(await texts({ after: all[0] })).toEqual(["two", "three"]);
    expect(await actions.read?.({ ...group, chat: { ...group.chat, id: "CGONE" } }, { limit: 1 })).toMatchObject({
      kind: "found",
      value: [],
    });
  });

  test("tells of reactions, a member, the channel and the emoji", async () => {
    const { actions, fake, group, channel } = await begin();
    const ts = fake.say(channel, "a");
    expect(await actions.reactions?.(group, ts)).toEqual({ kind: "found", value: [] });
    expect(await actions.member?.(group, ADA)).toMatchObject({
      kind: "found",
      value: { id: ADA, realName: "Ada Lovelace", bot: false },
    });
    expect(await actions.member?.(group, "UGONE")).toMatchObject({ kind: "refused" });
    expect(await actions.chat?.(group)).toMatchObject({ kind: "found", value: { id: channel, name: "crew" } });
    expect(await actions.emojis?.(group)).toEqual({ kind: "found", value: [":wave:"] });
  });
});
