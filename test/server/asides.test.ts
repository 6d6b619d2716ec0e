import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { ends, says, type ScriptedRun } from "../kit/server/scripted-chat.ts";
import { connectParams, RawClient, startTestServer, type TestServer } from "../kit/server/server.ts";

let gateway: TestServer;
/** Shows answers to questions aside beside the chat, as OpenClaw's client for the terminal does. */
let tui: RawClient;
let other: RawClient;
/** The answers that the test gives later. */
const held: ScriptedRun[] = [];
let answers: (run: ScriptedRun) => void;
const atOnce = (run: ScriptedRun) => run.tell(...says("Darjeeling."), ends());

beforeAll(async () => {
  gateway = await startTestServer();
  gateway.chat.script = (run) => answers(run);
  tui = new RawClient(gateway.url);
  other = new RawClient(gateway.url);
  await tui.connect({ client: { ...connectParams().client, id: "openclaw-tui" } });
  await other.connect();
});
afterAll(async () => {
  tui.close();
  other.close();
  await gateway.server.close(200);
});
afterEach(async () => {
  for (const run of held.splice(0)) run.tell(...says("late"), ends());
});

const send = (client: RawClient, message: string, idempotencyKey: string) =>
  client.request("chat.send", { sessionKey: "main", message, idempotencyKey });
const told = (client: RawClient, event: string, id: string) =>
  client.until((frame) => frame["event"] === event && JSON.stringify(frame["payload"]).includes(`"runId":"${id}"`));

test("a question aside is answered beside the chat: the conversation gets no message, and no run", async () => {
  answers = atOnce;
  const before = gateway.chat.requests.length;
  expect(await send(tui, "/btw which tea?", "aside-1")).toMatchObject({
    payload: { runId: "aside-1", status: "started" },
  });
  expect(await told(tui, "chat.side_result", "aside-1")).toMatchObject({
    payload: {
      kind: "btw",
      sessionKey: "agent:main:main",
      agentId: "main",
      question: "which tea?",
      text: "Darjeeling.",
    },
  });
  const end = await told(tui, "chat", "aside-1");
  expect(end).toMatchObject({ payload: { state: "final", sessionKey: "agent:main:main" } });
  expect(end["payload"]).not.toHaveProperty("message");
  expect(gateway.chat.requests.slice(before)).toMatchObject([
    { isBare: true, media: [], messages: [{ role: "user", content: "which tea?" }] },
  ]);
});

test("a client that knows no answers aside gets the text as the end of its run", async () => {
  answers = atOnce;
  await send(other, "/side which tea?", "aside-2");
  expect(await told(other, "chat", "aside-2")).toMatchObject({
    payload: { state: "final", message: { role: "assistant", content: [{ type: "text", text: "Darjeeling." }] } },
  });
});

test("the model is shown the conversation, and the command alone is no question", async () => {
  answers = atOnce;
  gateway.sessions.add("talk", [
    { type: "message", message: { role: "user", content: "I like green tea.", timestamp: 1 } },
  ]);
  const key = { sessionKey: "talk" };
  await other.request("chat.send", { ...key, message: "/BTW: which one?", idempotencyKey: "aside-3" });
  await told(other, "chat", "aside-3");
  const asked = JSON.stringify(gateway.chat.requests.at(-1));
  expect(asked).toContain("Person: I like green tea.");
  expect(asked).toContain("which one?");
  await other.request("chat.send", { ...key, message: "/btw", idempotencyKey: "no-aside" });
  expect(gateway.chat.requests.at(-1)).toMatchObject({ text: "/btw" });
});

test("a failure is told as the answer, and a repeated request asks once", async () => {
  answers = (run) => void held.push(run);
  await send(tui, "/btw why?", "aside-4");
  expect(await send(tui, "/btw why?", "aside-4")).toMatchObject({ payload: { runId: "aside-4", status: "in_flight" } });
  expect(held).toHaveLength(1);
  held.pop()?.tell(ends({ kind: "failed", failure: { kind: "overloaded", message: "the model is busy" } }));
  expect(await told(tui, "chat.side_result", "aside-4")).toMatchObject({
    payload: { isError: true, text: "the model is busy" },
  });
  expect(await told(tui, "chat", "aside-4")).toMatchObject({ payload: { state: "final" } });
});

test("only some questions are answered at a time, and none that is too long", async () => {
  answers = (run) => void held.push(run);
  for (const at of [1, 2, 3, 4]) await send(tui, `/btw question ${at}`, `many-${at}`);
  const fifth = await send(tui, "/btw question 5", "many-5");
  expect(fifth).toMatchObject({ ok: false, error: { code: "UNAVAILABLE", retryAfterMs: expect.any(Number) } });
  // A turn of the conversation has its own limits.
  expect(await send(other, "hello", "a-turn")).toMatchObject({ ok: true });
  held.shift()?.tell(...says("done"), ends());
  await told(tui, "chat", "many-1");
  expect(await send(tui, "/btw question 5", "many-5")).toMatchObject({ payload: { status: "started" } });
  expect(await send(tui, `/btw ${"x".repeat(8001)}`, "too-long")).toMatchObject({
    ok: false,
    error: { code: "INVALID_REQUEST", message: expect.stringContaining("8000") },
  });
});
