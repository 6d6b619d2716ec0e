import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";

const NARROW = { width: 390, height: 780 };
const SECRET = "stored-key-of-the-provider-0123456789";

describe.skipIf(!hasChromium)("the config on the page of the built gateway", () => {
  const world = pageWorld();
  const file = () => readFile(world.home.configPath, "utf8");
  const edit = async (change: (text: string) => string) => writeFile(world.home.configPath, change(await file()));

  const open = async (size?: typeof NARROW): Promise<Tab> => {
    const tab = await world.browser.open(await world.home.start(), "?view=config", size);
    await tab.page.getByRole("navigation", { name: "Sections of the config" }).waitFor();
    return tab;
  };
  const search = ({ page }: Tab, words: string) => page.getByRole("searchbox").fill(words);
  const look = ({ page }: Tab) => page.getByRole("button", { name: "Look and save" }).click();
  const save = ({ page }: Tab) => page.getByRole("button", { name: "Save", exact: true }).click();
  const change = ({ page }: Tab, key: string) =>
    page.getByRole("region", { name: "What changes" }).getByRole("listitem", { name: key, exact: true });

  test("keys are found, changed, looked at with what waits for a restart, and saved", async () => {
    await edit((text) => text.replace("{", "{ // a remark of the operator\n"));
    const tab = await open();
    const { page } = tab;
    await tab.shoot("config");
    await search(tab, "console style");
    await page.getByLabel("Console style").selectOption("json");
    await search(tab, "cron.maxConcurrentRuns");
    const runs = page.getByRole("spinbutton").first();
    await runs.fill("0");
    await page.getByText("This has to be from 1 to 100.").first().waitFor();
    await tab.shoot("config-problem");
    expect(await page.getByRole("button", { name: "Look and save" }).isDisabled()).toBe(true);
    await runs.fill("3");
    await page.getByText("2 changes are not saved.").waitFor();
    await page.getByLabel("Which keys").selectOption("changed");
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
    await page.goBack();
    await page.getByText("2 changes are not saved.").waitFor();
    await look(tab);
    await change(tab, "logging.consoleStyle").getByText("applies after a restart").waitFor();
    await change(tab, "cron.maxConcurrentRuns").getByText("applies at once").waitFor();
    await tab.shoot("config-review");
    await save(tab);
    await page.getByRole("button", { name: "Restart the gateway" }).waitFor();
    await tab.shoot("config-saved");
    const saved = await file();
    expect(saved).toContain("a remark of the operator");
    expect(saved).toMatch(/"?consoleStyle"?: "json"/);
    expect(saved).toMatch(/"?maxConcurrentRuns"?: 3/);
  });

  test("a stored secret is never shown and stays, also beside what changes in its list, until another one is typed", async () => {
    await edit((text) => text.replace('"apiKey": "x"', `"apiKey": "${SECRET}"`));
    const tab = await open();
    const { page } = tab;
    await search(tab, "models.providers.fake");
    await page.getByText("models.providers.fake.models.0.contextWindow").waitFor();
    await page.getByLabel("Which keys").selectOption("set");
    const window = page.locator(".config-key").filter({ hasText: "models.providers.fake.models.0.contextWindow" });
    await window.getByRole("spinbutton").fill("50000");
    await tab.shoot("config-secret");
    await look(tab);
    await save(tab);
    await page.getByText("Saved. It is in force.").waitFor();
    expect(await file()).toContain(SECRET);
    expect(await file()).toContain("50000");
    const key = page.locator(".config-key").filter({ hasText: "models.providers.fake.apiKey" });
    await key.getByRole("textbox").fill("another-key-of-the-provider-987");
    await look(tab);
    await change(tab, "models.providers.fake.apiKey").getByText("a secret").first().waitFor();
    await tab.shoot("config-secret-review");
    expect(await page.content()).not.toContain(SECRET);
    expect(await page.content()).not.toContain("another-key-of-the-provider-987");
    await save(tab);
    await page.getByText("Saved. It is in force.").waitFor();
    expect(await file()).toContain("another-key-of-the-provider-987");
    expect(await file()).not.toContain(SECRET);
  });

  test("a refusal stands at its key, and nothing typed is lost when the file changes meanwhile, on a phone too", async () => {
    const tab = await open(NARROW);
    const { page } = tab;
    await page.emulateMedia({ colorScheme: "dark" });
    await page
      .getByRole("navigation", { name: "Sections of the config" })
      .getByRole("button", { name: "Agents" })
      .click();
    await tab.shoot("config-phone");
    const agents = page.locator("details").filter({ hasText: "list" }).first();
    await agents.locator("summary").first().click();
    await page.getByRole("button", { name: "Add an item" }).click();
    await search(tab, "idle minutes");
    await page.getByRole("spinbutton").first().fill("77");
    await look(tab);
    await save(tab);
    await page.getByRole("button", { name: "agents.list.0.id" }).first().waitFor();
    await tab.shoot("config-phone-refused");
    await page.getByRole("button", { name: "agents.list.0.id" }).first().click();
    await page.getByLabel("Id", { exact: true }).fill("main");
    await edit((text) => text.replace("{", '{ "session": { "idleMinutes": 5 },'));
    await search(tab, "session.idleMinutes");
    await page.getByText("Changed in the file meanwhile, from not set to 5.").waitFor();
    await tab.shoot("config-phone-clash");
    expect(await page.getByRole("spinbutton").first().inputValue()).toBe("77");
    const over = "document.querySelector('.view').scrollWidth - document.querySelector('.view').clientWidth";
    expect(await page.evaluate(over)).toBeLessThanOrEqual(0);
    await look(tab);
    await save(tab);
    await page.getByText(/^Saved\./).waitFor();
    await expect.poll(file, SOON).toMatch(/"idleMinutes": 77/);
    expect(await file()).toMatch(/"id": "main"/);
  });

  test("the text of the file has its errors by line, keeps secrets and comments, and meets a change of the file", async () => {
    await edit((text) => text.replace('"apiKey": "x"', `"apiKey": "${SECRET}"`).replace("{", "{\n  // a remark\n"));
    const tab = await open();
    const { page } = tab;
    await page.getByLabel("How the config is shown").selectOption("text");
    const field = page.getByRole("textbox", { name: "Text of the config" });
    const text = await field.inputValue();
    expect(text).toContain("// a remark");
    expect(text).not.toContain(SECRET);
    await field.fill(text.replace("// a remark", "// another remark\n  cron: { enabled: maybe },"));
    await page.getByText(/^Line 3: invalid character/).waitFor();
    expect(await page.getByRole("button", { name: "Look and save" }).isDisabled()).toBe(true);
    await tab.shoot("config-text-problem");
    await field.fill(text.replace("// a remark", '// another remark\n  cron: { enabled: "maybe" },'));
    await look(tab);
    await save(tab);
    await page.getByRole("button", { name: "cron.enabled" }).first().waitFor();
    await page.getByRole("button", { name: "Back" }).click();
    await page.getByRole("button", { name: "Line 3" }).click();
    await tab.shoot("config-text-refused");
    await field.fill(text.replace("// a remark", "// another remark\n  cron: { enabled: false },"));
    await edit((before) => before.replace("{", '{ "session": { "idleMinutes": 5 },'));
    await page.getByText("Changed: session.idleMinutes.").waitFor();
    await tab.shoot("config-text-meanwhile");
    expect(await field.inputValue()).toContain("another remark");
    await page.getByRole("button", { name: "Go on with my text" }).click();
    await look(tab);
    await change(tab, "session.idleMinutes").waitFor();
    await change(tab, "cron.enabled").getByText("applies at once").waitFor();
    await save(tab);
    await page.getByText("Saved. It is in force.").waitFor();
    const saved = await file();
    expect(saved).toContain("// another remark");
    expect(saved).toContain(SECRET);
    expect(saved).not.toContain("idleMinutes");
    expect(await page.content()).not.toContain(SECRET);
  });

  test("an address that names no key says so, and leads to the search for it", async () => {
    const { page } = await world.browser.open(await world.home.start(), "?view=config&key=cron.maxConcurrent");
    const told = page.getByRole("alert").filter({ hasText: "There is no key cron.maxConcurrent." });
    await told.getByRole("button", { name: "Search the keys for “maxConcurrent”" }).click();
    await page.getByText("cron.maxConcurrentRuns", { exact: true }).first().waitFor();
    expect(await page.getByLabel("Search the keys").inputValue()).toBe("maxConcurrent");
    expect(await told.count()).toBe(0);
  });

  test("the key of an address has the focus within the window: a field, a group, one of a list and a section", async () => {
    await edit((text) =>
      text.replace(/"agents": \{/, '$& "list": [{ "id": "main" }, { "id": "clerk", "tools": {} }],'),
    );
    const url = await world.home.start();
    for (const size of [undefined, NARROW])
      for (const [key, title] of [
        ["cron.maxConcurrentRuns", undefined],
        ["channels.telegram", "telegram"],
        ["agents.list[1].tools", "tools"],
        ["tools", "tools"],
      ] as const) {
        const { page } = await world.browser.open(url, `?view=config&key=${encodeURIComponent(key)}`, size);
        await page.getByRole("navigation", { name: "Sections of the config" }).waitFor();
        const focused = page.locator(title === undefined ? "input:focus" : ":is(summary, h2):focus");
        await focused.waitFor();
        if (title !== undefined) expect(await focused.locator("code").first().textContent()).toBe(title);
        const box = await focused.boundingBox();
        const { height } = page.viewportSize() ?? { height: 0 };
        expect(box?.y, key).toBeGreaterThanOrEqual(0);
        expect((box?.y ?? 0) + (box?.height ?? 0), key).toBeLessThanOrEqual(height);
      }
  });
});
