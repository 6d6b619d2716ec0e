import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ends, says } from "../kit/server/scripted-chat.ts";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";
import { askWithOpenAi, listModelsWithOpenAi, streamWithOpenAi } from "../kit/server/clients.ts";

let gateway: TestServer;
beforeAll(async () => {
  gateway = await startTestServer();
  gateway.chat.script = (run) => run.tell(...says("The answer is 42."), ends());
});
afterAll(() => gateway.server.close(500));

const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 };

test("the official client reads a whole answer", async () => {
  const told = await askWithOpenAi(gateway.http, TOKEN, "what is it?");
  expect(told).toMatchObject({ text: "The answer is 42.", finish: "stop", usage });
});

test("the official client reads an answer as it comes", async () => {
  const told = await streamWithOpenAi(gateway.http, TOKEN, "what is it?");
  expect(told).toMatchObject({ text: "The answer is 42.", finish: "stop", usage });
  expect(gateway.chat.requests.at(-1)).toMatchObject({
    client: { system: "Be brief." },
    messages: [{ role: "user", content: "what is it?" }],
  });
});

test("the official client lists the agents as models", async () => {
  expect(await listModelsWithOpenAi(gateway.http, TOKEN)).toEqual(["openclaw", "openclaw/main", "openclaw/coder"]);
});

test("the official client gets the error for a wrong key", async () => {
  await expect(askWithOpenAi(gateway.http, "wrong", "hi")).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
});

test("a failed run is an error of its kind, streaming or not", async () => {
  const failing = await startTestServer();
  failing.chat.script = (run) =>
    run.tell(ends({ kind: "failed", failure: { kind: "rate_limit", message: "slow down" } }));
  await expect(askWithOpenAi(failing.http, TOKEN, "hi")).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  await expect(streamWithOpenAi(failing.http, TOKEN, "hi")).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  await failing.server.close(500);
});

test("a run that fails in mid-stream ends the stream with an error", async () => {
  const failing = await startTestServer();
  failing.chat.script = (run) =>
    run.tell(...says("Half an ans"), ends({ kind: "failed", failure: { kind: "network", message: "cable cut" } }));
  await expect(streamWithOpenAi(failing.http, TOKEN, "hi")).rejects.toThrow("cable cut");
  await failing.server.close(500);
});
