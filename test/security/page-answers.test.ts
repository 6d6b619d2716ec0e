import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ARGS, buildPage } from "../kit/page/build-page.ts";
import { CHROMIUM, hasChromium } from "../kit/page/chromium.ts";
import { FakeGateway, TOKEN } from "../page/fake-gateway.ts";

/** What a model may be made to answer, each of which once took the page with it or takes it long to draw. */
const ANSWERS: Readonly<Record<string, string>> = {
  "2,000 quotes within each other": ">".repeat(2000),
  "3,000 lists within each other": "- ".repeat(3000),
  "lists and rules in turn": "- - - ".repeat(3000),
  "quotes and lists within each other": "> - ".repeat(2000),
  "numbered lists within each other": "1. ".repeat(3000),
  "one list of 3,000 levels by indentation": Array.from({ length: 3000 }, (_, at) => `${" ".repeat(at % 500)}- x`).join(
    "\n",
  ),
  "brackets without an end": "![".repeat(15_000),
  "emphasis within emphasis": `${"**a *b ".repeat(3000)}${"c* d** ".repeat(3000)}`,
  "a table of 60,000 cells": `|${"a|".repeat(300)}\n|${"-|".repeat(300)}\n${`|${"b|".repeat(300)}\n`.repeat(200)}`,
  "60,000 paragraphs": "a\n\n".repeat(60_000),
  "a megabyte of prose": "The **quick** brown fox.\n".repeat(42_000),
  "a megabyte without a blank": "x".repeat(1_000_000),
};

let browser: Browser;
let gateway: FakeGateway;
let page: Page;
const errors: string[] = [];

describe.skipIf(!hasChromium)("no answer freezes the page or hides its text", () => {
  beforeAll(async () => {
    gateway = new FakeGateway(await buildPage());
    const port = await gateway.listen();
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
    page = await browser.newPage();
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(`http://127.0.0.1:${port}/#token=${TOKEN}`);
    await page.getByRole("status").getByText("Connected").waitFor();
  });

  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  test.each(Object.entries(ANSWERS))("%s", { timeout: 30_000 }, async (name, answer) => {
    await page.evaluate("location.search = `?session=webchat:default:${crypto.randomUUID()}`");
    await page.getByRole("status").getByText("Connected").waitFor();
    const run = await ask("say it");
    const sessionKey = new URL(page.url()).searchParams.get("session") ?? "";
    gateway.finish(run, answer, sessionKey);
    const id = `a-${name}`;
    gateway.emit("exec.approval.requested", {
      id,
      request: { sessionKey, runId: "r1", command: "ls" },
      expiresAtMs: Date.now() + 300_000,
    });
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    gateway.finish(await ask("and now?"), "Still readable.", sessionKey);
    await page.getByText("Still readable.").first().waitFor();
    expect((await page.locator(".turn.assistant .said").first().textContent()) ?? "").not.toBe("");
    expect(errors).toEqual([]);
  });

  test("no link leads to a picture that can act", async () => {
    const run = await ask("links");
    gateway.finish(
      run,
      "[a](data:image/svg+xml;base64,PHN2Zz4=) ![b](data:image/svg+xml;base64,PHN2Zz4=) [end](https://example.org)",
    );
    await page.getByRole("link", { name: "end" }).waitFor();
    const addresses = await page
      .locator(".markdown [href], .markdown [src]")
      .evaluateAll((found) => found.map((element) => element.getAttribute("href") ?? element.getAttribute("src")));
    expect(addresses).toEqual(["https://example.org"]);
  });
});

async function ask(text: string): Promise<string> {
  const before = gateway.sent.size;
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
  await expect.poll(() => gateway.sent.size).toBe(before + 1);
  return [...gateway.sent.keys()].at(-1) ?? "";
}
