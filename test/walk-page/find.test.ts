import { describe, expect, test } from "vitest";
import { call } from "../kit/gateway/rpc.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON } from "./browser.ts";
import { pageWorld } from "./page-world.ts";

/** More messages than the page reads at first. */
const MANY = 230;

describe.skipIf(!hasChromium)("the search in a conversation on the page of the built gateway", () => {
  const world = pageWorld();

  test("counts hits, also beyond what is loaded, and goes from one to the next with the keyboard", async () => {
    world.model.answer(({ said }) => ({ text: `echo: ${said}` }));
    const gateway = await world.home.start();
    const first = await world.browser.open(gateway);
    await first.say("where is the needle?");
    await first.answered("echo: where is the needle?");
    for (let note = 1; note <= MANY; note += 1)
      await call(gateway, "chat.inject", { sessionKey: "main", message: `hay number ${note}` });
    await first.say("one more **Needle**, please");
    await first.answered("echo: one more");
    await world.browser.closeTabs();
    const tab = await world.browser.open(gateway);
    const { page } = tab;
    await page.getByRole("button", { name: "Show earlier messages" }).waitFor();
    await expect.poll(() => page.getByText("where is the needle?").count()).toBe(0);
    await page.keyboard.press("ControlOrMeta+Shift+F");
    const field = page.getByRole("searchbox", { name: "Search in this conversation" });
    await expect.poll(() => tab.hasFocus(field), SOON).toBe(true);
    await page.keyboard.type("needle");
    const bar = page.getByRole("search");
    await bar.getByText("4 of 4").waitFor();
    await tab.shoot("find");
    for (const step of ["3 of 4", "2 of 4", "1 of 4"]) {
      await page.keyboard.press("Enter");
      await bar.getByText(step).waitFor();
    }
    await page.locator("li.turn.user.found").getByText("where is the needle?").waitFor();
    await expect
      .poll(() => page.locator("li.turn.user.found").getByText("where is the needle?").isVisible())
      .toBe(true);
    expect(await page.evaluate("document.scrollingElement.scrollTop + document.body.scrollTop")).toBe(0);
    await page.setViewportSize({ width: 390, height: 780 });
    await tab.shoot("find-narrow");
    expect(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")).toBeLessThanOrEqual(0);
    await page.keyboard.press("Shift+Enter");
    await bar.getByText("2 of 4").waitFor();
    await field.fill("needle number");
    await bar.getByText("No message has this").waitFor();
    await page.keyboard.press("Escape");
    await bar.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Search in this conversation" }).click();
    await expect.poll(() => tab.hasFocus(field), SOON).toBe(true);
  });
});
