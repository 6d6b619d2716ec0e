import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import type { Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const NARROW = { width: 390, height: 780 };

describe.skipIf(!hasChromium)("the view of the health of the built gateway", () => {
  const world = pageWorld();
  const region = ({ page }: Tab, name: string) => page.getByRole("region", { name, exact: true });
  const isWide = ({ page }: Tab) => page.evaluate("document.documentElement.scrollWidth - window.innerWidth");

  test("a gateway without problems shows its process, its machine and what grows", async () => {
    const tab = await world.browser.open(await world.home.start());
    await tab.say("Good morning.");
    await tab.answered(/Good morning/);
    await tab.page.getByRole("link", { name: "Health" }).click();
    await tab.page.getByText(/^The gateway takes messages · version \S+ · up for \d/).waitFor();
    await region(tab, "Problems").waitFor();
    await region(tab, "Process and machine")
      .getByRole("listitem", { name: "Memory of the gateway" })
      .getByText(/MB resident/)
      .waitFor();
    await region(tab, "What grows")
      .getByRole("listitem", { name: "Journal" })
      .getByText(/bound: /)
      .waitFor();
    await region(tab, "Work")
      .getByText(/^1 run · none failed · /)
      .waitFor();
    await tab.shoot("health");
    await region(tab, "Starts and version").scrollIntoViewIfNeeded();
    await tab.shoot("health-end");
  });

  test("the doctor is run by a button, and its findings and the last update are shown with what helps", async () => {
    await world.home.writeConfig(twoModels(world.model, { tools: { allow: ["nothing_of_this_name", "read"] } }));
    const versions = join(world.home.stateDir, "versions");
    await mkdir(versions, { recursive: true, mode: 0o700 });
    const from = { name: null, version: "0.0.1" };
    const failed = {
      id: "a",
      kind: "update",
      spec: "claw-gateway@latest",
      from,
      to: { name: "x", version: "9.9.9" },
      steps: [{ step: "requested", at: "2026-11-01T10:00:00.000Z" }],
      outcome: "rolled-back",
      why: "The new gateway did not answer.",
    };
    await writeFile(join(versions, "updates.json"), JSON.stringify({ schema: 1, updates: [failed] }));
    const tab = await world.browser.open(await world.home.start(), "?view=health", NARROW);
    const version = region(tab, "Starts and version").getByRole("listitem", { name: /^Version / });
    await version.getByText("The new gateway did not answer.").waitFor();
    await version.getByText(/^last update, to 9\.9\.9, was rolled back/).waitFor();
    const doctor = region(tab, "Doctor");
    await doctor.getByRole("button", { name: "Run the doctor" }).click();
    await doctor.getByText(/^\d+ checks are good/).waitFor();
    await doctor
      .getByText(/nothing_of_this_name/)
      .first()
      .waitFor();
    await doctor.scrollIntoViewIfNeeded();
    await tab.shoot("health-doctor-phone");
    expect(await isWide(tab)).toBeLessThanOrEqual(0);
  });

  test("a channel that cannot connect, a broken config and a refused model have their remedies, on a phone too", async () => {
    const telegram = { enabled: true, botToken: "1:refused", apiRoot: "http://127.0.0.1:9" };
    await world.home.writeConfig(twoModels(world.model, { channels: { telegram } }));
    world.model.answer(() => ({ status: 401, message: "Incorrect API key provided" }));
    const tab = await world.browser.open(await world.home.start(), "?view=health", NARROW);
    const { page } = tab;
    await region(tab, "Channels")
      .getByRole("listitem", { name: "Telegram default" })
      .getByText(/last message|no message in yet/)
      .waitFor();
    await page.goto(page.url().replace("?view=health", ""));
    await tab.say("Is anybody there?");
    await page.getByRole("button", { name: "Change the key" }).first().waitFor();
    await page.goto(page.url().replace(/\?.*$|$/, "?view=health"));
    const problems = region(tab, "Problems");
    await problems.getByText(/^The key "fake:config" was refused/).waitFor();
    await writeFile(world.home.configPath, "{ broken");
    await problems
      .getByText(/openclaw\.json/)
      .first()
      .waitFor();
    await tab.shoot("health-phone");
    expect(await isWide(tab)).toBeLessThanOrEqual(0);
    await page.emulateMedia({ colorScheme: "dark" });
    await region(tab, "Channels").scrollIntoViewIfNeeded();
    await tab.shoot("health-phone-dark");
    await problems.getByRole("button", { name: "Show the models" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
  });

  test("safe mode says why the channels are off, and how the gateway starts with them", async () => {
    const before = Date.now();
    await mkdir(join(world.home.stateDir, "state"), { recursive: true, mode: 0o700 });
    const starts = [3, 2, 1].map((seconds) => ({ at: before - seconds * 1000 }));
    await writeFile(join(world.home.stateDir, "state", "boots.json"), JSON.stringify({ starts }));
    const tab = await world.browser.open(await world.home.start({ env: { OPENCLAW_SAFE_MODE: "" } }), "?view=health");
    // A busy machine adds rows of its own, also with a button to the log.
    const trouble = region(tab, "Problems").getByRole("listitem", { name: /^The gateway is in safe mode/ });
    await trouble.getByText("openclaw gateway restart --normal", { exact: true }).waitFor();
    await region(tab, "Starts and version")
      .getByText(/^3 starts shortly before ended without a stop/)
      .waitFor();
    await tab.shoot("health-safe-mode");
    await trouble.getByRole("button", { name: "Show the log" }).click();
    await tab.page.getByRole("heading", { level: 1, name: "Logs" }).waitFor();
  });
});
