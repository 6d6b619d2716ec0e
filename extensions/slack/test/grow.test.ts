import { afterEach, beforeEach, expect, test } from "vitest";
import { startFakeModel } from "../../../test/fakes/model.ts";
import { isUp, makeHome } from "../../../test/walk/gateway.ts";
import { ADA, startFakeSlack, TOPIC } from "./fake-slack.ts";

let slack: Awaited<ReturnType<typeof startFakeSlack>>;
let model: Awaited<ReturnType<typeof startFakeModel>>;
let home: Awaited<ReturnType<typeof makeHome>>;

beforeEach(async () => {
  slack = await startFakeSlack();
  model = await startFakeModel();
  const provider = {
    baseUrl: model.url,
    apiKey: "x",
    api: "openai-completions",
    models: [{ id: "fake-1", contextWindow: 100_000, maxTokens: 4096 }],
  };
  const { botToken, appToken, url: apiUrl } = slack;
  home = await makeHome({
    models: { providers: { fake: provider } },
    agents: { defaults: { model: { primary: "fake/fake-1" } } },
    messages: { queue: { debounceMs: 0 } },
    channels: { slack: { enabled: true, botToken, appToken, apiUrl, groupPolicy: "open" } },
  });
});
afterEach(async () => {
  await home.remove();
  await slack.close();
  await model.close();
});

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(" ");
const ours = () => slack.messages.filter(({ user }) => user === slack.self.userId);
const methods = () => slack.calls.filter(({ method }) => method.startsWith("chat.")).map(({ method }) => method);
const ask = (text: string) => slack.say("C9", `<@${slack.self.userId}> ${text}`, { thread_ts: TOPIC });

async function start() {
  const gateway = await home.start();
  await gateway.logged(isUp("slack"));
  return gateway;
}

test("an answer in a thread is one stream, to whom it is for", async () => {
  await start();
  model.answer(() => ({ text: words(40), everyMs: 80 }));
  ask("slowly please");
  await expect.poll(() => ours()[0]?.isOpen, { timeout: 15_000 }).toBe(false);
  expect(ours()).toMatchObject([{ text: words(40), thread_ts: TOPIC, channel: "C9" }]);
  expect(ours()[0]?.edited).toBeUndefined();
  const [first, ...others] = methods();
  expect([first, others.at(-1)]).toEqual(["chat.startStream", "chat.stopStream"]);
  expect(new Set(others.slice(0, -1))).toEqual(new Set(["chat.appendStream"]));
  const begun = slack.calls.find(({ method }) => method === "chat.startStream");
  expect(begun?.body).toMatchObject({ recipient_user_id: ADA, recipient_team_id: slack.self.teamId });
}, 30_000);

test("a stream that a killed gateway left is ended, and becomes the answer", async () => {
  const first = await start();
  model.answer(() => ({ text: words(400), everyMs: 80 }));
  ask("slowly please");
  await expect.poll(() => methods().includes("chat.appendStream"), { timeout: 15_000 }).toBe(true);
  await first.kill("SIGKILL");
  expect(ours()).toMatchObject([{ isOpen: true }]);

  model.answer(() => ({ text: "All of it." }));
  await start();
  await expect.poll(() => ours().map(({ text }) => text), { timeout: 15_000 }).toEqual(["All of it."]);
  expect(ours()).toMatchObject([{ isOpen: false }]);
}, 45_000);

test("an answer that is stopped ends its stream with what was written", async () => {
  await start();
  model.answer(() => ({ text: words(400), everyMs: 80 }));
  ask("slowly please");
  await expect.poll(() => methods().includes("chat.appendStream"), { timeout: 15_000 }).toBe(true);
  ask("/stop");
  await expect.poll(() => ours()[0]?.isOpen, { timeout: 15_000 }).toBe(false);
  expect(words(400).startsWith(ours()[0]?.text ?? "?")).toBe(true);
}, 30_000);
