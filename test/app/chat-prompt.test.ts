import { afterEach, describe, expect, it, test } from "vitest";
import { loadConfigText } from "../kit/config-text.ts";
import { bundledContributions, contributedSchemas } from "../../src/app/contributions/extensions.ts";
import { chatPrompt, chatSkills } from "../../src/channels/chat-prompt.ts";
import { accountConfig } from "../../src/channels/config.ts";
import type { Peer } from "../../src/types/chat/message.ts";
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

  test("offers in a chat and its topics only the skills that the config names", async () => {
    model = await startFakeModel();
    model.answer(() => ({ text: "noted" }));
    fixture = await startGatewayFixture(
      {
        groupPolicy: "open",
        groupAllowFrom: ["*"],
        requireMention: false,
        streaming: { mode: "off" },
        groups: { "-100": { skills: ["notes"], topics: { 7: { skills: [] } } } },
      },
      model.url,
    );
    const skillsIn = async (id: number, more: Record<string, unknown> = {}) => {
      const calls = model.calls.length;
      fixture.telegram.say("hello", { chat: { id, type: "supergroup", title: "crew", is_forum: true }, more });
      await until(() => model.calls.length > calls, "a call of the model");
      const system = model.calls[calls]?.system ?? "";
      return ["notes", "summarize"].filter((name) => system.includes(`${name}/SKILL.md`));
    };
    const topic = { is_topic_message: true, message_thread_id: 7 };
    expect(await skillsIn(-200)).toEqual(["notes", "summarize"]);
    expect(await skillsIn(-100)).toEqual(["notes"]);
    expect(await skillsIn(-100, topic)).toEqual([]);
    expect(await skillsIn(-200)).toEqual(["notes", "summarize"]);
    const chat = { id: -100, type: "supergroup", title: "crew", is_forum: true };
    fixture.telegram.say("/skill list", { chat });
    await until(() => fixture.telegram.shown("-100").some((text) => text.startsWith("Skills:")), "the list");
    expect(fixture.telegram.shown("-100").at(-1)).not.toContain("summarize");
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

  it("come with the skills of the nearest entry that names any", () => {
    const only = (...skills: string[]) => ({ skills });
    const config = accountConfig.parse({
      groups: { "-1": { ...only("a"), topics: { 9: only("t") } }, "-2": {}, "*": only("any") },
      channels: { C1: { ...only("c"), topics: { 9: only() } } },
      guilds: { g1: { ...only("g"), channels: { c: { ...only("gc"), topics: { 9: only("gt") } }, d: {} } } },
      direct: { 5: { ...only("d"), topics: { 9: only("dt") } } },
      dms: { 6: { ...only("m"), topics: { 9: only("mt") } } },
    });
    const skillsIn = (from: Peer, guildId?: string) =>
      chatSkills(config, { from, sender: { id: "5" }, ...(guildId !== undefined && { guildId }) })?.join();
    const inDirect = (id: string, thread?: string) => ({ ...group(id, thread), chat: { kind: "direct" as const, id } });
    expect([skillsIn(group("-1")), skillsIn(group("-1", "9")), skillsIn(group("-1", "8"))]).toEqual(["a", "t", "a"]);
    expect([skillsIn(group("-2")), skillsIn(group("C1")), skillsIn(group("C1", "9"))]).toEqual(["any", "c", ""]);
    const ofDirect = [inDirect("5"), inDirect("5", "9")].map((from) => skillsIn(from));
    expect(ofDirect).toEqual(["d", "dt"]);
    const { groups: _groups, ...guildsAlone } = config;
    const alone = accountConfig.parse({ ...guildsAlone, direct: {} });
    const inGuild = (id: string, thread?: string) =>
      chatSkills(alone, { from: group(id, thread), sender: { id: "5" }, guildId: "g1" })?.join();
    expect([inGuild("c"), inGuild("c", "9"), inGuild("d"), inGuild("e")]).toEqual(["gc", "gt", "g", "g"]);
    const inDm = (thread?: string) => chatSkills(alone, { from: inDirect("6", thread), sender: { id: "6" } })?.join();
    expect([inDm(), inDm("9")]).toEqual(["m", "mt"]);
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
    const { warnings } = await load({ "-1": { ...say("x"), slug: "s", topics: { 3: { ...say("y"), agentId: "a" } } } });
    expect(warnings.map(({ key }) => key)).toEqual([expect.stringContaining("slug")]);
  });
});

function say(systemPrompt: string) {
  return { systemPrompt };
}
