import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { runId } from "../../src/types/ids.ts";
import { defineMethod } from "../../src/types/method.ts";
import { ends, facts, says } from "../kit/server/scripted-chat.ts";
import { RawClient, startTestServer, type TestServer } from "../kit/server/server.ts";
import { TestClock } from "../kit/toy-channel.ts";

let gateway: TestServer;
let client: RawClient;
let other: RawClient;
/** No time passes by itself, so that a slow machine lets no event go ahead. */
const clock = new TestClock();

const params = z.looseObject({ name: z.string() });
const isTold = (name: string) => (frame: Record<string, unknown>) =>
  frame["event"] === "cron" && JSON.stringify(frame["payload"]).includes(name);
const result = z.record(z.string(), z.string());

const tell = (name: string) =>
  gateway.events.publish({ event: "cron", payload: { jobId: name }, scope: "operator.read" });

beforeAll(async () => {
  gateway = await startTestServer({
    ports: { clock },
    options: {
      methods: async () => [
        // It ends when another client has its event, so the event was published long before the answer.
        defineMethod({
          name: "test.causes",
          scope: "operator.read",
          params,
          result,
          run: async ({ name }) => {
            tell(name);
            await other.until(isTold(name));
            return { caused: name };
          },
        }),
        // It ends when its own client has the event.
        defineMethod({
          name: "test.waits",
          scope: "operator.read",
          params,
          result,
          mayWait: true,
          run: async ({ name }) => {
            tell(name);
            await client.until(isTold(name));
            return { waited: name };
          },
        }),
        // As above, but nothing says that the method waits.
        defineMethod({
          name: "test.hangs",
          scope: "operator.read",
          params,
          result,
          run: async ({ name }) => {
            tell(name);
            await client.until(isTold(name));
            return { hung: name };
          },
        }),
      ],
    },
  });
  client = new RawClient(gateway.url);
  other = new RawClient(gateway.url);
  await Promise.all([client.connect(), other.connect()]);
});
afterAll(async () => {
  client.close();
  other.close();
  await gateway.server.close(200);
});

/** Where the answer to the client's last request and an event stand among its frames. */
function placesOf(answer: Record<string, unknown>, name: string): { answer: number; event: number } {
  return { answer: client.frames.indexOf(answer), event: client.frames.findIndex(isTold(name)) };
}

test("a request is answered before the client gets the events that it causes", async () => {
  const answer = await client.request("test.causes", { name: "one" });
  await client.until(isTold("one"));
  const places = placesOf(answer, "one");
  expect(places.answer).toBeLessThan(places.event);
});

test("events keep their order when several requests at a time hold them back", async () => {
  const names = ["a", "b", "c", "d"].map((letter) => `several-${letter}`);
  const answers = await Promise.all(names.map((name) => client.request("test.causes", { name })));
  await Promise.all(names.map((name) => client.until(isTold(name))));
  for (const [at, name] of names.entries()) {
    const places = placesOf(answers[at] ?? {}, name);
    expect(places.answer).toBeLessThan(places.event);
  }
  const numbers = client.frames.flatMap(({ seq }) => (typeof seq === "number" ? [seq] : []));
  expect(numbers).toEqual(numbers.map((_, at) => at + 1));
});

test("a method that waits for a run or a person holds no event back", async () => {
  const answer = await client.request("test.waits", { name: "two" });
  const places = placesOf(answer, "two");
  expect(places.event).toBeLessThan(places.answer);
});

test("a method that takes long lets the events go ahead", async () => {
  const answer = client.request("test.hangs", { name: "three" });
  await other.until(isTold("three"));
  await clock.pass(2000);
  expect(await answer).toMatchObject({ payload: { hung: "three" } });
});

test("a command that is done at once is answered before its chat events", async () => {
  const id = "order-1";
  const sent = await client.request("chat.send", { sessionKey: "main", message: "/status", idempotencyKey: id });
  const isFinal = (frame: Record<string, unknown>) =>
    frame["event"] === "chat" && JSON.stringify(frame["payload"]).includes(`"runId":"${id}"`);
  await client.until(isFinal);
  expect(client.frames.indexOf(sent)).toBeLessThan(client.frames.findIndex(isFinal));
});

describe("the events of a run that a request begins", () => {
  /** It has read nothing until the test says so. */
  let unread: RawClient;
  const pings: Buffer[] = [];
  beforeAll(async () => {
    unread = new RawClient(gateway.url, {}, { autoPong: false });
    unread.socket.on("ping", (data) => pings.push(data));
    await unread.connect();
  });
  afterAll(() => unread.close());

  const isEnd = (id: string) => (frame: Record<string, unknown>) =>
    frame["event"] === "chat" &&
    JSON.stringify(frame["payload"]).includes(`"runId":"${id}"`) &&
    /"state":"final"/.test(JSON.stringify(frame));
  const eventsOf = (id: string) =>
    unread.frames.filter((frame) => frame["type"] === "event" && JSON.stringify(frame).includes(id));

  const said = (id: string) => ({ key: "main", message: "hello", idempotencyKey: id });
  const REQUESTS: Readonly<Record<string, (id: string) => object>> = {
    "chat.send": (id) => ({ sessionKey: "main", message: "hello", idempotencyKey: id }),
    "chat.send with a command": (id) => ({ sessionKey: "main", message: "/status", idempotencyKey: id }),
    agent: (id) => ({ message: "hello", idempotencyKey: id }),
    "sessions.create": (id) => ({ message: "hello", idempotencyKey: id }),
    "sessions.send": said,
    "sessions.steer": said,
  };

  test.each(Object.keys(REQUESTS))("%s: are sent once the client has read the answer", async (name) => {
    const id = `unread-${name.replaceAll(/\W/g, "-")}`;
    const answer = await unread.request(name.split(" ")[0] ?? "", REQUESTS[name]?.(id));
    expect(answer).toMatchObject({ ok: true, payload: { runId: id } });
    await other.until(isEnd(id));
    // The answer to another request shows that everything sent until now has come.
    await unread.request("health");
    expect(eventsOf(id)).toEqual([]);
    unread.socket.pong(pings.at(-1));
    await unread.until(isEnd(id));
  });

  test("are sent after two seconds to a client that does not say what it has read", async () => {
    const id = "never-read";
    await unread.request("chat.send", { sessionKey: "main", message: "hello", idempotencyKey: id });
    await other.until(isEnd(id));
    expect(eventsOf(id)).toEqual([]);
    await clock.pass(2000);
    await unread.until(isEnd(id));
  });

  test("are nobody's burden when the client leaves before it has read the answer", async () => {
    const leaves = new RawClient(gateway.url, {}, { autoPong: false });
    await leaves.connect();
    await leaves.request("chat.send", { sessionKey: "main", message: "hello", idempotencyKey: "leaves" });
    leaves.close();
    await other.until(isEnd("leaves"));
    expect(await other.request("health")).toMatchObject({ ok: true });
  });
});

const answersTo = (id: string) => client.frames.filter((frame) => frame["type"] === "res" && frame["id"] === id);

test("agent answers twice: when the run is accepted, and with its result", async () => {
  client.send({ type: "req", id: "twice", method: "agent", params: { message: "go", idempotencyKey: "twice-run" } });
  await client.until((frame) => frame["id"] === "twice" && JSON.stringify(frame).includes("completed"));
  expect(answersTo("twice")).toMatchObject([
    { ok: true, payload: { runId: "twice-run", status: "accepted", sessionKey: "agent:main:main" } },
    {
      ok: true,
      payload: {
        runId: "twice-run",
        status: "ok",
        summary: "completed",
        result: {
          payloads: [{ text: "Hello from the script.", mediaUrl: null }],
          meta: { agentMeta: { sessionId: "session-1", provider: "demo", model: "echo" } },
        },
      },
    },
  ]);
});

test("the second answer of agent says how the run failed", async () => {
  const params = { message: "go", idempotencyKey: "fails-run" };
  gateway.chat
    .begin({ ...facts("fails-run"), runId: runId("fails-run") })
    .tell(...says("Half"), ends({ kind: "failed", failure: { kind: "network", message: "the wire broke" } }));
  client.send({ type: "req", id: "fails", method: "agent", params });
  await client.until((frame) => frame["id"] === "fails" && frame["ok"] === false);
  expect(answersTo("fails")).toMatchObject([
    { ok: true, payload: { status: "accepted" } },
    { ok: false, error: { code: "UNAVAILABLE", message: "the wire broke", details: { code: "network" } } },
  ]);
});
