import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { startFakeTelegram, type FakeTelegram } from "../fakes/telegram.ts";
import { makeHome, type Home } from "../kit/gateway/process.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { Browser, SOON, type Tab } from "./browser.ts";

const KEY = "sk-key-of-the-first-steps-1234567890";

let browser: Browser;
let model: FakeModel;
let telegram: FakeTelegram;
let home: Home;

/** A gateway without a model and without a channel, which knows where the fakes are. */
async function open(size?: { width: number; height: number }) {
  const providers = { openai: { baseUrl: model.url, api: "openai-completions" } };
  const channels = { telegram: { enabled: false, apiRoot: telegram.url } };
  home = await makeHome({ models: { providers }, channels, messages: { queue: { debounceMs: 0 } } });
  const gateway = await home.start();
  return { gateway, tab: await browser.open(gateway, "", size) };
}

const button = (tab: Tab, name: string) => tab.page.getByRole("button", { name, exact: true });
const changeKey = (tab: Tab) =>
  tab.page.getByRole("region", { name: "Conversation" }).getByRole("button", { name: "Change the key" });
const panel = (tab: Tab, name: string) => tab.page.getByRole("dialog", { name, exact: true });

/** Types a key of OpenAI into the open panel, and sends it. */
async function giveKey(tab: Tab, key: string, id = "gpt-4.1"): Promise<void> {
  const form = panel(tab, "Model");
  await form.getByLabel("Provider").selectOption("OpenAI");
  await form.getByLabel("Key", { exact: true }).fill(key);
  if (await form.locator("input[name=modelRef]").count()) await form.getByLabel("Model", { exact: true }).fill(id);
  await tab.page.keyboard.press("Enter");
}

/** Closes the panel after an answer. Nothing else takes the focus before it is gone. */
async function finish(tab: Tab): Promise<void> {
  await panel(tab, "Model").getByRole("button", { name: "Done" }).click();
  await panel(tab, "Model").waitFor({ state: "detached" });
}

const isWide = (tab: Tab) => tab.page.evaluate("document.documentElement.scrollWidth - window.innerWidth");

describe.skipIf(!hasChromium)("the first steps on the page of the built gateway", () => {
  beforeAll(async () => {
    browser = await Browser.launch();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    model = await startFakeModel();
    telegram = await startFakeTelegram();
    model.answer(({ key, said }) =>
      key === KEY ? { text: `echo: ${said}` } : { status: 401, message: "Incorrect API key provided" },
    );
  });
  afterEach(async () => {
    await browser.closeTabs();
    await home.remove();
    await telegram.close();
    await model.close();
    expect(browser.complaints.splice(0)).toEqual([]);
  });

  test("lead from a key over a channel to its owner, without a restart and without a reload", async () => {
    const { gateway, tab } = await open();
    const steps = tab.page.getByRole("region", { name: "First steps" });
    await steps.getByText("The demo model is answering").waitFor();
    await tab.shoot("first-steps");
    await steps.getByRole("button", { name: "Choose a model" }).click();
    await giveKey(tab, "sk-not-the-key-of-anybody-0000");
    await panel(tab, "Model").getByRole("alert").getByText("OpenAI refuses this key.").waitFor();
    await tab.shoot("first-steps-refused");
    expect(await readFile(home.configPath, "utf8")).not.toContain("gpt-4.1");
    await giveKey(tab, KEY);
    await panel(tab, "Model").getByText("openai/gpt-4.1 answered.").waitFor();
    await tab.shoot("first-steps-model");
    expect(await tab.page.content()).not.toContain(KEY);
    expect(gateway.output).not.toContain(KEY);
    await panel(tab, "Model").getByRole("button", { name: "Next: add a channel" }).click();

    const channels = tab.page.getByRole("main");
    await channels.getByRole("region", { name: "Add a channel" }).getByRole("button", { name: "Telegram" }).click();
    await channels.getByLabel("Bot token").fill(telegram.token);
    await tab.page.keyboard.press("Enter");
    await channels.getByRole("button", { name: "Next: name the owner" }).click();
    const people = tab.page.getByRole("main");
    await people.getByText("Nobody is an owner yet").waitFor();
    telegram.say("hello, it is me");
    const { text } = await telegram.waitFor((call) => /[A-Z0-9]{8}/.test(call.text));
    const [code = "no code"] = /[A-Z2-9]{8}/.exec(text) ?? [];
    await people.getByRole("region", { name: "Waiting" }).getByText(code).waitFor();
    await tab.shoot("first-steps-owner");
    await people.getByRole("button", { name: "Let in as owner" }).click();
    await people.getByRole("region", { name: "People let in" }).getByText("owner", { exact: true }).waitFor();
    await expect
      .poll(async () => JSON.parse(await readFile(home.configPath, "utf8")) as unknown, SOON)
      .toMatchObject({ commands: { ownerAllowFrom: [expect.stringMatching(/^telegram:\d+$/)] } });
    await tab.shoot("first-steps-people");
    const owner = people.getByRole("region", { name: "People let in" }).getByRole("listitem").first();
    await owner.getByRole("button", { name: "Put out" }).click();
    await people.getByText("Nobody is an owner yet").waitFor();
    await owner.waitFor({ state: "detached" });
    telegram.say("may I come back?");
    await people.getByRole("button", { name: "Let in", exact: true }).click();
    await owner.getByRole("button", { name: "Make owner" }).click();
    await owner.getByText("owner", { exact: true }).waitFor();
    await tab.page.goBack();
    await tab.page.goBack();
    await steps.waitFor({ state: "detached" });
    expect(await tab.page.getByLabel("Model", { exact: true }).inputValue()).toBe("openai/gpt-4.1");

    await tab.say("good morning");
    await tab.answered(/echo:.*good morning/s);
    expect(model.calls.at(-1)).toMatchObject({ model: "gpt-4.1", key: KEY });
    telegram.say("and from Telegram");
    await telegram.waitFor((call) => /echo:.*and from Telegram/s.test(call.text));
  });

  test("a failed answer speaks to the person at the page, whose button leads to a new key", async () => {
    const { tab } = await open();
    let good = KEY;
    model.answer(({ key, said }) =>
      key === good ? { text: `echo: ${said}` } : { status: 401, message: "Incorrect API key provided" },
    );
    await button(tab, "Choose a model").click();
    await giveKey(tab, KEY);
    await finish(tab);
    good = `${KEY}-new`;
    await tab.say("hello");
    await tab.page.getByRole("listitem").getByText("It needs another one.").waitFor();
    expect(await tab.page.content()).not.toContain("The operator can see");
    await tab.idle();
    await tab.page.reload();
    await tab.connected();
    await changeKey(tab).waitFor();
    await tab.shoot("first-steps-failed");
    await changeKey(tab).click();
    await giveKey(tab, good);
    await finish(tab);
    await tab.say("again");
    await tab.answered(/echo:.*again/s);
  });

  test("fit a phone, in the dark too", async () => {
    const { tab } = await open({ width: 390, height: 844 });
    await button(tab, "Choose a model").waitFor();
    await tab.shoot("first-steps-phone");
    await tab.page.emulateMedia({ colorScheme: "dark" });
    await button(tab, "Choose a model").click();
    const form = panel(tab, "Model");
    await form.getByLabel("Provider").selectOption("Another server");
    await form.getByLabel("Address").fill("http://127.0.0.1:1/v1");
    await form.getByLabel("Model", { exact: true }).fill("some-model");
    await tab.page.keyboard.press("Enter");
    await form.getByRole("alert").getByText("127.0.0.1:1 cannot be reached").waitFor();
    await tab.shoot("first-steps-phone-server");
    expect(await isWide(tab)).toBeLessThanOrEqual(0);
    await form.getByLabel("Address").fill(model.url);
    await form.getByLabel("Model", { exact: true }).fill("fake-1");
    await form.getByLabel("Key, if it needs one (optional)").fill(KEY);
    await tab.page.keyboard.press("Enter");
    await form.getByText("/fake-1 answered.").waitFor();
    await form.getByRole("button", { name: "Close" }).click();
    await button(tab, "Sessions").click();
    await tab.page.getByRole("link", { name: "People" }).click();
    await tab.page.getByText("Nobody is an owner yet").waitFor();
    await tab.shoot("first-steps-phone-people");
    expect(await isWide(tab)).toBeLessThanOrEqual(0);
  });
});
