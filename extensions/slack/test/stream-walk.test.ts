import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startFakeModel } from "../../../test/fakes/model.ts";
import type { FakeEnding } from "../../../test/fakes/model.ts";
import type { GatewayUnderTest } from "../../../test/kit/gateway/process.ts";
import { isUp, makeHome } from "../../../test/kit/gateway/process.ts";
import { ADA, startFakeSlack, TOPIC } from "./fake-slack.ts";

let slack: Awaited<ReturnType<typeof startFakeSlack>>;
let model: Awaited<ReturnType<typeof startFakeModel>>;
let home: Awaited<ReturnType<typeof makeHome>>;
let gateway: GatewayUnderTest;

beforeAll(async () => {
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
  gateway = await start();
});
afterAll(async () => {
  await home.remove();
  await slack.close();
  await model.close();
});
beforeEach(() => {
  slack.calls.length = 0;
});

const TEXT = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
const isOurs = ({ user }: { readonly user: string }) => user === slack.self.userId;
/** The last message of the bot. */
const answer = () => slack.messages.findLast(isOurs);
const methods = () => slack.calls.filter(({ method }) => method.startsWith("chat.")).map(({ method }) => method);
const ask = (text: string) => slack.say("C9", `<@${slack.self.userId}> ${text}`, { thread_ts: TOPIC });
const NEVER = Promise.withResolvers<void>().promise;

async function start(): Promise<GatewayUnderTest> {
  const started = await home.start();
  await started.logged(isUp("slack"));
  return started;
}

/** Asks for an answer whose last word waits for `until`. Resolves when its beginning is shown. */
async function beginAnswer(until: Promise<void>, ending: FakeEnding = "whole"): Promise<void> {
  model.answer(() => ({ text: TEXT, until, ending }));
  ask("slowly please");
  await expect.poll(methods).toContain("chat.startStream");
}

test("an answer in a thread is one stream for the person who asked", async () => {
  const rest = Promise.withResolvers<void>();
  await beginAnswer(rest.promise);
  rest.resolve();
  await expect.poll(() => answer()?.isOpen).toBe(false);
  expect(slack.messages.filter(isOurs)).toMatchObject([{ text: TEXT, thread_ts: TOPIC, channel: "C9" }]);
  expect(answer()?.edited).toBeUndefined();
  const [first, ...others] = methods();
  expect([first, others.at(-1)]).toEqual(["chat.startStream", "chat.stopStream"]);
  expect(new Set(others.slice(0, -1))).toEqual(new Set(["chat.appendStream"]));
  const begun = slack.calls.find(({ method }) => method === "chat.startStream");
  expect(begun?.body).toMatchObject({ recipient_user_id: ADA, recipient_team_id: slack.self.teamId });
});

test("an answer that is stopped ends its stream with the text so far", async () => {
  await beginAnswer(NEVER);
  const stream = answer();
  ask("/stop");
  await expect.poll(() => stream?.isOpen).toBe(false);
  expect(stream?.text).toMatch(/^word0 /);
  expect(TEXT.startsWith(stream?.text ?? "?")).toBe(true);
});

test("a killed gateway's stream is ended after the restart and becomes the answer", async () => {
  const rest = Promise.withResolvers<void>();
  await beginAnswer(rest.promise, "stall");
  rest.resolve();
  // The gateway has noted the stream before it appends to it.
  await expect.poll(methods).toContain("chat.appendStream");
  await gateway.kill("SIGKILL");
  const left = answer();
  expect(left?.isOpen).toBe(true);
  model.answer(() => ({ text: "All of it." }));
  await start();
  await expect.poll(() => left?.text).toBe("All of it.");
  expect([answer(), left?.isOpen]).toEqual([left, false]);
});
