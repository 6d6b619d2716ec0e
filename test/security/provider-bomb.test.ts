import { monitorEventLoopDelay } from "node:perf_hooks";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { callModel } from "../../src/providers/call.ts";
import { createModels } from "../../src/providers/catalog.ts";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";

let model: FakeModel;
beforeEach(async () => {
  model = await startFakeModel();
});
afterEach(() => model.close());

const MEGABYTE = 1024 * 1024;
/** Decoded, in megabytes. */
const SIZE = 10 * 1024;
const PART = 10;

/** Ten gigabytes of the same text as some ten megabytes of gzip: a file of many members, which decoders read as one. */
function bombOf(text: string): Uint8Array {
  const part = gzipSync(Buffer.alloc(PART * MEGABYTE, text));
  return Buffer.concat(Array.from({ length: SIZE / PART }, () => part));
}

const chunk = { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: null }] };

/** Megabytes and milliseconds. */
const FLAT = { memory: 300, delay: 1000 };

test.each([
  ["one endless line", 200, "a"],
  ["empty lines", 200, "\n"],
  ["comments", 200, ": ping\n\n"],
  ["tiny events", 200, "data:{}\n\n"],
  ["real events without content", 200, `data: ${JSON.stringify(chunk)}\n\n`],
  ["a refusal", 500, "a"],
])("a provider's gzip of 10 GB of %s fills no memory and stops nothing", async (_what, status, text) => {
  const headers = { "content-type": "text/event-stream", "content-encoding": "gzip" };
  const body = bombOf(text);
  model.answer(() => ({ raw: { status, headers, body } }));
  const providers = {
    peer: { baseUrl: model.url, api: "openai-completions", apiKey: "k", models: [{ id: "peer-1" }] },
  };
  const handle = await createModels({ providers, env: {}, probeLocal: false }).find({ provider: "peer", id: "peer-1" });
  if ("missing" in handle) throw new Error(handle.missing);
  const ask = { messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
  const before = process.memoryUsage().rss;
  let most = before;
  const delay = monitorEventLoopDelay({ resolution: 10 });
  const sampler = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 10);
  delay.enable();
  const message = await callModel(handle, ask, { origin: { cause: "probe" } }).result();
  delay.disable();
  clearInterval(sampler);
  expect(message.errorMessage).toMatch(/^The provider sent an (error|answer)/);
  expect((most - before) / MEGABYTE).toBeLessThan(FLAT.memory);
  expect(delay.max / 1e6).toBeLessThan(FLAT.delay);
});
