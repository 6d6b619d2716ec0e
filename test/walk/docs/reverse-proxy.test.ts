import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request, type RequestOptions } from "node:https";
import { createServer, type AddressInfo, type LookupFunction } from "node:net";
import { join } from "node:path";
import { describe, onTestFinished, vi, type ExpectStatic } from "vitest";
import { Device } from "../../kit/server/device.ts";
import { PATIENCE, TOKEN, type Home } from "../../kit/gateway/process.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const GUIDE = readFileSync(join(import.meta.dirname, "../../../docs/guides/reverse-proxy.md"), "utf8");
/** The file of the guide, and the part for a path. */
const [WHOLE = "", BELOW_PATH = ""] = [...GUIDE.matchAll(/^```nginx\n([\s\S]*?)^```$/gm)].map(([, text]) => text ?? "");
const NAME = "claw.example.org";

const inPath = (program: string): string | undefined =>
  ["/usr/sbin", ...(process.env["PATH"] ?? "").split(":")].map((folder) => join(folder, program)).find(existsSync);
const nginx = inPath("nginx");
const openssl = inPath("openssl");
const reason =
  process.platform !== "linux"
    ? "clients have addresses of 127.0.0.0/8, which only Linux has without settings"
    : "nginx or openssl is not installed";
const canRun = process.platform === "linux" && nginx !== undefined && openssl !== undefined;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

interface Proxy {
  readonly port: number;
  readonly plainPort: number;
  readonly ca: string;
  readonly logOf: () => string;
}

/** nginx with the text of the guide, in which only ports, places and the program's own files are others. */
async function startProxy(
  home: Home,
  gatewayPort: number,
  ports: readonly [number, number],
  text = WHOLE,
): Promise<Proxy> {
  const dir = join(home.dir, "nginx");
  mkdirSync(join(dir, "tmp"), { recursive: true });
  const [key, cert] = [join(dir, "privkey.pem"), join(dir, "fullchain.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const named = ["-subj", `/CN=${NAME}`, "-addext", `subjectAltName=DNS:${NAME}`, "-keyout", key, "-out", cert];
  execFileSync(openssl ?? "", ["req", "-x509", ...curve, ...named], { stdio: "pipe" });
  const site = text
    .replace("listen 443 ssl;", `listen 127.0.0.1:${ports[0]} ssl;`)
    .replace("listen 80;", `listen 127.0.0.1:${ports[1]};`)
    .replaceAll("/etc/ssl/claw/", `${dir}/`)
    .replaceAll("127.0.0.1:18789", `127.0.0.1:${gatewayPort}`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${dir}/tmp/${kind};`)
    .join("\n");
  const file = join(dir, "nginx.conf");
  writeFileSync(
    file,
    `daemon off;\nmaster_process off;\npid ${dir}/pid;\nerror_log ${dir}/error.log;\nevents {}\nhttp {\naccess_log ${dir}/access.log;\n${temporary}\n${site}\n}\n`,
  );
  const flags = ["-p", dir, "-c", file, "-e", join(dir, "error.log")];
  execFileSync(nginx ?? "", ["-t", ...flags], { stdio: "pipe" });
  const child = spawn(nginx ?? "", flags, { stdio: "ignore" });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const proxy = {
    port: ports[0],
    plainPort: ports[1],
    ca: readFileSync(cert, "utf8"),
    logOf: () => readFileSync(join(dir, "access.log"), "utf8"),
  };
  await vi.waitFor(() => ask(proxy, "/healthz"), PATIENCE);
  return proxy;
}

/** Every name is this machine. */
const lookup: LookupFunction = (_name, { all }, found) => {
  if (all === true) found(null, [{ address: "127.0.0.1", family: 4 }]);
  else found(null, "127.0.0.1", 4);
};

const ADA = "127.0.0.2";
const BOB = "127.0.0.3";
const STRANGER = "127.0.0.9";

type Ask = Pick<RequestOptions, "method" | "headers" | "localAddress"> & { readonly body?: string | Buffer };

async function answer({ port, ca }: Proxy, path: string, { body, ...options }: Ask = {}): Promise<IncomingMessage> {
  const asked = request({ host: NAME, port, path, ca, lookup, agent: false, localAddress: ADA, ...options });
  asked.on("error", () => undefined);
  asked.end(body);
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return response;
}

async function ask(proxy: Proxy, path: string, options: Ask = {}) {
  const response = await answer(proxy, path, options);
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode, text };
}

async function startBoth(world: World, more: { readonly basePath?: string; readonly text?: string } = {}) {
  const ports = [await freePort(), await freePort()] as const;
  const origin = `https://${NAME}:${ports[0]}`;
  const { basePath, text } = more;
  const { home, gateway } = await world.start({
    gateway: {
      port: 0,
      bind: "loopback",
      auth: { mode: "token", token: TOKEN, rateLimit: { maxAttempts: 3 } },
      trustedProxies: ["127.0.0.1", "::1"],
      controlUi: { allowedOrigins: [origin], ...(basePath !== undefined && { basePath }) },
    },
  });
  return { home, gateway, origin, proxy: await startProxy(home, gateway.port, ports, text) };
}

/** A browser with a key of its own, at an address of its own. */
const browser = ({ port, ca }: Proxy, origin: string, localAddress: string, path = "/"): Device =>
  new Device(() => `wss://${NAME}:${port}${path}`, { origin }, { ca, lookup, localAddress });

async function chats(
  device: Awaited<ReturnType<Device["connect"]>>,
  words: string,
  expect: ExpectStatic,
): Promise<void> {
  const { client } = device;
  expect(
    await client.request("chat.send", { sessionKey: "main", message: words, idempotencyKey: words }),
  ).toMatchObject({ ok: true });
  await client.until((frame) => {
    const text = JSON.stringify(frame);
    return frame["event"] === "chat" && text.includes("echo:") && text.includes(words);
  });
}

describe.skipIf(!canRun)(`nginx with the file of the guide${canRun ? "" : ` (skipped: ${reason})`}`, () => {
  test("serves the page and health, hides probes, and leads from http to https", async ({ world, expect }) => {
    const { proxy } = await startBoth(world);
    expect(await ask(proxy, "/")).toMatchObject({ status: 200, text: expect.stringContaining("<!doctype html>") });
    expect(await ask(proxy, "/healthz")).toEqual({ status: 200, text: '{"ok":true}' });
    for (const path of ["/readyz", "/metrics"]) expect((await ask(proxy, path)).status, path).toBe(404);
    const plain = await fetch(`http://127.0.0.1:${proxy.plainPort}/x?y=1`, {
      redirect: "manual",
      headers: { host: NAME },
    });
    expect([plain.status, plain.headers.get("location")?.endsWith("/x?y=1")]).toEqual([301, true]);
    const models = { headers: { authorization: `Bearer ${TOKEN}` } };
    expect((await ask(proxy, "/v1/models", models)).status).toBe(200);
    expect((await ask(proxy, "/v1/models")).status).toBe(401);
    const auth = { ...models.headers, "content-type": "application/json" };
    const large = { method: "POST", headers: auth, body: Buffer.alloc(26_000_000, 32) };
    expect((await ask(proxy, "/v1/chat/completions", large)).status).toBe(400);
    const larger = { ...large, body: Buffer.alloc(27_000_000, 32) };
    expect((await ask(proxy, "/v1/chat/completions", larger)).status).toBe(413);
  });

  test("lets two operators chat with tokens of their own, and one goes on when the other is revoked", async ({
    world,
    expect,
  }) => {
    const { home, gateway, origin, proxy } = await startBoth(world);
    const scopes = ["operator.read", "operator.write"];
    const [ada, bob] = [browser(proxy, origin, ADA), browser(proxy, origin, BOB)];
    const first = await ada.connect({ token: TOKEN }, scopes);
    const second = await bob.connect({ token: TOKEN }, scopes);
    await chats(first, "hello from Ada", expect);
    await chats(second, "hello from Bob", expect);
    const connected = gateway.lines.filter(({ msg }) => msg === "client connected").map(({ address }) => address);
    expect(connected).toEqual([ADA, BOB]);
    const revoked = await home.run(["devices", "revoke", "--device", ada.id]);
    expect(revoked.code).toBe(0);
    await first.client.closed;
    expect((await ada.connect({ deviceToken: first.token }, scopes)).answer).toMatchObject({ ok: false });
    await chats(second, "Bob is still here", expect);
    const again = await bob.connect({ deviceToken: second.token }, scopes);
    expect(again.answer).toMatchObject({ ok: true });
    await chats(again, "Bob is here again", expect);
  });

  test("passes a stream on in its pieces", async ({ world, expect }) => {
    const { proxy } = await startBoth(world);
    const rest = Promise.withResolvers<void>();
    world.model.answer(() => ({ text: "first second last", until: rest.promise }));
    const response = await answer(proxy, "/v1/chat/completions", {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "openclaw", stream: true, messages: [{ role: "user", content: "Count." }] }),
    });
    let text = "";
    let isWaiting = true;
    for await (const chunk of response.setEncoding("utf8")) {
      text += chunk;
      // The model speaks its last word only when the first one has arrived.
      if (isWaiting && text.includes("first")) {
        expect(text).not.toContain("last");
        isWaiting = false;
        rest.resolve();
      }
    }
    expect(text).toContain("last");
    expect(text).toContain("[DONE]");
  });

  test("a page of another origin opens no socket, and a stranger who guesses is locked out, whoever it claims to be", async ({
    world,
    expect,
  }) => {
    const { gateway, proxy } = await startBoth(world);
    const evil = browser(proxy, "https://evil.example", STRANGER);
    await expect(
      Promise.race([evil.connect({ token: TOKEN }), gateway.logged("upgrade refused").then(() => "refused")]),
    ).resolves.toBe("refused");
    expect((await gateway.logged("upgrade refused"))["address"]).toBe(STRANGER);

    const guess = (forged: string) =>
      ask(proxy, "/v1/models", {
        localAddress: STRANGER,
        headers: { authorization: "Bearer guess", "x-forwarded-for": forged },
      });
    const statuses: (number | undefined)[] = [];
    // The stranger claims to be Ada, and then others.
    for (const forged of [ADA, ADA, "10.0.0.1", "10.0.0.2"]) statuses.push((await guess(forged)).status);
    expect(statuses).toEqual([401, 401, 401, 429]);
    const log = proxy.logOf();
    expect(log).toContain(STRANGER);
    expect(log).not.toContain(TOKEN);
  });

  test("serves the page and its socket below a path", async ({ world, expect }) => {
    const text = WHOLE.replace(/ {2}location \/ \{[\s\S]*?\n {2}\}\n/, BELOW_PATH);
    expect(text).toContain("location /claw/");
    const ports = startBoth(world, {
      basePath: "/claw",
      text: text.replace("  # For probes", "  location = /healthz { return 200; }\n  # For probes"),
    });
    const { origin, proxy } = await ports;
    expect(await ask(proxy, "/claw/")).toMatchObject({ status: 200, text: expect.stringContaining("<!doctype html>") });
    expect((await ask(proxy, "/v1/models", { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(404);
    const device = await browser(proxy, origin, ADA, "/claw/").connect({ token: TOKEN }, [
      "operator.read",
      "operator.write",
    ]);
    await chats(device, "below a path", expect);
  });
});
