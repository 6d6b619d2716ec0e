import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { request as rawRequest } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatMetrics } from "../../src/server/metrics.ts";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";

const pageDir = mkdtempSync(path.join(tmpdir(), "page-"));
let gateway: TestServer;
let ready = true;

beforeAll(async () => {
  writeFileSync(path.join(pageDir, "index.html"), "<!doctype html><title>chat</title>");
  writeFileSync(path.join(pageDir, "page.js"), "export {};");
  writeFileSync(path.join(pageDir, "secret.env"), "no");
  gateway = await startTestServer({
    options: { pageDir },
    reports: { ready: () => (ready ? { ok: true, problems: [] } : { ok: false, problems: ["the disk is full"] }) },
  });
});
afterAll(async () => {
  await gateway.server.close(200);
  rmSync(pageDir, { recursive: true });
});

const get = (where: string, headers: Record<string, string> = {}) => fetch(`${gateway.http}${where}`, { headers });

/** `fetch` tidies paths and owns the host header; this sends what it is given. */
function getRaw(where: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { port: gateway.server.port, host: "127.0.0.1", path: where, headers };
    rawRequest(options, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}

test("healthz and readyz report life and readiness", async () => {
  expect(await (await get("/healthz")).json()).toEqual({ ok: true });
  expect((await get("/readyz")).status).toBe(200);
  ready = false;
  const answer = await get("/readyz");
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({ ok: false, problems: ["the disk is full"] });
  const proxied = { "x-forwarded-for": "203.0.113.9" };
  expect(await (await get("/readyz", proxied)).json()).toEqual({ ok: false });
  const trusted = await get("/readyz", { ...proxied, authorization: `Bearer ${TOKEN}` });
  expect(await trusted.json()).toMatchObject({ problems: ["the disk is full"] });
  ready = true;
});

test("the page has headers that allow no other sources", async () => {
  const answer = await get("/");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toContain("text/html");
  expect(answer.headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
      `connect-src 'self' ws://127.0.0.1:${gateway.server.port} wss://127.0.0.1:${gateway.server.port}; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
  expect(answer.headers.get("x-frame-options")).toBe("DENY");
  expect(answer.headers.get("cache-control")).toBe("no-cache");
  const etag = answer.headers.get("etag") ?? "";
  expect((await get("/", { "if-none-match": etag })).status).toBe(304);
  expect((await get("/page.js")).headers.get("content-type")).toContain("javascript");
});

test.each([
  "/secret.env",
  "/page.css",
  "/..%2f..%2fetc%2fpasswd",
  "/../../etc/passwd",
  "/.hidden.js",
  "/a/b.js",
  "/chat",
])("%s is not there", async (where) => {
  expect(await getRaw(where)).toBe(404);
});

test("the page is compressed for clients that accept it", async () => {
  writeFileSync(path.join(pageDir, "big.js"), "const a = 1;\n".repeat(5_000));
  for (const encoding of ["gzip", "identity"]) {
    const answer = await get("/big.js", { "accept-encoding": encoding });
    expect(answer.headers.get("content-encoding")).toBe(encoding === "gzip" ? "gzip" : null);
    expect(await answer.text()).toHaveLength(65_000);
  }
});

test("without a build the page says what to run", async () => {
  const bare = await startTestServer();
  const answer = await fetch(`${bare.http}/`);
  expect(answer.status).toBe(503);
  expect(await answer.text()).toContain("npm run build");
  await bare.server.close(100);
});

test.each(["/nowhere", "/v1/nowhere", "/", "/metrics"])("no body is collected for %s", async (where) => {
  const socket = connect(gateway.server.port, "127.0.0.1");
  socket.write(`POST ${where} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`);
  socket.write('Content-Length: 20000000\r\n\r\n{"a":"');
  const [first] = await once(socket, "data");
  expect(String(first)).toContain("HTTP/1.1 404");
  socket.destroy();
});

test("a foreign host name is refused on a loopback bind", async () => {
  expect(await getRaw("/healthz", { host: "rebound.example" })).toBe(403);
  expect(await getRaw("/healthz", { host: "chat.example.org" })).toBe(200);
  expect(await getRaw("/healthz", { host: "localhost:1" })).toBe(200);
});

test("metrics are open to this machine and to the token, not to requests through a proxy", async () => {
  expect(await (await get("/metrics")).text()).toBe("openclaw_up 1\n");
  const proxied = { "x-forwarded-for": "203.0.113.9" };
  expect((await get("/metrics", proxied)).status).toBe(401);
  expect(await getRaw("/metrics", { host: "chat.example.org" })).toBe(401);
  expect((await get("/metrics", { ...proxied, authorization: `Bearer ${TOKEN}` })).status).toBe(200);
});

test("metrics are grouped and escaped", () => {
  const row = { name: "runs_total", help: "Runs.", type: "counter" as const };
  const text = formatMetrics([
    { ...row, value: 2, labels: { model: 'a"b\\c\nd' } },
    { name: "up", help: "Is up.", type: "gauge", value: 1 },
    { ...row, value: 3, labels: { model: "x" } },
  ]);
  expect(text).toBe(
    '# HELP runs_total Runs.\n# TYPE runs_total counter\nruns_total{model="a\\"b\\\\c\\nd"} 2\nruns_total{model="x"} 3\n' +
      "# HELP up Is up.\n# TYPE up gauge\nup 1\n",
  );
});
