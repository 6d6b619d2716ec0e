import { expect, test } from "vitest";
import { z } from "zod";
import { ClientConnection, type FrameSocket } from "../../src/server/transport/connection.ts";
import { encodeEvent } from "../../src/server/deltas.ts";
import { RawClient, startTestServer } from "../kit/server/server.ts";

/** A wire whose other end reads when the test says so. */
class ScriptedSocket implements FrameSocket {
  readonly arrived: string[] = [];
  closed: { code: number; reason: string } | undefined;
  readonly #onWire: { text: string; sent: () => void }[] = [];

  get bufferedAmount() {
    return this.#onWire.reduce((sum, { text }) => sum + text.length, 0);
  }

  send(text: string, sent: () => void) {
    this.#onWire.push({ text, sent });
  }

  ping() {
    throw new Error("nothing asks whether this client has read");
  }

  close(code: number, reason: string) {
    this.closed = { code, reason };
  }

  read(count = Infinity) {
    for (let index = 0; index < count; index += 1) {
      const next = this.#onWire.shift();
      if (next === undefined) return;
      this.arrived.push(next.text);
      next.sent();
    }
  }
}

const frame = z.looseObject({
  seq: z.number(),
  event: z.string(),
  payload: z.looseObject({ runId: z.string().optional(), deltaText: z.string().optional() }),
});
const limits = { mergeAbove: 1_000, closeAbove: 100_000 };

const delta = (runId: string, deltaText: string, text: string) =>
  encodeEvent({
    event: "chat",
    payload: { runId, seq: text.length, state: "delta", deltaText, message: { content: [{ type: "text", text }] } },
    delta: true,
  });

function slowConnection() {
  const socket = new ScriptedSocket();
  const connection = new ClientConnection("c", socket, 0, limits);
  return { socket, connection };
}

test("a slow client gets the deltas of a run as one, with all of the text, and no gap in the numbers", () => {
  const { socket, connection } = slowConnection();
  const words = Array.from({ length: 400 }, (_, index) => `word${index} `);
  for (const [index, word] of words.entries()) {
    connection.publish(
      delta(
        "a",
        word,
        words
          .slice(0, index + 1)
          .join("")
          .slice(-20),
      ),
    );
    connection.publish(delta("b", word, "b"));
    if (index === 200) connection.publish(encodeEvent({ event: "tick", payload: { ts: 1 } }));
  }
  socket.read();
  const frames = socket.arrived.map((text) => frame.parse(JSON.parse(text)));
  expect(frames.length).toBeLessThan(30);
  expect(frames.map((item) => item.seq)).toEqual(frames.map((_, index) => index + 1));
  for (const run of ["a", "b"]) {
    const added = frames.filter((item) => item.payload.runId === run).map((item) => item.payload.deltaText);
    expect(added.join("")).toBe(words.join(""));
  }
  expect(frames.filter((item) => item.event === "tick")).toHaveLength(1);
  expect(socket.closed).toBeUndefined();
});

test("events that are no deltas are kept in order", () => {
  const { socket, connection } = slowConnection();
  for (let index = 0; index < 200; index += 1) connection.publish(encodeEvent({ event: "e", payload: { index } }));
  socket.read();
  const seen = socket.arrived.map((text) =>
    z.looseObject({ payload: z.object({ index: z.number() }) }).parse(JSON.parse(text)),
  );
  expect(seen.map((item) => item.payload.index)).toEqual(Array.from({ length: 200 }, (_, index) => index));
});

test("a client that reads nothing is closed with the reason, within the memory limit", () => {
  const { socket, connection } = slowConnection();
  for (let index = 0; index < 5_000; index += 1) {
    connection.publish(encodeEvent({ event: "e", payload: { text: "x".repeat(100) } }));
  }
  expect(socket.closed).toEqual({ code: 1008, reason: "slow consumer" });
  expect(socket.bufferedAmount).toBeLessThan(limits.closeAbove + 200);
});

test("over a real connection, a client that does not read is closed and delays no other", async () => {
  const gateway = await startTestServer();
  const slow = new RawClient(gateway.url);
  const quick = new RawClient(gateway.url);
  await slow.connect();
  await quick.connect();
  slow.socket.pause();
  const text = "x".repeat(1_000_000);
  for (let index = 0; index < 80; index += 1) {
    gateway.server.publish({ event: "noise", payload: { index, text } });
    await quick.until(
      (item) => item["event"] === "noise" && JSON.stringify(item["payload"]).startsWith(`{"index":${index},`),
    );
    quick.frames.length = 0;
  }
  expect(await quick.request("health")).toMatchObject({ ok: true });
  slow.socket.resume();
  expect(await slow.closed).toEqual({ code: 1008, reason: "slow consumer" });
  quick.close();
  await gateway.server.close(200);
});
