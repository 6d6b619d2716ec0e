import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type FakeModel, startFakeModel } from "../../fakes/model.ts";
import { startGatewayFixture, type GatewayFixture } from "../../kit/gateway/in-process.ts";
import type { RawClient } from "../../kit/server/server.ts";
import { until } from "../../kit/until.ts";

let model: FakeModel;
let fixture: GatewayFixture;
let client: RawClient;
beforeAll(async () => {
  model = await startFakeModel();
  fixture = await startGatewayFixture({ enabled: false }, model.url);
  client = await fixture.client();
});
afterEach(() => client.request("chat.abort", { sessionKey: "busy" }));
afterAll(async () => {
  await fixture.close();
  await model.close();
});

const queue = z.looseObject({
  payload: z.looseObject({ messages: z.array(z.looseObject({ id: z.number(), runId: z.string(), text: z.string() })) }),
});

const waiting = async () => queue.parse(await client.request("sessions.queue", { key: "busy" })).payload.messages;

const send = (message: string, key: string) =>
  client.request("chat.send", { sessionKey: "busy", message, idempotencyKey: key });

const reports = () => client.frames.filter(({ event }) => event === "session.queue").length;

test("clients see what waits in a session, in its order, and learn when that changes", async () => {
  model.answer(() => "hang");
  await send("first", "w-1");
  await model.called(1);
  expect(await waiting()).toEqual([]);
  expect(reports()).toBe(0);
  await send("second", "w-2");
  await send("/compact", "w-3");
  await until(() => reports() > 0, "the report of a message that waits");
  expect(await waiting()).toMatchObject([
    { runId: "w-2", text: "second", channel: "webchat", isOperator: true, files: 0 },
    { runId: "w-3", text: "/compact" },
  ]);
  const before = reports();
  await client.request("chat.abort", { sessionKey: "busy" });
  await until(() => reports() > before, "the report that nothing waits");
  expect(await waiting()).toEqual([]);
});

test("a message that waits is withdrawn, and what runs continues", async () => {
  model.answer(() => "hang");
  const calls = model.calls.length;
  await send("runs", "d-1");
  await model.called(calls + 1);
  await send("changed my mind", "d-2");
  await send("stays", "d-3");
  await until(async () => (await waiting()).length === 2, "two messages wait");
  const [first] = await waiting();
  expect(await client.request("inbox.drop", { id: first?.id })).toMatchObject({
    payload: { did: expect.stringContaining("taken out") },
  });
  expect(await waiting()).toMatchObject([{ runId: "d-3" }]);
  const isEndOf = (runId: string) => (frame: Record<string, unknown>) =>
    frame["event"] === "chat" && JSON.stringify(frame["payload"]).includes(`"runId":"${runId}"`);
  expect(await client.until(isEndOf("d-2"))).toMatchObject({ payload: { state: "aborted" } });
  expect(model.calls.length).toBe(calls + 1);
  expect(client.frames.some((frame) => isEndOf("d-1")(frame) && JSON.stringify(frame).includes("aborted"))).toBe(false);
});
