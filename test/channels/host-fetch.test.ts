import { createServer, type RequestListener } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fetchForChannel } from "../../src/channels/connection/fetch-file.ts";
import { NotNow } from "../../src/types/not-now.ts";

let answer: RequestListener;
let origin: string;
let close: () => void;
beforeEach(async () => {
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  close = () => server.close().closeAllConnections();
});
afterEach(() => close());

const get = () => fetchForChannel(`${origin}/a`, { maxBytes: 10, trusted: [origin] }, new AbortController().signal);
const failed = () => get().catch((error: unknown) => error);

test.each([
  [429, "7", 7000],
  [503, undefined, undefined],
  [502, "soon", undefined],
  [408, undefined, undefined],
])("a server that answers %s may give the file later", async (status, wait, afterMs) => {
  answer = (_request, response) => response.writeHead(status, wait === undefined ? {} : { "retry-after": wait }).end();
  const error = await failed();
  expect(error).toBeInstanceOf(NotNow);
  expect(error).toMatchObject({ message: `${origin} answered ${status}`, afterMs });
});

test("a broken or failed connection may succeed later too", async () => {
  answer = (_request, response) => response.destroy();
  expect(await failed()).toBeInstanceOf(NotNow);
  close();
  expect(await failed()).toBeInstanceOf(NotNow);
});

test.each([
  [404, "", "MEDIA_UNAVAILABLE"],
  [403, "", "MEDIA_UNAVAILABLE"],
  [200, "more than ten bytes", "MEDIA_TOO_LARGE"],
])("what a server says for good (%s) stays so", async (status, body, code) => {
  answer = (_request, response) => response.writeHead(status).end(body);
  expect(await failed()).toMatchObject({ code });
});
