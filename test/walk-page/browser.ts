import { mkdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { chromium, type BrowserContext, type Locator, type Page } from "playwright-core";
import { expect } from "vitest";
import { z } from "zod";
import { CHROMIUM } from "../kit/page/chromium.ts";
import { PATIENCE_MS } from "../kit/gateway/process.ts";

/** For `expect.poll`: other work may keep the machine busy. */
export const SOON = { timeout: PATIENCE_MS };

const SHOTS = process.env["PAGE_SHOTS"];
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--use-fake-device-for-media-stream",
  "--use-fake-ui-for-media-stream",
];

/** What Chromium itself says when a gateway goes away; everything else on the console is a fault. */
const GONE = /WebSocket connection to|ERR_CONNECTION|ERR_EMPTY_RESPONSE/;

// Code for the page stands in strings: these files are checked without the browser's types.
const READ_TURNS = `[...document.querySelectorAll("li.turn")].map((turn) => {
  const pieces = [...turn.querySelector(".said").children].map((piece) => {
    if (piece.tagName === "IMG") return "[picture]";
    if (piece.tagName !== "DETAILS") return piece.innerText.trim();
    const word = (name) => piece.querySelector(name)?.textContent ?? "";
    return "[" + word(".tool-name") + " " + word(".tool-state") + (piece.open ? " open" : "") + "]";
  });
  return (turn.classList.contains("user") ? "you: " : "agent: ") + pieces.join(" ");
})`;

const AXE = readFileSync(path.join(import.meta.dirname, "../../node_modules/axe-core/axe.min.js"), "utf8");

const IS_DARK = `matchMedia("(prefers-color-scheme: dark)").matches`;

/** One line for each finding: the rule, its help, and the elements. */
const RUN_AXE = `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.map(({ id, help, nodes }) => id + ": " + help + ": " + nodes.map(({ html, any }) =>
    html.slice(0, 200) + " " + any.map(({ message }) => message).join(" ")).join(" | ")))`;

/** A browser of its own, which gathers what its pages complain about. */
export class Browser {
  readonly complaints: string[] = [];
  readonly #profile: string;
  readonly #context: BrowserContext;

  private constructor(profile: string, context: BrowserContext) {
    this.#profile = profile;
    this.#context = context;
  }

  /** With the languages of the system, or those of a locale. */
  static async launch(locale?: string): Promise<Browser> {
    const profile = await mkdtemp(path.join(tmpdir(), "walk-page-"));
    const options = { executablePath: CHROMIUM, args: ARGS, headless: true, ...(locale && { locale }) };
    const context = await chromium.launchPersistentContext(profile, options);
    context.setDefaultTimeout(PATIENCE_MS);
    return new Browser(profile, context);
  }

  /** An empty tab. */
  async page(size = { width: 1280, height: 800 }): Promise<Page> {
    const page = await this.#context.newPage();
    await page.setViewportSize(size);
    page.on("console", (message) => {
      const isFault = message.type() === "error" || /Content.Security.Policy/i.test(message.text());
      if (isFault && !GONE.test(message.text())) this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    return page;
  }

  /** A tab on the chat of a gateway, connected. */
  async open(gateway: { port: number; token: string }, query = "", size = { width: 1280, height: 800 }): Promise<Tab> {
    const page = await this.page(size);
    await page.goto(`http://127.0.0.1:${gateway.port}/${query}#token=${gateway.token}`);
    const tab = new Tab(page);
    await tab.connected();
    return tab;
  }

  async close(): Promise<void> {
    await this.#context.close();
    await rm(this.#profile, { recursive: true, force: true });
  }

  async closeTabs(): Promise<void> {
    for (const page of this.#context.pages().slice(1)) await page.close();
  }
}

/** One tab, as its person sees it. */
export class Tab {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  get box(): Locator {
    return this.page.getByLabel("Message", { exact: true });
  }

  async connected(): Promise<void> {
    await this.page.getByRole("status").getByText("Connected").waitFor();
  }

  /** Types and sends. */
  async say(text: string): Promise<void> {
    await this.box.fill(text);
    await this.page.keyboard.press("Enter");
  }

  /** Waits for an answer that is finished and says so. */
  async answered(text: string | RegExp): Promise<void> {
    await this.page.locator("li.turn.assistant").filter({ hasText: text }).last().waitFor();
    await this.idle();
  }

  async idle(): Promise<void> {
    await this.page.locator(".working").waitFor({ state: "detached" });
    await this.page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  }

  /** Every turn in order: `you: …` or `agent: …`; a tool call stands as `[name state]`, a picture as `[picture]`. */
  async turns(): Promise<readonly string[]> {
    return z.array(z.string()).parse(await this.page.evaluate(READ_TURNS));
  }

  /** Pastes an image, given in base64. */
  async paste(base64: string, name: string): Promise<void> {
    await this.box.focus();
    await this.page.evaluate(`{
      const bytes = Uint8Array.from(atob(${JSON.stringify(base64)}), (char) => char.charCodeAt(0));
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([bytes], ${JSON.stringify(name)}, { type: "image/png" }));
      const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
      document.activeElement.dispatchEvent(paste);
    }`);
  }

  async hasFocus(target: Locator): Promise<boolean> {
    return (await target.and(this.page.locator(":focus")).count()) === 1;
  }

  /** Expects that axe finds nothing on the page as it is, light and dark, and keeps a picture where `PAGE_SHOTS` names a folder. */
  async shoot(name: string): Promise<void> {
    await this.page.evaluate(AXE);
    const isDark = z.boolean().parse(await this.page.evaluate(IS_DARK));
    for (const colorScheme of isDark ? (["light", "dark"] as const) : (["dark", "light"] as const)) {
      await this.page.emulateMedia({ colorScheme });
      expect.soft(z.array(z.string()).parse(await this.page.evaluate(RUN_AXE)), `${name}, ${colorScheme}`).toEqual([]);
    }
    if (SHOTS === undefined) return;
    mkdirSync(SHOTS, { recursive: true });
    await this.page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
  }
}

/** Whatever was on the screen is there after a reload, once and in the same order. */
export async function expectSameAfterReload(tab: Tab): Promise<void> {
  const before = await tab.turns();
  await tab.page.reload();
  await tab.connected();
  await expect.poll(() => tab.turns(), SOON).toEqual(before);
}
