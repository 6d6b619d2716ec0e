import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";

const SIZES = [
  ["wide", { width: 1280, height: 800 }],
  ["narrow", { width: 390, height: 780 }],
] as const;

const OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth";

describe.skipIf(!hasChromium)("what Ctrl+K finds and does on the page", () => {
  const world = pageWorld();

  /** Opens the palette by its key and types. */
  async function find({ page }: Tab, words: string) {
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: /^Find a view/ });
    await field.waitFor();
    await page.keyboard.type(words);
    return { field, selected: page.getByRole("dialog").getByRole("option", { selected: true }) };
  }

  test.each(SIZES)("views, conversations, agents, actions and commands (%s)", async (size, viewport) => {
    world.model.answer(({ said }) => ({ text: `About **${said}**.` }));
    const gateway = await world.home.start();
    const other = await world.browser.open(gateway, "?session=webchat:default:fern");
    await other.say("How much water does the fern want?");
    await other.answered("About");
    const tab = await world.browser.open(gateway, "", viewport);
    const { page } = tab;
    await tab.say("tea");
    await tab.answered("About tea.");

    const { field, selected } = await find(tab, "");
    await page.getByRole("group", { name: "Actions" }).waitFor();
    await tab.shoot(`palette-${size}`);
    expect(await page.evaluate(OVERFLOW)).toBeLessThanOrEqual(0);
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    expect(await tab.hasFocus(tab.box)).toBe(true);

    await find(tab, "usag");
    await expect.poll(() => selected.innerText(), SOON).toContain("Usage");
    await tab.shoot(`palette-typed-${size}`);
    await page.keyboard.press("Enter");
    const heading = page.getByRole("heading", { level: 1, name: "Usage" });
    await heading.waitFor();
    await expect.poll(() => tab.hasFocus(heading), SOON).toBe(true);

    await find(tab, "water fern");
    await expect.poll(() => selected.innerText(), SOON).toContain("How much water");
    await page.keyboard.press("Enter");
    await tab.answered("About How much water does the fern want?.");
    await expect.poll(() => tab.hasFocus(tab.box), SOON).toBe(true);

    await find(tab, "status");
    await expect.poll(() => selected.innerText(), SOON).toContain("/status");
    await page.keyboard.press("Enter");
    await expect.poll(() => tab.box.inputValue(), SOON).toBe("/status ");
    await tab.box.fill("");

    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await find(tab, "copy last");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("Copied", { exact: true }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toContain("About **");

    await find(tab, "session settings");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Session settings" }).waitFor();
    await page.keyboard.press("Control+k");
    expect(await field.count()).toBe(0);
    await page.keyboard.press("Escape");

    await find(tab, "search in this");
    await page.keyboard.press("Enter");
    await expect
      .poll(() => tab.hasFocus(page.getByRole("searchbox", { name: "Search in this conversation" })))
      .toBe(true);
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Find and do" }).click();
    await field.waitFor();
    await page.keyboard.type("new chat with");
    await expect.poll(() => selected.innerText(), SOON).toContain("New chat with");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "What can I do for you?" }).waitFor();
  });

  test.each(["Control+k", "Escape"])("%s closes it, and the focus is where it was", async (key) => {
    const tab = await world.browser.open(await world.home.start());
    await tab.box.fill("half a sentence");
    const { field } = await find(tab, "jobs");
    await tab.page.keyboard.press(key);
    await field.waitFor({ state: "detached" });
    expect(await tab.hasFocus(tab.box)).toBe(true);
    expect(await tab.box.inputValue()).toBe("half a sentence");
  });

  test("the arrow keys go round, an answer is stopped, and the code is loaded at the first opening", async () => {
    world.model.answer(() => ({ text: "word ".repeat(600), everyMs: 30 }));
    const tab = await world.browser.open(await world.home.start());
    const { page } = tab;
    const scripts = () =>
      page.evaluate("performance.getEntriesByType('resource').filter(({ name }) => /palette/.test(name)).length");
    await tab.say("go on");
    await page.locator("li.turn.assistant").getByText("word word").waitFor();
    expect(await scripts()).toBe(0);
    const { field, selected } = await find(tab, "");
    expect(await scripts()).toBeGreaterThan(0);
    await expect.poll(() => selected.innerText(), SOON).toContain("Stop the answer");
    const active = () => field.getAttribute("aria-activedescendant");
    const first = await active();
    await page.keyboard.press("ArrowUp");
    expect(await active()).not.toBe(first);
    await page.keyboard.press("ArrowDown");
    expect(await active()).toBe(first);
    await page.keyboard.press("Enter");
    await page.getByText(/^Stopped/).waitFor();
    await tab.idle();
  });

  test("its key opens it before the browser has told that it was closed", async () => {
    const tab = await world.browser.open(await world.home.start());
    const { page } = tab;
    await find(tab, "usage");
    await page.evaluate(`(() => {
      document.querySelector("dialog.palette").close();
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
    })()`);
    const field = page.getByRole("combobox", { name: /^Find a view/ });
    await expect.poll(() => field.inputValue(), SOON).toBe("");
    expect(await tab.hasFocus(field)).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("the button in the side bar takes the other colours than those that are shown", async () => {
    const tab = await world.browser.open(await world.home.start());
    const colours = tab.page.getByRole("button", { name: "Change between light and dark colours" });
    const background = () => tab.page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    const atFirst = await background();
    await colours.click();
    await expect.poll(background, SOON).not.toBe(atFirst);
    const other = await background();
    await tab.shoot("other-colours");
    await tab.page.reload();
    await expect.poll(background, SOON).toBe(other);
    await colours.click();
    await expect.poll(background, SOON).toBe(atFirst);
  });

  test("a theme is chosen against the system, and stays", async () => {
    const tab = await world.browser.open(await world.home.start());
    const { page } = tab;
    const ground = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    await page.emulateMedia({ colorScheme: "light" });
    const light = await ground();
    const { selected } = await find(tab, "dark col");
    await expect.poll(() => selected.innerText(), SOON).toContain("Dark colours");
    await page.keyboard.press("Enter");
    await expect.poll(ground, SOON).not.toBe(light);
    const dark = await ground();
    await page.reload();
    await tab.connected();
    expect(await ground()).toBe(dark);
    await find(tab, "colours of the system");
    await page.keyboard.press("Enter");
    await expect.poll(ground, SOON).toBe(light);
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(ground, SOON).toBe(dark);
    await find(tab, "light col");
    await page.keyboard.press("Enter");
    await expect.poll(ground, SOON).toBe(light);
    await find(tab, "colours of the system");
    await page.keyboard.press("Enter");
  });
});
