import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ARGS, buildPage } from "../kit/page/build-page.ts";
import { CHROMIUM, hasChromium } from "../kit/page/chromium.ts";
import { FakeGateway, said, TOKEN } from "./fake-gateway.ts";

type Files = Awaited<ReturnType<typeof buildPage>>;

const MISSING = "A part of the page could not be loaded.";
const FORMULA = "Here is $x^2$.";
const CODE = "```js\nconst one = 1;\n```";
const press = (keys: string) => (page: Page) => page.keyboard.press(keys);

/** Each part of the page that is loaded when it is wanted: its file, what wants it, and what is there with it. */
const PARTS: readonly (readonly [file: string, want: (page: Page) => Promise<unknown>, shown: string])[] = [
  ["palette", press("Control+k"), "dialog.palette"],
  ["find-bar", press("Control+Shift+f"), "search.find input"],
  ["recorder", (page) => page.getByRole("button", { name: "Record a voice message" }).click(), "[role=timer]"],
  ["files", (page) => attach(page), ".file-name"],
  ["markdown", async () => undefined, "li.turn .formula"],
  ["tex", async () => undefined, "li.turn .formula"],
  ["highlight", async () => undefined, "li.turn pre code span"],
  ["logs", (page) => page.getByRole("link", { name: "Logs" }).click(), ".view"],
];

/** They do not come up by themselves later, when the person does something else. */
const BEGUN_AGAIN = new Set(["palette", "recorder"]);

/** The button is gone where the page has connected by itself. */
const TRY_NOW = `[...document.querySelectorAll("button")].find(({ textContent }) => textContent.trim() === "Try now")?.click()`;

const attach = (page: Page) =>
  page.locator("input[type=file]").setInputFiles([{ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") }]);

/**
 * Where the page loads code by a call that tells the person when it fails; without the code of HTML, an answer is copied as plain text.
 * The other places have tests of their own below.
 */
const TOLD = /(?:useLoaded\(|loadPart\(|load: async)[^;]*?\bimport\(|\bimport\((?="[^"]+"\)\)\.answerHtml\()/g;
const OTHERS = ["main.tsx", path.join("words", "words.ts")];

test("all code that the page loads when it is wanted is loaded by a call that tells when it fails", () => {
  const root = path.resolve(import.meta.dirname, "../../extensions/webchat/page");
  const sources = globSync("**/*.{ts,tsx}", { cwd: root }).filter((file) => !OTHERS.includes(file));
  const untold = sources.filter((file) =>
    /\bimport\(/.test(readFileSync(path.join(root, file), "utf8").replaceAll(TOLD, "")),
  );
  expect(sources.length).toBeGreaterThan(50);
  expect(untold).toEqual([]);
});

describe.skipIf(!hasChromium)("code of the page that cannot be loaded", () => {
  let built: Files;
  let files: Map<string, { type: string; body: Uint8Array }>;
  let profile: string;
  let context: BrowserContext;
  let gateway: FakeGateway;
  let page: Page;
  let port: number;

  beforeAll(async () => {
    built = await buildPage();
    profile = await mkdtemp(path.join(tmpdir(), "parts-"));
    context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ARGS, headless: true });
  });

  afterAll(async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  });

  beforeEach(async () => {
    files = new Map(built);
    gateway = new FakeGateway(files);
    gateway.answers.set("logs.tail", () => ({
      file: "/gateway.log",
      cursor: 0,
      size: 0,
      lines: [],
      truncated: false,
      reset: false,
    }));
    gateway.write(said("user", "Show me."));
    gateway.write(said("assistant", `${FORMULA}\n\n${CODE}`));
    port = await gateway.listen();
    page = await context.newPage();
  });

  afterEach(async () => {
    await page.close();
    await gateway.close();
  });

  /** Takes a file of the page away, as an update does. */
  function without(name: string): void {
    const all = [...files.keys()].filter((file) => new RegExp(`^/${name}-[A-Z0-9]+\\.js$`).test(file));
    expect(all).toHaveLength(1);
    files.delete(all[0] ?? "");
  }

  const restore = () => [...built].forEach(([name, file]) => files.set(name, file));
  const connected = () => page.getByRole("status").getByText("Connected").waitFor();
  const alert = (words: string) => page.getByRole("alert").filter({ hasText: words });

  async function open(): Promise<void> {
    await page.goto(`http://127.0.0.1:${port}/#token=${TOKEN}`);
    await connected();
    await page.getByText("Show me.").waitFor();
  }

  test.each(PARTS)("is told, and loaded by a second attempt: %s", async (name, want, shown) => {
    without(name);
    await open();
    await want(page);
    await alert(MISSING).waitFor();
    await alert(MISSING).getByRole("button", { name: "Reload the page" }).waitFor();
    const again = async (): Promise<void> => {
      await alert(MISSING).getByRole("button", { name: "Try again" }).click();
      if (BEGUN_AGAIN.has(name)) await want(page);
    };
    const refused = page.waitForResponse((answer) => answer.url().includes(`/${name}-`) && answer.status() === 404);
    await again();
    await refused;
    restore();
    await again();
    await page.locator(shown).first().waitFor();
    expect(await alert(MISSING).count()).toBe(0);
  });

  test("is loaded by itself when the gateway is back", async () => {
    await open();
    await page.locator("li.turn .formula").waitFor();
    await gateway.close();
    await page.getByRole("status").getByText("Reconnecting").waitFor();
    await page.keyboard.press("Control+Shift+f");
    await alert("It is loaded when the gateway is back.").waitFor();
    gateway = new FakeGateway(files);
    await gateway.listen(port);
    await page.evaluate(TRY_NOW);
    await connected();
    await page.locator("search.find input").waitFor();
    expect(await alert(MISSING).count()).toBe(0);
  });

  test("of the texts of a language: the page is in English and says so", async () => {
    without("de");
    await page.goto(`http://127.0.0.1:${port}/manifest.webmanifest`);
    await page.evaluate(`localStorage.setItem("openclaw.language", "de")`);
    await open();
    await alert("The texts of this language could not be loaded").waitFor();
    restore();
    await page.getByRole("button", { name: "Reload the page" }).click();
    await page.getByRole("status").getByText("Verbunden").waitFor();
  });

  test("of the whole page: it says so, and has a button", async () => {
    without("start");
    await page.goto(`http://127.0.0.1:${port}/#token=${TOKEN}`);
    await alert("The page could not be loaded").waitFor();
    restore();
    await page.getByRole("button", { name: "Reload the page" }).click();
    await connected();
  });

  test("because the gateway has another version: the page says so, and keeps what was typed", async () => {
    await open();
    await page.getByLabel("Message", { exact: true }).fill("not yet");
    await gateway.close();
    await page.getByRole("status").getByText("Reconnecting").waitFor();
    const old = new TextDecoder().decode(built.get("/index.html")?.body);
    const body = new TextEncoder().encode(old.replace(/\.\/start-\w+\.js/, "./start-OTHER.js"));
    files.set("/index.html", { type: "text/html", body });
    without("find-bar");
    gateway = new FakeGateway(files);
    await gateway.listen(port);
    await page.evaluate(TRY_NOW);
    await alert("The gateway has a new version of this page.").waitFor();
    await page.keyboard.press("Control+Shift+f");
    // It is told once, and a reload ends both.
    await expect.poll(() => page.getByRole("alert").count()).toBe(1);
    restore();
    await page.getByRole("button", { name: "Reload the page" }).click();
    await connected();
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("not yet");
    expect(await page.getByRole("alert").count()).toBe(0);
  });
});
