import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const SIZES = [
  ["wide", { width: 1280, height: 800 }],
  ["narrow", { width: 390, height: 780 }],
] as const;

const OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth";

describe.skipIf(!hasChromium)("the view of the memory of the page", () => {
  const world = pageWorld();

  test.each(SIZES)("notes are listed, found, and opened at the line that was found (%s)", async (size, viewport) => {
    const workspace = join(world.home.stateDir, "workspace");
    mkdirSync(join(workspace, "memory"), { recursive: true });
    const lines = Array.from({ length: 60 }, (_, index) => `Day note ${index + 1}.`);
    writeFileSync(join(workspace, "MEMORY.md"), "# Lasting\n\nAnn likes green tea.\n");
    writeFileSync(join(workspace, "memory", "2026-11-28.md"), [...lines, "The fern was watered twice."].join("\n"));
    writeFileSync(join(workspace, "memory", "2026-11-29.md"), "Nothing happened.\n");
    const tab = await world.browser.open(await world.home.start(), "?view=memory", viewport);
    const { page } = tab;
    const days = page.getByRole("region", { name: "Other notes" }).getByRole("listitem");
    await expect.poll(() => days.count(), SOON).toBe(2);
    await days.first().getByRole("button", { name: "memory/2026-11-29.md" }).waitFor();
    await page.getByLabel("Search the memory").fill("fern watered");
    await page.keyboard.press("Enter");
    const found = page.getByRole("region", { name: "Found" });
    await found
      .getByRole("button", { name: /^memory\/2026-11-28\.md#\d+$/ })
      .first()
      .click();
    const note = page.getByRole("list", { name: "Lines of memory/2026-11-28.md" });
    await note.getByText("The fern was watered twice.").waitFor();
    await note.getByText(/^From here on: written by an editor/).waitFor();
    await note.getByRole("button", { name: "Line 61", exact: true }).click();
    await expect.poll(() => note.locator("[aria-current=true]").innerText(), SOON).toContain("watered twice");
    await page.getByText("openclaw memory why --agent main memory/2026-11-28.md:61").waitFor();
    await tab.shoot(`memory-${size}`);
    expect(await page.evaluate(OVERFLOW)).toBeLessThanOrEqual(0);
    await page.getByRole("button", { name: /^Close:? memory.2026-11-28\.md$/ }).click();
    await page.getByRole("button", { name: "MEMORY.md" }).click();
    await page.getByRole("list", { name: "Lines of MEMORY.md" }).getByText("Ann likes green tea.").waitFor();
    await page
      .getByRole("region", { name: "Index" })
      .getByText(/3 notes/)
      .waitFor();
  });

  test("a line says when and in which conversation it was written, leads there, and is forgotten", async () => {
    const { home, model, browser } = world;
    const content = "# Lasting\nAnn likes green tea.\nThe fern wants water on Mondays.\n";
    model.answer(({ isAfterTool }) =>
      isAfterTool ? { text: "Noted." } : { tool: "write", args: { path: "MEMORY.md", content } },
    );
    const tab = await browser.open(await home.start(), "?session=webchat:default:tea");
    const { page } = tab;
    await tab.say("Remember the tea and the fern.");
    await tab.answered("Noted.");
    const file = join(home.stateDir, "workspace", "MEMORY.md");
    appendFileSync(file, "Somebody added this.\n");
    await page.getByRole("link", { name: "Memory" }).click();
    await page.getByRole("button", { name: "MEMORY.md" }).click();
    const note = page.getByRole("list", { name: "Lines of MEMORY.md" });
    const items = note.getByRole("listitem");
    await items.first().getByText("for an owner").waitFor();
    await items.first().getByRole("button", { name: "Remember the tea and the fern." }).waitFor();
    await items
      .nth(3)
      .getByText(/^From here on: written by an editor/)
      .waitFor();
    await note.getByRole("button", { name: "Line 2", exact: true }).click();
    await tab.shoot("memory-origins");
    await page.setViewportSize({ width: 390, height: 780 });
    await tab.shoot("memory-origins-narrow");
    expect(await page.evaluate(OVERFLOW)).toBeLessThanOrEqual(0);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("button", { name: "Forget this line" }).click();
    expect(await tab.hasFocus(page.getByRole("button", { name: "Keep" }))).toBe(true);
    await page.getByRole("button", { name: "Remove the line" }).click();
    await note.getByText("Ann likes green tea.").waitFor({ state: "detached" });
    expect(readFileSync(file, "utf8")).toBe("# Lasting\nThe fern wants water on Mondays.\nSomebody added this.\n");
    await items.nth(1).getByText("The fern wants water on Mondays.").waitFor();
    await items.first().getByRole("button", { name: "Remember the tea and the fern." }).click();
    await tab.answered("Noted.");
  });

  test("an earlier conversation that is found is opened", async () => {
    const { home, model, browser } = world;
    const memorySearch = { sources: ["memory", "sessions"], experimental: { sessionMemory: true } };
    await home.writeConfig(twoModels(model, { agents: { defaults: { memorySearch } } }));
    model.answer(() => ({ text: "The harbour opens at seven." }));
    const gateway = await home.start();
    const first = await browser.open(gateway, "?session=webchat:default:harbour");
    await first.say("When does the harbour open?");
    await first.answered("The harbour opens at seven.");
    await browser.closeTabs();
    // Its end writes the list of conversations that the memory reads.
    await gateway.kill("SIGTERM");
    const tab = await browser.open(await home.start(), "?view=memory");
    const { page } = tab;
    await page.getByLabel("Search the memory").fill("harbour opens");
    await page.keyboard.press("Enter");
    const found = page.getByRole("region", { name: "Found" }).getByRole("button", { name: "An earlier conversation" });
    await page
      .getByRole("region", { name: "Index" })
      .getByText(/^Index: \d notes? · 1 conversation · /)
      .waitFor();
    await tab.shoot("memory-conversation");
    await found.first().click();
    await tab.answered("The harbour opens at seven.");
    expect(new URL(page.url()).searchParams.get("session")).toContain("webchat:default:harbour");
  });

  test("a memory that is off or cannot be used says so, with the command that helps", async () => {
    const { home, model, browser } = world;
    await home.writeConfig(twoModels(model, { plugins: { slots: { memory: "none" } } }));
    const tab = await browser.open(await home.start(), "?view=memory");
    const { page } = tab;
    const index = page.getByRole("region", { name: "Index" });
    await index.getByText("no memory is in use: plugins.slots.memory is none", { exact: false }).waitFor();
    await index.getByText("openclaw config set plugins.slots.memory memory-core").waitFor();
    await tab.shoot("memory-off");
    await page.getByLabel("Search the memory").fill("tea");
    await page.keyboard.press("Enter");
    await page.getByText("The agent has no tool memory_search").waitFor();
    await home.writeConfig(twoModels(model, { agents: { defaults: { memorySearch: { enabled: false } } } }));
    await index.getByText("openclaw config set agents.defaults.memorySearch.enabled true").waitFor();
    await home.writeConfig(twoModels(model));
    await index.getByText(/^Index: /).waitFor();
  });
});
