// node web.mjs [ROUNDS]   web_fetch of a page of 2 MB from a server in another thread, and how long the event loop waits meanwhile;
// then the same page and a search from the cache.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { webFetchConfig } from "../../src/tools/web/config.ts";
import { webSearchConfig } from "../../src/tools/web/search/config.ts";
import { WebSearch } from "../../src/tools/web/search/web-search.ts";
import { WebFetch } from "../../src/tools/web/web-fetch.ts";
import { runTool } from "../../src/tools/run.ts";
import { save, sleep } from "../kit/numbers.mjs";

const [rounds = 15] = process.argv.slice(2).map(Number);
const PAGE_BYTES = 2_000_000;

const server = new Worker(
  `const { parentPort } = require("node:worker_threads");
  const paragraph = "<p>" + "A sentence with some words, <a href='/there'>a link</a> and <b>more</b> of the same. ".repeat(10) + "</p>\\n";
  const head = "<!doctype html><title>Page</title><article><h1>Page</h1>";
  const page = head + paragraph.repeat(Math.ceil((${PAGE_BYTES} - head.length) / paragraph.length)) + "</article>";
  require("node:http")
    .createServer((_request, answer) => answer.writeHead(200, { "content-type": "text/html" }).end(page))
    .listen(0, "127.0.0.1", function () { parentPort.postMessage(this.address().port); });`,
  { eval: true },
);
const port = await new Promise((resolve) => server.once("message", resolve));

const fetchSettings = webFetchConfig.parse({
  maxResponseBytes: 10_000_000,
  ssrfPolicy: { dangerouslyAllowPrivateNetwork: true },
});
const searchSettings = webSearchConfig.parse({ provider: "engine" });
const pages = Array.from({ length: 10 }, (_, at) => ({
  title: `Page ${at}`,
  url: `https://example.org/${at}`,
  snippet: "A sentence with some words. ".repeat(40),
}));
const engine = {
  id: "engine",
  order: 1,
  keyVariables: [],
  isUsable: () => true,
  search: async () => ({ results: pages }),
};
const scene = { settings: searchSettings, entries: {}, env: {}, contributed: [engine] };
const fetching = new WebFetch(() => fetchSettings).tool();
const searching = new WebSearch(() => scene).tool();

/** Milliseconds of a call that succeeds, from the cache or not. */
async function timed(tool, input, isCached = false) {
  const context = {
    runId: "r1",
    sessionKey: "s1",
    agentId: "main",
    callId: "c1",
    workspace: "/",
    update: () => undefined,
  };
  const ports = { signal: new AbortController().signal, approvals: { ask: async () => "deny" } };
  const begun = performance.now();
  const result = await runTool(tool, input, { ...context, ...ports });
  const took = performance.now() - begun;
  if (result.isError) throw new Error(`the call failed: ${JSON.stringify(result.content).slice(0, 300)}`);
  const { cached, rawLength } = result.details ?? {};
  const read = typeof rawLength === "number" ? rawLength : 0;
  if ((cached === true) !== isCached) throw new Error(`the answer was ${isCached ? "not " : ""}from the cache`);
  if (tool === fetching && read < PAGE_BYTES) throw new Error(`only ${read} bytes were read`);
  return took;
}

const url = (at) => `http://127.0.0.1:${port}/${at}`;
// The first calls load the code that reads pages.
for (let at = 0; at < 3; at++) await timed(fetching, { url: url(`warm-${at}`) });
await timed(searching, { query: "words" });

const delay = monitorEventLoopDelay({ resolution: 1 });
const fetchMs = [];
const loopP99Ms = [];
for (let at = 0; at < rounds; at++) {
  await sleep(50);
  delay.reset();
  delay.enable();
  fetchMs.push(await timed(fetching, { url: url(at) }));
  delay.disable();
  loopP99Ms.push(Number.isFinite(delay.mean) ? delay.percentile(99) / 1e6 : fetchMs.at(-1));
}
const cachedFetchMs = [];
const cachedSearchMs = [];
for (let at = 0; at < rounds; at++) {
  cachedFetchMs.push(await timed(fetching, { url: url(at) }, true));
  cachedSearchMs.push(await timed(searching, { query: "words" }, true));
}
await server.terminate();
save("web", { fetchMs, loopP99Ms, cachedFetchMs, cachedSearchMs });
