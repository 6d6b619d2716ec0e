import { describe, expect, test } from "vitest";
import { TOKEN } from "../kit/gateway/process.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { expectSameAfterReload, SOON } from "../walk-page/browser.ts";
import { pageWorld } from "../walk-page/page-world.ts";
import { twoModels } from "../walk-page/two-models.ts";

describe.skipIf(!hasChromium)("the page of a gateway that is killed", () => {
  const world = pageWorld();

  test("a lost connection is shown, and what was sent meanwhile arrives once when the gateway is back", async () => {
    const { browser, home, model } = world;
    const first = await home.start();
    const tab = await browser.open(first);
    await tab.say("before");
    await tab.answered("before");
    await first.kill("SIGKILL");
    await tab.page.getByText("Messages that you send wait here").waitFor();
    await tab.page.getByRole("status").getByText("Reconnecting").waitFor();
    await tab.say("while it was down");
    await tab.page.getByText("Will be sent when the gateway is back").waitFor();
    await tab.shoot("down");
    await home.writeConfig(twoModels(model, { gateway: { port: first.port, auth: { token: TOKEN } } }));
    await home.start();
    await tab.answered("while it was down");
    await tab.connected();
    await tab.page.getByText("Messages that you send wait here").waitFor({ state: "detached" });
    expect(await tab.turns()).toEqual([
      "you: before",
      "agent: echo: before",
      "you: while it was down",
      "agent: echo: while it was down",
    ]);
    expect(model.calls.filter((call) => call.said.includes("while it was down"))).toHaveLength(1);
    await expectSameAfterReload(tab);
  });

  test("a gateway killed in the middle of an answer ends it once", async () => {
    const { browser, home, model } = world;
    const first = await home.start();
    const tab = await browser.open(first);
    model.answer((_call, number) => ({ text: "drop ".repeat(number === 1 ? 300 : 3), everyMs: number === 1 ? 30 : 0 }));
    await tab.say("tell me");
    await tab.page.locator("li.turn.assistant").getByText("drop drop").waitFor();
    await first.kill("SIGKILL");
    await tab.page.getByText("Messages that you send wait here").waitFor();
    await home.writeConfig(twoModels(model, { gateway: { port: first.port, auth: { token: TOKEN } } }));
    await home.start();
    await tab.connected();
    await expect.poll(() => tab.turns(), SOON).toEqual(["you: tell me", "agent: drop drop drop"]);
    await tab.idle();
    await expectSameAfterReload(tab);
  });
});
