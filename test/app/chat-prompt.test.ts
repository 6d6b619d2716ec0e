import { afterEach, describe, expect, it, test } from "vitest";
import { loadConfigText } from "../../src/app/config/load.ts";
import { bundledContributions, contributedSchemas } from "../../src/app/contributions/extensions.ts";
import { chatPrompt } from "../../src/channels/chat-prompt.ts";
import { accountConfig } from "../../src/channels/config.ts";
import { nextMessage, peer } from "../kit/inbound.ts";
import { type FakeModel, startFakeModel } from "../fakes/model.ts";
import { until } from "../kit/until.ts";
import { type GatewayFixture, startGatewayFixture } from "../kit/gateway/in-process.ts";

describe("a gateway", () => {
  let fixture: GatewayFixture;
  let model: FakeModel;
  afterEach(async () => {
    await fixture.close();
    await model.close();
  });

  test("shows the model the operator's words for a chat in that chat alone", async () => {
    model = await startFakeModel();
    model.answer(() => ({ text: "noted" }));
    fixture = await startGatewayFixture(
      {
        groupPolicy: "open",
        dmPolicy: "open",
        allowFrom: ["*"],
        requireMention: false,
        streaming: { mode: "off" },
        groups: { "-100": { systemPrompt: "Speak like a pirate.", topics: { 7: { systemPrompt: "Only of ships." } } } },
        direct: { 1001: { systemPrompt: "Be brief." } },
      },
      model.url,
    );
    const systemOf = async (speaker: Parameters<typeof fixture.telegram.say>[1]) => {
      const calls = model.calls.length;
      fixture.telegram.say("hello", speaker);
      await until(() => model.calls.length > calls, "a call of the model");
      return model.calls[calls]?.system ?? "";
    };
    const topic = { is_topic_message: true, message_thread_id: 7 };
    const forum = { id: -100, type: "supergroup", title: "crew", is_forum: true };
    const inTopic = await systemOf({ chat: forum, more: topic });
    expect(inTopic).toContain("\n\nSpeak like a pirate.\n\nOnly of ships.\n\n");
    const inGroup = await systemOf({ chat: { id: -100, type: "supergroup", title: "crew" } });
    expect(inGroup).toContain("Speak like a pirate.");
    expect(inGroup).not.toContain("Only of ships.");
    const elsewhere = await systemOf({ chat: { id: -200, type: "supergroup", title: "others" } });
    expect(elsewhere).not.toContain("pirate");
    const direct = await systemOf({});
    expect(direct).toContain("Be brief.");
    expect(direct).not.toContain("pirate");
  });
});

const group = (id: string, thread?: string) => ({
  ...peer(id),
  chat: { kind: "group" as const, id },
  ...(thread !== undefined && { thread }),
});

describe("the words for a chat", () => {
  it.each([
    ["of its id before those of all others", { groups: { "-1": say("a"), "*": say("b") } }, group("-1"), "a"],
    ["of all others where its entry says none", { groups: { "-1": {}, "*": say("b") } }, group("-1"), "b"],
    ["none where its entry is empty", { groups: { "-1": say(""), "*": say("b") } }, group("-1"), undefined],
    ["of Slack's channels", { channels: { C1: say("c") } }, group("C1"), "c"],
    ["of a topic that has no group's", { groups: { "*": { topics: { "*": say("t") } } } }, group("-1", "9"), "t"],
    ["none of another topic", { groups: { "-1": { topics: { 8: say("t") } } } }, group("-1", "9"), undefined],
    ["none of what every object inherits", { groups: {} }, group("constructor"), undefined],
    ["of a direct chat, under the older name", { dms: { 5: say("d") } }, peer("5"), "d"],
    ["none of a group in a direct chat", { groups: { "*": say("g") } }, peer("5"), undefined],
  ])("are those %s", (_, config, from, words) => {
    expect(chatPrompt(accountConfig.parse(config), nextMessage("hi", "5", { from }))).toBe(words);
  });

  it("are those of the server that the message came from", () => {
    const guilds = { g1: { channels: { c: say("one") } }, "*": { channels: { "*": say("any") } } };
    const wordsIn = (guildId: string, id: string) =>
      chatPrompt(accountConfig.parse({ guilds }), nextMessage("hi", "5", { from: group(id), guildId }));
    expect([wordsIn("g1", "c"), wordsIn("g1", "d"), wordsIn("g2", "c")]).toEqual(["one", undefined, "any"]);
  });

  it("are found by the phone number of whom the chat is with", () => {
    const config = accountConfig.parse({ direct: { "+1555": say("d") } });
    const sender = { id: "uuid", e164: "+1555" };
    expect(chatPrompt(config, nextMessage("hi", "uuid", { from: peer("uuid"), sender }))).toBe("d");
  });

  it("have a length at most, and their keys are known", async () => {
    const load = async (groups: object) =>
      loadConfigText(JSON.stringify({ channels: { telegram: { botToken: "1:a", groups } } }), {
        path: "/x/openclaw.json",
        env: {},
        ...(await contributedSchemas(bundledContributions())),
      });
    await expect(load({ "-1": say("x".repeat(20_001)) })).rejects.toThrow(/groups\.-1\.systemPrompt|groups\["-1"\]/);
    const { warnings } = await load({ "-1": { ...say("x"), topics: { 3: { ...say("y"), agentId: "a" } } } });
    expect(warnings.map(({ key }) => key)).toEqual([expect.stringContaining("agentId")]);
  });
});

function say(systemPrompt: string) {
  return { systemPrompt };
}
