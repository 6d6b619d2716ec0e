import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const NARROW = { width: 390, height: 780 };

const openSettings = async ({ page }: Tab) => {
  await page.getByRole("button", { name: "Session settings" }).click();
  const panel = page.getByRole("dialog", { name: "Session settings" });
  await panel.getByLabel("Queue mode", { exact: true }).waitFor();
  return panel;
};

describe.skipIf(!hasChromium)("the session on the page of the built gateway", () => {
  const world = pageWorld();
  const open = async (size?: { width: number; height: number }): Promise<Tab> =>
    world.browser.open(await world.home.start(), "", size);

  test("its settings are shown with their source, set, refused beside the field, and put back", async () => {
    const tab = await open();
    const panel = await openSettings(tab);
    const mode = panel.getByLabel("Queue mode", { exact: true });
    const source = panel.locator(".setting").filter({ hasText: "Queue mode" }).locator(".setting-source");
    await expect.poll(() => mode.inputValue()).toBe("collect");
    await expect.poll(() => source.innerText()).toBe("Default");
    await expect.poll(() => panel.getByLabel("Group activation").count()).toBe(0);
    await mode.selectOption("followup");
    await source.getByText("Set for this session").waitFor();
    await tab.shoot("settings");
    const cap = panel.getByLabel(/^Cap/);
    await cap.fill("5000");
    await cap.press("Enter");
    await panel.getByRole("alert").getByText("a whole number from 1 to 1000").waitFor();
    await expect.poll(() => cap.inputValue()).toBe("5000");
    await tab.shoot("settings-refused");
    await cap.fill("7");
    await cap.press("Enter");
    await panel.getByRole("alert").waitFor({ state: "detached" });
    await panel.getByRole("button", { name: /Use the default: 20/ }).waitFor();
    await panel.getByRole("button", { name: /Use the default: collect/ }).click();
    await source.getByText("Default", { exact: true }).waitFor();
    await expect.poll(() => mode.inputValue()).toBe("collect");
    await tab.page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await tab.say("/queue");
    await tab.answered(/collect, .*cap 7,/);
  });

  test.each([{ width: 1280, height: 800 }, NARROW])(
    "a conversation is pinned and put into the archive in the side bar ($width)",
    async (size) => {
      world.model.answer(({ said }) => ({ text: `About ${said}.` }));
      const gateway = await world.home.start();
      const first = await world.browser.open(gateway, "?session=webchat:default:tea", size);
      await first.say("tea");
      await first.answered("About tea.");
      await first.page.close();
      const tab = await world.browser.open(gateway, "?session=webchat:default:bins", size);
      const { page } = tab;
      await tab.say("bins");
      await tab.answered("About bins.");
      if (size === NARROW) await page.getByRole("button", { name: "Sessions" }).click();
      const titles = () => page.locator(".session-title:visible").allInnerTexts();
      const act = async (name: string, of: string): Promise<void> => {
        await page.getByRole("listitem").filter({ hasText: of }).last().hover();
        await page.getByRole("button", { name: `${name} ${of}`, exact: true }).click();
      };
      await expect.poll(titles, SOON).toEqual(["bins", "tea", "Main chat"]);
      await act("Pin", "tea");
      await expect.poll(titles, SOON).toEqual(["tea", "bins", "Main chat"]);
      await page.getByRole("button", { name: "Unpin tea", exact: true }).waitFor();
      await tab.shoot(`sidebar-pinned-${size.width}`);
      await act("Archive", "tea");
      await expect.poll(titles, SOON).toEqual(["bins", "Main chat"]);
      expect(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")).toBeLessThanOrEqual(0);
      if (size === NARROW) await page.keyboard.press("Escape");
      await tab.shoot(`sidebar-archived-${size.width}`);
      await page.getByRole("status").getByText("“tea” is in the archive.").waitFor();
      await page.getByRole("button", { name: "Bring back" }).click();
      if (size === NARROW) await page.getByRole("button", { name: "Sessions" }).click();
      await expect.poll(titles, SOON).toEqual(["tea", "bins", "Main chat"]);
      await act("Archive", "tea");
      await expect.poll(titles, SOON).toEqual(["bins", "Main chat"]);
      await page.getByRole("link", { name: "All chats" }).click();
      await page.getByRole("button", { name: "In the archive" }).click();
      await page.getByRole("listitem", { name: "tea" }).getByRole("button", { name: "Bring back" }).click();
      if (size === NARROW) await page.getByRole("button", { name: "Sessions" }).click();
      await expect.poll(titles, SOON).toEqual(["tea", "bins", "Main chat"]);
      // Two conversations that begin alike have names that tell them apart.
      await page.getByRole("button", { name: "New chat" }).click();
      await tab.say("bins");
      await tab.answered("About bins.");
      if (size === NARROW) await page.getByRole("button", { name: "Sessions" }).click();
      await expect.poll(titles, SOON).toEqual(["tea", "bins (2)", "bins", "Main chat"]);
      expect(await page.getByRole("alert").count()).toBe(0);
      await act("Archive", "bins (2)");
      await expect.poll(titles, SOON).toEqual(["Main chat", "tea", "bins"]);
      if (size === NARROW) await page.keyboard.press("Escape");
      await page.getByRole("heading", { name: "Main chat" }).waitFor();
      await page.getByRole("button", { name: "Bring back" }).click();
      await page.getByRole("heading", { name: "bins (2)" }).waitFor();
      await tab.answered("About bins.");
    },
  );

  test("a new chat is with the agent that the person chooses, also one that was just added", async () => {
    world.model.answer(({ system }) => ({ text: system.includes("workspace-owl") ? "I am Owl." : "I am main." }));
    const tab = await open();
    const { page } = tab;
    const choice = page.getByLabel("Agent of new chats");
    await page.getByRole("button", { name: "New chat" }).waitFor();
    await expect.poll(() => choice.count()).toBe(0);
    const list = [{ id: "main" }, { id: "owl", name: "Owl", identity: { emoji: "🦉" } }];
    const agents = { defaults: { model: { primary: "fake/seeing" } }, list };
    await world.home.writeConfig({ ...twoModels(world.model), agents });
    await choice.selectOption("owl");
    await page.getByRole("button", { name: "New chat" }).click();
    await page.locator("header").getByText("🦉 Owl").waitFor();
    await tab.say("who are you?");
    await tab.answered(/I am Owl\./);
    await page.getByRole("button", { name: /^who are you\?.*🦉 Owl · Web/ }).waitFor();
    await tab.shoot("agents");
    await choice.selectOption("main");
    await page.getByRole("button", { name: "New chat" }).click();
    await tab.say("and you?");
    await tab.answered(/I am main\./);
    await expect.poll(() => page.locator("header").getByText("🦉 Owl").count()).toBe(0);
  });

  test("each answer and each day show what they cost", async () => {
    const cost = { input: 1000, output: 2000 };
    const models = [{ id: "priced", contextWindow: 100_000, maxTokens: 4096, cost }];
    const providers = { fake: { baseUrl: world.model.url, apiKey: "x", api: "openai-completions", models } };
    const agents = { defaults: { model: { primary: "fake/priced" } } };
    await world.home.writeConfig({ ...twoModels(world.model), models: { providers }, agents });
    world.model.answer(() => ({ text: "Good day." }));
    const tab = await open();
    await tab.say("hello");
    await tab.page.getByText("10 in · 5 out · $0.0200").waitFor();
    const used = (await openSettings(tab)).getByRole("region", { name: "Usage" });
    await used.getByText("15 tokens · $0.0200").first().waitFor();
    await expect.poll(() => used.innerText()).toContain("in this session: 15 tokens · $0.0200");
    await tab.shoot("settings-usage");
  });

  test("it shows which tools are removed, where commands run, and what says so", async () => {
    await world.home.writeConfig({ ...twoModels(world.model), tools: { deny: ["grep"], exec: { ask: "always" } } });
    const tab = await open();
    const panel = await openSettings(tab);
    const row = (section: string, term: string) =>
      panel
        .getByRole("region", { name: section })
        .locator("div")
        .filter({ has: tab.page.getByText(term, { exact: true }) });
    await row("Commands", "Ask")
      .getByText(/^tools\.exec\.ask \(.*openclaw\.json:\d+\)$/)
      .waitFor();
    await expect.poll(() => row("Commands", "Ask").innerText()).toContain("always");
    await expect.poll(() => row("Sandbox", "Commands run").innerText()).toMatch(/on the machine\n.+/);
    await panel.getByText(/of \d+ tools are allowed/).click();
    await row("Tools", "grep")
      .getByText(/^global: tools\.deny \(.*openclaw\.json:\d+\)$/)
      .waitFor();
    await expect.poll(() => row("Tools", "grep").innerText()).toContain("removed");
    await tab.shoot("settings-rights");
  });

  test("a setting that a command or another tab changes is shown at once", async () => {
    const tab = await open();
    const panel = await openSettings(tab);
    const other = await tab.page.context().newPage();
    await other.goto(tab.page.url());
    await other.getByLabel("Message", { exact: true }).fill("/verbose full");
    await other.keyboard.press("Enter");
    const verbose = panel.getByLabel(/^Tool calls/);
    await expect.poll(() => verbose.inputValue(), SOON).toBe("full");
    await other.getByLabel("Thinking").selectOption("high");
    await expect.poll(() => panel.getByLabel("Thinking level").inputValue(), SOON).toBe("high");
    await world.home.writeConfig({ ...twoModels(world.model), messages: { queue: { mode: "interrupt" } } });
    await expect.poll(() => panel.getByLabel("Queue mode", { exact: true }).inputValue(), SOON).toBe("interrupt");
  });

  test("commands are completed with the keyboard and with the mouse, and directives within a message", async () => {
    world.model.answer(() => ({ text: "done" }));
    const tab = await open();
    const { page, box } = tab;
    const list = page.getByRole("listbox");
    const options = () => list.getByRole("option").allInnerTexts();
    const active = async () => {
      const id = await box.getAttribute("aria-activedescendant");
      return id === null ? undefined : page.locator(`[id="${id}"] .completion-word`).innerText();
    };
    await box.pressSequentially("/");
    await list.getByText("/status").waitFor();
    await tab.shoot("commands");
    await box.pressSequentially("st");
    await expect
      .poll(async () => (await options()).map((line) => line.split("\n")[0]), SOON)
      .toEqual(["/stop", "/status", "/start"]);
    await box.press("ArrowDown");
    await expect.poll(() => active()).toBe("/status");
    await box.press("Escape");
    await list.waitFor({ state: "detached" });
    await box.fill("");
    await box.pressSequentially("/thi");
    await list.getByText("/think").waitFor();
    await box.press("Tab");
    await expect.poll(options, SOON).toEqual(["off", "minimal", "low", "medium", "high", "xhigh", "default"]);
    await expect.poll(() => active()).toBeUndefined();
    await list.getByText("high", { exact: true }).click();
    await expect.poll(() => box.inputValue()).toBe("/think high");
    await box.press("Enter");
    await tab.answered("Thinking level: high");
    await box.pressSequentially("take your time /reas");
    await box.press("Enter");
    await expect.poll(() => box.inputValue()).toBe("take your time /reasoning ");
    await box.pressSequentially("of");
    await box.press("Enter");
    await box.press("Enter");
    await tab.answered("done");
    expect(world.model.calls.at(-1)?.said).toContain("take your time");
    expect(world.model.calls.at(-1)?.said).not.toContain("/reasoning");
  });

  test("messages that wait are shown in every tab, and one is withdrawn while the other gets its answer", async () => {
    const first = Promise.withResolvers<void>();
    world.model.answer((call, number) =>
      number === 1 ? { text: "word word word end", until: first.promise } : { text: `re: ${call.said}` },
    );
    const tab = await open();
    const two = await tab.page.context().newPage();
    await two.goto(tab.page.url());
    await tab.say("first");
    await tab.page.locator("li.turn.assistant").getByText("word word").waitFor();
    await tab.say("never mind this");
    await tab.say("but this");
    const waiting = tab.page.locator("li.turn.waiting");
    await expect.poll(() => waiting.count(), SOON).toBe(2);
    await expect.poll(() => two.locator("li.turn.waiting").count(), SOON).toBe(2);
    await tab.shoot("waiting");
    await waiting.filter({ hasText: "never mind" }).getByRole("button", { name: "Withdraw" }).click();
    await expect.poll(() => waiting.allInnerTexts(), SOON).toEqual([expect.stringContaining("but this")]);
    await expect.poll(() => tab.box.inputValue(), SOON).toBe("never mind this");
    expect(await two.getByLabel("Message", { exact: true }).inputValue()).toBe("");
    await expect.poll(() => two.locator("li.turn.waiting").count(), SOON).toBe(1);
    first.resolve();
    await tab.answered("re: but this");
    await expect
      .poll(async () => (await tab.turns()).map((turn) => turn.slice(0, 15).trim()), SOON)
      .toEqual(["you: first", "agent: word wor", "you: but this", "agent: re: but"]);
    expect(world.model.calls).toHaveLength(2);
    await expect.poll(() => two.locator("li.turn").count(), SOON).toBe(4);
  });

  test("fits a phone, in the dark too", async () => {
    const tab = await open({ width: 390, height: 844 });
    await tab.page.emulateMedia({ colorScheme: "dark" });
    await tab.box.pressSequentially("/");
    await tab.page.getByRole("listbox").waitFor();
    await tab.shoot("phone-commands");
    await tab.box.press("Escape");
    await openSettings(tab);
    await tab.shoot("phone-settings");
    const over = await tab.page.evaluate(
      "Math.max(document.documentElement.scrollWidth, document.querySelector('.settings').scrollWidth) - window.innerWidth",
    );
    expect(over).toBeLessThanOrEqual(0);
  });
});
