import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import de from "../../extensions/webchat/page/words/de.json" with { type: "json" };
import { call } from "../kit/gateway/rpc.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { Browser, SOON, Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";

/** What a person reads and what a screen reader reads. */
const READ_TEXTS = `[...document.querySelectorAll("body *")].flatMap((one) => [
  ...[...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent.trim()),
  ...["aria-label", "title", "placeholder", "alt"].map((name) => one.getAttribute(name) ?? ""),
])`;

/** The English texts that differ from every German one. A single word can be data, such as the name of an account. */
const ENGLISH = new Set(Object.keys(de).filter((key) => key.includes(" ") && !Object.values(de).includes(key)));

/** Waits until no English text of the catalogue is on the page. */
async function expectGerman({ page }: Tab): Promise<void> {
  const english = async (): Promise<readonly string[]> => {
    const shown = z.array(z.string()).parse(await page.evaluate(READ_TEXTS));
    return shown.filter((text) => ENGLISH.has(text));
  };
  await expect.poll(english, SOON).toEqual([]);
}

describe.skipIf(!hasChromium)("the page in another language", () => {
  const world = pageWorld();
  let german: Browser;

  beforeAll(async () => {
    german = await Browser.launch("de-AT");
  });

  afterAll(() => german.close());

  test("is that of the browser, in every view, and at 390 pixels", async () => {
    world.model.answer(({ said }) => ({ text: `echo: ${said}` }));
    const gateway = await world.home.start();
    const job = { name: "plants", schedule: { kind: "every", everyMs: 7_200_000 }, sessionTarget: "isolated" };
    await call(gateway, "cron.add", { ...job, payload: { kind: "agentTurn", message: "Water?" }, enabled: false });
    const page = await german.page();
    await page.goto(`http://127.0.0.1:${gateway.port}/#token=${gateway.token}`);
    const tab = new Tab(page);
    await page.getByRole("status").getByText("Verbunden").waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe("de");
    await page.getByLabel("Nachricht", { exact: true }).fill("Hallo");
    await page.keyboard.press("Enter");
    await page.locator("li.turn.assistant").filter({ hasText: "echo: Hallo" }).waitFor();
    await page.getByRole("button", { name: "Antwort kopieren" }).waitFor();
    await expectGerman(tab);
    await tab.shoot("german-chat");
    await page.getByRole("button", { name: "Wie diese Antwort entstand" }).click();
    const dialog = page.getByRole("dialog", { name: "Wie diese Antwort entstand" });
    await dialog.locator("pre").filter({ hasText: "Hallo" }).last().waitFor({ state: "attached" });
    await expectGerman(tab);
    await tab.shoot("german-answer-facts");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    for (const link of await page.locator(".view-links a").all()) {
      await link.click();
      await page.locator(".view").filter({ hasNotText: "Liest…" }).first().waitFor();
      await expectGerman(tab);
    }
    await page.getByRole("link", { name: "Aufträge" }).click();
    await page.getByText("alle 2 Stunden · ausgeschaltet").waitFor();
    await page.setViewportSize({ width: 390, height: 780 });
    await tab.shoot("german-jobs-narrow");
  });

  test("is the one that the person chose", async () => {
    const tab = await world.browser.open(await world.home.start());
    await tab.page.getByLabel("Language").selectOption("Deutsch");
    await tab.page.getByRole("status").getByText("Verbunden").waitFor();
    await tab.page.getByLabel("Sprache").selectOption("Sprache des Browsers");
    await tab.connected();
    expect(await tab.page.locator("html").getAttribute("lang")).toBe("en");
  });
});

/** How browsers refuse to keep something. */
const REFUSALS = {
  "blocks its storage": `for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });`,
  "has no storage": `Object.defineProperty(window, "localStorage", { value: null });`,
  "has no space": `Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };`,
};

describe.skipIf(!hasChromium)("the page in a browser that keeps nothing", () => {
  const world = pageWorld();

  test.each(Object.entries(REFUSALS))("which %s: it connects and talks", async (_how, refusal) => {
    const gateway = await world.home.start();
    world.model.answer(() => ({ text: "Here I am." }));
    const page = await world.browser.page();
    await page.addInitScript(refusal);
    await page.goto(`http://127.0.0.1:${gateway.port}/#token=${gateway.token}`);
    const tab = new Tab(page);
    await tab.connected();
    await tab.say("Are you there?");
    await tab.answered("Here I am.");
    expect(await tab.turns()).toEqual(["you: Are you there?", "agent: Here I am."]);
    // No choice is lost without a word.
    await page.getByLabel("Language").selectOption("Deutsch");
    await page.getByText("no other language can be chosen here").waitFor();
    expect(await page.getByLabel("Language").inputValue()).toBe("");
    await page.getByRole("button", { name: "Change between light and dark colours" }).click();
    await page.getByRole("navigation", { name: "Sessions" }).getByText("the choice is lost").waitFor();
    await tab.shoot("keeps-nothing");
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog");
    await palette.getByRole("combobox").fill("Light colours");
    await palette.getByRole("option", { name: "Light colours" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("the choice is lost").waitFor();
  });
});
