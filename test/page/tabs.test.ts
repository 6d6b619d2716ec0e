import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ARGS, buildPage } from "../kit/page/build-page.ts";
import { CHROMIUM, hasChromium } from "../kit/page/chromium.ts";
import { FakeGateway, TOKEN } from "./fake-gateway.ts";

const box = (page: Page) => page.getByLabel("Message", { exact: true });
const chips = (page: Page) => page.getByRole("list", { name: "Attached files" }).locator(".file-name").allInnerTexts();
const turns = (page: Page) => page.locator(".turn.user .said").allTextContents();
const connected = (page: Page) => page.getByRole("status").getByText("Connected").waitFor();

const attach = (page: Page, name: string) =>
  page.locator("input[type=file]").setInputFiles([{ name, mimeType: "text/plain", buffer: Buffer.from(name) }]);

const remove = (page: Page, name: string) => page.getByRole("button", { name: `Remove ${name}` }).click();

describe.skipIf(!hasChromium)("a duplicate of a tab", () => {
  let files: Awaited<ReturnType<typeof buildPage>>;
  let profile: string;
  let context: BrowserContext;
  let gateway: FakeGateway;
  let first: Page;

  beforeAll(async () => {
    files = await buildPage();
    profile = await mkdtemp(path.join(tmpdir(), "tabs-"));
    context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ARGS, headless: true });
  });

  afterAll(async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  });

  beforeEach(async () => {
    gateway = new FakeGateway(files);
    const port = await gateway.listen();
    first = await context.newPage();
    await first.goto(`http://127.0.0.1:${port}/#token=${TOKEN}`);
    await connected(first);
  });

  afterEach(async () => {
    for (const page of context.pages().slice(1)) await page.close();
    await gateway.close();
  });

  /** A page that opens another one hands it a copy of its session storage, as the browser does for a duplicate. */
  async function duplicate(page: Page): Promise<Page> {
    const opened = context.waitForEvent("page");
    await page.evaluate("void open(location.href)");
    const made = await opened;
    await connected(made);
    return made;
  }

  async function reload(page: Page): Promise<void> {
    await page.reload();
    await connected(page);
  }

  const sends = (): readonly unknown[] =>
    gateway.asked.filter(({ method }) => method === "chat.send").map(({ params }) => params["message"]);

  test("has a copy of the text and the files, and each tab changes its own", async () => {
    await attach(first, "a.txt");
    await attach(first, "b.txt");
    await expect.poll(() => chips(first)).toEqual(["a.txt", "b.txt"]);
    await box(first).fill("not yet");
    const second = await duplicate(first);
    await expect.poll(() => chips(second)).toEqual(["a.txt", "b.txt"]);
    expect(await box(second).inputValue()).toBe("not yet");
    await remove(first, "a.txt");
    await remove(first, "b.txt");
    await reload(second);
    await expect.poll(() => chips(second)).toEqual(["a.txt", "b.txt"]);
    await remove(second, "a.txt");
    await attach(first, "c.txt");
    await expect.poll(() => chips(first)).toEqual(["c.txt"]);
    await reload(first);
    await reload(second);
    await expect.poll(() => chips(first)).toEqual(["c.txt"]);
    await expect.poll(() => chips(second)).toEqual(["b.txt"]);
    // What the duplicate sends, the first one still has.
    await box(second).press("Enter");
    await expect.poll(sends).toEqual(["not yet"]);
    await reload(first);
    await expect.poll(() => chips(first)).toEqual(["c.txt"]);
    expect(await box(first).inputValue()).toBe("not yet");
  });

  test("leaves a message that the gateway does not have with the first tab, which sends it", async () => {
    gateway.answers.set("chat.send", () => new Promise(() => undefined));
    await attach(first, "a.txt");
    await expect.poll(() => chips(first)).toEqual(["a.txt"]);
    await box(first).fill("once");
    await box(first).press("Enter");
    await expect.poll(sends).toEqual(["once"]);
    const second = await duplicate(first);
    const third = await duplicate(second);
    await box(third).fill("own");
    await box(third).press("Enter");
    await expect.poll(sends).toEqual(["once", "own"]);
    expect(await turns(second)).toEqual([]);
    // It is still the first one's after a reload, with its file, and after the other tabs have gone.
    await third.close();
    await reload(second);
    await reload(first);
    await expect.poll(() => turns(first)).toEqual([expect.stringContaining("once")]);
    await expect.poll(sends).toEqual(["once", "own", "once"]);
    const [before, , again] = gateway.asked.filter(({ method }) => method === "chat.send");
    expect(again?.params).toEqual(before?.params);
    expect(await turns(second)).toEqual([]);
  });

  test("is no duplicate after a crash of the tab: the message is sent", async () => {
    gateway.answers.set("chat.send", () => new Promise(() => undefined));
    await box(first).fill("once");
    await box(first).press("Enter");
    await expect.poll(sends).toEqual(["once"]);
    // A tab that crashes hears nothing of it.
    await first.evaluate(
      `addEventListener("pagehide", (event) => event.stopImmediatePropagation(), { capture: true })`,
    );
    const beside = await context.newPage();
    await beside.goto(new URL("manifest.webmanifest", first.url()).href);
    const address = first.url();
    await first.goto("about:blank");
    await expect.poll(() => beside.evaluate("navigator.locks.query().then(({ held }) => held.length)")).toBe(0);
    await first.goto(address);
    await connected(first);
    await expect.poll(sends).toEqual(["once", "once"]);
    expect(await turns(first)).toEqual([expect.stringContaining("once")]);
  });
});
