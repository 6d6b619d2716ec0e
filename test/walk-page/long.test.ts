import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call } from "../kit/gateway/rpc.ts";
import type { Home } from "../kit/gateway/process.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";

const KEY = "webchat:default:operator";
const MESSAGES = 600;

/** A conversation of the page with many messages, as the gateway stores it. */
async function writeConversation(home: Home): Promise<void> {
  const sessionId = randomUUID();
  const begin = Date.now() - MESSAGES * 1000;
  const header = {
    type: "session",
    version: 3,
    id: sessionId,
    timestamp: new Date(begin).toISOString(),
    cwd: home.dir,
  };
  const lines = Array.from({ length: MESSAGES }, (_, at) => {
    const timestamp = begin + at * 1000;
    const role = at % 2 === 0 ? "user" : "assistant";
    const content = [{ type: "text", text: `Message number ${at}. ${"Some more words. ".repeat(at % 20)}` }];
    const id = (parent: number): string => parent.toString(16).padStart(16, "0");
    return {
      type: "message",
      id: id(at),
      parentId: at === 0 ? null : id(at - 1),
      timestamp: new Date(timestamp).toISOString(),
      message: { role, content, timestamp, ...(role === "assistant" && ANSWERED) },
    };
  });
  const folder = join(home.stateDir, "sessions");
  const sessionFile = join(folder, `${sessionId}.jsonl`);
  await mkdir(folder, { recursive: true });
  await writeFile(sessionFile, [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
  const row = { sessionId, updatedAt: Date.now(), chatType: "direct", sessionFile };
  await writeFile(join(folder, "sessions.json"), JSON.stringify({ [KEY]: row }));
}

const ANSWERED = {
  api: "openai-completions",
  provider: "fake",
  model: "seeing",
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 },
  stopReason: "stop",
};

const drawn = ({ page }: Tab): Promise<number> => page.locator("li.turn").count();

/** How many messages have a place on the page, drawn or not. */
const placed = ({ page }: Tab): Promise<number> =>
  page.evaluate(
    `[...document.querySelectorAll("[data-messages]")].flatMap(({ dataset }) => dataset.messages.split(" ")).length`,
  );

describe.skipIf(!hasChromium)("a long conversation on the page of the built gateway", () => {
  const world = pageWorld();

  test("is drawn where it is seen, keeps its place, and is searched and followed", async () => {
    world.model.answer(({ said }) => ({ text: `echo: ${said}` }));
    await writeConversation(world.home);
    const gateway = await world.home.start();
    const tab = await world.browser.open(gateway);
    const { page } = tab;
    const earlier = page.getByRole("button", { name: "Show earlier messages" });
    await page.getByText(`Message number ${MESSAGES - 1}.`).waitFor();
    for (const loaded of [400, MESSAGES]) {
      await page.evaluate(`document.querySelector(".log").scrollTo({ top: 0 })`);
      const oldest = page.getByText(`Message number ${MESSAGES - loaded + 200}.`);
      await oldest.waitFor();
      const before = (await oldest.boundingBox())?.y;
      await earlier.click();
      await expect.poll(() => placed(tab), SOON).toBe(loaded);
      // At the top of what there was, the messages stay where they were seen.
      await expect.poll(async () => (await oldest.boundingBox())?.y, SOON).toBeCloseTo(before ?? 0, 0);
    }
    expect(await earlier.count()).toBe(0);
    await page.evaluate(`document.querySelector(".log").scrollTo({ top: 0 })`);
    await page.getByText("Message number 0.").waitFor();
    await expect.poll(() => drawn(tab), SOON).toBeLessThan(MESSAGES / 4);
    // What is drawn again has the height that it had, so nothing moves.
    const place = page.getByText("Message number 20.");
    const { y } = (await place.boundingBox()) ?? { y: 0 };
    await page.evaluate(
      `document.querySelector(".log").scrollTo({ top: document.querySelector(".log").scrollHeight })`,
    );
    await page.getByText(`Message number ${MESSAGES - 1}.`).waitFor();
    await page.evaluate(`document.querySelector(".log").scrollTo({ top: 0 })`);
    await expect.poll(async () => (await place.boundingBox())?.y, SOON).toBe(y);
    await page.keyboard.press("ControlOrMeta+Shift+F");
    const field = page.getByRole("searchbox", { name: "Search in this conversation" });
    await expect.poll(() => tab.hasFocus(field), SOON).toBe(true);
    await page.keyboard.type("number 301.");
    await page.locator("li.turn.found").getByText("Message number 301.").waitFor();
    await expect.poll(() => drawn(tab), SOON).toBeLessThan(MESSAGES / 4);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Go to the latest message" }).click();
    await tab.say("and now?");
    await tab.answered("echo: and now?");
    await call(gateway, "chat.inject", { sessionKey: "main", message: "A note from elsewhere." });
    await page.getByRole("region", { name: "Conversation" }).getByText("A note from elsewhere.").waitFor();
    // The answer before it, to which it is added, is not announced again.
    const announced = page.getByRole("log", { name: "Finished answers" });
    await expect.poll(() => announced.textContent(), SOON).toBe("A note from elsewhere.");
    await tab.shoot("long");
  });
});
