import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { chromium, type BrowserContext, type Locator, type Page, type WebSocket } from "playwright-core";
import { expect } from "vitest";
import { z } from "zod";
import { CHROMIUM } from "../kit/page/chromium.ts";
import { ARGS } from "../kit/page/build-page.ts";
import { PATIENCE, PATIENCE_MS } from "../kit/gateway/process.ts";

const SHOTS = process.env["PAGE_SHOTS"];

/** Errors of the console that come from a picture which this gateway has not, or from a page that was left. */
const HARMLESS = /status of 404|ERR_ABORTED|WebSocket connection to/;

const frame = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  method: z.string().optional(),
  ok: z.boolean().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});

// Code for the page stands in strings: these files are checked without the browser's types. Both look into shadow roots.
const EACH = `const all = []; const walk = (node) => {
  if (node.nodeType !== 1 || /^(SCRIPT|STYLE)$/.test(node.tagName)) return;
  if (node.checkVisibility()) all.push(node);
  for (const child of [...(node.shadowRoot?.children ?? []), ...node.children]) walk(child);
}; walk(document.body);`;
const SKELETONS = `(() => { ${EACH}
  return all.map((node) => String(node.getAttribute("class"))).filter((name) => /(^|[ -])(skeleton|shimmer)/.test(name) && !/lob-/.test(name));
})()`;
const TEXTS = `(() => { ${EACH}
  return all.flatMap((node) => [...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.textContent.trim()))
    .filter((text) => text !== "").join(" | ");
})()`;

/** A browser with OpenClaw's Control UI of one gateway. It gathers what the pages complain about, and refused requests. */
export class ControlUi {
  readonly complaints: string[] = [];
  readonly #at: string;
  readonly #token: string;
  readonly #context: BrowserContext;
  readonly #profile: string;

  private constructor(at: string, token: string, context: BrowserContext, profile: string) {
    this.#at = at;
    this.#token = token;
    this.#context = context;
    this.#profile = profile;
  }

  /** `at`: the address of the page, with its base path and without a slash at the end. */
  static async launch(at: string, token: string): Promise<ControlUi> {
    const profile = await mkdtemp(path.join(tmpdir(), "control-ui-"));
    const viewport = { width: 1400, height: 900 };
    const options = { executablePath: CHROMIUM, args: ARGS, headless: true, viewport };
    const context = await chromium.launchPersistentContext(profile, options);
    context.setDefaultTimeout(PATIENCE_MS);
    return new ControlUi(at, token, context, profile);
  }

  async tab(): Promise<ControlUiTab> {
    const page = await this.#context.newPage();
    const tab = new ControlUiTab(page, this.#at, this.complaints);
    await page.goto(`${this.#at}/#token=${this.#token}`);
    await tab.composer.waitFor();
    return tab;
  }

  async close(): Promise<void> {
    await this.#context.close();
    await rm(this.#profile, { recursive: true, force: true });
  }
}

/** One tab, as its person sees it. */
export class ControlUiTab {
  readonly page: Page;
  readonly #at: string;
  readonly #complaints: string[];
  readonly #asked = new Map<string, string>();

  constructor(page: Page, at: string, complaints: string[]) {
    this.page = page;
    this.#at = at;
    this.#complaints = complaints;
    page.on("pageerror", (error) => this.#complain(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error" && !HARMLESS.test(message.text())) this.#complain(message.text());
    });
    page.on("websocket", (socket) => this.#watch(socket));
  }

  get composer(): Locator {
    return this.page.getByLabel("Chat composer");
  }

  get answers(): Locator {
    return this.page.locator(".chat-group.assistant");
  }

  /** Opens a page, and waits until every request is answered and nothing is a placeholder any more. Returns its texts. */
  async open(route: string): Promise<string> {
    await this.page.goto(`${this.#at}${route}`);
    return this.settled(route);
  }

  async settled(what: string): Promise<string> {
    // The page draws once more after the last answer.
    await expect.poll(() => this.#waitsFor(), { ...PATIENCE, message: what }).toEqual([]);
    return this.texts();
  }

  texts(): Promise<string> {
    return this.page.evaluate<string>(TEXTS);
  }

  async says(text: string | RegExp): Promise<void> {
    await expect.poll(() => this.texts(), PATIENCE).toMatch(text);
  }

  async say(text: string): Promise<void> {
    await this.composer.fill(text);
    await this.composer.press("Enter");
  }

  async answered(text: string | RegExp): Promise<void> {
    await this.answers.filter({ hasText: text }).last().waitFor();
    await this.idle();
  }

  /** Waits for the end of the run. */
  async idle(): Promise<void> {
    await this.page.getByRole("button", { name: "Stop generating" }).waitFor({ state: "detached" });
  }

  async shoot(name: string): Promise<void> {
    if (SHOTS === undefined) return;
    mkdirSync(SHOTS, { recursive: true });
    await this.page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
  }

  async #waitsFor(): Promise<readonly string[]> {
    if ((await this.page.locator("openclaw-app").count()) === 0 || this.#asked.size > 0)
      return [...this.#asked.values(), "start"];
    return this.page.evaluate<readonly string[]>(SKELETONS);
  }

  #complain(text: string): void {
    this.#complaints.push(`${new URL(this.page.url()).pathname}: ${text}`);
  }

  #watch(socket: WebSocket): void {
    this.#asked.clear();
    socket.on("framesent", ({ payload }) => {
      const { type, id, method } = read(payload);
      if (type === "req" && id !== undefined && method !== undefined) this.#asked.set(id, method);
    });
    socket.on("framereceived", ({ payload }) => {
      const { type, id = "", ok, error } = read(payload);
      if (type !== "res") return;
      if (ok === false) this.#complain(`${this.#asked.get(id)}: ${error?.message}`);
      this.#asked.delete(id);
    });
  }
}

const read = (payload: string | Buffer) => frame.parse(JSON.parse(String(payload)));
