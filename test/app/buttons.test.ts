import { afterEach, expect, test } from "vitest";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { startGatewayFixture, type GatewayFixture } from "../kit/gateway/in-process.ts";
import { until } from "../kit/until.ts";

let fixture: GatewayFixture;
let model: FakeModel;
afterEach(async () => {
  await fixture.close();
  await model.close();
});

/** The model asks with buttons at the first message, and answers every later one. */
async function begin(inlineButtons: string): Promise<void> {
  model = await startFakeModel();
  const buttons = [{ text: "Red", callback_data: "red" }];
  const args = { action: "send", message: "Which colour?", buttons };
  model.answer((call) => {
    if (!call.said.includes("choose")) return { text: "painted" };
    return call.isAfterTool ? { text: "NO_REPLY" } : { tool: "message", args };
  });
  const open = { dmPolicy: "open", allowFrom: ["*"], streaming: { mode: "off" } };
  fixture = await startGatewayFixture({ ...open, capabilities: { inlineButtons } }, model.url);
  fixture.telegram.say("choose");
}

const questions = () => fixture.telegram.sent.filter(({ text }) => text === "Which colour?");

function press(data: string, id = 1001): void {
  const chat = { id, type: "private", first_name: "Ada" };
  const message = { message_id: questions()[0]?.messageId, chat, date: 1, text: "Which colour?" };
  const from = { id, is_bot: false, first_name: "Ada" };
  fixture.telegram.inject({ callback_query: { id: "1", from, chat_instance: "1", message, data } });
}

test("the agent learns how to send buttons, and a press comes back to it", async () => {
  await begin("all");
  await until(() => questions().length === 1, "the question");
  expect(model.calls[0]?.system).toContain("capabilities=inlineButtons");
  expect(model.calls[0]?.system).toContain("buttons: [{text, callback_data}]");
  const [{ body }] = questions() as [ReturnType<typeof questions>[0]];
  expect(body["reply_markup"]).toEqual({ inline_keyboard: [[{ text: "Red", callback_data: "callback_data: red" }]] });
  press("/status");
  press("callback_data: blue");
  press("callback_data: red");
  await until(() => fixture.telegram.shown(1001).includes("painted"), "the answer to the press");
  expect(model.calls.at(-1)?.said).toMatch(/callback_data: red$/);
  expect(model.calls.filter(({ said }) => said.includes("blue"))).toEqual([]);
  expect(fixture.telegram.shown(1001)).toEqual(["Which colour?", "painted"]);
});

test("a press from another chat is refused there with a sentence, and the agent never learns of it", async () => {
  await begin("all");
  await until(() => questions().length === 1, "the question");
  const calls = model.calls.length;
  press("callback_data: red", 1002);
  await until(() => fixture.telegram.shown(1002).length === 1, "the refusal");
  expect(fixture.telegram.shown(1002)).toEqual([expect.stringContaining("shown in another chat")]);
  expect(fixture.telegram.shown(1001)).toEqual(["Which colour?"]);
  expect(model.calls.slice(calls).filter(({ said }) => said.includes("red"))).toEqual([]);
});

test("where the settings allow no buttons, neither the prompt nor the tool has them", async () => {
  await begin("group");
  await until(() => model.calls.length === 2, "the call after the tool");
  expect(model.calls[0]?.system).not.toContain("inlineButtons");
  expect(JSON.stringify(model.calls[0]?.body)).not.toContain("callback_data");
  expect(model.calls[1]?.toolText).toContain("has no buttons");
  expect(questions()).toEqual([]);
});
