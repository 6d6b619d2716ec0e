import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server as HttpServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium, type Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Secret } from "../../src/types/secret.ts";
import { ARGS, buildPage } from "../kit/page/build-page.ts";
import { CHROMIUM, hasChromium } from "../kit/page/chromium.ts";
import { connectParams, RawClient, startTestServer, type TestServer } from "../kit/server/server.ts";

/** As long as the gateway's own. */
const TOKEN = "vKq3n0yDPs7mJx2bWf8cRzT4hLg6aUeY1oIiNkXtSdE";
const SHORT = "a short one";
const LIMIT = { maxAttempts: 10, windowMs: 60_000, lockoutMs: 300_000 };
const NAMES = ["127.0.0.1", "localhost"] as const;

/** A site that a person was lured to. Its script runs in the page's own words: these files are checked without browser types. */
const HOSTILE = "<!doctype html><title>win a prize</title><button id=go>Go</button>";

let browser: Browser;
let hostile: HttpServer;
let hostileUrl: string;
const pageDir = mkdtempSync(path.join(tmpdir(), "cross-site-"));

beforeAll(async () => {
  for (const [name, { body }] of await buildPage()) writeFileSync(path.join(pageDir, path.basename(name)), body);
  hostile = createServer((_request, response) => response.setHeader("content-type", "text/html").end(HOSTILE));
  await new Promise<void>((resolve) => hostile.listen(0, "127.0.0.1", resolve));
  const address = hostile.address();
  hostileUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
  if (hasChromium) browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
});

afterAll(async () => {
  await browser?.close();
  hostile.close();
  rmSync(pageDir, { recursive: true });
});

async function withGateway(token: string, work: (gateway: TestServer) => Promise<void>): Promise<void> {
  const gateway = await startTestServer({
    options: { page: { dir: pageDir, basePath: "", isControlUi: false } },
    access: { token: new Secret(token), rateLimit: LIMIT },
  });
  try {
    await work(gateway);
  } finally {
    await gateway.server.close(200);
  }
}

async function isLetIn({ url }: TestServer, token: string): Promise<boolean> {
  const client = new RawClient(url);
  const answer = await client.connect(connectParams(token));
  client.close();
  return answer["ok"] === true;
}

describe.skipIf(!hasChromium)("a hostile site in the operator's browser", () => {
  test.each([
    ["a token as the gateway makes it", TOKEN],
    ["a short token", SHORT],
  ])("locks nobody out by windows on the gateway's page, with %s", { timeout: 60_000 }, async (_, token) => {
    await withGateway(token, async (gateway) => {
      const context = await browser.newContext();
      const site = await context.newPage();
      await site.goto(hostileUrl);
      const { port } = gateway.server;
      for (const at of Array.from({ length: 12 }).keys()) {
        const opened = context.waitForEvent("page");
        await site.evaluate(`window.open("http://${NAMES[at % 2]}:${port}/#token=wrong-${at}", "_blank"); undefined`);
        const popup = await opened;
        await popup.getByRole("heading", { name: "Sign in to the gateway" }).waitFor();
        await popup.close();
      }
      expect(await isLetIn(gateway, token)).toBe(true);
      await context.close();
    });
  });

  test("changes neither the page's token nor its connection, and gets no hold of its window", async () => {
    await withGateway(TOKEN, async (gateway) => {
      const context = await browser.newContext();
      const own = await context.newPage();
      await own.goto(`${gateway.http}/#token=${TOKEN}`);
      await own.getByRole("status").getByText("Connected").waitFor();
      const site = await context.newPage();
      await site.goto(hostileUrl);
      const opened = context.waitForEvent("page");
      await site.evaluate(`globalThis.popup = window.open("${gateway.http}/#token=wrong"); undefined`);
      const popup = await opened;
      await popup.getByRole("button", { name: "Ignore it" }).waitFor();
      await popup.getByRole("status").getByText("Connected").waitFor();
      expect(await site.evaluate("popup.closed")).toBe(true);
      expect(await popup.evaluate("window.opener")).toBeNull();
      expect(await own.evaluate('localStorage.getItem("openclaw.token")')).toBe(TOKEN);
      await context.close();
    });
  });

  test("reads nothing, frames nothing and opens no socket", async () => {
    await withGateway(TOKEN, async (gateway) => {
      const context = await browser.newContext();
      const site = await context.newPage();
      await site.goto(hostileUrl);
      const read = (where: string) =>
        site.evaluate(`fetch("${gateway.http}${where}").then((r) => r.text(), () => "refused")`);
      expect([await read("/"), await read("/metrics"), await read("/readyz")]).toEqual([
        "refused",
        "refused",
        "refused",
      ]);
      const socket = await site.evaluate(`new Promise((resolve) => {
        const socket = new WebSocket("${gateway.url}");
        socket.onmessage = () => resolve("open");
        socket.onclose = () => resolve("refused");
      })`);
      expect(socket).toBe("refused");
      await site.evaluate(`new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.src = "${gateway.http}/";
        frame.onload = () => resolve();
        document.body.append(frame);
      })`);
      expect(site.frames().filter((frame) => frame.url().startsWith(gateway.http))).toEqual([]);
      await context.close();
    });
  });
});
