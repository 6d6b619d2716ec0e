import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { request as rawRequest } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatMetrics } from "../../src/server/metrics.ts";
import { RawClient, startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";

const pageDir = mkdtempSync(path.join(tmpdir(), "page-"));
let gateway: TestServer;
let ready = true;

beforeAll(async () => {
  writeFileSync(path.join(pageDir, "index.html"), "<!doctype html><title>chat</title>");
  writeFileSync(path.join(pageDir, "page.js"), "export {};");
  writeFileSync(path.join(pageDir, "secret.env"), "no");
  gateway = await startTestServer({
    options: { page: { dir: pageDir, basePath: "", isControlUi: false } },
    reports: { ready: () => (ready ? { ok: true, problems: [] } : { ok: false, problems: ["the disk is full"] }) },
  });
});
afterAll(async () => {
  await gateway.server.close(200);
  rmSync(pageDir, { recursive: true });
});

const get = (where: string, headers: Record<string, string> = {}) => fetch(`${gateway.http}${where}`, { headers });

const getRaw = (where: string, headers?: Record<string, string>) => rawStatus(gateway, where, headers);

/** `fetch` tidies paths and owns the host header; this sends what it is given. */
function rawStatus(to: TestServer, where: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { port: to.server.port, host: "127.0.0.1", path: where, headers };
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
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; " +
      "worker-src 'self'; manifest-src 'self'; " +
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

const CHROME = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

describe("a Control UI in a folder", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "control-ui-"));
  const dir = path.join(folder, "ui");
  const document = `<!doctype html><html lang="en"><head><link rel="icon" href="./favicon.svg" /><script>const a = 1;</script>
    <script type="module" src="./assets/index-a1.js"></script></head></html>`;
  let root: TestServer;
  let below: TestServer;

  beforeAll(async () => {
    mkdirSync(path.join(dir, "assets", "fonts"), { recursive: true });
    mkdirSync(path.join(dir, ".git"));
    const files = {
      "index.html": document,
      "favicon.svg": "<svg/>",
      "sw.js": "self;",
      "assets/index-a1.js": "export {};",
      "assets/index-a1.js.gz": gzipSync("export {}; // built"),
      "assets/a b.css": "a{}",
      "assets/old.js": "new",
      "assets/old.js.gz": gzipSync("old"),
      "assets/fonts/f.woff2": "f",
      "assets/picture.webp": "p",
      "secret.env": "no",
      ".git/config.json": "no",
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(path.join(dir, name), content);
    utimesSync(path.join(dir, "assets/old.js.gz"), 1, 1);
    writeFileSync(path.join(folder, "outside.json"), "no");
    symlinkSync(path.join(folder, "outside.json"), path.join(dir, "link.json"));
    symlinkSync(folder, path.join(dir, "up"));
    symlinkSync(path.join(dir, "favicon.svg"), path.join(dir, "inside.svg"));
    const page = { dir, isControlUi: true };
    root = await startTestServer({ options: { page: { ...page, basePath: "" } } });
    below = await startTestServer({ options: { page: { ...page, basePath: "/claw" } } });
  });
  afterAll(async () => {
    await Promise.all([root, below].map(({ server }) => server.close(200)));
    rmSync(folder, { recursive: true });
  });

  test.each([
    ["/assets/index-a1.js", "text/javascript"],
    ["/assets/a%20b.css", "text/css"],
    ["/assets/fonts/f.woff2", "font/woff2"],
    ["/assets/picture.webp", "image/webp"],
    ["/inside.svg", "image/svg+xml"],
    ["/sw.js", "text/javascript"],
  ])("%s is served from its subfolder as %s", async (where, type) => {
    const answer = await fetch(`${root.http}${where}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toContain(type);
    expect(answer.headers.get("cache-control")).toBe("no-cache");
    const etag = answer.headers.get("etag") ?? "";
    expect((await fetch(`${root.http}${where}`, { headers: { "if-none-match": etag } })).status).toBe(304);
  });

  test.each(["/", "/chat/main", "/settings/advanced", "/chat/main/telegram/12345", "/index.html", "/plugins/discord"])(
    "%s is the document, with its files named from the root",
    async (where) => {
      const answer = await fetch(`${root.http}${where}`, { headers: CHROME });
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      const html = await answer.text();
      expect(html).toContain('href="/favicon.svg"');
      expect(html).toContain('src="/assets/index-a1.js"');
      expect(html).toContain('data-openclaw-control-ui-base-path=""');
    },
  );

  test.each([
    "/.git/config.json",
    "/link.json",
    "/up/outside.json",
    "/..%2foutside.json",
    "/assets/..%2f..%2foutside.json",
    "/assets/%2e%2e/%2e%2e/outside.json",
    "/../outside.json",
    "/assets//index-a1.js",
    "/assets\\index-a1.js",
    "/%00.js",
    "/assets/missing.js",
    "/v1/nowhere",
    "/api/users/x/avatar",
    "/avatar/main",
    "/__openclaw__/link-favicon/x",
    "/tools/nowhere",
    "/assets/index-a1.js.gz",
  ])("%s is not there", async (where) => {
    expect(await rawStatus(root, where, { accept: "*/*" })).toBe(404);
    expect(await rawStatus(below, `/claw${where}`, { accept: "*/*" })).toBe(404);
  });

  test("a file of another kind is no file of the page", async () => {
    expect(await (await fetch(`${root.http}/secret.env`)).text()).toContain("<!doctype html>");
    expect(await rawStatus(root, "/secret.env", { accept: "application/json" })).toBe(404);
  });

  test("a client that takes no HTML gets no document for an address", async () => {
    expect(await rawStatus(root, "/chat/main", { accept: "application/json" })).toBe(404);
    expect(await rawStatus(root, "/chat/main", { accept: "*/*" })).toBe(200);
    expect(await rawStatus(root, "/chat/main")).toBe(200);
  });

  test("the policy allows the scripts that stand in the document, and no other host", async () => {
    const policy = (await fetch(`${root.http}/chat/main`, { headers: CHROME })).headers.get("content-security-policy");
    const hash = createHash("sha256").update("const a = 1;").digest("base64");
    expect(policy).toContain(`script-src 'self' 'sha256-${hash}';`);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/https:|http:|unsafe-eval|script-src[^;]*unsafe/);
    const ofFile = (await fetch(`${root.http}/sw.js`)).headers.get("content-security-policy");
    expect(ofFile).toContain("script-src 'self';");
  });

  test("a file that the build compressed is sent as it is, unless it is older than the file", async () => {
    const gzip = { headers: { "accept-encoding": "gzip" } };
    expect(await (await fetch(`${root.http}/assets/index-a1.js`, gzip)).text()).toBe("export {}; // built");
    expect(await (await fetch(`${root.http}/assets/old.js`, gzip)).text()).toBe("new");
    const plain = { headers: { "accept-encoding": "identity" } };
    expect(await (await fetch(`${root.http}/assets/index-a1.js`, plain)).text()).toBe("export {};");
  });

  test("below a base path everything of the page is there, and nothing of it elsewhere", async () => {
    const at = (where: string) => fetch(`${below.http}${where}`, { redirect: "manual", headers: CHROME });
    const bare = await at("/claw?session=a");
    expect([bare.status, bare.headers.get("location")]).toEqual([302, "/claw/?session=a"]);
    const html = await (await at("/claw/chat/main")).text();
    expect(html).toContain('data-openclaw-control-ui-base-path="/claw"');
    expect(html).toContain('src="/claw/assets/index-a1.js"');
    expect((await at("/claw/assets/index-a1.js")).status).toBe(200);
    const config = await (await at("/claw/control-ui-config.json")).json();
    expect(config).toMatchObject({ basePath: "/claw", terminalEnabled: false });
    for (const where of ["/", "/chat/main", "/assets/index-a1.js", "/clawed/", "/claws"])
      expect((await at(where)).status).toBe(404);
    expect((await at("/healthz")).status).toBe(200);
    const client = new RawClient(`${below.url}/claw/`);
    expect(await client.connect()).toMatchObject({ ok: true });
    client.close();
  });

  test("a folder without a document says so, for the document only", async () => {
    const page = { dir: path.join(dir, "assets"), basePath: "", isControlUi: true };
    const bare = await startTestServer({ options: { page } });
    const answer = await fetch(`${bare.http}/chat/main`, { headers: CHROME });
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("gateway.controlUi.root")]);
    expect((await fetch(`${bare.http}/missing.js`)).status).toBe(404);
    await bare.server.close(100);
  });
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

test.each([
  ["two host names", "GET /healthz", ["Host: localhost", "Host: chat.example.org"], 400],
  ["the same host name twice", "GET /healthz", ["Host: localhost", "host: localhost"], 400],
  ["two host names for a socket", "GET /", ["Host: localhost", "Host: localhost", "Upgrade: websocket"], 400],
  ["an address of another host", "GET http://rebound.example/healthz", ["Host: localhost"], 403],
  ["its own whole address", "GET http://localhost/healthz", ["Host: rebound.example"], 200],
])("a request with %s is answered by the one host that it means", async (_what, begin, headers, status) => {
  const socket = connect(gateway.server.port, "127.0.0.1");
  const connection = headers.some((one) => one.startsWith("Upgrade")) ? "Upgrade" : "close";
  socket.write(`${begin} HTTP/1.1\r\n${[...headers, `Connection: ${connection}`].join("\r\n")}\r\n\r\n`);
  const [first] = await once(socket, "data");
  expect(String(first)).toContain(`HTTP/1.1 ${status}`);
  socket.destroy();
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
