import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { call } from "../kit/gateway/rpc.ts";
import { TOKEN } from "../kit/gateway/process.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";

/** Stops of the Tab key within which a place is reached. */
const MOST_STOPS = 150;

// What is wrong with the element that has the focus. A field may show it by its frame.
const FAULT_OF_FOCUS = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return "nothing has the focus";
  const box = element.getBoundingClientRect();
  const inside = box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  if (!inside) return "out of sight: " + JSON.stringify(box);
  const shows = (one) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
    return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || (one !== element && boxShadow !== "none" && one.matches("form"));
  };
  for (let one = element; one; one = one.parentElement) {
    if (shows(one)) break;
    if (one === document.body) return "no style of the focus";
  }
  for (let one = element; one; one = one.parentElement) if (getComputedStyle(one).opacity === "0") return "transparent";
  return "";
})()`;

/** Where the focus is: the role and the accessible name, as `button "Send"`. */
const focused = async ({ page }: Tab): Promise<string> => {
  const snapshot = await page.locator(":focus").first().ariaSnapshot();
  // A name with a colon stands in quotes, as YAML wants it.
  const line = snapshot.split("\n")[0]?.replace(/^- /, "") ?? "";
  return /^'(.*?)'(?::|$)/.exec(line)?.[1]?.replaceAll("''", "'") ?? line;
};

/** Expects that the focus is seen and has a name; tells where it is. */
async function stop(tab: Tab): Promise<string> {
  await expect.poll(() => tab.page.evaluate(FAULT_OF_FOCUS), SOON).toBe("");
  const at = await focused(tab);
  expect.soft(at, "the focus has no name").toMatch(/^\w+ ("|\/)|^(?:text|paragraph|log|document|code):/);
  return at;
}

const NOTHING = "document.activeElement === document.body";

/** Presses a key; where Tab leaves the page at its end, once more. */
async function press(tab: Tab, key: string): Promise<void> {
  await tab.page.keyboard.press(key);
  if (key.endsWith("Tab") && (await tab.page.evaluate(NOTHING)) === true) await tab.page.keyboard.press(key);
}

/** Goes on with Tab, or another key, until the focus is on what the name says. */
async function reach(tab: Tab, name: RegExp, key = "Tab"): Promise<void> {
  const seen: string[] = [];
  for (let at = await stop(tab); !name.test(at); at = await stop(tab)) {
    seen.push(at);
    if (seen.length > MOST_STOPS) throw new Error(`${name} is not reached by ${key}: ${[...new Set(seen)].join(", ")}`);
    await press(tab, key);
  }
}

/** Opens a view by the palette. */
async function visit(tab: Tab, title: string): Promise<void> {
  await press(tab, "Control+k");
  await tab.page.getByRole("combobox", { name: /^Find a view/ }).waitFor();
  await tab.page.keyboard.type(title);
  await tab.page.getByRole("dialog").getByRole("option", { name: title, exact: true, selected: true }).waitFor();
  await press(tab, "Enter");
  const heading = tab.page.getByRole("heading", { level: 1, name: title, exact: true });
  await expect.poll(() => tab.hasFocus(heading), SOON).toBe(true);
}

const TITLES = [
  "Needs you",
  "All chats",
  "Channels",
  "People",
  "Jobs",
  "Usage",
  "Agents",
  "Memory",
  "Skills",
  "Plugins",
  "Tools",
  "Models",
  "Health",
  "Logs",
  "Config",
];

describe.skipIf(!hasChromium)("the page by the keyboard alone", () => {
  const world = pageWorld();

  test("sign in, send, read how the answer was made, allow a command, rename the conversation", async () => {
    world.model.answer(({ said, isAfterTool }) => {
      if (isAfterTool) return { text: "It is done." };
      return /file/.test(said) ? { tool: "exec", args: { command: "touch asked" } } : { text: `About ${said}.` };
    });
    const gateway = await world.home.start();
    const tab = await world.browser.open(gateway);
    const { page } = tab;
    await page.evaluate("localStorage.clear()");
    await page.goto(`http://127.0.0.1:${gateway.port}/`);
    await page.getByLabel("Token").waitFor();
    await reach(tab, /^textbox/);
    await page.keyboard.type(TOKEN);
    await press(tab, "Enter");
    await tab.connected();
    await reach(tab, /^textbox "Message"/);
    await page.keyboard.type("tea");
    await press(tab, "Enter");
    await tab.answered("About tea.");
    await reach(tab, /^button "Copy answer"/, "Shift+Tab");
    await press(tab, "End");
    await reach(tab, /^button "How this answer was made"/, "ArrowLeft");
    await press(tab, "Enter");
    const facts = page.getByRole("dialog", { name: "How this answer was made" });
    await facts.getByText("fake/seeing").first().waitFor();
    await stop(tab);
    await press(tab, "Escape");
    await facts.waitFor({ state: "detached" });
    expect(await stop(tab)).toMatch(/How this answer was made/);

    await reach(tab, /^textbox "Message"/);
    await page.keyboard.type("make the file");
    await press(tab, "Enter");
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    await reach(tab, /^button "Allow once"/);
    await press(tab, "Enter");
    await tab.answered("It is done.");
    await stop(tab);

    await reach(tab, /^button "Rename /);
    await press(tab, "Enter");
    await expect.poll(() => focused(tab), SOON).toMatch(/^textbox "Name of the session"/);
    await page.keyboard.type("Tea and files");
    await press(tab, "Enter");
    await page.getByRole("button", { name: /^Tea and files/ }).waitFor();
    await stop(tab);
    await reach(tab, /^button "Rename Tea and files"/);
    await press(tab, "Space");
    await expect.poll(() => focused(tab), SOON).toMatch(/^textbox "Name of the session"/);
    await press(tab, "Escape");
    await expect.poll(() => focused(tab), SOON).toMatch(/^button "(?:Tea and files|Rename Tea)/);
  });

  test("a new chat is begun and put into the archive by its keys, and nothing happens behind a dialog", async () => {
    world.model.answer(({ said }) => ({ text: `About ${said}` }));
    const tab = await world.browser.open(await world.home.start(), "?session=webchat:default:one");
    const { page } = tab;
    await tab.say("the first.");
    await tab.answered("About the first.");
    await press(tab, "Control+Shift+O");
    await expect.poll(() => page.url(), SOON).not.toContain("default%3Aone");
    await expect.poll(() => focused(tab), SOON).toMatch(/^textbox/);
    await page.keyboard.type("the second.");
    await press(tab, "Enter");
    await tab.answered("About the second.");
    const second = page.url();
    const chat = new URL(second).searchParams.get("session");
    await press(tab, "Control+k");
    await page.getByRole("dialog").waitFor();
    await press(tab, "Control+Shift+A");
    await press(tab, "Control+k");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(page.url()).toBe(second);
    await press(tab, "Control+Shift+A");
    await page.getByRole("status").filter({ hasText: "is in the archive." }).waitFor();
    await page.getByRole("button", { name: "Bring back" }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("session"), SOON).toContain(chat);
    await tab.answered("About the second.");
  });

  test("each view opens by the palette, and each stop in it is seen and has a name", async () => {
    world.model.answer(() => ({ text: "Well." }));
    const tab = await world.browser.open(await world.home.start());
    await tab.say("How are you?");
    await tab.answered("Well.");
    for (const title of TITLES) {
      await visit(tab, title);
      for (const waits of ["Loading…", "Reading…"])
        await tab.page.getByText(waits).first().waitFor({ state: "detached" });
      for (let stops = 0; stops < 12; stops += 1) {
        await press(tab, "Tab");
        await stop(tab);
      }
    }
  });

  test("a job is switched off and deleted, and a change of the config is saved", async () => {
    const gateway = await world.home.start();
    for (const name of ["plants", "bins"])
      await call(gateway, "cron.add", {
        name,
        schedule: { kind: "every", everyMs: 7_200_000 },
        payload: { kind: "agentTurn", message: "Which plant is dry?" },
        delivery: { mode: "none" },
        sessionTarget: "isolated",
      });
    const tab = await world.browser.open(gateway);
    const { page } = tab;
    await visit(tab, "Jobs");
    await page.getByRole("listitem", { name: "plants" }).waitFor();
    await reach(tab, /^button "Switch off"/);
    await press(tab, "Space");
    await page
      .getByText(/· switched off/)
      .first()
      .waitFor();
    await expect.poll(() => focused(tab), SOON).toMatch(/^button "Switch on"/);
    await reach(tab, /^button "Delete"/);
    await press(tab, "Enter");
    await expect.poll(() => focused(tab), SOON).toMatch(/^button "Keep"/);
    await reach(tab, /^button "Delete the job"/, "Shift+Tab");
    await press(tab, "Enter");
    const jobs = page.getByRole("listitem", { name: /^(?:plants|bins)$/ });
    await expect.poll(() => jobs.count(), SOON).toBe(1);
    await stop(tab);

    await visit(tab, "Config");
    await reach(tab, /^searchbox/);
    await page.keyboard.type("cron.maxConcurrentRuns");
    await reach(tab, /^spinbutton/);
    await press(tab, "Control+a");
    await page.keyboard.type("3");
    await reach(tab, /^button "Look and save"/, "Shift+Tab");
    await press(tab, "Enter");
    await page.getByRole("region", { name: "What changes" }).waitFor();
    await stop(tab);
    await reach(tab, /^button "Save"/);
    await press(tab, "Enter");
    await page.getByText(/^Saved/).waitFor();
    await stop(tab);
    expect(await readFile(world.home.configPath, "utf8")).toMatch(/"?maxConcurrentRuns"?: 3/);
  });
});
