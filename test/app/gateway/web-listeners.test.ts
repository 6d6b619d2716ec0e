import { expect, test } from "vitest";
import { WebClients } from "../../../src/app/gateway/web-clients.ts";
import { agentId, sessionKey } from "../../../src/types/ids.ts";
import type { WebMessage } from "../../../src/types/chat/web-clients.ts";

const unused = () => {
  throw new Error("not used");
};

test("a message goes to the latest listener that has not ended, whatever earlier ones do", async () => {
  const clients = new WebClients({
    sessions: { peek: unused, acquire: unused },
    defaultAgent: () => agentId("main"),
    emit: unused,
  });
  const taken: string[] = [];
  const listen = (name: string, signal: AbortSignal) => clients.listen(async () => void taken.push(name), signal);
  const message: WebMessage = { sessionKey: sessionKey("main"), text: "hello", media: [], idempotencyKey: "1", at: 0 };
  const first = new AbortController();
  const early = clients.receive(message);
  listen("ended", AbortSignal.abort());
  listen("first", first.signal);
  await early;
  listen("second", new AbortController().signal);
  await clients.receive(message);
  first.abort();
  await clients.receive(message);
  expect(taken).toEqual(["first", "second", "second"]);
});
