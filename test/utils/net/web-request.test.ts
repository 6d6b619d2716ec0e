import { createServer, type RequestListener } from "node:http";
import { createServer as createSocketServer, type AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { isPublicAddress } from "../../../src/utils/net/addresses.ts";
import { guardedFetch } from "../../../src/utils/net/guarded-fetch.ts";
import { areAllowed, type FakeRange, type HostRules } from "../../../src/utils/net/host-rules.ts";
import { FetchRefused } from "../../../src/utils/net/safe-fetch.ts";
import { requestWeb, type WebRequest } from "../../../src/utils/net/web-request.ts";

const NEVER = new AbortController().signal;
/** The loopback, under names that only the tests resolve. */
const loopback = async () => [{ address: "127.0.0.1", family: 4 }];
const LOCAL: HostRules = { privateHosts: ["pages.example"] };

async function serve(answer: RequestListener) {
  const asked: { url: string; headers: NodeJS.Dict<string | string[]>; method: string }[] = [];
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? "", headers: request.headers, method: request.method ?? "" });
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { port, at: (path = "/") => `http://pages.example:${port}${path}`, asked };
}

const request = (address: string, more: Partial<WebRequest> = {}) =>
  requestWeb(address, {
    rules: LOCAL,
    timeoutMs: 20_000,
    maxBytes: 1000,
    maxRedirects: 3,
    signal: NEVER,
    resolve: loopback,
    ...more,
  });

const refusal = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "answered",
    (error: unknown) => (error instanceof FetchRefused ? `${error.because}: ${error.message}` : String(error)),
  );

const text = ({ bytes }: { bytes: Uint8Array }) => Buffer.from(bytes).toString();

describe("a request to an address of others", () => {
  test.each([
    "http://localhost:PORT/",
    "http://localhost.:PORT/",
    "http://x.localhost:PORT/",
    "http://printer.local:PORT/",
    "http://metadata.google.internal:PORT/",
    "http://127.0.0.1:PORT/",
    "http://0x7f.1:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://2130706433:PORT/",
    "http://127.1:PORT/",
    "http://[::1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://0.0.0.0:PORT/",
    "http://user:pass@127.0.0.1:PORT/",
    "http://rebound.example:PORT/",
  ])("never reaches a private host: %s", async (address) => {
    const { port, asked } = await serve((_request, response) => response.end("secret"));
    expect(await refusal(request(address.replace("PORT", String(port))))).toMatch(/^address: /);
    expect(asked).toEqual([]);
  });

  test.each(["ftp://pages.example/", "file:///etc/passwd", "pages.example", "javascript:alert(1)"])(
    "is a web address: %s is none",
    async (address) => expect(await refusal(request(address))).toMatch(/^scheme: /),
  );

  test("refuses a name with one private address among public ones, and connects to the address that it checked", async () => {
    const { at, asked } = await serve((_request, response) => response.end("secret"));
    const mixed = async () => [
      { address: "93.184.216.34", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    expect(await refusal(request(at(), { rules: {}, resolve: mixed }))).toContain("not on the public internet");
    expect(asked).toEqual([]);
    // A name server that would give another answer to a second question is not asked one.
    const answers = [{ address: "127.0.0.1", family: 4 }, undefined];
    const rebinding = async () => [answers.shift() ?? expect.fail("a second question")];
    expect(text(await request(at(), { resolve: rebinding }))).toBe("secret");
    expect(asked).toHaveLength(1);
  });

  test("obeys lists of hosts, and a blocked host stays blocked", async () => {
    const { at } = await serve((_request, response) => response.end("page"));
    const with_ = (rules: HostRules) => refusal(request(at(), { rules }));
    const open: HostRules = { allowPrivate: true };
    expect(await with_(open)).toBe("answered");
    expect(await with_({ ...open, blockedHosts: ["pages.example"] })).toContain("blocked by the config");
    expect(await with_({ ...open, onlyHosts: ["*.example"] })).toBe("answered");
    expect(await with_({ ...open, onlyHosts: ["*.pages.example"] })).toContain("not among the hosts");
  });

  test("reaches a range of fake addresses only by its own switch, and never a cloud's metadata", async () => {
    const fake = async () => [{ address: "198.18.0.7", family: 4 }];
    await expect(request("http://a.example/", { rules: {}, resolve: fake })).rejects.toMatchObject({
      because: "address",
      fakeRange: "benchmark",
    });
    const allowed = (fakeRanges: readonly FakeRange[], ...addresses: string[]) =>
      areAllowed("a.example", addresses, { fakeRanges });
    expect(allowed(["unique-local"], "198.18.0.7")).toBe(false);
    expect(allowed(["benchmark"], "198.18.0.7")).toBe(true);
    expect(allowed(["benchmark"], "198.18.0.7", "10.0.0.1")).toBe(false);
    expect(allowed(["benchmark"], "fd12::1")).toBe(false);
    expect(allowed(["unique-local"], "fd12::1")).toBe(true);
    expect(allowed(["unique-local"], "fd00:0ec2::254")).toBe(false);
  });

  test("follows redirects to the limit, and checks each of them", async () => {
    const { at, port, asked } = await serve((incoming, response) => {
      const to = incoming.url ?? "";
      if (/^\/\d$/.test(to) && to !== "/0") response.writeHead(302, { location: `/${Number(to.slice(1)) - 1}` });
      if (to === "/inside") response.writeHead(302, { location: `http://127.0.0.1:${port}/admin` });
      if (to === "/file") response.writeHead(302, { location: "file:///etc/passwd" });
      response.end("end");
    });
    expect(await request(at("/3"))).toMatchObject({ status: 200, url: { pathname: "/0" } });
    expect(await refusal(request(at("/4")))).toMatch(/^redirects: /);
    expect(await refusal(request(at("/inside")))).toMatch(/^address: /);
    expect(await refusal(request(at("/file")))).toMatch(/^scheme: /);
    expect(asked.map(({ url }) => url)).not.toContain("/admin");
  });

  test("gives another origin no header that was meant for the first, and no body", async () => {
    const second = await serve((_request, response) => response.end("end"));
    const first = await serve((_request, response) => response.writeHead(307, { location: second.at() }).end());
    const headers = {
      authorization: "Bearer x",
      cookie: "a=b",
      "x-api-key": "k",
      accept: "text/html",
      "user-agent": "u",
    };
    await request(first.at(), {
      method: "POST",
      body: "{}",
      headers: { ...headers, "content-type": "application/json" },
    });
    expect(second.asked).toMatchObject([{ method: "GET", headers: { accept: "text/html", "user-agent": "u" } }]);
    expect(Object.keys(second.asked[0]?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/authorization|cookie|x-api-key|content-type/)]),
    );
  });

  test("ends with its time when a server sends its body, or its headers, byte by byte", async () => {
    const timers = new Set<NodeJS.Timeout>();
    onTestFinished(() => timers.forEach((timer) => clearInterval(timer)));
    const slow = await serve((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      timers.add(setInterval(() => response.write("x"), 20));
    });
    expect(await refusal(request(slow.at(), { timeoutMs: 300 }))).toContain("no whole answer within 0.3 s");
    const raw = createSocketServer((socket) => timers.add(setInterval(() => socket.write("H"), 20)));
    await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void raw.close());
    const { port } = raw.address() as AddressInfo;
    expect(await refusal(request(`http://pages.example:${port}/`, { timeoutMs: 300 }))).toMatch(/^network: /);
  });

  test("reads no more of an endless body than its limit, and closes the connection", async () => {
    let sent = 0;
    let closed = false;
    const { at } = await serve((_request, response) => {
      const part = Buffer.alloc(64 * 1024, "a");
      const more = (): void => {
        while (!response.destroyed && sent < 1e9) {
          sent += part.length;
          if (!response.write(part)) return void response.once("drain", more);
        }
      };
      response.once("close", () => (closed = true));
      more();
    });
    expect(await request(at())).toMatchObject({ isCut: true, bytes: { length: 1000 } });
    await expect.poll(() => closed).toBe(true);
    expect(sent).toBeLessThan(50e6);
  });

  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ] as const)("decompresses %s, up to its limit", async (encoding, compress) => {
    const { at } = await serve((incoming, response) => {
      response.writeHead(200, { "content-encoding": encoding });
      const whole = compress(Buffer.alloc(incoming.url === "/bomb" ? 20e6 : 10, "a"));
      response.end(incoming.url === "/cut" ? whole.subarray(0, whole.length - 3) : whole);
    });
    expect(text(await request(at()))).toBe("aaaaaaaaaa");
    const { bytes, isCut } = await request(at("/bomb"), { maxBytes: 500_000 });
    expect([bytes.length, isCut]).toEqual([500_000, true]);
  });

  test("refuses bytes that are not compressed as it says", async () => {
    const { at } = await serve((incoming, response) => {
      response.writeHead(200, { "content-encoding": incoming.url === "/odd" ? "zstd-of-mine" : "gzip" }).end("plain");
    });
    expect(await refusal(request(at()))).toMatch(/^network: /);
    expect(await refusal(request(at("/odd")))).toContain("unknown way");
  });

  test("ends at once with its caller's signal", async () => {
    const { at } = await serve(() => undefined);
    const stop = new AbortController();
    const running = request(at(), { signal: stop.signal });
    stop.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
  });

  test("goes through the proxy of the environment only where it is given, and not for names that are excepted", async () => {
    const seen: string[] = [];
    const proxy = createServer((incoming, response) => {
      seen.push(incoming.url ?? "");
      response.end("page of the proxy");
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      proxy.close();
      proxy.closeAllConnections();
    });
    const proxyEnv = { HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    const at = "http://unresolved.example/";
    expect(text(await request(at, { rules: {}, proxyEnv }))).toBe("page of the proxy");
    expect(seen).toEqual([at]);
    expect(await refusal(request("http://127.0.0.1/", { rules: {}, proxyEnv }))).toMatch(/^address: /);
    const excepted = { ...proxyEnv, NO_PROXY: ".example" };
    expect(await refusal(request(at, { rules: {}, proxyEnv: excepted }))).toMatch(/^address: /);
    expect(seen).toHaveLength(1);
  });
});

test("a guarded fetch refuses names of private networks, except for those that the config names", async () => {
  const { port } = await serve((_request, response) => response.end("page"));
  const fetchWith = async (rules: HostRules) => {
    const guard = await guardedFetch({ ...rules, maxBytes: 100, resolve: loopback });
    onTestFinished(() => guard.close());
    return refusal(guard.fetch(`http://box.local:${port}/`).then((answer) => answer.text()));
  };
  expect(await fetchWith({})).toContain("not on the public internet");
  expect(await fetchWith({ privateHosts: ["box.local"] })).toBe("answered");
});

test.each(["2a00:1450::5efe:10.0.0.1", "2a00:1450::200:5efe:192.168.1.1"])("%s leads into a private network", (one) => {
  expect(isPublicAddress(one)).toBe(false);
});
