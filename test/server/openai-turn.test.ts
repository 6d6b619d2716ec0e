import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDispatchFixture, type DispatchFixture } from "../kit/dispatch.ts";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";

/** Runs through the real dispatch, so that what a turn does after its answer is seen. */
let fixture: DispatchFixture;
let gateway: TestServer;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.rules = { agent: { contextTokens: 4000 } };
});

afterEach(async () => {
  await gateway.server.close(200);
  await fixture.close();
});

const ask = (content: string, stream: boolean): Promise<string> =>
  fetch(`${gateway.http}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openclaw", user: "bob", stream, messages: [{ role: "user", content }] }),
  }).then((answer) => answer.text());

test.each([
  ["streamed", true],
  ["whole", false],
])("what follows a %s answer, such as a compaction, is not ended with the client's connection", async (_, stream) => {
  const isSummary = (system: string) => system.startsWith("You write the memory");
  const summaries: string[] = [];
  fixture.model.answer((call) => {
    if (!isSummary(call.system)) return { text: "fine" };
    summaries.push(call.said);
    return { text: "SUMMARY" };
  });
  const boot = await fixture.boot();
  const aborted: string[] = [];
  const chat = {
    ...boot.chat,
    abort: (...asked: Parameters<typeof boot.chat.abort>) => (aborted.push(asked[0]), boot.chat.abort(...asked)),
  };
  gateway = await startTestServer({ ports: { chat } });
  for (const turn of [1, 2, 3, 4, 5])
    expect(await ask(`turn-${turn} ${"word ".repeat(500)}`, stream)).toContain("fine");
  await vi.waitFor(() => expect(summaries.length).toBeGreaterThan(0), { timeout: 20_000 });
  const session = boot.sessions.list().find(({ key }) => key === "openai:bob");
  await vi.waitFor(() => expect(boot.sessions.peek(session!.key)?.compactionCount).toBeGreaterThan(0), {
    timeout: 20_000,
  });
  expect(aborted).toEqual([]);
});
