import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { disconnectSignal } from "../../src/server/transport/disconnect.ts";

test("a client that left before anybody listened for it has left", async () => {
  const seen = Promise.withResolvers<boolean>();
  const server = createServer((_request, response) => {
    response.once("close", () => setImmediate(() => seen.resolve(disconnectSignal(response).aborted)));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the address of a server that listens on a port
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(server, "request");
  client.destroy();
  expect(await seen.promise).toBe(true);
});
