import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import process from "node:process";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startFakeModel, type FakeModel, type ModelCall, type ModelReply } from "../fakes/model.ts";
import { makeHome, PATIENCE, TOKEN, type Home } from "../kit/gateway/process.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { twoModels } from "../walk-page/two-models.ts";
import { ControlUi, type ControlUiTab } from "./control-ui.ts";

const field = process.env["OPENCLAW_FIELD"];
if (field === undefined) console.log("OpenClaw's Control UI is left out: `npm run peers` installs it and runs this");

const MARKDOWN = "# A title\n\nSome **bold** words.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst a = 1;\n```\n";

function replyTo({ said, isAfterTool }: ModelCall): ModelReply {
  const [, tool, args] = /TOOL:(\w+) (\{.*\})/.exec(said) ?? [];
  if (tool !== undefined && !isAfterTool) return { tool, args: JSON.parse(args ?? "{}") as Record<string, unknown> };
  if (/MARKDOWN\s*$/.test(said)) return { text: MARKDOWN };
  if (/SLOW\s*$/.test(said)) return { text: "slow ".repeat(2000), everyMs: 50 };
  return { text: `you said ${said}` };
}

/** Pages that are there for what this gateway has. The others are empty, or say what is missing. */
const PAGES = [
  "/chat/main",
  "/sessions",
  "/agents",
  "/channels",
  "/automations",
  "/tasks",
  "/skills",
  "/skills/workshop",
  "/plugins",
  "/usage",
  "/logs",
  "/debug",
  "/new",
  "/systems",
  "/nodes",
  "/dashboards",
  "/worktrees",
  "/meetings",
];
const SETTINGS = [
  "agents",
  "appearance",
  "advanced",
  "automation",
  "infrastructure",
  "ai-agents",
  "communications",
  "talk",
  "security",
  "model-providers",
  "approvals",
  "memory",
  "memory-import",
  "profile",
  "secrets",
  "updates",
  "skills",
  "plugins",
  "mcp",
  "about",
  "notifications",
  "device",
  "labs",
  "connection",
  "channels",
].map((name) => `/settings/${name}`);
const BROKEN =
  /unknown method|Cannot read properties|is not a function|\[object |\bNaN\b|\bundefined\b|Panel failed|Unsupported Gateway/;

describe.skipIf(field === undefined || !hasChromium)("OpenClaw's Control UI on the built gateway", () => {
  let model: FakeModel;
  let home: Home;
  let ui: ControlUi;
  // The skills page asks the registry, which is on this machine.
  const registry = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results: [] }));
  });
  let tab: ControlUiTab;

  beforeAll(async () => {
    model = await startFakeModel();
    model.answer(replyTo);
    const root = path.join(path.dirname(field ?? ""), "dist/control-ui");
    const gateway = { port: 0, auth: { token: TOKEN }, controlUi: { root, basePath: "/claw" } };
    home = await makeHome(twoModels(model, { gateway }));
    await once(registry.listen(0, "127.0.0.1"), "listening");
    const { port: registryPort } = z.looseObject({ port: z.number() }).parse(registry.address());
    const { port } = await home.start({ env: { OPENCLAW_CLAWHUB_URL: `http://127.0.0.1:${registryPort}` } });
    ui = await ControlUi.launch(`http://127.0.0.1:${port}/claw`, TOKEN);
    tab = await ui.tab();
  });
  afterAll(async () => {
    await ui.close();
    await home.remove();
    await model.close();
    registry.close();
  });
  afterEach(() => expect(ui.complaints.splice(0)).toEqual([]));

  test("a chat: a streamed answer, Markdown, a tool's card, a picture", async () => {
    await tab.say("hello");
    await tab.answered("you said hello");
    await tab.say("MARKDOWN");
    await tab.answered("Some bold words");
    await tab.answers.getByRole("heading", { name: "A title" }).waitFor();
    await tab.answers.getByRole("cell", { name: "2" }).waitFor();
    await tab.say('TOOL:ls {"path":"."}');
    await tab.answered("you said TOOL:ls");
    await tab.composer.focus();
    await tab.page.evaluate(PASTE);
    await tab.page.getByPlaceholder(/Add a message/).waitFor();
    await tab.say("what is this");
    await expect.poll(() => model.calls.at(-1)?.images, PATIENCE).toHaveLength(1);
    expect(JSON.stringify(model.calls.at(-1)?.messages)).toContain("what is this");
    await tab.page.locator(".chat-group.user img").last().waitFor();
    await tab.idle();
    await tab.shoot("chat");
  });

  test("a command waits for its card and runs once it is allowed", async () => {
    await tab.say('TOOL:exec {"command":"date +made-%Y"}');
    await tab.page.getByText("Exec approval needed").waitFor();
    await tab.shoot("approval");
    await tab.page.getByRole("button", { name: "Allow once" }).click();
    await tab.answered("you said TOOL:exec");
    expect(model.calls.at(-1)?.toolText).toMatch(/made-20\d\d/);
  });

  test("a run is stopped, is there after a reload, and a second tab shows what the first one says", async () => {
    await tab.say("SLOW");
    await tab.answers.filter({ hasText: "slow slow" }).waitFor();
    await tab.page.getByRole("button", { name: "Stop generating" }).click();
    await tab.page.getByRole("button", { name: "Stop generating" }).waitFor({ state: "detached" });
    await tab.page.reload();
    await tab.settled("the chat after a reload");
    for (const text of ["you said hello", "Some bold words", "slow slow", "you said TOOL:exec"])
      await tab.answers.filter({ hasText: text }).first().waitFor();
    expect(await tab.answers.filter({ hasText: "you said hello" }).count()).toBe(1);
    const other = await ui.tab();
    await tab.say("for both");
    await other.answered(/you said.*for both/s);
    await other.say("from the other");
    await tab.answered(/you said.*from the other/s);
    await other.page.close();
  });

  test("a new session gets its title, is listed, and is found by its words", async () => {
    await tab.open("/new");
    const box = tab.page.locator("textarea:visible").first();
    await box.fill("plan a journey to Oslo");
    await box.press("Enter");
    await tab.answered("you said plan a journey");
    await tab.open("/sessions");
    await tab.page.getByPlaceholder(/Search exact words/i).fill("journey");
    await tab.page.getByRole("button", { name: "Search", exact: true }).click();
    await tab.says(/Transcript matches/);
    expect(await tab.texts()).toContain("plan a journey to Oslo");
  });

  test("an automation is made, runs, and tells how it went", async () => {
    await tab.open("/automations");
    await tab.page.getByRole("button", { name: "New automation" }).click();
    await tab.page.locator("textarea:visible").first().fill("say good morning");
    await tab.page.getByPlaceholder("Morning brief").fill("Morning words");
    await tab.page.getByRole("button", { name: "Create & run now" }).click();
    await expect.poll(() => model.calls.some(({ said }) => said.includes("say good morning")), PATIENCE).toBe(true);
    await tab.open("/automations");
    await tab.says(/Morning words/);
    await tab.page.getByRole("tab", { name: "Run history" }).click();
    await tab.says(/you said .*good morning/s);
  });

  test("a setting is changed in its form, and a file of the agent in its editor", async () => {
    await tab.open("/settings/infrastructure");
    const timeout = tab.page.getByLabel("Handshake timeout", { exact: true }).first();
    await timeout.fill("12000");
    await timeout.press("Tab");
    const config = async () => (await home.run(["config", "get", "gateway.handshakeTimeoutMs"])).stdout.trim();
    await expect.poll(config, PATIENCE).toBe("12000");
    await tab.open("/settings/agents");
    await tab.page.getByRole("tab", { name: /Files/ }).first().click();
    await tab.settled("the files of the agent");
    await tab.page.locator("textarea:visible").last().fill("Be kind.");
    await tab.page.getByRole("button", { name: "Save" }).last().click();
    await tab.settled("the saved file");
    const workspace = path.join(home.stateDir, "workspace", "AGENTS.md");
    await expect.poll(() => readFile(workspace, "utf8"), PATIENCE).toBe("Be kind.");
  });

  test.each([...PAGES, ...SETTINGS])("%s opens without an error", async (route) => {
    const texts = await tab.open(route);
    await tab.shoot(route.replaceAll("/", "_"));
    expect(texts.length).toBeGreaterThan(50);
    expect(BROKEN.exec(texts)?.[0]).toBeUndefined();
  });
});

/** Pastes a picture of four pixels. */
const PASTE = `{
  const base64 = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP8z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==";
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([bytes], "dot.png", { type: "image/png" }));
  document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true, composed: true }));
}`;
