import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON } from "./browser.ts";
import { pageWorld } from "./page-world.ts";

describe.skipIf(!hasChromium)("a subagent on the page of the built gateway", () => {
  const world = pageWorld();

  test("its result appears in the conversation by itself, once, and is still there after a reload", async () => {
    const held = Promise.withResolvers<void>();
    world.model.answer(async (call) => {
      if (call.system.includes("# Subagent Context")) {
        await held.promise;
        return { text: "the shop closes at six" };
      }
      if (call.isAfterTool) return { text: "I am finding out." };
      if (call.said.includes("[System Message]")) return { text: "It closes at six o'clock." };
      if (call.said.includes("meanwhile")) return { text: "Still here." };
      return { tool: "sessions_spawn", args: { task: "When does the shop close?", label: "shop" } };
    });
    const tab = await world.browser.open(await world.home.start());
    await tab.say("when does the shop close?");
    await tab.answered("I am finding out.");
    await tab.say("meanwhile, are you there?");
    await tab.answered("Still here.");
    held.resolve();
    await tab.answered("It closes at six o'clock.");
    await tab.shoot("subagent");
    await tab.page.reload();
    await tab.answered("It closes at six o'clock.");
    await expect
      .poll(async () => (await tab.turns()).filter((turn) => turn.includes("six o'clock")), SOON)
      .toHaveLength(1);
    expect((await tab.turns()).join("\n")).not.toContain("System Message");
    expect(world.browser.complaints).toEqual([]);
  });
});
