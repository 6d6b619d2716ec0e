import { describe, expect, test } from "vitest";
import { call } from "../kit/gateway/rpc.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { png } from "../kit/pictures.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const PICTURE = png(2, 2).toString("base64");
const NARROW = { width: 390, height: 780 };

describe.skipIf(!hasChromium)("the views of the page of the built gateway", () => {
  const world = pageWorld();
  const visit = async ({ page }: Tab, name: string): Promise<void> => {
    await page.getByRole("link", { name }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
  };

  test.each([
    ["low", { width: 1280, height: 300 }],
    ["narrow", { width: 390, height: 500 }],
  ])("the page itself never scrolls: a long answer, its footnotes and the views do (%s)", async (_, size) => {
    world.model.answer(() => ({ text: `A note[^1].${"\n\nMore words.".repeat(60)}\n\n[^1]: The text of the note.` }));
    const tab = await world.browser.open(await world.home.start(), "", size);
    const { page } = tab;
    const scrolled = () => page.evaluate("[document.documentElement.scrollHeight - innerHeight, scrollY]");
    await tab.say("A long one.");
    await tab.answered("The text of the note.");
    await page.getByRole("button", { name: "Footnote 1" }).first().dispatchEvent("click");
    await page.getByRole("button", { name: "Back to the text at 1" }).first().dispatchEvent("click");
    expect(await scrolled()).toEqual([0, 0]);
    const links = await page.locator(".view-links a").all();
    expect(links.length).toBeGreaterThan(10);
    for (const link of links) {
      await link.dispatchEvent("click");
      await page.locator(".view").filter({ hasNotText: "Reading…" }).first().waitFor();
      expect(await scrolled(), (await link.getAttribute("href")) ?? "").toEqual([0, 0]);
    }
  });

  test("jobs are run, switched off, searched and deleted, and show their runs", async () => {
    world.model.answer(() => ({ text: "Water the fern." }));
    const gateway = await world.home.start();
    const schedule = { kind: "every", everyMs: 7_200_000 };
    const payload = { kind: "agentTurn", message: "Which plant is dry?" };
    for (const name of ["plants", "bins"])
      await call(gateway, "cron.add", {
        name,
        schedule,
        payload,
        delivery: { mode: "none" },
        sessionTarget: "isolated",
      });
    const tab = await world.browser.open(gateway);
    await visit(tab, "Jobs");
    const plants = tab.page
      .getByRole("region", { name: "Jobs", exact: true })
      .getByRole("listitem", { name: "plants" });
    await plants.getByText(/^every 2 hours · next /).waitFor();
    await plants.getByRole("button", { name: "Run now" }).click();
    await plants.getByRole("button", { name: /^Last run .*: show its runs$/ }).click();
    const runs = tab.page.getByRole("region", { name: "Runs of plants" });
    await runs.getByText("Water the fern.").waitFor();
    const all = tab.page.getByRole("region", { name: "Latest runs of all jobs" });
    await all.getByRole("listitem", { name: "plants" }).getByText("Water the fern.").waitFor();
    await tab.shoot("jobs");
    await tab.page.getByLabel("Which runs").selectOption("Failed runs");
    await all.getByText("No run has failed.").waitFor();
    await tab.page.getByLabel("Which runs").selectOption("All runs");
    await plants.getByRole("button", { name: "Switch off" }).click();
    await plants.getByText(/^every 2 hours · switched off/).waitFor();
    await tab.page.getByRole("searchbox").fill("bin");
    await plants.waitFor({ state: "detached" });
    const bins = tab.page.getByRole("region", { name: "Jobs", exact: true }).getByRole("listitem", { name: "bins" });
    await bins.getByRole("button", { name: "Delete" }).click();
    await bins.getByRole("button", { name: "Delete the job" }).click();
    await tab.page.getByText("No job has these words.").waitFor();
    await tab.page.getByRole("searchbox").fill("");
    await plants.getByRole("button", { name: /: show its runs$/ }).click();
    await runs.getByRole("button", { name: "Open its conversation" }).click();
    await tab.page.locator("li.turn.assistant").filter({ hasText: "Water the fern." }).waitFor();
    await tab.page.getByRole("heading", { level: 1, name: "Job: plants" }).waitFor();
    await tab.page.locator(".session.open").getByText("Job: plants").waitFor();
    await visit(tab, "All chats");
    await tab.page.getByRole("searchbox").fill("plants");
    await tab.page.getByRole("listitem", { name: "Job: plants" }).waitFor();
    await tab.shoot("jobs-conversation");
    await tab.page.getByRole("searchbox").fill("which plant");
    const asked = tab.page.getByRole("listitem", { name: /^Which plant is dry/ });
    await asked.getByText(/^Job: plants · /).waitFor();
    await tab.shoot("jobs-said");
  });

  test("a job is added by a form, which says what is missing, and changed", async () => {
    world.model.answer(() => ({ text: "Watered." }));
    const gateway = await world.home.start();
    const tab = await world.browser.open(gateway);
    const { page } = tab;
    await visit(tab, "Jobs");
    await page.getByRole("button", { name: "New job" }).click();
    const form = page.getByRole("form", { name: "New job" });
    await form.getByRole("button", { name: "Add the job" }).click();
    await form.getByText("Enter what the agent is to do.").waitFor();
    await form.getByLabel("What the agent is to do").fill("Water the plants");
    await form.getByLabel("When").selectOption("again and again");
    await form.getByLabel("Every").fill("3");
    await form.getByLabel("Its answer").selectOption("stays in the runs of the job");
    await tab.shoot("jobs-form");
    await page.setViewportSize(NARROW);
    await tab.shoot("jobs-form-narrow");
    expect(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")).toBeLessThanOrEqual(0);
    await form.getByRole("button", { name: "Add the job" }).click();
    const plants = page.getByRole("listitem", { name: "Water the plants" });
    await plants.getByText(/^every 3 hours · next /).waitFor();
    await plants.getByRole("button", { name: "Change" }).click();
    const change = page.getByRole("form", { name: "Change Water the plants" });
    await change.getByLabel("When").selectOption("at a time of the day");
    await change.getByRole("combobox", { name: "On" }).selectOption("Monday to Friday");
    await change.getByLabel("At", { exact: true }).fill("07:30");
    await change.getByRole("button", { name: "Save" }).click();
    await plants.getByText(/^30 7 \* \* 1-5 /).waitFor();
    expect(await call(gateway, "cron.list", {})).toMatchObject({
      jobs: [{ payload: { kind: "agentTurn", message: "Water the plants" }, delivery: { mode: "none" } }],
    });
  });

  test("the log is followed, and filtered by level and words", async () => {
    world.model.answer(({ said }) => ({ text: `echo: ${said}` }));
    const tab = await world.browser.open(await world.home.start());
    await visit(tab, "Logs");
    const lines = tab.page.getByRole("list", { name: /^Lines of / });
    await lines.getByText("listening").first().waitFor();
    const other = await world.browser.open(await latest(), "?session=webchat:default:other");
    await other.say("what is new?");
    await other.answered("what is new?");
    await lines.getByText("run ended").first().waitFor();
    await tab.shoot("logs");
    await tab.page.getByLabel("Words in the line").fill("no line has this");
    await lines.getByText("No line fits.").waitFor();
    await tab.page.getByLabel("Words in the line").fill("webchat:default:other");
    await lines.getByText("run ended").first().waitFor();
    await tab.page.getByRole("button", { name: "errors only" }).click();
    await lines.getByText("No line fits.").waitFor();
  });

  test("what waits for the person is counted in the title and beside the link, and ends there", async () => {
    world.model.answer(({ isAfterTool }) =>
      isAfterTool ? { text: "It is done." } : { tool: "exec", args: { command: "touch asked" } },
    );
    const tab = await world.browser.open(await world.home.start(), "", NARROW);
    const { page } = tab;
    await tab.say("Make the file.");
    await expect.poll(() => page.title(), SOON).toMatch(/^\(1\) /);
    await page.getByRole("button", { name: "Sessions" }).click();
    await page.getByRole("link", { name: /^Needs you\s*1$/ }).click();
    await page.getByRole("heading", { level: 1, name: "Needs you" }).waitFor();
    await tab.shoot("needs-you");
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.getByText("Nothing waits for you.").waitFor();
    await expect.poll(() => page.title(), SOON).toMatch(/^Needs you/);
    await page.goBack();
    await tab.answered("It is done.");
  });

  test("conversations are found by name and by words, pinned, put into the archive and brought back", async () => {
    world.model.answer(({ said }) => ({ text: /fern/.test(said) ? "Twice a week." : "On Monday." }));
    const gateway = await world.home.start();
    const tab = await world.browser.open(gateway, "?session=webchat:default:plants");
    await tab.say("How often does the fern want water?");
    await tab.answered("Twice a week.");
    await tab.page.goto(`http://127.0.0.1:${gateway.port}/?session=webchat:default:bins`);
    await tab.say("When do the bins go out?");
    await tab.answered("On Monday.");
    await visit(tab, "All chats");
    const list = tab.page.getByRole("region", { name: "Conversations" });
    const bins = list.getByRole("listitem", { name: /^When do the bins/ });
    const fern = list.getByRole("listitem", { name: /^How often does the fern/ });
    await bins.waitFor();
    await tab.shoot("conversations");
    await bins.getByRole("button", { name: "Pin" }).click();
    await bins.getByText(/pinned/).waitFor();
    await bins.getByRole("button", { name: "Archive" }).click();
    await bins.waitFor({ state: "detached" });
    await tab.page.getByRole("button", { name: "In the archive" }).click();
    await fern.waitFor({ state: "detached" });
    await bins.getByRole("button", { name: "Bring back" }).click();
    await list.getByText("None fits.").waitFor();
    await tab.page.getByRole("button", { name: "All", exact: true }).click();
    await tab.page.getByRole("searchbox").fill("twice");
    const said = tab.page.getByRole("region", { name: "What was said" });
    await said.getByRole("button", { name: /Twice a week/ }).click();
    await tab.answered("Twice a week.");
    expect(new URL(tab.page.url()).searchParams.get("session")).toContain("webchat:default:plants");
  });

  test("what models took is shown by day, model and conversation", async () => {
    const tab = await world.browser.open(await world.home.start());
    await tab.say("Count me.");
    await tab.answered(/Count me/);
    await visit(tab, "Usage");
    const models = tab.page.getByRole("region", { name: "Models" });
    await models.getByText(/ 1 call(?: ·|$)/).waitFor();
    await tab.page.getByRole("list", { name: "Tokens of each day" }).waitFor();
    await tab.shoot("usage");
    await tab.page.getByLabel("Grouped by").selectOption("session");
    await tab.page
      .getByRole("region", { name: "Conversations" })
      .getByRole("listitem", { name: "Main chat" })
      .waitFor();
    await tab.page.getByRole("button", { name: "the last 7 days" }).click();
    await expect.poll(() => tab.page.getByRole("list", { name: "Tokens of each day" }).locator("li").count()).toBe(7);
  });

  test("a used-up budget and a channel that cannot connect wait for the person, and lead to their place", async () => {
    const telegram = { enabled: true, botToken: "1:refused", apiRoot: "http://127.0.0.1:9" };
    await world.home.writeConfig(twoModels(world.model, { channels: { telegram } }));
    const tab = await world.browser.open(await world.home.start());
    await tab.say("Use it up.");
    await tab.answered("Use it up.");
    await world.home.writeConfig(twoModels(world.model, { channels: { telegram }, budgets: { day: { tokens: 5 } } }));
    await visit(tab, "Needs you");
    const { page } = tab;
    await page
      .getByRole("region", { name: "Channels" })
      .getByRole("listitem", { name: /^Telegram/ })
      .waitFor();
    const budgets = page.getByRole("region", { name: "Budgets" });
    await budgets.getByText(/It is used up/).waitFor();
    await tab.shoot("needs-much");
    await budgets.getByRole("button", { name: "Show the usage" }).click();
    await page
      .getByRole("region", { name: "Budgets" })
      .getByText(/of 5 tokens/)
      .waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Show the channels" }).click();
    await page.getByRole("heading", { level: 1, name: "Channels" }).waitFor();
  });

  test("what is being written stays in the chat, and Escape in a view stops no answer", async () => {
    world.model.answer(() => ({ text: "Slowly.", ending: "stall" }));
    const tab = await world.browser.open(await world.home.start());
    const { page } = tab;
    await tab.say("Take your time.");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await tab.box.fill("One more thing:");
    await tab.paste(PICTURE, "dot.png");
    await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
    await visit(tab, "Jobs");
    await page.keyboard.press("Escape");
    await page.goBack();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    expect(await tab.box.inputValue()).toBe("One more thing:");
    await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  });

  test("a view has an address: it opens again after a reload, and the way back leads to the chat", async () => {
    const tab = await world.browser.open(await world.home.start());
    const { page } = tab;
    await visit(tab, "Jobs");
    await visit(tab, "Logs");
    expect(new URL(page.url()).search).toBe("?view=logs");
    await page.reload();
    await page.getByRole("list", { name: /^Lines of / }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
    await page.goBack();
    await tab.box.waitFor();
  });

  const latest = async () => {
    const { latest: gateway } = world.home;
    if (gateway === undefined) throw new Error("no gateway has been started");
    return gateway;
  };
});
