import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startFakeModel, type FakeModel, type ModelCall } from "../fakes/model.ts";
import { startFakeTelegram, type FakeTelegram } from "../fakes/telegram.ts";
import { makeHome, TOKEN, walkConfig, type Home } from "../kit/gateway/process.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { Browser, expectSameAfterReload, SOON, type Tab } from "./browser.ts";
import { twoModels } from "./two-models.ts";

const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP8z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==";

let browser: Browser;
let model: FakeModel;
let telegram: FakeTelegram;
let home: Home;

async function open(config: Record<string, unknown> = {}, size?: { width: number; height: number }): Promise<Tab> {
  home = await makeHome(config);
  return browser.open(await home.start(), "", size);
}

async function paste(tab: Tab): Promise<void> {
  await tab.paste(PICTURE, "dot.png");
  await tab.page.getByRole("button", { name: "Remove dot.png" }).waitFor();
}

const hasPicture = (call: ModelCall | undefined): boolean => JSON.stringify(call?.messages ?? []).includes(PICTURE);

/** With a letter of Cyrillic. */
const NEVER = "touch nev\u0435r";

describe.skipIf(!hasChromium)("the page of the built gateway", () => {
  beforeAll(async () => {
    browser = await Browser.launch();
  });

  afterAll(() => browser.close());

  beforeEach(async () => {
    model = await startFakeModel();
    telegram = await startFakeTelegram();
  });

  afterEach(async () => {
    await browser.closeTabs();
    await home.remove();
    await Promise.all([model.close(), telegram.close()]);
    expect(browser.complaints.splice(0)).toEqual([]);
  });

  test("with the demo model: words, a file list, a command allowed and one denied, all there after a reload", async () => {
    const tab = await open();
    await tab.page.getByText("The demo model is answering").waitFor();
    await tab.say("hello there");
    await tab.answered(/You said: hello there.*built-in demo model/s);
    await tab.say("list the files");
    await tab.answered("AGENTS.md");
    await tab.page.getByText("ls", { exact: true }).click();
    await tab.page.locator(".tool-body").getByText("SOUL.md").waitFor();
    await tab.page.getByText("ls", { exact: true }).click();
    await tab.say("run date +made-%Y");
    const question = tab.page.getByRole("group", { name: /Run this command/ });
    await question.getByText("date +made-%Y").waitFor();
    await tab.shoot("approval");
    await tab.page.getByRole("button", { name: "Allow once" }).click();
    await tab.answered(/made-20\d\d/);
    await tab.say(`run ${NEVER}`);
    await question.getByText("Contains letters that look like Latin ones: е (U+0435)").waitFor();
    await tab.shoot("approval-look-alikes");
    await tab.page.getByRole("button", { name: "Deny" }).click();
    await tab.answered("refused");
    await expect.poll(() => tab.turns(), SOON).toHaveLength(8);
    await expect
      .poll(() => saidIn(tab), SOON)
      .toEqual(["you: hello there", "you: list the files", "you: run date +made-%Y", `you: run ${NEVER}`]);
    await expect
      .poll(async () => (await tab.turns()).map((turn) => /\[.*?\]/.exec(turn)?.[0]).filter(Boolean), SOON)
      .toEqual(["[ls done]", "[exec done]", "[exec failed]"]);
    await expectSameAfterReload(tab);
    await tab.shoot("demo");
  });

  test("below a base path it chats and opens again, and the command line names its address", async () => {
    home = await makeHome({ gateway: { port: 0, auth: { token: TOKEN }, controlUi: { basePath: "/claw" } } });
    const gateway = await home.start();
    const { stdout } = await home.run(["dashboard", "--json", "--no-open"]);
    expect(JSON.parse(stdout)).toMatchObject({ url: `http://127.0.0.1:${gateway.port}/claw/#token=${TOKEN}` });
    const tab = await browser.open(gateway, "claw/");
    await tab.say("hello there");
    await tab.answered("You said: hello there");
    await expectSameAfterReload(tab);
    await tab.page.goto(`http://127.0.0.1:${gateway.port}/claw`);
    await tab.connected();
    expect(new URL(tab.page.url()).pathname).toBe("/claw/");
    expect((await fetch(`http://127.0.0.1:${gateway.port}/`)).status).toBe(404);
  });

  test("commands, new chats and the session list", async () => {
    const tab = await open();
    await tab.say("first words");
    await tab.answered("You said: first words");
    await tab.say("/status");
    await tab.answered("Model: demo/echo-agent");
    await expect
      .poll(async () => (await tab.turns()).slice(2), SOON)
      .toEqual(["you: /status", expect.stringContaining("agent: Agent: main")]);
    await expectSameAfterReload(tab);
    await tab.page.getByRole("button", { name: "New chat" }).click();
    await tab.page.getByText("The demo model is answering").waitFor();
    await tab.say("about fish");
    await tab.answered("You said: about fish");
    await tab.page
      .getByRole("button", { name: /about fish/ })
      .first()
      .waitFor();
    await tab.page
      .getByRole("button", { name: /Main chat/ })
      .first()
      .click();
    await expect.poll(async () => (await tab.turns())[0], SOON).toBe("you: first words");
    await tab.say("/new");
    await tab.answered("fresh conversation");
    await expect.poll(() => tab.turns(), SOON).toEqual(["you: /new", expect.stringMatching(/^agent: Hello!/)]);
    await expectSameAfterReload(tab);
    await tab.page
      .getByRole("button", { name: /about fish/ })
      .first()
      .click();
    await expect.poll(async () => (await tab.turns())[0], SOON).toBe("you: about fish");
  });

  test("an answer streams, is stopped, and the next one comes; two tabs show the same", async () => {
    const tab = await open(twoModels(model));
    model.answer((call, number) =>
      number === 1 ? { text: "word ".repeat(400), everyMs: 30 } : { text: `**bold** ${call.said}` },
    );
    const two = await tab.page.context().newPage();
    await two.goto(tab.page.url());
    await tab.say("slow please");
    await tab.page.locator("li.turn.assistant").getByText("word word word").waitFor();
    await two.locator("li.turn.assistant").getByText("word word word").waitFor();
    await tab.page.getByRole("button", { name: "Stop" }).click();
    await tab.page.getByText(/^Stopped/).waitFor();
    await tab.idle();
    await two.getByText(/^Stopped/).waitFor();
    await two.getByLabel("Message", { exact: true }).fill("from the other tab");
    await two.keyboard.press("Enter");
    await tab.answered(/bold.*from the other tab/s);
    await expect.poll(() => tab.turns(), SOON).toHaveLength(4);
    await expect.poll(() => saidIn(tab), SOON).toEqual(["you: slow please", "you: from the other tab"]);
    await expectSameAfterReload(tab);
  });

  test("a message that waits for another one is answered after it, or stopped with it and back in the box", async () => {
    const tab = await open(twoModels(model));
    model.answer((call, number) => {
      if (number === 1) return { text: "first ".repeat(20), everyMs: 30 };
      return call.said.includes("stop this") ? { text: "long ".repeat(400), everyMs: 30 } : { text: "second answer" };
    });
    await tab.say("one");
    await tab.page.locator("li.turn.assistant").getByText("first first").waitFor();
    await expect.poll(() => tab.page.getByRole("button", { name: "Stop" }).isVisible()).toBe(true);
    await tab.say("two");
    await tab.answered("second answer");
    await expect
      .poll(async () => (await tab.turns()).map((turn) => turn.slice(0, 12)), SOON)
      .toEqual(["you: one", "agent: first", "you: two", "agent: secon"]);
    await tab.say("stop this");
    await tab.page.locator("li.turn.assistant").getByText("long long").waitFor();
    await tab.say("and this waits");
    await tab.page.locator("li.turn.user").getByText("and this waits").waitFor();
    await tab.page.locator("li.turn.waiting").getByText("and this waits").waitFor();
    await tab.page.keyboard.press("Escape");
    await tab.idle();
    await expect
      .poll(async () => (await tab.turns()).slice(4).map((turn) => turn.slice(0, 19).trim()), SOON)
      .toEqual(["you: stop this", "agent: long long lo"]);
    await expect.poll(() => tab.box.inputValue(), SOON).toBe("and this waits");
  });

  test("a failure is shown once, with its reason, and still after a reload", async () => {
    const tab = await open(twoModels(model));
    model.answer(() => ({ status: 401, message: "Incorrect API key provided" }));
    await tab.say("will fail");
    await tab.page.locator(".outcome.error").getByText("401 Incorrect API key provided").waitFor();
    await expect.poll(() => tab.turns(), SOON).toEqual(["you: will fail", expect.stringContaining("refuses the key")]);
    await tab.idle();
    await expectSameAfterReload(tab);
    await expect
      .poll(() => tab.page.locator(".outcome.error > span").allInnerTexts())
      .toEqual(["401 Incorrect API key provided"]);
  });

  test("an image reaches a model that sees, is there after a reload, and is named by the demo model", async () => {
    const tab = await open(twoModels(model));
    await tab.box.fill("look");
    await paste(tab);
    await tab.box.press("Enter");
    await tab.answered("look");
    expect(hasPicture(model.calls.at(-1))).toBe(true);
    await expect.poll(async () => (await tab.turns())[0], SOON).toBe("you: [picture] look");
    await expectSameAfterReload(tab);
    await home.remove();
    const demo = await open();
    await paste(demo);
    await demo.box.press("Enter");
    await demo.answered(/You sent \S+\.png \(image\/png\)/);
    await expect.poll(async () => (await demo.turns())[0], SOON).toBe("you: [picture]");
  });

  test("the model and the thinking chosen on the page count from the next message on", async () => {
    const tab = await open(twoModels(model));
    await tab.say("one");
    await tab.answered("one");
    await tab.page.getByLabel("Model").selectOption("fake/plain");
    await tab.say("two");
    await tab.answered("two");
    expect(model.calls.map((call) => call.model)).toEqual(["seeing", "plain"]);
    await tab.page.getByLabel("Model").selectOption("fake/seeing");
    await tab.page.getByLabel("Thinking").selectOption("high");
    await expect.poll(() => tab.page.getByLabel("Thinking").inputValue(), SOON).toBe("high");
    await tab.say("/status");
    await tab.answered("Thinking: high");
    await tab.page.getByLabel("Thinking").selectOption("");
    await tab.say("/status");
    await expect.poll(async () => (await tab.turns()).at(-1), SOON).toContain("Thinking: off");
  });

  test("a Telegram chat is shown as it was written, and a stranger waits for approval", async () => {
    const { channels } = walkConfig(telegram, model);
    const account = { ...channels.telegram, dmPolicy: "pairing", allowFrom: [] };
    const tab = await open(twoModels(model, { channels: { telegram: account } }));
    telegram.say("let me in");
    const code = await telegram.waitFor((call) => call.method === "sendMessage");
    expect(code.text).toMatch(/[A-Z0-9]{8}/);
    await tab.page.getByRole("button", { name: "Let them in" }).click();
    await tab.page.getByRole("button", { name: "Let them in" }).waitFor({ state: "detached" });
    telegram.say("what is new?");
    await telegram.waitFor((call) => call.text.includes("what is new?"));
    await tab.page
      .getByRole("button", { name: /Telegram/ })
      .first()
      .click();
    await expect.poll(() => tab.turns(), SOON).toEqual(["you: what is new?", expect.stringContaining("agent: echo:")]);
    await tab.page.locator(".sender").getByText("Ada").waitFor();
    await tab.page.getByText("The person on Telegram gets neither").waitFor();
    await tab.box.fill("I will call you **back**.");
    await tab.page.getByRole("button", { name: "Send to the person" }).click();
    await telegram.waitFor((call) => call.method === "sendMessage" && call.text.includes("I will call you"));
    await tab.page.getByText("Sent to the person.").waitFor();
    await expect.poll(() => tab.box.inputValue(), SOON).toBe("");
    await tab.answered("I will call you back.");
    await tab.idle();
    const note = tab.page.locator("li.turn").filter({ hasText: "I will call you back." });
    await note.locator(".sender").getByText("To the person").waitFor();
    expect(await note.innerText()).not.toContain("echo:");
    await expectSameAfterReload(tab);
    await tab.shoot("telegram");
  });

  test("a mistake in the config file is shown while it is there", async () => {
    const tab = await open();
    await home.writeConfig({ agents: { defaultz: {} } });
    await tab.page.getByText("defaultz").first().waitFor();
    await tab.shoot("problem");
    await home.writeConfig({});
    await tab.page.getByText("defaultz").first().waitFor({ state: "detached" });
  });

  test("works with the keyboard alone", async () => {
    const tab = await open();
    const { keyboard } = tab.page;
    await keyboard.type("run date");
    await keyboard.press("Shift+Enter");
    await keyboard.press("Backspace");
    await keyboard.press("Enter");
    const allow = tab.page.getByRole("button", { name: "Allow once" });
    await allow.waitFor();
    for (let presses = 0; presses < 80 && !(await tab.hasFocus(allow)); presses += 1) await keyboard.press("Shift+Tab");
    await keyboard.press("Enter");
    await tab.answered("exit code 0");
    const tool = tab.page.locator("details.tool summary");
    for (let presses = 0; presses < 80 && !(await tab.hasFocus(tool)); presses += 1) await keyboard.press("Shift+Tab");
    await keyboard.press("Space");
    await tab.page.locator(".tool-body").getByText("Arguments").waitFor();
  });

  test("fits a phone", async () => {
    const tab = await open({}, { width: 390, height: 844 });
    await tab.say("list the files");
    await tab.answered("AGENTS.md");
    const over = await tab.page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
    expect(over).toBeLessThanOrEqual(0);
    await tab.shoot("phone");
    await tab.page.getByRole("button", { name: "Sessions" }).click();
    await tab.page.getByRole("dialog").getByRole("button", { name: "New chat" }).click();
    await tab.page.getByText("The demo model is answering").waitFor();
    await tab.shoot("phone-new");
  });
});

/** The turns of the person. */
const saidIn = async (tab: Tab): Promise<readonly string[]> =>
  (await tab.turns()).filter((turn) => turn.startsWith("you: "));
