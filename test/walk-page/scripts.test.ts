import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON } from "./browser.ts";
import { pageWorld } from "./page-world.ts";

const OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth";
const NARROW = { width: 390, height: 780 };

const ARABIC = "مرحبا بالعالم، هذا نص عربي طويل يجب أن يلتف على السطر التالي دون أن تتحرك الصفحة";
const HEBREW = "שלום עולם, זהו טקסט ארוך בעברית שצריך לגלוש לשורה הבאה";
const CHINESE = "这是一段没有空格的很长的中文文字它必须在窄窗口里自动换行而不会让页面横向滚动".repeat(3);
const JAPANESE = "これはスペースのない長い日本語の文章で狭い画面でも折り返される必要があります".repeat(2);
const KOREAN = "이것은 좁은 화면에서도 줄바꿈이 되어야 하는 긴 한국어 문장입니다";
const LATIN = "And this is English.";
const PARAGRAPHS = [ARABIC, CHINESE, HEBREW, JAPANESE, KOREAN, LATIN];

// Directions of the paragraphs of the last answer.
const DIRECTIONS = `[...[...document.querySelectorAll("li.turn.assistant")].at(-1).querySelectorAll(".said p")].map((one) => getComputedStyle(one).direction)`;
// Elements of the page that are wider than the window, beside those that scroll by themselves.
const TOO_WIDE = `[...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && one.getClientRects().length > 0 && !one.closest("pre, table, .unseen, .table")).map((one) => one.outerHTML.slice(0, 120))`;
const RUNNING = `document.getAnimations().filter(({ playState }) => playState === "running").length`;

describe.skipIf(!hasChromium)("the page with other scripts, large letters and little motion", () => {
  const world = pageWorld();

  test("paragraphs of Arabic, Hebrew, Chinese, Japanese and Korean wrap, each in its own direction", async () => {
    world.model.answer(() => ({ text: PARAGRAPHS.join("\n\n") }));
    const tab = await world.browser.open(await world.home.start(), "?session=webchat:default:scripts", NARROW);
    const { page } = tab;
    await tab.say(`${ARABIC} ${CHINESE}`);
    await tab.answered(LATIN);
    expect(await page.evaluate(DIRECTIONS)).toEqual(["rtl", "ltr", "rtl", "ltr", "ltr", "ltr"]);
    expect(await page.evaluate(`getComputedStyle(document.querySelector("li.turn.user p")).direction`)).toBe("rtl");
    expect(await page.evaluate(OVERFLOW)).toBeLessThanOrEqual(0);
    expect(await page.evaluate(TOO_WIDE)).toEqual([]);
    await tab.shoot("scripts-narrow");
    await page.setViewportSize({ width: 1280, height: 800 });
    await tab.shoot("scripts");
    await page.getByRole("button", { name: "Find and do" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("combobox", { name: /^Find a view/ }).waitFor();
    await page.keyboard.type("مرحبا");
    const first = page.getByRole("dialog").getByRole("option", { selected: true });
    await expect.poll(() => first.innerText(), SOON).toContain("مرحبا");
  });

  test("Enter takes what an input method composes, and sends only after it", async () => {
    world.model.answer(({ said }) => ({ text: `Heard ${said}.` }));
    const tab = await world.browser.open(await world.home.start());
    const { page } = tab;
    await tab.box.focus();
    const protocol = await page.context().newCDPSession(page);
    await protocol.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
    // While an input method composes, browsers give its keys to the page with this code.
    await protocol.send("Input.dispatchKeyEvent", {
      type: "rawKeyDown",
      key: "Enter",
      code: "Enter",
      windowsVirtualKeyCode: 229,
    });
    await protocol.send("Input.insertText", { text: "日本" });
    expect(await tab.box.inputValue()).toBe("日本");
    expect(await page.locator("li.turn").count()).toBe(0);
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: /^Find a view/ });
    await field.waitFor();
    await protocol.send("Input.imeSetComposition", { text: "にほ", selectionStart: 2, selectionEnd: 2 });
    await protocol.send("Input.dispatchKeyEvent", {
      type: "rawKeyDown",
      key: "Enter",
      code: "Enter",
      windowsVirtualKeyCode: 229,
    });
    expect(await field.isVisible()).toBe(true);
    await protocol.send("Input.insertText", { text: "日本" });
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await tab.answered("Heard 日本.");
  });

  test("at 200 % nothing is cut off: chat, palette and views", async () => {
    world.model.answer(() => ({ text: `${LATIN} ${"A longer sentence follows. ".repeat(12)}` }));
    const tab = await world.browser.open(await world.home.start(), "", { width: 640, height: 400 });
    const { page } = tab;
    await tab.say("hello");
    await tab.answered(LATIN);
    expect(await page.evaluate(OVERFLOW)).toBeLessThanOrEqual(0);
    await expect.poll(() => tab.box.isVisible(), SOON).toBe(true);
    await tab.shoot("zoom-chat");
    for (const title of ["Jobs", "Config", "Memory", "Health", "Models"]) {
      await page.keyboard.press("Control+k");
      const field = page.getByRole("combobox", { name: /^Find a view/ });
      await field.waitFor();
      const list = await page.getByRole("listbox", { name: "Results" }).boundingBox();
      expect((list?.y ?? 0) + (list?.height ?? 0)).toBeLessThanOrEqual(400);
      await page.keyboard.type(title);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
      await page.getByText("Reading…").first().waitFor({ state: "detached" });
      expect(await page.evaluate(OVERFLOW), title).toBeLessThanOrEqual(0);
    }
    await tab.shoot("zoom-view");
  });

  test("with little motion wanted nothing moves, also while the agent works", async () => {
    world.model.answer(() => ({ text: "word ".repeat(200), everyMs: 30 }));
    const tab = await world.browser.open(await world.home.start(), "", NARROW);
    const { page } = tab;
    await page.emulateMedia({ reducedMotion: "reduce" });
    await tab.say("hello");
    await page.locator("li.turn.assistant").getByText("word word").waitFor();
    expect(await page.evaluate(RUNNING)).toBe(0);
    await page.getByRole("button", { name: "Sessions" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Sessions" }).waitFor();
    expect(await page.evaluate(RUNNING)).toBe(0);
  });
});
