import { GatewayClient } from "@openclaw/gateway-client";
import { expect, test } from "vitest";
import { assistant, ends, says } from "../kit/server/scripted-chat.ts";
import { startTestServer, TOKEN } from "../kit/server/server.ts";
import { chatWithReferenceClient } from "../kit/server/clients.ts";

test("the reference client connects, chats, sees deltas and the final, and reads the history", async () => {
  const gateway = await startTestServer();
  const answer = "Hello from the other side.";
  gateway.chat.script = (run) => {
    gateway.sessions.add("webchat:default:operator", [
      { type: "message", message: { role: "user", content: "hi", timestamp: 1 } },
      { type: "message", message: assistant(answer) },
    ]);
    run.tell(...says(answer), ends());
  };
  const told = await chatWithReferenceClient(gateway.url, TOKEN, "hi");
  expect(told).toMatchObject({ added: answer, final: answer, gaps: 0 });
  expect(told.deltas).toBeGreaterThan(0);
  expect(told.history.map((message) => message.role)).toEqual(["user", "assistant"]);
  await gateway.server.close(500);
});

test("the reference client gives up on a wrong token and says why", async () => {
  const gateway = await startTestServer();
  const failed = Promise.withResolvers<Error>();
  const client = new GatewayClient({
    url: gateway.url,
    token: "wrong",
    onConnectError: (error) => failed.resolve(error),
  });
  client.start();
  expect((await failed.promise).message).toContain("token mismatch");
  client.stop();
  await gateway.server.close(500);
});
