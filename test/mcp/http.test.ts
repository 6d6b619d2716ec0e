import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createRequire } from "node:module";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../kit/until.ts";
import { NEVER, newDir, textOf, world } from "./kit.ts";

const EVERYTHING = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
const LOCAL = { allowedHostnames: ["127.0.0.1"] };

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The reference server over HTTP. */
async function startEverything(kind: "streamableHttp" | "sse"): Promise<number> {
  for (;;) {
    const port = await freePort();
    const env = { ...process.env, PORT: String(port) };
    const child = spawn(process.execPath, [EVERYTHING, kind], { env, stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
    await until(() => /(?:running|listening) on port/i.test(said) || child.exitCode !== null, "the reference server");
    // Another program may have taken the port in between.
    if (child.exitCode === null && !said.includes("EADDRINUSE")) return port;
  }
}

/** A web server of the test, and what it was asked. */
async function startWeb(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => answer(request, response, body));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, port: (server.address() as AddressInfo).port };
}

test("the reference server answers over standard input and output", async () => {
  const everything = { command: process.execPath, args: [EVERYTHING, "stdio"] };
  const { names, call, log } = world({ servers: { everything } });
  const all = await names();
  expect(all).toContain("everything__echo");
  expect(textOf(await call("everything__echo", { message: "hello" }))).toContain("Echo: hello");
  expect(textOf(await call("everything__get-sum", { a: 2, b: 3 }))).toContain("5");
  const { content } = await call("everything__get-tiny-image");
  expect(content.filter(({ type }) => type === "image")).toHaveLength(1);
  const resources = textOf(await call("everything__list_resources"));
  const [uri = ""] = /\S+:\/\/\S+/.exec(resources.split("---")[1] ?? "") ?? [];
  expect(uri).not.toBe("");
  expect(textOf(await call("everything__read_resource", { uri }))).toContain(uri);
  expect(textOf(await call("everything__echo", { message: 5 }))).toMatch(/EXTERNAL_UNTRUSTED_CONTENT/);
  expect(log.lines.filter((line) => line.startsWith("error"))).toEqual([]);
});

test("the reference server answers over streamable HTTP, with and without a transport in the config", async () => {
  const port = await startEverything("streamableHttp");
  const url = `http://127.0.0.1:${port}/mcp`;
  for (const more of [{ transport: "streamable-http" }, {}]) {
    const { names, call } = world({ servers: { everything: { url, ssrfPolicy: LOCAL, ...more } } });
    expect(await names()).toContain("everything__echo");
    expect(textOf(await call("everything__echo", { message: "hello" }))).toContain("Echo: hello");
  }
});

test("the reference server answers over the older transport, which is also found without a word in the config", async () => {
  const port = await startEverything("sse");
  const url = `http://127.0.0.1:${port}/sse`;
  for (const more of [{ transport: "sse" }, {}]) {
    const { names, call } = world({ servers: { everything: { url, ssrfPolicy: LOCAL, ...more } } });
    expect(await names()).toContain("everything__echo");
    expect(textOf(await call("everything__echo", { message: "hello" }))).toContain("Echo: hello");
  }
});

test("a private address is refused unless the config allows the host", async () => {
  const web = await startWeb((_request, response) => response.end());
  for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"]) {
    const { names, servers, call } = world({ servers: { near: { url: `http://${host}:${web.port}/mcp` } } });
    expect(await names()).toEqual([]);
    await expect(call("near__x")).rejects.toThrow("there is no tool");
    expect(servers.failures()).toEqual([
      { server: "near", why: expect.stringContaining("is not on the public internet") },
    ]);
  }
  expect(web.asked).toEqual([]);
  const ssrfPolicy = { dangerouslyAllowPrivateNetwork: true };
  await world({ servers: { near: { url: `http://127.0.0.1:${web.port}/mcp`, ssrfPolicy } } }).names();
  expect(web.asked.length).toBeGreaterThan(0);
});

test("a name that leads to a private address is refused, also when only one of its addresses is private", async () => {
  const web = await startWeb((_request, response) => response.end());
  const resolve = async () => [
    { address: "93.184.215.14", family: 4 },
    { address: "127.0.0.1", family: 4 },
  ];
  const { names, servers } = world(
    { servers: { far: { url: `http://mcp.example.org:${web.port}/mcp` } } },
    { resolve },
  );
  expect(await names()).toEqual([]);
  expect(servers.failures()[0]?.why).toContain("mcp.example.org is not on the public internet");
  expect(web.asked).toEqual([]);
});

test("a redirect is checked anew: it leads neither to a private address nor with the headers to another host", async () => {
  const inner = await startWeb((_request, response) => response.end("secrets of the network"));
  for (const target of [`http://localhost:${inner.port}/`, "http://169.254.169.254/latest/meta-data"]) {
    const outer = await startWeb((_request, response) => response.writeHead(307, { location: target }).end());
    const far = {
      url: `http://127.0.0.1:${outer.port}/mcp`,
      ssrfPolicy: LOCAL,
      headers: { Authorization: "Bearer abcdefgh12" },
    };
    const { names, servers } = world({ servers: { far } });
    expect(await names()).toEqual([]);
    expect(servers.failures()).toHaveLength(1);
    expect(outer.asked.length).toBeGreaterThan(0);
  }
  expect(inner.asked).toEqual([]);
});

test("headers of the config reach the server, and no error has their secrets in it", async () => {
  const web = await startWeb((_request, response) => response.writeHead(401).end());
  const far = {
    url: `http://127.0.0.1:${web.port}/mcp`,
    ssrfPolicy: LOCAL,
    headers: { "X-Key": "a-key-of-the-config" },
  };
  const { names, servers } = world({ servers: { far } });
  expect(await names()).toEqual([]);
  expect(web.asked[0]?.headers["x-key"]).toBe("a-key-of-the-config");
  expect(JSON.stringify(servers.failures())).not.toContain("a-key-of-the-config");
});

test("an endless answer over HTTP is refused by its size", async () => {
  const web = await startWeb((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const more = () => {
      if (!response.destroyed && response.write("x".repeat(64 * 1024))) setImmediate(more);
    };
    response.on("drain", more);
    more();
  });
  const { names, servers } = world({
    servers: { far: { url: `http://127.0.0.1:${web.port}/mcp`, ssrfPolicy: LOCAL } },
  });
  expect(await names()).toEqual([]);
  expect(servers.failures()[0]?.why).toContain("the answer has more than");
});

test("a server that lost its session is connected to again by the next call", async () => {
  let sessions = 0;
  const web = await startWeb((request, response, body) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body);
    if (method === "initialize") sessions += 1;
    const isOld =
      request.headers["mcp-session-id"] !== undefined && request.headers["mcp-session-id"] !== String(sessions);
    if (isOld || (method === "tools/call" && sessions === 1)) return void response.writeHead(404).end();
    if (id === undefined) return void response.writeHead(202).end();
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      },
      "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: `session ${sessions}` }] },
    };
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": String(sessions) });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
  });
  const dir = newDir();
  const far = { url: `http://127.0.0.1:${web.port}/mcp`, ssrfPolicy: LOCAL };
  const { names, call } = world({ servers: { far } }, {}, dir);
  expect(await names()).toEqual(["far__echo"]);
  expect(textOf(await call("far__echo"))).toMatch(/ended during the call/);
  await until(async () => textOf(await call("far__echo")).includes("session 2"), "the second session");
});

/** A server over HTTP whose stream of events does what `stream` does. */
async function startStreaming(stream: (response: ServerResponse) => void) {
  return startWeb((request, response, body) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      return stream(response);
    }
    const { id, method, params } = body === "" ? {} : JSON.parse(body);
    const capabilities = { tools: {} };
    const serverInfo = { name: "streaming", version: "1" };
    const results: Record<string, object> = {
      initialize: { protocolVersion: params?.protocolVersion, capabilities, serverInfo },
      "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    };
    if (results[method] === undefined) return void response.writeHead(202).end();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
  });
}

test.each<[string, string, (response: ServerResponse) => void]>([
  [
    "sends thousands of requests",
    "it floods the gateway with messages",
    (response) => {
      const ping = (id: number) => `data: ${JSON.stringify({ jsonrpc: "2.0", id, method: "ping" })}\n\n`;
      response.write(Array.from({ length: 20_000 }, (_, id) => ping(id)).join(""));
    },
  ],
  [
    "closes its stream of events again and again",
    "it closes its stream of events again and again",
    (response) => {
      const news = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } };
      response.end(`retry: 1\nid: 1\ndata: ${JSON.stringify(news)}\n\n`);
    },
  ],
])("a server over HTTP that %s is ended", async (_, why, stream) => {
  const { asked, port } = await startStreaming(stream);
  const { servers, log } = world({
    servers: { bad: { url: `http://127.0.0.1:${port}/mcp`, ssrfPolicy: LOCAL } },
  });
  await servers.ready(NEVER);
  await until(() => log.lines.includes("warn an MCP server failed"), "the end of the connection");
  expect(servers.failures()).toEqual([{ server: "bad", why }]);
  await servers.close();
  expect(asked.length).toBeLessThan(2500);
});
