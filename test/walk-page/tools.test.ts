import { chmod, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const NARROW = { width: 390, height: 780 };

/** The rows of `exec-approvals.json`, the second of them for every agent. */
const TOUCH = { id: "a", pattern: "/usr/bin/touch", lastUsedAt: 1_790_000_000_000, lastUsedCommand: "touch notes.txt" };
const GREP = { id: "b", pattern: "/usr/bin/grep", givenBy: "telegram:7" };

describe.skipIf(!hasChromium)("the tools and the policy on the page of the built gateway", () => {
  const world = pageWorld();
  const approvals = () => path.join(path.dirname(world.home.configPath), "exec-approvals.json");
  const put = async (document: object) => {
    await writeFile(approvals(), JSON.stringify({ version: 1, ...document }), { mode: 0o600 });
    await chmod(approvals(), 0o600);
  };

  const open = async (size?: typeof NARROW): Promise<Tab> => {
    await world.home.writeConfig(
      twoModels(world.model, {
        commands: { ownerAllowFrom: ["telegram:7"] },
        tools: { deny: ["tts"], byProvider: { other: { deny: ["pdf"] } } },
        channels: {
          telegram: { enabled: false, botToken: "1:none", groups: { "-100": { tools: { deny: ["group:fs"] } } } },
        },
      }),
    );
    await put({ agents: { main: { allowlist: [TOUCH] }, "*": { allowlist: [GREP] } } });
    const tab = await world.browser.open(await world.home.start(), "?view=tools", size);
    await tab.page.getByRole("heading", { level: 1, name: "Tools" }).waitFor();
    return tab;
  };
  const tool = ({ page }: Tab, name: string) => page.getByRole("listitem", { name, exact: true });
  const forWhom = ({ page }: Tab) => page.getByLabel("For whom");

  test("every tool has a verdict and the key that decides, for each party; the key leads to its place in the config", async () => {
    const tab = await open();
    const { page } = tab;
    await tool(tab, "tts").getByText("refused").waitFor();
    await tool(tab, "tts").getByText("“tts” is denied.").first().waitFor();
    await tool(tab, "read").getByText("allowed", { exact: true }).waitFor();
    await tool(tab, "exec").getByText("asks first").waitFor();
    await page.getByText("This turn has an owner's rights.").waitFor();
    await tab.shoot("tools");
    await forWhom(tab).selectOption({ label: "Anybody else on Telegram" });
    await page.getByText("This turn has a guest's rights.").waitFor();
    await tool(tab, "cron").getByRole("link", { name: "commands.ownerAllowFrom" }).waitFor();
    await forWhom(tab).selectOption({ label: "Telegram · group -100" });
    await tool(tab, "read").getByText("refused").waitFor();
    await page.getByLabel("Who writes in the group").selectOption({ label: "Telegram · 7" });
    await page.getByText("This turn has an owner's rights.").waitFor();
    await tool(tab, "read").getByText("“group:fs” is denied.").first().waitFor();
    await page.getByLabel("Which tools").selectOption("refused");
    await tool(tab, "exec").waitFor({ state: "detached" });
    await page.getByLabel("Words of a tool").fill("read");
    await tab.shoot("tools-group");
    await tool(tab, "read").getByRole("link").first().click();
    const keys = page.locator(".config-key").filter({ hasText: "deny" }).getByRole("textbox");
    await expect
      .poll(
        () =>
          page
            .locator(":focus")
            .inputValue()
            .catch(() => ""),
        SOON,
      )
      .toBe("group:fs");
    expect(await keys.count()).toBeGreaterThan(0);
    expect(new URL(page.url()).searchParams.get("key")).toBe("channels.telegram.groups.-100.tools.deny");
    await tab.shoot("tools-key");
    await page.reload();
    await expect
      .poll(
        () =>
          page
            .locator(":focus")
            .inputValue()
            .catch(() => ""),
        SOON,
      )
      .toBe("group:fs");
    await page.getByRole("button", { name: "Tools", exact: true }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("key"), SOON).toBe("tools");
    await page.goBack();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Tools" }).waitFor();
  });

  test("a command is judged for a party, and rules about a model are asked for", async () => {
    const tab = await open();
    const { page } = tab;
    const ask = async (command: string): Promise<void> => {
      await page.getByRole("textbox", { name: /^May the agent run this/ }).fill(command);
      await page.getByRole("button", { name: "Ask", exact: true }).click();
    };
    await ask("touch notes.txt");
    await page.getByText("It runs without a question.").waitFor();
    await page.getByText("It is always allowed: /usr/bin/touch.").waitFor();
    await ask("mkdir plants");
    await page.getByText("A person is asked first.").waitFor();
    await tab.shoot("tools-command");
    await tool(tab, "pdf").getByText("allowed", { exact: true }).waitFor();
    await page.getByLabel("For which model").selectOption("fake/plain");
    await tool(tab, "pdf").getByText("allowed", { exact: true }).waitFor();
  });

  test("the mode of commands is changed, and a command is taken out although the file changed meanwhile", async () => {
    const tab = await open(NARROW);
    const { page } = tab;
    await tab.shoot("tools-narrow");
    await page.getByLabel("When a person is asked").selectOption("deny");
    await page.getByText("This is written to tools.exec of the config").waitFor();
    await tab.shoot("tools-mode-narrow");
    await page.getByRole("button", { name: "Save when a person is asked" }).click();
    await page.getByText("Commands are switched off.").first().waitFor();
    expect(await readFile(world.home.configPath, "utf8")).toMatch(/"?security"?: "deny"/);
    const allowed = page.getByRole("region", { name: "Always allowed" });
    const touch = allowed.getByRole("listitem", { name: "/usr/bin/touch" });
    await touch.getByText(/last used/).waitFor();
    await allowed
      .getByRole("listitem", { name: "/usr/bin/grep" })
      .getByText(/for every agent · allowed by telegram:7/)
      .waitFor();
    const added = { pattern: "/usr/bin/wc" };
    await put({ agents: { main: { allowlist: [TOUCH, added] }, "*": { allowlist: [GREP] } } });
    await touch.getByRole("button", { name: "Take out" }).click();
    await touch.getByRole("button", { name: /^Take it out/ }).click();
    await touch.waitFor({ state: "detached" });
    await allowed.getByRole("listitem", { name: "/usr/bin/wc" }).waitFor();
    await tab.shoot("tools-allowed-narrow");
    expect(JSON.parse(await readFile(approvals(), "utf8"))).toEqual({
      version: 1,
      agents: { main: { allowlist: [added] }, "*": { allowlist: [GREP] } },
    });
  });

  test("a limit of exec-approvals.json is named, and lifted", async () => {
    const tab = await open();
    const { page } = tab;
    await put({ defaults: { security: "deny" } });
    await page.reload();
    await page.getByText("Commands are switched off.").first().waitFor();
    const limits = page.getByRole("region", { name: "Limits of exec-approvals.json" });
    await limits.getByRole("button", { name: "Lift the limit" }).click();
    await limits.getByRole("button", { name: /^Lift it/ }).click();
    await page.getByText("A person is asked about commands that are on no list.").first().waitFor();
    await limits.waitFor({ state: "detached" });
    await page.getByText("No command. Who answers a question with").waitFor();
    expect(JSON.parse(await readFile(approvals(), "utf8"))).toEqual({ version: 1, defaults: {} });
  });
});
