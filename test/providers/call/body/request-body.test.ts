import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { callModel } from "../../../../src/providers/call.ts";
import { createModels } from "../../../../src/providers/catalog.ts";
import { free, inPieces, ownBytes, piecesOf } from "../../../../src/providers/call/body/pieces.ts";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A server that keeps the last request and refuses it. */
async function startServer() {
  let received: Received | undefined;
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      received = { headers: request.headers, body };
      response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    last: () => received,
    [Symbol.dispose]: () => void server.close(),
  };
}

const TEXTS = ["plain", "Ünïcode", "wide … 漢字", "\u{1F600}", 'quotes " \\ and\nlines', "half \ud83d", ""];
/** Characters. */
const LONG = 16 * 2 ** 20;
const said = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    role: "user" as const,
    content: `${at} ${TEXTS[at % TEXTS.length] ?? ""}`,
    timestamp: 1,
  }));
const tool = { name: "look", description: "Looks … at it", parameters: { type: "object", properties: {} } };

/** Reads requests without keeping them, and never ends an answer. In a thread, because what it reads counts in the memory of its own. */
const ENDLESS = `
  const { parentPort } = require("node:worker_threads");
  const server = require("node:http").createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"id":"1","choices":[{"index":0,"delta":{"content":"so"}}]}\\n\\n');
    });
  }).listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

const APIS = ["openai-completions", "openai-responses", "anthropic-messages"];

it("does not keep a long request while its answer is read", async () => {
  const server = new Worker(ENDLESS, { eval: true });
  try {
    const [port]: unknown[] = await once(server, "message");
    const models = createModels({
      providers: {
        peer: {
          baseUrl: `http://127.0.0.1:${String(port)}/v1`,
          api: "openai-completions",
          apiKey: "sk-0123456789",
          models: [{ id: "peer-1", contextWindow: 100_000_000 }],
        },
      },
      env: {},
      probeLocal: false,
    });
    const found = await models.find({ provider: "peer", id: "peer-1" });
    if ("missing" in found) throw new Error(found.missing);
    const messages = [{ role: "user" as const, content: "x".repeat(LONG), timestamp: 1 }];
    const stop = new AbortController();
    const before = process.memoryUsage().arrayBuffers;
    const stream = callModel(found, { messages }, { origin: { cause: "probe" }, signal: stop.signal });
    for await (const event of stream) {
      if (event.type === "text_delta") {
        expect(event.delta).toBe("so");
        expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(LONG / 2);
        stop.abort();
      }
    }
    expect((await stream.result()).stopReason).toBe("aborted");
  } finally {
    await server.terminate();
  }
});

it.each(APIS.flatMap((api) => [1, 8, 9, 60].map((count) => ({ api, count }))))(
  "sends the JSON that the SDK of $api would send, $count messages long",
  async ({ api, count }) => {
    using server = await startServer();
    const { baseUrl } = server;
    const models = createModels({
      providers: { peer: { baseUrl, api, apiKey: "sk-0123456789", models: [{ id: "peer-1" }] } },
      env: {},
      probeLocal: false,
    });
    const found = await models.find({ provider: "peer", id: "peer-1" });
    if ("missing" in found) throw new Error(found.missing);
    let payload: unknown;
    const context = { systemPrompt: "Answer … well.", messages: said(count), tools: [tool] };
    const origin = { cause: "probe" } as const;
    await callModel(found, context, { origin, onPayload: (given) => void (payload = given) }).result();
    const { body, headers } = server.last() ?? {};
    expect(payload).toMatchObject({ stream: true });
    expect(body?.toString()).toBe(JSON.stringify(payload));
    expect(headers).toMatchObject({ "content-type": "application/json", "content-length": String(body?.length) });
  },
);

/** Replaces `fetch` as a plugin may. Returns what it was asked to send, and what puts the other one back. */
function replaceFetch() {
  const replaced = globalThis.fetch;
  const asked: string[] = [];
  globalThis.fetch = async (input, init) => {
    const { body } = init ?? {};
    asked.push(body instanceof Uint8Array ? Buffer.from(body).toString() : "no bytes");
    return replaced(input, body instanceof Uint8Array ? { ...init, body: new Uint8Array(body) } : init);
  };
  return { asked, [Symbol.dispose]: () => void (globalThis.fetch = replaced) };
}

it.each(["until the end", "until the payload is made"])(
  "gives a fetch that replaces the global one %s the whole body",
  async (until) => {
    using server = await startServer();
    const models = createModels({
      providers: {
        peer: {
          baseUrl: server.baseUrl,
          api: "openai-completions",
          apiKey: "sk-0123456789",
          models: [{ id: "peer-1" }],
        },
      },
      env: {},
      probeLocal: false,
    });
    const found = await models.find({ provider: "peer", id: "peer-1" });
    if ("missing" in found) throw new Error(found.missing);
    const context = { systemPrompt: "Answer well.", messages: said(9), tools: [tool] };
    const origin = { cause: "probe" } as const;
    // The gateway replaces it at its first call.
    await callModel(found, context, { origin }).result();
    const whole = server.last()?.body.toString();
    const replaced = replaceFetch();
    const onPayload = (): void => {
      if (until !== "until the end") replaced[Symbol.dispose]();
    };
    await callModel(found, context, { origin, onPayload }).result();
    replaced[Symbol.dispose]();
    expect(JSON.parse(whole ?? "")).toMatchObject({ stream: true });
    expect(server.last()?.body.toString()).toBe(whole);
    expect(replaced.asked).toEqual([whole]);
  },
);

it("refuses to send a body again that is freed, rather than an empty one", () => {
  const kept = Buffer.from("kept");
  const own = ownBytes(3);
  const body = inPieces([kept, own]);
  expect(piecesOf(body)).toEqual([kept, own]);
  free(body);
  expect([kept.length, own.length]).toEqual([4, 0]);
  expect(() => piecesOf(body)).toThrow("only once");
});
