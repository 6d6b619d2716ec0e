import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { png } from "../kit/pictures.ts";
import { expectSameAfterReload, SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const NARROW = { width: 390, height: 780 };

const lastTurn = ({ page }: Tab, who: "user" | "assistant") => page.locator(`li.turn.${who}`).last();

const overflow = ({ page }: Tab): Promise<unknown> =>
  page.evaluate("document.documentElement.scrollWidth - window.innerWidth");

/** The HTML on the clipboard; empty when there is none. */
const COPIED_HTML = `navigator.clipboard.read().then(([item]) =>
  item.types.includes("text/html") ? item.getType("text/html").then((blob) => blob.text()) : "")`;

describe.skipIf(!hasChromium)("the turns of a conversation on the page of the built gateway", () => {
  const world = pageWorld();
  const open = async (size?: { width: number; height: number }): Promise<Tab> =>
    world.browser.open(await world.home.start(), "", size);

  test("an answer is copied as Markdown and given again, also to a picture, and the first one is left behind", async () => {
    world.model.answer(({ said }, number) => ({ text: `**answer ${number}** to ${said}` }));
    const tab = await open();
    await tab.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await tab.box.fill("look at this");
    await tab.paste(png(2, 2).toString("base64"), "dot.png");
    await tab.page.getByRole("button", { name: "Remove dot.png" }).waitFor();
    await tab.box.press("Enter");
    await tab.answered(/answer 1 to .*look at this/s);
    await lastTurn(tab, "assistant").getByRole("button", { name: "Copy answer" }).click();
    await lastTurn(tab, "assistant").getByText("Copied").waitFor();
    expect(await tab.page.evaluate("navigator.clipboard.readText()")).toMatch(/^\*\*answer 1\*\* to .*look at this/s);
    expect(await tab.page.evaluate(COPIED_HTML)).toMatch(/<strong[^>]*>answer 1<\/strong> to .*look at this/s);
    await lastTurn(tab, "assistant").getByRole("button", { name: "Answer again" }).click();
    await tab.answered(/answer 2 to .*look at this/s);
    await expect.poll(() => tab.turns(), SOON).toHaveLength(2);
    expect((await tab.turns())[0]).toBe("you: [picture] look at this");
    expect(world.model.calls.map(({ images }) => images.length)).toEqual([1, 1]);
    expect(JSON.stringify(world.model.calls[1]?.messages)).not.toContain("answer 1");
    await expectSameAfterReload(tab);
  });

  test.each([
    ["has no clipboard for more than text", "delete globalThis.ClipboardItem"],
    [
      "refuses more than text",
      `Clipboard.prototype.write = () => Promise.reject(new DOMException("no", "NotAllowedError"))`,
    ],
  ])("an answer is copied as Markdown alone where the browser %s", async (_, script) => {
    world.model.answer(() => ({ text: "**yes**" }));
    const tab = await open();
    await tab.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await tab.page.evaluate(script);
    await tab.say("do you?");
    await tab.answered("yes");
    await lastTurn(tab, "assistant").getByRole("button", { name: "Copy answer" }).click();
    await lastTurn(tab, "assistant").getByText("Copied").waitFor();
    expect(await tab.page.evaluate("navigator.clipboard.readText()")).toBe("**yes**");
    expect(await tab.page.evaluate(COPIED_HTML)).toBe("");
  });

  test("a message is edited from its button and from the empty box, with the keyboard alone, and left as it was", async () => {
    world.model.answer(({ said }) => ({ text: `echo: ${said}` }));
    const tab = await open();
    const { page, box } = tab;
    const { keyboard } = page;
    await tab.say("frist");
    await tab.answered("echo: frist");
    await tab.say("second");
    await tab.answered("echo: second");
    await box.focus();
    await keyboard.press("ArrowUp");
    await page.getByText(/^Editing: /).waitFor();
    await expect.poll(() => box.inputValue(), SOON).toBe("second");
    await keyboard.type(", unsent");
    await keyboard.press("Escape");
    await page.getByText(/^Editing: /).waitFor({ state: "detached" });
    await expect.poll(() => box.inputValue(), SOON).toBe("");
    await keyboard.type("a new one");
    const edit = page.locator("li.turn.user").first().getByRole("button", { name: "Edit and send again" });
    const copy = page.locator("li.turn.user").first().getByRole("button", { name: "Copy message" });
    for (let presses = 0; presses < 80 && !(await tab.hasFocus(copy)); presses += 1) await keyboard.press("Shift+Tab");
    await keyboard.press("ArrowRight");
    expect(await tab.hasFocus(edit)).toBe(true);
    await tab.shoot("turn-acts");
    await keyboard.press("Enter");
    await expect.poll(() => box.inputValue(), SOON).toBe("frist");
    expect(await tab.hasFocus(box)).toBe(true);
    await tab.shoot("turn-editing");
    await keyboard.press("ControlOrMeta+a");
    await keyboard.type("first");
    await keyboard.press("Enter");
    await tab.answered("echo: first");
    await expect.poll(() => tab.turns(), SOON).toEqual(["you: first", expect.stringMatching(/^agent: echo: first/)]);
    await expect.poll(() => box.inputValue(), SOON).toBe("a new one");
    await expectSameAfterReload(tab);
  });

  test("the versions of an edited message and of an answer are shown one after the other, also after a reload and on a phone", async () => {
    world.model.answer(({ said }, number) => ({ text: `answer ${number} to ${said}` }));
    const tab = await open(NARROW);
    const { page, box } = tab;
    await tab.say("hello");
    await tab.answered("answer 1 to hello");
    await tab.say("second");
    await tab.answered("answer 2 to second");
    await lastTurn(tab, "user").getByRole("button", { name: "Edit and send again" }).click();
    await page.getByText(/^Editing: /).waitFor();
    await box.fill("changed");
    await box.press("Enter");
    await tab.answered("answer 3 to changed");
    const versions = page.getByRole("group", { name: "Versions of this message" });
    await versions.getByText("2 of 2").waitFor();
    await lastTurn(tab, "assistant").getByRole("button", { name: "Answer again" }).click();
    await tab.answered("answer 4 to changed");
    await versions.getByText("3 of 3").waitFor();
    await tab.shoot("turn-versions-narrow");
    await versions.getByRole("button", { name: "Version before" }).click();
    await versions.getByText("2 of 3").waitFor();
    await tab.answered("answer 3 to changed");
    await expect.poll(() => tab.hasFocus(versions.getByRole("button", { name: "Version before" })), SOON).toBe(true);
    await page.keyboard.press("Enter");
    await versions.getByText("1 of 3").waitFor();
    await expect.poll(() => tab.hasFocus(versions.getByRole("button", { name: "Version after" })), SOON).toBe(true);
    await tab.answered("answer 2 to second");
    expect(await versions.getByRole("button", { name: "Version before" }).isDisabled()).toBe(true);
    await expectSameAfterReload(tab);
    await versions.getByText("1 of 3").waitFor();
    await tab.say("go on");
    await tab.answered("answer 5 to go on");
    expect((await tab.turns()).map((turn) => turn.split("\n")[0])).toEqual([
      "you: hello",
      expect.stringContaining("answer 1"),
      "you: second",
      expect.stringContaining("answer 2"),
      "you: go on",
      expect.stringContaining("answer 5"),
    ]);
    await versions.getByRole("button", { name: "Version after" }).click();
    await versions.getByText("2 of 3").waitFor();
    await versions.getByRole("button", { name: "Version before" }).click();
    await tab.answered("answer 5 to go on");
    expect(await overflow(tab)).toBeLessThanOrEqual(0);
  });

  test("a branch goes on in a new chat, from an answer or with a message back in the box; another tab sees an edit", async () => {
    world.model.answer(({ said }) => ({ text: `echo: ${said}` }));
    const tab = await open();
    const { page, box } = tab;
    const other = await page.context().newPage();
    await other.goto(page.url());
    for (const words of ["one", "two"]) {
      await tab.say(words);
      await tab.answered(`echo: ${words}`);
    }
    const first = page.locator("li.turn.assistant").first();
    await first.hover();
    await first.getByRole("button", { name: "Branch from here" }).click();
    await expect.poll(() => tab.turns(), SOON).toEqual(["you: one", expect.stringMatching(/^agent: echo: one/)]);
    await tab.say("beside");
    await tab.answered("echo: beside");
    await page
      .getByRole("button", { name: /^beside/ })
      .first()
      .waitFor();
    await lastTurn(tab, "assistant").getByRole("button", { name: "Branch from here" }).click();
    await expect.poll(() => box.inputValue(), SOON).toBe("");
    await expect.poll(() => tab.turns(), SOON).toHaveLength(4);
    await page
      .getByRole("button", { name: /Main chat/ })
      .first()
      .click();
    await expect.poll(async () => (await tab.turns()).at(-1), SOON).toMatch(/^agent: echo: two/);
    await lastTurn(tab, "user").getByRole("button", { name: "Branch from here" }).click();
    await expect.poll(() => box.inputValue(), SOON).toBe("two");
    await expect.poll(() => tab.turns(), SOON).toHaveLength(2);
    await page
      .getByRole("button", { name: /Main chat/ })
      .first()
      .click();
    await expect.poll(() => tab.turns(), SOON).toHaveLength(4);
    await lastTurn(tab, "user").getByRole("button", { name: "Edit and send again" }).click();
    await page.getByText(/^Editing: /).waitFor();
    await box.fill("three");
    await box.press("Enter");
    await tab.answered("echo: three");
    await expect.poll(() => other.locator("li.turn").count(), SOON).toBe(4);
    await other.locator("li.turn.assistant").getByText("echo: three").waitFor();
  });

  test("an answer shows what the model saw, why it was asked and what it cost; each turn has its time", async () => {
    const cost = { input: 1000, output: 2000 };
    const models = [{ id: "priced", contextWindow: 100_000, maxTokens: 4096, cost }];
    const providers = { fake: { baseUrl: world.model.url, apiKey: "x", api: "openai-completions", models } };
    const agents = { defaults: { model: { primary: "fake/priced" } } };
    await world.home.writeConfig({ ...twoModels(world.model), models: { providers }, agents });
    world.model.answer(({ said }) => ({ text: `echo: ${said}` }));
    const tab = await open(NARROW);
    await tab.say("how much?");
    await tab.answered("echo: how much?");
    const answer = lastTurn(tab, "assistant");
    await answer.hover();
    expect(await answer.locator("time").innerText()).toContain(String(new Date().getFullYear()));
    await tab.shoot("turn-acts-narrow");
    expect(await overflow(tab)).toBeLessThanOrEqual(0);
    await answer.getByRole("button", { name: "How this answer was made" }).click();
    const dialog = tab.page.getByRole("dialog", { name: "How this answer was made" });
    await dialog.getByText("$0.0200", { exact: true }).waitFor();
    await dialog.getByText("10 in, 5 out").waitFor();
    await dialog.getByText("The conversation asks for fake/priced.").waitFor();
    const seen = dialog.getByRole("region", { name: "What the model saw" });
    await seen.getByText("Person").last().click();
    await seen.locator("pre").filter({ hasText: "how much?" }).waitFor();
    await tab.shoot("answer-facts-narrow");
    expect(await overflow(tab)).toBeLessThanOrEqual(0);
    await tab.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await tab.page.setViewportSize({ width: 1280, height: 800 });
    await answer.getByRole("button", { name: "How this answer was made" }).click();
    await dialog.getByText("$0.0200", { exact: true }).waitFor();
    await tab.shoot("answer-facts");
  });
});
