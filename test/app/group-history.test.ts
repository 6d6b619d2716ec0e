import { expect, test } from "vitest";
import type { FakeModel } from "../fakes/model.ts";
import { until } from "../kit/until.ts";
import type { GatewayFixture } from "../kit/gateway/in-process.ts";
import { GROUP, groupGateways } from "./group-gateway.ts";

let fixture: GatewayFixture;
let model: FakeModel;
const start = groupGateways({ dmPolicy: "open", allowFrom: ["*"] });

async function begin(account: Record<string, unknown> = {}): Promise<void> {
  ({ fixture, model } = await start(account));
}

const sent = () => fixture.telegram.sent.filter(({ method }) => method === "sendMessage").length;
const say = (text: string) => fixture.telegram.say(text, { chat: GROUP });
const taken = () => until(() => fixture.telegram.pending.length === 0, "the messages");

/** Something for the bot, and its answer. What the model was told. */
async function ask(text: string, kind = "mention"): Promise<string> {
  const before = sent();
  const calls = model.calls.length;
  fixture.telegram.say(text, {
    chat: GROUP,
    more: { entities: [{ type: kind, offset: 0, length: text.split(" ")[0]!.length }] },
  });
  await until(() => sent() > before, `an answer to ${text}`);
  return model.calls[calls]?.said ?? "";
}

test("earlier messages of a group come with the next question, also after a restart", async () => {
  await begin();
  say("the door opens at nine");
  expect(await ask("@test_bot hello")).toContain("the door opens at nine");
  say("the word is swordfish");
  say("and the colour is blue");
  await taken();
  await fixture.restart();
  const said = await ask("@test_bot what did we say?");
  expect(said).toContain("swordfish");
  expect(said).toContain("the colour is blue");
  expect(said).not.toContain("the door opens at nine");
  expect(await ask("@test_bot and now?")).not.toContain("swordfish");
});

test("no more lines come back than are kept", async () => {
  await begin({ historyLimit: 1 });
  say("one");
  say("only this");
  await taken();
  await fixture.restart();
  const said = await ask("@test_bot what did we say?");
  expect(said).toContain("only this");
  expect(said).not.toContain('"one"');
});

test("a command in between takes nothing away", async () => {
  await begin();
  say("the word is swordfish");
  await ask("/status@test_bot", "bot_command");
  expect(await ask("@test_bot what did we say?")).toContain("swordfish");
});

test("a question that came too late to be answered takes nothing away", async () => {
  await begin();
  say("the word is swordfish");
  const mention = { type: "mention", offset: 0, length: 9 };
  const date = Math.floor(Date.now() / 1000) - 7 * 3600;
  fixture.telegram.say("@test_bot hello?", { chat: GROUP, more: { entities: [mention], date } });
  expect(await ask("@test_bot what did we say?")).toContain("swordfish");
  expect(model.calls).toHaveLength(1);
});

test("the earlier messages of a topic come with the first question there, and none of another topic", async () => {
  await begin();
  const forum = { ...GROUP, is_forum: true };
  const inTopic = (topic: number) => ({ is_topic_message: true, message_thread_id: topic });
  fixture.telegram.say("the sail is red", { chat: forum, more: inTopic(7) });
  fixture.telegram.say("the mast is high", { chat: forum, more: inTopic(8) });
  const entities = [{ type: "mention", offset: 0, length: 9 }];
  fixture.telegram.say("@test_bot what did we say?", { chat: forum, more: { ...inTopic(7), entities } });
  await until(() => sent() === 1, "an answer");
  const [call] = model.calls;
  expect(call?.said).toContain("the sail is red");
  expect(call?.said).not.toContain("the mast is high");
  expect(call?.system).toContain('"is_group_chat": true,\n    "is_thread": true');
});
