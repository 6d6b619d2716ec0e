import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { callModel } from "../../../src/providers/call.ts";
import { createModels } from "../../../src/providers/catalog.ts";

it("fails the call when the server answers with another protocol", { timeout: 15_000 }, async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.write("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const api = "openai-completions";
  const baseUrl = `http://127.0.0.1:${address.port}/v1`;
  const models = createModels({
    providers: { peer: { baseUrl, api, apiKey: "sk-0123456789", models: [{ id: "peer-1" }] } },
    env: {},
    probeLocal: false,
  });
  const found = await models.find({ provider: "peer", id: "peer-1" });
  if ("missing" in found) throw new Error(found.missing);
  const ask = { messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
  const message = await callModel(found, ask, { origin: { cause: "probe" } }).result();
  server.close();
  expect(message.stopReason).toBe("error");
});
