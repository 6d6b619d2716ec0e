import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { isPublicAddress } from "../../src/utils/net/addresses.ts";
import { FetchRefused, safeFetch, type SafeFetchOptions } from "../../src/utils/net/safe-fetch.ts";

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** A server on the loopback; its origin under a name that only the test's resolver knows. */
async function serve(
  answer: RequestListener,
): Promise<{ origin: string; local: string; port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return { origin: `http://files.example:${port}`, local: `http://127.0.0.1:${port}`, port, asked };
}

const loopback = async () => [{ address: "127.0.0.1", family: 4 }];
const fetched = (url: string, options: Partial<SafeFetchOptions> = {}) =>
  safeFetch(url, { maxBytes: 1000, resolve: loopback, ...options });
const refusal = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "fetched",
    (error: unknown) => (error instanceof FetchRefused ? error.because : String(error)),
  );

describe("addresses", () => {
  test.each([
    "8.8.8.8",
    "192.0.1.1",
    "172.32.0.1",
    "100.128.0.1",
    "168.63.129.17",
    "2606:4700::1111",
    "2a00:1450:4001::1",
  ])("%s is public", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
  test.each([
    "127.0.0.1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "168.63.129.16",
    "100.64.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fd00::1",
    "fe80::1%eth0",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:0:1::",
    "2001:db8::1",
    "2001:20::1",
    "3fff::1",
    "2620:4f:8000::1",
    "100::1",
    "fec0::1",
    "4000::1",
    "192.0.0.8",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.175.48.1",
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "::8.8.8.8",
    "::ffff:a00:1",
    "::ffff:0:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::8.8.8.8",
    "2002:808:808::",
    // Forms that some parsers take and Node's does not.
    "0177.0.0.1",
    "010.8.8.8",
    "0x8.8.8.8",
    "8.8",
    "134744072",
    "8.8.8.8.",
    "127.0.0.1.",
    " 8.8.8.8",
    "[2606:4700::1111]",
    "",
    "localhost",
  ])("%s is not", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe("safeFetch", () => {
  const PNG = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );

  test("refuses a private address, by name or by number, without asking it", async () => {
    const { origin, local, port, asked } = await serve((_, response) => response.end("secret"));
    const same = ["127.1", "2130706433", "0x7f.0.0.1", "[::1]", "[::ffff:127.0.0.1]"].map(
      (host) => `http://${host}:${port}/`,
    );
    for (const url of [`${origin}/x`, `${local}/x`, ...same]) expect(await refusal(fetched(url))).toBe("address");
    const mixed = async () => [
      { address: "8.8.8.8", family: 4 },
      { address: "10.0.0.1", family: 4 },
    ];
    expect(await refusal(fetched(`${origin}/x`, { resolve: mixed }))).toBe("address");
    expect(await refusal(fetched(`${origin}/x`, { resolve: async () => [] }))).toBe("address");
    expect(asked).toEqual([]);
  });

  test.each(["file:///etc/passwd", "ftp://x.org/a", "data:text/plain,x", "nonsense"])("refuses %s", async (url) => {
    expect(await refusal(fetched(url))).toBe("scheme");
  });

  test("gives the bytes, the type by content and the name", async () => {
    const { origin } = await serve((_, response) => {
      response.setHeader("content-type", "text/html");
      response.setHeader("content-disposition", 'attachment; filename="../up/cat.png"');
      response.end(PNG);
    });
    const file = await fetched(`${origin}/some/file`, { allowPrivate: true });
    expect(file).toEqual({ bytes: new Uint8Array(PNG), mime: "image/png", name: "cat.png" });
  });

  test("the operator's own origin may be private, and no other", async () => {
    const inside = await serve((_, response) => response.end("inside"));
    const { origin } = await serve((_, response) => response.writeHead(302, { location: `${inside.local}/x` }).end());
    expect(await refusal(fetched(`${origin}/a`, { trusted: [`${origin}/api`] }))).toBe("address");
    expect(inside.asked).toEqual([]);
    const both = await fetched(`${origin}/a`, { trusted: [origin, inside.local] });
    expect(Buffer.from(both.bytes).toString()).toBe("inside");
  });

  test("asks the name once and goes to that address", async () => {
    const { origin } = await serve((_, response) => response.end("x"));
    let asked = 0;
    const rebinding = async () => [{ address: asked++ === 0 ? "127.0.0.1" : "10.0.0.1", family: 4 }];
    await fetched(`${origin}/x`, { resolve: rebinding, allowPrivate: true });
    expect(asked).toBe(1);
  });

  test("keeps its headers and passwords from other origins", async () => {
    const seen: (string | undefined)[] = [];
    const other = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end("x");
    });
    const first = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(307, { location: `${other.origin}/b` }).end();
    });
    const headers = { authorization: "Bearer key" };
    await fetched(`${first.origin.replace("//", "//user:word@")}/a`, { allowPrivate: true, headers });
    expect(seen).toEqual(["Bearer key", undefined]);
    await fetched(`${first.origin}/a`, { allowPrivate: true, headers, trusted: [other.origin] });
    expect(seen.slice(2)).toEqual(["Bearer key", "Bearer key"]);
  });

  test("ends a loop of redirects and asks no host that is not listed", async () => {
    const round = await serve((_, response) => response.writeHead(302, { location: "/again" }).end());
    expect(await refusal(fetched(`${round.origin}/a`, { allowPrivate: true, maxRedirects: 2 }))).toBe("redirects");
    expect(round.asked).toHaveLength(3);
    expect(await refusal(fetched(`${round.origin}/a`, { allowPrivate: true, allowHosts: ["x.org"] }))).toBe("host");
    expect(await refusal(fetched(`${round.origin}/a`, { allowPrivate: true, allowHosts: ["example"] }))).toBe(
      "redirects",
    );
  });

  test("stops at the size limit, announced or not", async () => {
    const announced = await serve((_, response) => response.end(Buffer.alloc(1001)));
    const flowing = await serve((_, response) => {
      for (let part = 0; part < 20; part += 1) response.write(Buffer.alloc(100));
      response.end();
    });
    expect(await refusal(fetched(`${announced.origin}/a`, { allowPrivate: true }))).toBe("too-large");
    expect(await refusal(fetched(`${flowing.origin}/a`, { allowPrivate: true }))).toBe("too-large");
  });

  test("reports refusals, silence and lost connections, without the path", async () => {
    const forbidden = await serve((_, response) => response.writeHead(403).end());
    const silent = await serve(() => undefined);
    const lost = await serve((_, response) => void response.write("x", () => response.destroy()));
    await expect(fetched(`${forbidden.origin}/botKEY`, { allowPrivate: true })).rejects.toMatchObject({
      because: "status",
      status: 403,
      message: expect.not.stringContaining("KEY"),
    });
    expect(await refusal(fetched(`${silent.origin}/a`, { allowPrivate: true, timeoutMs: 50 }))).toBe("network");
    expect(await refusal(fetched(`${lost.origin}/a`, { allowPrivate: true }))).toBe("network");
    const unknown = async () => Promise.reject(new Error("ENOTFOUND"));
    expect(await refusal(fetched("http://nowhere.example/a", { resolve: unknown }))).toBe("network");
  });
});
