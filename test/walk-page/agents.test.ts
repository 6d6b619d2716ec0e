import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const SIZES = [
  ["wide", { width: 1280, height: 800 }],
  ["narrow", { width: 390, height: 780 }],
] as const;

describe.skipIf(!hasChromium)("the view of the agents of the page", () => {
  const world = pageWorld();
  const agent = ({ page }: Tab, name: string) =>
    page.getByRole("region", { name: "Agents", exact: true }).getByRole("listitem", { name, exact: true });
  const inState = (...parts: string[]) => join(world.home.stateDir, ...parts);

  test.each(SIZES)("an agent is made, changed, talked to and deleted (%s)", async (size, viewport) => {
    const bindings = [{ agentId: "night-owl", match: { channel: "telegram", peer: { kind: "group", id: "-100" } } }];
    const tab = await world.browser.open(await world.home.start(), "?view=agents", viewport);
    const { page } = tab;
    await agent(tab, "main").getByText("It answers every chat that no other agent is bound to.").waitFor();
    expect(await agent(tab, "main").getByRole("button", { name: "Delete main" }).count()).toBe(0);
    await page.getByRole("button", { name: "New agent" }).click();
    const form = page.getByRole("form", { name: "New agent" });
    await page.keyboard.type("!!!");
    await page.keyboard.press("Enter");
    await form.getByRole("alert").waitFor();
    expect(await form.getByLabel("Name").inputValue()).toBe("!!!");
    await form.getByLabel("Name").fill("Night Owl");
    await form.getByLabel("Sign").fill("🦉");
    await form.getByLabel("Model").selectOption("fake/plain");
    await form.getByRole("button", { name: "Make the agent" }).click();
    const owl = agent(tab, "Night Owl");
    await owl.getByText(/night-owl · fake\/plain/).waitFor();
    await owl.getByText("openclaw agents bind --agent night-owl --bind telegram").waitFor();
    await tab.shoot(`agents-${size}`);
    await owl.getByRole("button", { name: "Change Night Owl" }).click();
    await page.getByRole("form", { name: "Change Night Owl" }).getByLabel("Name").fill("Early Bird");
    await page.keyboard.press("Enter");
    const bird = agent(tab, "Early Bird");
    await bird.waitFor();
    const written: Record<string, unknown> = JSON.parse(readFileSync(world.home.configPath, "utf8"));
    await world.home.writeConfig({ ...written, bindings });
    await bird.getByText("Answers telegram, group -100.").waitFor();
    await bird.getByRole("button", { name: "Chat with Early Bird" }).click();
    await tab.say("Are you awake?");
    await tab.answered(/Are you awake/);
    await page.goBack();
    await bird.getByRole("button", { name: "Delete Early Bird" }).click();
    const sure = page.getByRole("form", { name: "Delete Early Bird" });
    await sure.getByRole("checkbox").waitFor();
    await tab.shoot(`agents-delete-${size}`);
    await sure.getByRole("button", { name: "Delete Early Bird" }).click();
    await page.getByText(/^night-owl is deleted\. In the trash: /).waitFor();
    await bird.waitFor({ state: "detached" });
    expect(existsSync(inState("workspace-night-owl"))).toBe(false);
    expect(readdirSync(inState("trash"))).toHaveLength(1);
  });

  test.each(SIZES)(
    "a file is edited, kept over a reload, and never written over what others wrote (%s)",
    async (size, viewport) => {
      const tab = await world.browser.open(await world.home.start(), "?view=agents", viewport);
      const { page } = tab;
      const soul = inState("workspace", "SOUL.md");
      const text = page.getByLabel("Text of SOUL.md", { exact: true });
      const content = () => readFileSync(soul, "utf8");
      writeFileSync(soul, "Be kind.\r\nBe short.\r\n");
      await page.getByRole("button", { name: "Files of main" }).click();
      await page.getByRole("button", { name: "SOUL.md" }).click();
      await expect.poll(() => text.inputValue(), SOON).toBe("Be kind.\nBe short.\n");
      await text.fill("Be kind.\nBe long.\n");
      await page.getByText("Not saved yet. It stays in this tab.").waitFor();
      await page.reload();
      await expect.poll(() => text.inputValue(), SOON).toBe("Be kind.\nBe long.\n");
      await text.press("Control+s");
      await page.getByText("Saved.", { exact: true }).waitFor();
      expect(content()).toBe("Be kind.\r\nBe long.\r\n");

      await text.fill("My own words.\n");
      writeFileSync(soul, "The agent was here.\n");
      // The page may have read the file again by itself: then the warning is there, and nothing is to be saved.
      await text.press("Control+s");
      const warning = page.getByRole("alert").filter({ hasText: "SOUL.md was changed since you began to type." });
      await warning.waitFor();
      expect(content()).toBe("The agent was here.\n");
      expect(await text.inputValue()).toBe("My own words.\n");
      await warning.getByRole("button", { name: "Show it as it is now" }).click();
      await warning.getByText("The agent was here.").waitFor();
      await tab.shoot(`agent-file-${size}`);
      await warning.getByRole("button", { name: "Save mine in its place" }).click();
      await warning.getByRole("button", { name: "Replace it by my text" }).click();
      await page.getByText("Saved.", { exact: true }).waitFor();
      expect(content()).toBe("My own words.\n");

      await text.fill("Not this.\n");
      await page.getByRole("button", { name: "Drop my changes" }).click();
      await page.getByRole("button", { name: "Drop what I typed" }).click();
      await expect.poll(() => text.inputValue(), SOON).toBe("My own words.\n");
      // A run of an agent ends: its files are read again.
      writeFileSync(soul, "The agent was here again.\n");
      const other = await world.browser.open(await latest(), "?session=webchat:default:other");
      await other.say("Write.");
      await other.answered("Write.");
      await expect.poll(() => text.inputValue(), SOON).toBe("The agent was here again.\n");
    },
  );

  test("a file that is not there is made, unless somebody else made it meanwhile", async () => {
    await world.home.writeConfig(twoModels(world.model));
    const tab = await world.browser.open(await world.home.start(), "?view=agents");
    const { page } = tab;
    const file = inState("workspace", "MEMORY.md");
    const text = page.getByLabel("Text of MEMORY.md", { exact: true });
    await page.getByRole("button", { name: "Files of main" }).click();
    await page.getByRole("button", { name: "MEMORY.md" }).click();
    await text.fill("Ann likes tea.\n");
    writeFileSync(file, "Ben likes coffee.\n");
    // As above: the page may have seen the file first.
    await text.press("Control+s");
    const warning = page.getByRole("alert").filter({ hasText: "MEMORY.md was changed" });
    await warning.getByRole("button", { name: "Drop mine" }).click();
    await warning.getByRole("button", { name: "Drop what I typed" }).click();
    await expect.poll(() => text.inputValue(), SOON).toBe("Ben likes coffee.\n");
    expect(readFileSync(file, "utf8")).toBe("Ben likes coffee.\n");
  });

  const latest = async () => {
    const { latest: gateway } = world.home;
    if (gateway === undefined) throw new Error("no gateway has been started");
    return gateway;
  };
});
