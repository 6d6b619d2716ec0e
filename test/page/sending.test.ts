import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { ARGS, buildPage } from "../kit/page/build-page.ts";
import { CHROMIUM, hasChromium } from "../kit/page/chromium.ts";
import { FakeGateway, said, TOKEN } from "./fake-gateway.ts";

/** How far the log is from its end, in pixels. */
const TO_END = `(() => {
  const log = document.querySelector(".log");
  return Math.round(log.scrollHeight - log.clientHeight - log.scrollTop);
})()`;

/** The conversation grows before the page hears that its own scrolling to the end has come about. */
const GROW = `{
  const log = document.querySelector(".log");
  log.querySelector(".column").appendChild(document.createElement("div")).style.height = "700px";
  log.dispatchEvent(new Event("scroll"));
}`;

describe.skipIf(!hasChromium)("a message that is sent", () => {
  let files: Awaited<ReturnType<typeof buildPage>>;
  let profile: string;
  let context: BrowserContext;
  let gateway: FakeGateway;
  let page: Page;
  let port: number;

  beforeAll(async () => {
    files = await buildPage();
    profile = await mkdtemp(path.join(tmpdir(), "sending-"));
    context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ARGS, headless: true });
  });

  afterAll(async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  });

  beforeEach(async () => {
    gateway = new FakeGateway(files);
    port = await gateway.listen();
    page = await context.newPage();
  });

  afterEach(async () => {
    await page.close();
    await gateway.close();
  });

  async function open(query = ""): Promise<void> {
    await page.goto(`http://127.0.0.1:${port}/${query}#token=${TOKEN}`);
    await page.getByRole("status").getByText("Connected").waitFor();
  }

  async function send(text: string): Promise<void> {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.keyboard.press("Enter");
    await expect.poll(() => [...gateway.sent.values()]).toContain(text);
  }

  const toEnd = async (): Promise<number> => z.number().parse(await page.evaluate(TO_END));

  function writeLong(): void {
    for (let at = 0; at < 40; at += 1) gateway.write(said(at % 2 === 0 ? "user" : "assistant", `Message ${at}.`));
  }

  test("is seen at once, wherever its reader was in the conversation", async () => {
    writeLong();
    await open();
    await page.getByText("Message 39.").waitFor();
    await page.evaluate(`document.querySelector(".log").scrollTo({ top: 0 })`);
    await page.getByRole("button", { name: "Go to the latest message" }).waitFor();
    await send("Where am I?");
    await page.locator(".turn.user").getByText("Where am I?").waitFor();
    await expect.poll(toEnd).toBeLessThan(2);
  });

  test("and its answer are followed although both grow faster than the page scrolls", async () => {
    writeLong();
    await open();
    await page.getByText("Message 39.").waitFor();
    await expect.poll(toEnd).toBeLessThan(2);
    await page.evaluate(GROW);
    await expect.poll(toEnd).toBeLessThan(2);
    await page.mouse.move(700, 300);
    await page.mouse.wheel(0, -900);
    await page.getByRole("button", { name: "Go to the latest message" }).waitFor();
    const away = await toEnd();
    gateway.chat("of-another", { state: "final", message: said("assistant", "From elsewhere.") });
    await page.locator("li.turn").getByText("From elsewhere.").waitFor();
    expect(await toEnd()).toBeGreaterThanOrEqual(away);
  });

  test("names its chat if nothing else did: a copy, or a chat that began with a command", async () => {
    const [unnamed, named] = ["webchat:default:1", "webchat:default:2"];
    gateway.rows = [
      { key: unnamed, updatedAt: Date.now() },
      { key: named, label: "Rice", updatedAt: Date.now() },
    ];
    for (const key of [unnamed, named]) gateway.write(said("assistant", "All is well."), key);
    const title = () => page.getByRole("heading", { level: 1 }).textContent();
    await open(`?session=${unnamed}`);
    await page.getByText("All is well.").waitFor();
    await send("/status");
    await send("What is a quokka?");
    await expect.poll(title).toBe("What is a quokka?");
    await send("And a wombat?");
    await page.getByRole("button", { name: /^Rice/ }).click();
    await page.getByText("All is well.").waitFor();
    await send("How much water?");
    await expect.poll(() => gateway.asked.filter(({ method }) => method === "sessions.patch").length).toBe(1);
    expect(await title()).toBe("Rice");
  });

  test("by a button is one that the demo model knows, also where the page is in German", async () => {
    await open();
    await page.getByLabel("Language").selectOption("de");
    await page.getByRole("button", { name: "Neuer Chat" }).waitFor();
    await page.getByRole("button", { name: "list the files" }).click();
    await expect.poll(() => [...gateway.sent.values()]).toEqual(["list the files"]);
    await page.evaluate("localStorage.clear()");
  });
});
