import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { runId } from "../../src/types/ids.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { RawClient, startTestServer, type TestServer } from "../kit/server/server.ts";

let fixture: DispatchFixture;
let gateway: TestServer;
let boot: Boot;
let client: RawClient;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.rules = { queueMode: () => "followup" };
  boot = await fixture.boot();
  gateway = await startTestServer({ ports: { chat: boot.chat, sessions: boot.sessions } });
  client = new RawClient(gateway.url);
  await client.connect();
});
afterEach(async () => {
  client.close();
  await gateway.server.close(200);
  await fixture.close();
});

const sessionKey = "agent:main:main";
const say = (message: string) => client.request("chat.send", { sessionKey, message, idempotencyKey: message });
const history = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), __openclaw: z.looseObject({ id: z.string() }) })),
});

test("a rewind stops the run under way, and messages that wait are answered afterwards", async () => {
  fixture.model.answer((_call, n) => (n === 2 ? "hang" : { text: "fine" }));
  await say("one");
  expect(await client.request("agent.wait", { runId: "one" })).toMatchObject({ payload: { status: "ok" } });
  await say("two");
  await fixture.model.called(2);
  await say("three");
  const { messages } = history.parse((await client.request("chat.history", { sessionKey }))["payload"]);
  const entryId = messages.find(({ role }) => role === "user")?.__openclaw.id;
  expect(await client.request("sessions.rewind", { sessionKey, entryId })).toMatchObject({
    payload: { editorText: "one" },
  });
  expect(await client.request("agent.wait", { runId: "two" })).toMatchObject({ payload: { status: "error" } });
  expect(await client.request("agent.wait", { runId: "three" })).toMatchObject({ payload: { status: "ok" } });
  expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).toContain("three");
  expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).not.toContain("one");
});

test("a run that has its result is not aborted any more", async () => {
  fixture.model.answer(() => ({ text: "fine" }));
  await say("done");
  await fixture.model.called(1);
  const stream = boot.chat.stream(runId("done"));
  if (!stream) throw new Error("no run");
  await stream.done;
  expect(await boot.chat.abort(stream.facts.sessionKey)).toEqual([]);
  expect(await boot.chat.abort(stream.facts.sessionKey, runId("done"))).toEqual([]);
});

const listed = z.looseObject({
  branches: z.number(),
  versions: z.array(z.looseObject({ entryId: z.string(), at: z.number(), leaves: z.array(z.string()) })),
});

test("a turn of which there are several versions says so, and each leads to its branch", async () => {
  fixture.model.answer(({ messages }) => ({ text: `answer to ${String(messages.length)}` }));
  const ask = async (message: string): Promise<void> => {
    await say(message);
    expect(await client.request("agent.wait", { runId: message })).toMatchObject({ payload: { status: "ok" } });
  };
  const turns = async () =>
    history
      .parse((await client.request("chat.history", { sessionKey }))["payload"])
      .messages.filter(({ role }) => role === "user")
      .map((message) => ({ id: message.__openclaw.id, text: JSON.stringify(message["content"]) }));
  const list = async () =>
    listed.parse((await client.request("sessions.branches.versions", { sessionKey }))["payload"]);
  const rewind = (entryId: string | undefined) => client.request("sessions.rewind", { sessionKey, entryId });
  await ask("one");
  await ask("two");
  expect((await list()).versions).toEqual([]);
  await rewind((await turns())[1]?.id);
  await ask("three");
  await ask("four");
  await rewind((await turns())[1]?.id);
  await ask("five");
  const [, fifth] = await turns();
  const { versions, branches } = await list();
  expect(versions).toEqual([
    { entryId: fifth?.id, at: 2, leaves: [expect.any(String), expect.any(String), expect.any(String)] },
  ]);
  expect(branches).toBe(3);

  const leafEntryId = versions[0]?.leaves[1];
  expect(await client.request("sessions.branches.switch", { sessionKey, leafEntryId })).toMatchObject({ ok: true });
  expect((await turns()).map(({ text }) => text)).toEqual(
    ['"one"', '"three"', '"four"'].map((text) => expect.stringContaining(text)),
  );
  const { versions: now } = await list();
  expect(now).toMatchObject([{ entryId: (await turns())[1]?.id, at: 1 }]);
  expect(now[0]?.leaves).toEqual(versions[0]?.leaves);

  await rewind((await turns())[0]?.id);
  await ask("six");
  expect((await list()).versions).toMatchObject([{ entryId: (await turns())[0]?.id, at: 1 }]);
});
