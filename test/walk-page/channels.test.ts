import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startFakeTelegram, type FakeTelegram } from "../fakes/telegram.ts";
import { makeHome, PATIENCE_MS, type Home } from "../kit/gateway/process.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { Browser, type Tab } from "./browser.ts";

let browser: Browser;
let telegram: FakeTelegram;
let home: Home;

/** A gateway that knows where the fake Telegram is, and has no account there. */
async function open(size?: { width: number; height: number }) {
  home = await makeHome({ channels: { telegram: { enabled: false, apiRoot: telegram.url } } });
  const gateway = await home.start();
  const tab = await browser.open(gateway, "", size);
  if (size !== undefined) await tab.page.getByRole("button", { name: "Sessions" }).click();
  await tab.page.getByRole("link", { name: "Channels" }).click();
  return { gateway, tab, panel: tab.page.getByRole("main") };
}

const config = () => readFile(home.configPath, "utf8");

async function add(tab: Tab, token: string): Promise<void> {
  await tab.page.getByRole("region", { name: "Add a channel" }).getByRole("button", { name: "Telegram" }).click();
  await tab.page.getByRole("form", { name: "Add Telegram" }).getByLabel("Bot token").fill(token);
  await tab.page.keyboard.press("Enter");
}

describe.skipIf(!hasChromium)("the channels on the page of the built gateway", () => {
  beforeAll(async () => {
    browser = await Browser.launch();
  });

  afterAll(() => browser.close());

  beforeEach(async () => {
    telegram = await startFakeTelegram();
  });

  afterEach(async () => {
    await browser.closeTabs();
    await home.remove();
    await telegram.close();
    expect(browser.complaints.splice(0)).toEqual([]);
  });

  test("an account is added, sends a message with a file, is switched off and on, changed and removed", async () => {
    const { gateway, tab, panel } = await open();
    await add(tab, "");
    await panel.getByText("Bot token, from @BotFather: it is missing.").waitFor();
    await tab.shoot("channels-missing");
    await panel.getByLabel("Bot token").fill(telegram.token);
    await tab.page.keyboard.press("Enter");
    await panel.getByText("Telegram (default) is added.").waitFor();
    const row = panel.getByRole("listitem", { name: "Telegram default" });
    await row.getByText("as @test_bot").waitFor();
    await row.getByText(/^connected/).waitFor();
    expect(await config()).toContain(telegram.token);
    expect(await tab.page.content()).not.toContain(telegram.token);

    await row.getByRole("button", { name: "Send a message" }).click();
    const form = row.getByRole("form", { name: "Send a message by Telegram" });
    await form.getByRole("button", { name: "Send" }).click();
    await form.getByText("Enter a recipient.").waitFor();
    await form.getByLabel("To", { exact: true }).fill("1001");
    await form.getByLabel("Text").fill("with **a file**");
    const file = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("what was said") };
    await form.getByLabel("Files").setInputFiles(file);
    await form.getByLabel("Id of the message").fill("77");
    await form.getByLabel("Without a notification sound").check();
    await form.getByRole("button", { name: "Send" }).click();
    await form.getByText("Sent.", { exact: true }).waitFor();
    await tab.shoot("channels-send");
    const sent = await telegram.waitFor((call) => call.method === "sendDocument");
    expect([sent.chatId, sent.text]).toEqual(["1001", "with <b>a file</b>"]);
    expect(JSON.stringify(sent.body)).toContain("77");
    expect(JSON.stringify(sent.body)).toContain("disable_notification");
    telegram.fail("*", "403");
    await form.getByLabel("Text").fill("unwanted");
    await form.getByRole("button", { name: "Send" }).click();
    await form.getByText(/^Not sent: .*Forbidden/i).waitFor();
    await form.getByRole("button", { name: "Close" }).click();
    await row.getByText("What it can do").click();
    await row.getByText("4,096 characters").waitFor();
    await row.getByText(/edit, .*typing/).waitFor();
    await tab.shoot("channels-capabilities");

    await row.getByText("Groups (0 named)").click();
    await row.getByText(/^It hears only the groups that are named here/).waitFor();
    await row.getByLabel("Id of a group").fill("-100200");
    await tab.page.keyboard.press("Enter");
    await panel.getByText("-100200 is let in.").waitFor();
    await row.getByRole("button", { name: "Keep out: -100200" }).click();
    await row.getByText("-100200: not heard").waitFor();
    await tab.shoot("channels-groups");
    await row.getByRole("button", { name: "Let in: -100200" }).click();
    await row.getByText("-100200: heard").waitFor();
    expect(await config()).toMatch(/"-100200": \{\s*\}/);

    await row.getByRole("button", { name: "Switch off" }).click();
    await panel.getByText("Telegram (default) is switched off.").waitFor();
    await row.getByText("off", { exact: true }).waitFor();
    await expect.poll(() => telegram.polls.open, { timeout: PATIENCE_MS }).toBe(0);
    await row.getByRole("button", { name: "Switch on" }).click();
    await row.getByText(/^connected/).waitFor();

    await row.getByRole("button", { name: "Remove" }).click();
    await tab.shoot("channels-remove");
    await row.getByRole("button", { name: "Yes, remove it" }).click();
    await panel.getByText("Telegram (default) is removed.").waitFor();
    await row.waitFor({ state: "detached" });
    expect(await config()).not.toContain("telegram");
    expect(gateway.output).toContain("channel removed");
    expect(gateway.output).not.toContain(telegram.token);
    await expect.poll(() => telegram.polls.open, { timeout: PATIENCE_MS }).toBe(0);
  });

  test("a wrong token is shown in the row and changed there, on a phone too", async () => {
    const { tab, panel } = await open({ width: 390, height: 844 });
    await add(tab, "42:wrong");
    const row = panel.getByRole("listitem", { name: "Telegram default" });
    // The reason, then what to do about it.
    await row.locator(".channel-error").first().waitFor();
    await tab.shoot("channels-phone");
    await row.getByRole("button", { name: "Change" }).click();
    await row.getByLabel("Bot token").fill(telegram.token);
    await tab.page.emulateMedia({ colorScheme: "dark" });
    await tab.shoot("channels-phone-change");
    const over = await tab.page.evaluate(
      "document.querySelector('.view').scrollWidth - document.querySelector('.view').clientWidth",
    );
    expect(over).toBeLessThanOrEqual(0);
    await tab.page.keyboard.press("Enter");
    await panel.getByText("Telegram (default) is changed.").waitFor();
    await row.getByText(/^connected/).waitFor();
    expect(await config()).not.toContain("42:wrong");
  });
});
