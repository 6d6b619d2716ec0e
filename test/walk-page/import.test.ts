import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import type { Home } from "../kit/gateway/process.ts";
import { pageWorld } from "./page-world.ts";

/** A gateway that restarts keeps its address. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** What OpenClaw has left in the home directory: one conversation. */
function leaveOpenClaw({ dir }: Home): string {
  const put = (name: string, text: string): string => {
    const file = join(dir, ".openclaw", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const at = "2026-01-01T00:00:00.000Z";
  const lines = [
    { type: "session", version: 3, id: "s1", timestamp: at, cwd: "/x" },
    {
      type: "message",
      id: "a",
      parentId: null,
      timestamp: at,
      message: { role: "user", content: "Where is the key?" },
    },
  ];
  put("openclaw.json", "{}");
  put(
    "agents/main/sessions/sessions.json",
    JSON.stringify({ "agent:main:main": { sessionId: "s1", updatedAt: 1000 } }),
  );
  return put("agents/main/sessions/s1.jsonl", `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
}

describe.skipIf(!hasChromium)("a new gateway beside what OpenClaw has left, on the page", () => {
  const world = pageWorld();

  test("offers it, brings it over at a restart, says how that ended, and offers it no more", async () => {
    await world.home.writeConfig({
      gateway: { port: await freePort(), auth: { token: "walk-token-0123456789abcdef" } },
    });
    const left = leaveOpenClaw(world.home);
    const before = readFileSync(left, "utf8");
    const gateway = await world.home.start();
    const tab = await world.browser.open(gateway);
    const { page } = tab;
    const offer = page.getByRole("region", { name: "OpenClaw on this machine" });
    await offer.getByText(/\.openclaw has .*conversations: 1/i).waitFor();
    await tab.shoot("import-offer");
    await offer.getByRole("button", { name: "Bring it over" }).click();
    await page.getByText(/\.openclaw was imported: .*conversations: 1/i).waitFor();
    await tab.shoot("import-end");
    await page.getByRole("link", { name: "All chats" }).click();
    await page.getByText("Where is the key?").first().waitFor();
    expect(readFileSync(left, "utf8")).toBe(before);
    await page.getByRole("button", { name: "New chat" }).click();
    await page.getByRole("region", { name: "First steps" }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Bring it over" }).count()).toBe(0);
  });

  test("says why nothing was brought over, and goes on", async () => {
    await world.home.writeConfig({
      gateway: { port: await freePort(), auth: { token: "walk-token-0123456789abcdef" } },
    });
    leaveOpenClaw(world.home);
    const gateway = await world.home.start();
    const tab = await world.browser.open(gateway);
    const { page } = tab;
    // OpenClaw is started meanwhile.
    const locks = join(world.home.dir, ".openclaw", "tmp", "openclaw");
    const held = { pid: process.pid, stateDir: join(world.home.dir, ".openclaw") };
    await page.getByRole("button", { name: "Bring it over" }).waitFor();
    mkdirSync(locks, { recursive: true });
    writeFileSync(join(locks, "gateway.lock"), JSON.stringify(held));
    await page.getByRole("button", { name: "Bring it over" }).click();
    await page
      .getByRole("alert")
      .getByText(/\.openclaw was not imported: /)
      .waitFor();
    await tab.connected();
  });
});
