import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ARGS, buildPage } from "../kit/page/build-page.ts";
import { CHROMIUM, hasChromium } from "../kit/page/chromium.ts";
import { FakeGateway, Refusal, said, TOKEN } from "./fake-gateway.ts";

const SHOTS = process.env["PAGE_SHOTS"];

let files: ReadonlyMap<string, { type: string; body: Uint8Array }> = new Map();
let profile: string;
let context: BrowserContext;
let gateway: FakeGateway;
let page: Page;
let port: number;
let complaints: string[];

async function open(query = ""): Promise<void> {
  await page.goto(`http://127.0.0.1:${port}/${query}#token=${TOKEN}`);
  await page.getByRole("status").getByText("Connected").waitFor();
}

async function ask(text: string): Promise<string> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
  await expect.poll(() => [...gateway.sent.values()]).toContain(text);
  return [...gateway.sent.entries()].findLast((entry) => entry[1] === text)![0];
}

async function shoot(name: string): Promise<void> {
  if (SHOTS === undefined) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
}

function listen(to: Page): void {
  to.on("console", (message) => {
    const isNoise = message.text().includes("WebSocket connection to") || message.text().includes("ERR_CONNECTION");
    if (message.type() === "error" && !isNoise) complaints.push(message.text());
  });
  to.on("pageerror", (error) => complaints.push(String(error)));
}

/** What the browser fetches at once: the HTML, and what it names. */
function firstFiles(): ReadonlySet<string> {
  const html = new TextDecoder().decode(files.get("/index.html")?.body);
  const named = [...html.matchAll(/(?:href|src)="\.(\/[^"]+)"/g)].map((found) => found[1] ?? "");
  return new Set(["/index.html", ...named]);
}

describe.skipIf(!hasChromium)("the page", () => {
  beforeAll(async () => {
    files = await buildPage();
    profile = await mkdtemp(path.join(tmpdir(), "page-"));
    context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ARGS, headless: true });
  });

  afterAll(async () => {
    await context?.close();
    await rm(profile, { recursive: true, force: true });
  });

  beforeEach(async () => {
    complaints = [];
    gateway = new FakeGateway(files);
    port = await gateway.listen();
    page = await context.newPage();
    await page.setViewportSize({ width: 1280, height: 820 });
    listen(page);
  });

  afterEach(async () => {
    await page.close();
    await gateway.close();
    expect(complaints).toEqual([]);
  });

  // Gzipped, with everything that the first view needs.
  test("weighs little, and asks for few files", () => {
    const first = firstFiles();
    expect([...first].filter((name) => name.endsWith(".js"))).toHaveLength(3);
    const bytes = [...files].reduce((sum, [name, { body }]) => sum + (first.has(name) ? gzipSync(body).length : 0), 0);
    expect(bytes).toBeLessThan(70_000);
  });

  test("shows the end of a conversation before anything else is read or drawn", async () => {
    for (let at = 0; at < 100; at += 1) {
      gateway.write(said("user", `Question ${at}`));
      gateway.write(said("assistant", `Answer ${at}`));
    }
    for (const method of ["sessions.subscribe", "sessions.list"])
      gateway.answers.set(method, () => new Promise(() => undefined));
    await page.addInitScript(`new MutationObserver(() => {
      const turns = document.querySelectorAll("li.turn").length;
      if (turns > 0) globalThis.atFirst ??= { turns, end: document.body.textContent.includes("Answer 99") };
    }).observe(document, { childList: true, subtree: true })`);
    await page.goto(`http://127.0.0.1:${port}/#token=${TOKEN}`);
    await page.getByText("Answer 99").waitFor();
    const { turns, end } = await page.evaluate<{ turns: number; end: boolean }>("atFirst");
    expect(end).toBe(true);
    expect(turns).toBeLessThan(30);
    // What is far from the end gets its place, in which it is drawn when it is near.
    const places = `[...document.querySelectorAll("[data-messages]")].flatMap(({ dataset }) => dataset.messages.split(" "))`;
    await expect.poll(() => page.evaluate(places)).toHaveLength(200);
  });

  test("reads the list of sessions once more for all changes that come while it is read", async () => {
    await open();
    const row = (label: string) => ({ key: "webchat:default:1", label, updatedAt: Date.now() });
    const first = Promise.withResolvers<unknown>();
    let reads = 0;
    gateway.answers.set("sessions.list", () => {
      reads += 1;
      return reads === 1 ? first.promise : { sessions: [row("after all changes")] };
    });
    for (let at = 0; at < 20; at += 1) gateway.emit("sessions.changed", { sessionKey: "webchat:default:1" });
    await expect.poll(() => reads).toBe(1);
    first.resolve({ sessions: [row("at first")] });
    await page.getByText("after all changes").waitFor();
    expect(reads).toBe(2);
  });

  test("takes the token from the address, and asks for one where it is missing or wrong", async () => {
    await page.goto(`http://127.0.0.1:${port}/?gatewayUrl=ws://127.0.0.1:1/`);
    await page.getByText("openclaw dashboard").waitFor();
    await page.getByLabel("Token").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The gateway does not accept this token").waitFor();
    await page.getByLabel("Token").fill(TOKEN);
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("Connected").waitFor();
    await open();
    expect(page.url()).toBe(`http://127.0.0.1:${port}/`);
  });

  test("a link with a wrong token signs nobody out; one with a new token is taken by a click", async () => {
    await open();
    await page.goto("about:blank");
    await page.goto(`http://127.0.0.1:${port}/#token=wrong`);
    await page.getByRole("status").getByText("Connected").waitFor();
    await page.getByRole("button", { name: "Ignore it" }).click();
    await expect.poll(() => page.evaluate(() => localStorage.getItem("openclaw.token"))).toBe(TOKEN);
    await page.evaluate(() => localStorage.setItem("openclaw.token", "an old one"));
    await page.goto("about:blank");
    await page.goto(`http://127.0.0.1:${port}/#token=${TOKEN}`);
    await page.getByText("The gateway does not accept this token").waitFor();
    await page.getByRole("button", { name: "Sign in with the link's token" }).click();
    await page.getByRole("status").getByText("Connected").waitFor();
    await expect.poll(() => page.evaluate(() => localStorage.getItem("openclaw.token"))).toBe(TOKEN);
  });

  test("after a link with a wrong token the next ones are sent by a click alone", async () => {
    for (const token of ["wrong-1", "wrong-2", "wrong-3"]) {
      await page.goto(`http://127.0.0.1:${port}/#token=${token}`);
      await page.getByText("Sign in to the gateway").waitFor();
      await page.goto("about:blank");
    }
    const shown = () => gateway.asked.filter(({ method }) => method === "connect").map(({ params }) => params["auth"]);
    expect(shown()).toEqual([{ token: "wrong-1" }]);
    await page.goto(`http://127.0.0.1:${port}/#token=${TOKEN}`);
    await page.getByRole("button", { name: "Sign in with the link's token" }).click();
    await page.getByRole("status").getByText("Connected").waitFor();
    await expect.poll(() => page.evaluate(() => localStorage.getItem("openclaw.tried"))).toBeNull();
  });

  test("streams Markdown and shows each message once", async () => {
    await open();
    const runId = await ask("hello");
    gateway.stream(runId, ["Here is **bo", "ld** and code:\n\n", "```ts\nconst a = 1;", "\n``"]);
    await page.locator(".code code").getByText("const a = 1;").waitFor();
    await expect.poll(() => page.locator(".said").last().textContent()).not.toContain("``");
    await expect.poll(() => page.locator("strong").textContent()).toBe("bold");
    gateway.finish(
      runId,
      "Here is **bold** and code:\n\n```ts\nconst a = 1;\n```\n\n<img src=x onerror=alert(1)> done",
    );
    await page.getByText("1.2k in · 34 out · $0.0042").waitFor();
    await expect.poll(() => page.locator(".turn").count()).toBe(2);
    await expect.poll(() => page.locator(".markdown img").count()).toBe(0);
    await expect.poll(() => page.getByRole("log").textContent()).toContain("done");
  });

  test("renders what Markdown has, and nothing that could act", async () => {
    await open();
    const runId = await ask("all of it");
    const text = [
      "| a | b |\n| --- | ---: |\n| 1 | 2 |",
      "- [x] done\n- [ ] open",
      "[good](https://example.org) [bad](javascript:alert(1)) ![far](https://example.org/x.png)",
      "<script>alert(1)</script> <b onclick=alert(1)>plain</b>",
      "```html\n<i>shown</i>\n```",
    ].join("\n\n");
    gateway.finish(runId, text);
    await page.locator("td[align=right]").waitFor();
    await expect.poll(() => page.locator(".markdown input[type=checkbox][disabled]").count()).toBe(2);
    await expect
      .poll(() => page.locator('a[href="https://example.org"][target=_blank][rel~=noopener]').count())
      .toBe(1);
    expect(
      await page.locator('.markdown a[href^="javascript"], .markdown img, .markdown script, .markdown b').count(),
    ).toBe(0);
    await expect.poll(() => page.locator(".code code").textContent()).toBe("<i>shown</i>");
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe("<i>shown</i>");
  });

  test("shows each problem of the gateway once, as long as it lasts", async () => {
    gateway.problems = [{ message: "restart needed: gateway.port", fix: "openclaw gateway run --force" }];
    await open();
    const banners = page.locator(".banner.warning");
    await expect.poll(() => banners.allInnerTexts()).toEqual([expect.stringContaining("Restart needed")]);
    gateway.waits = [
      "Messages wait for the disk: No space left on the disk of /home/ada/.openclaw. Free some space; the gateway then continues by itself.",
    ];
    gateway.emit("health", { ok: false, problems: gateway.waits });
    await banners.getByText("Messages wait for the disk").waitFor();
    await expect.poll(() => banners.count()).toBe(2);
    await shoot("desktop-disk-full");
    gateway.waits = [];
    gateway.emit("health", { ok: true, problems: [] });
    await expect.poll(() => banners.count()).toBe(1);
  });

  test("says that senders were refused, as long as some are", async () => {
    gateway.turnedAway = [
      { channel: "telegram", account: "default", senderId: "7", lastAt: Date.now() },
      { channel: "telegram", account: "default", senderId: "8", lastAt: Date.now() },
    ];
    await open();
    const line = page.getByText("2 people wrote and have no pairing code");
    await line.waitFor();
    await shoot("desktop-turned-away");
    gateway.turnedAway = [];
    gateway.emit("pairing.resolved", {});
    await line.waitFor({ state: "detached" });
  });

  test("shows tool calls folded, with arguments, result and failure", async () => {
    await open();
    const runId = await ask("list the files");
    gateway.stream(runId, ["Let me look."]);
    gateway.agent(runId, "tool", { phase: "start", name: "ls", toolCallId: "t1", args: { path: "notes" } });
    await page.getByText("running").waitFor();
    const result = { content: [{ type: "text", text: "a.md\nb.md" }] };
    gateway.agent(runId, "tool", { phase: "result", name: "ls", toolCallId: "t1", result });
    gateway.agent(runId, "tool", { phase: "start", name: "read", toolCallId: "t2", args: { path: "c.md" } });
    gateway.agent(runId, "tool", {
      phase: "result",
      name: "read",
      toolCallId: "t2",
      isError: true,
      result: "no such file",
    });
    await page.locator(".tool.failed").waitFor();
    await expect.poll(() => page.getByText("a.md").isVisible()).toBe(false);
    await page.locator(".tool summary").first().focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByText("a.md").isVisible()).toBe(true);
    const call = { type: "toolCall", id: "t1", name: "ls", arguments: { path: "notes" } };
    gateway.write({
      role: "assistant",
      content: [{ type: "text", text: "Let me look." }, call],
    });
    gateway.write({ role: "toolResult", toolCallId: "t1", toolName: "ls", ...result, isError: false });
    gateway.finish(runId, "Two files.");
    await page.getByText("Two files.").first().waitFor();
    await expect.poll(() => page.locator(".tool").count()).toBe(1);
    await expect.poll(() => page.getByText("a.md").isVisible()).toBe(true);
    await expect.poll(() => page.locator(".turns").getByText("Let me look.").count()).toBe(1);
  });

  test("shows the agent's plan as a card, which each change of it replaces", async () => {
    await open();
    const runId = await ask("tidy up");
    const plan = (toolCallId: string, args: object, more: object = {}) => {
      const head = { name: "update_plan", toolCallId };
      gateway.agent(runId, "tool", { phase: "start", ...head, args });
      gateway.agent(runId, "tool", { phase: "result", ...head, isError: false, result: "The plan is shown.", ...more });
    };
    const steps = (...states: string[]) => states.map((status, at) => ({ step: `Step ${at + 1} <b>`, status }));
    plan("p1", { plan: steps("in_progress", "pending") });
    await page.locator(".plan li.in_progress").getByText("Step 1 <b>").waitFor();
    plan("p2", { explanation: "Half of it", plan: steps("completed", "in_progress") });
    await page.getByText("1 of 2 done").waitFor();
    await expect.poll(() => page.locator(".plan").count()).toBe(1);
    await expect.poll(() => page.locator(".plan").getByText("Half of it").isVisible()).toBe(true);
    plan("p3", { plan: "none" }, { isError: true, result: "Give the steps" });
    await page.locator(".tool.failed").waitFor();
    plan("p4", { markdown: "- [x] One\n- [~] Two\n- [ ] Three" });
    await page.getByText("1 of 3 done").waitFor();
    await expect
      .poll(() => page.locator(".plan li").allTextContents())
      .toEqual(["✓ Done: One", "▸ In progress: Two", "○ Not begun: Three"]);
    const calls = [steps("in_progress"), steps("completed")].map((listed, at) => ({
      type: "toolCall",
      id: `p${at + 1}`,
      name: "update_plan",
      arguments: { plan: listed },
    }));
    for (const call of calls) {
      gateway.write({ role: "assistant", content: [call] });
      gateway.write({ role: "toolResult", toolCallId: call.id, toolName: "update_plan", content: [], isError: false });
    }
    gateway.finish(runId, "Tidy.");
    await page.getByText("1 of 1 done").waitFor();
    await expect.poll(() => page.locator(".plan").count()).toBe(1);
  });

  test("asks before a command, without taking the Enter of somebody who writes", async () => {
    await open();
    await page.getByLabel("Message", { exact: true }).fill("half a mess");
    const approval = {
      id: "a1",
      request: {
        sessionKey: "webchat:default:operator",
        runId: "r1",
        command: "rm -rf build",
        cwd: "/w",
        principal: { kind: "sender", id: "telegram:5", name: "Ada, the owner" },
      },
      expiresAtMs: Date.now() + 300_000,
    };
    // The page may still read the list, which has it too then.
    gateway.approvals.push(approval);
    gateway.emit("exec.approval.requested", approval);
    const card = page.getByRole("group", { name: "Run this command?" });
    await card.getByText("for someone who is not an owner: Ada, the owner, telegram:5").waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("TEXTAREA");
    await card.getByRole("button", { name: "Allow once" }).focus();
    await page.keyboard.press("Enter");
    await expect
      .poll(() => gateway.asked.find(({ method }) => method === "exec.approval.resolve")?.params)
      .toMatchObject({ id: "a1", decision: "allow-once" });
    await card.waitFor({ state: "detached" });
    gateway.emit("exec.approval.requested", { ...approval, id: "a2" });
    await card.waitFor();
    gateway.emit("exec.approval.resolved", { id: "a2", decision: "deny" });
    await card.waitFor({ state: "detached" });
    gateway.emit("exec.approval.requested", { id: "a3", request: { command: "ls", sessionKey: "", cwd: "" } });
    await expect.poll(() => card.innerText()).toMatch(/^Run this command\?\s+ls\s+Allow once/);
  });

  test("stays when a file is dropped beside the composer", async () => {
    await open();
    const kept = await page.evaluate(`["dragover", "drop"].map((type) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["<script></script>"], "page.html", { type: "text/html" }));
      return !document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    })`);
    expect(kept).toEqual([true, true]);
  });

  test("stops a run by button and by Escape", async () => {
    await open();
    const runId = await ask("tell me a long story");
    gateway.stream(runId, ["Once upon"]);
    await page.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => gateway.asked.filter((item) => item.method === "chat.abort").length).toBe(1);
    await page.keyboard.press("Escape");
    await expect.poll(() => gateway.asked.filter((item) => item.method === "chat.abort").length).toBe(2);
    gateway.chat(runId, { state: "aborted", stopReason: "aborted" });
    await page.getByText("Stopped").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Stop" }).count()).toBe(0);
  });

  test("comes back after a crash with nothing lost and nothing doubled", async () => {
    await open();
    const runId = await ask("first");
    gateway.stream(runId, ["Half of an ans"]);
    await page.getByText("Half of an ans").waitFor();
    await gateway.close();
    await page.getByText("Reconnecting").waitFor();
    await page.getByLabel("Message", { exact: true }).fill("second");
    await page.keyboard.press("Enter");
    await page.getByText("Will be sent when the gateway is back").waitFor();
    gateway.write({ ...said("assistant", "Half of an answer, and the rest.") });
    gateway.loseNextAnswer = true;
    await gateway.listen(port);
    await page.getByText("and the rest").first().waitFor();
    await page.getByRole("status").getByText("Connected").waitFor();
    const keys = (): unknown[] =>
      gateway.asked.filter((item) => item.params["message"] === "second").map((item) => item.params["idempotencyKey"]);
    await expect.poll(() => keys().length).toBe(2);
    expect(new Set(keys()).size).toBe(1);
    await expect.poll(() => page.getByText("Will be sent").count()).toBe(0);
    await expect.poll(() => page.locator(".turn.user .said").allTextContents()).toEqual(["first", "second"]);
    await expect.poll(() => page.locator(".turns").getByText("Half of an ans").count()).toBe(1);
  });

  test("notices a gateway that fell silent", async () => {
    gateway.tickIntervalMs = 200;
    await open();
    await page.getByText("The gateway stopped answering.").waitFor();
  });

  test("shows in one tab what another one wrote", async () => {
    await open();
    const other = await context.newPage();
    listen(other);
    await other.goto(`http://127.0.0.1:${port}/`);
    await other.getByRole("status").getByText("Connected").waitFor();
    const runId = await ask("from the first tab");
    gateway.stream(runId, ["Hello to"]);
    await other.getByText("from the first tab").waitFor();
    gateway.finish(runId, "Hello to both");
    await other.getByText("Hello to both").first().waitFor();
    await expect.poll(() => other.locator(".turn").count()).toBe(2);
    await other.close();
  });

  test("keeps the answer of a command that no transcript holds", async () => {
    await open();
    await page.getByLabel("Message", { exact: true }).fill("/status");
    await page.keyboard.press("Enter");
    await expect.poll(() => gateway.sent.size).toBe(1);
    gateway.histories.clear();
    gateway.chat([...gateway.sent.keys()][0]!, { state: "final", message: said("assistant", "All is well.") });
    await page.locator(".markdown").getByText("All is well.").waitFor();
    await expect.poll(() => page.locator(".turn").count()).toBe(2);
  });

  test("sends images, and starts and switches chats", async () => {
    gateway.rows = [
      { key: "telegram:default:42", label: "Family trip", updatedAt: Date.now() - 7_200_000, totalTokens: 5 },
    ];
    await open();
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    await page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: png });
    await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
    await ask("what is this?");
    const sent = gateway.asked.find((item) => item.method === "chat.send");
    expect(sent?.params["attachments"]).toEqual([
      { type: "image", mimeType: "image/png", fileName: "dot.png", content: png.toString("base64") },
    ]);
    await page.getByRole("button", { name: "New chat" }).click();
    await page.getByText("What can I do for you?").waitFor();
    expect(new URL(page.url()).searchParams.get("session")).toMatch(/^webchat:default:[0-9a-f-]{36}$/);
    await page.getByRole("button", { name: /^Family trip/ }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("session")).toBe("telegram:default:42");
    await page.getByLabel("Model").selectOption("acme/large");
    await expect
      .poll(() => gateway.asked.find((item) => item.method === "sessions.patch")?.params)
      .toEqual({
        key: "telegram:default:42",
        model: "acme/large",
      });
  });

  test("works on a phone by its drawer", async () => {
    gateway.rows = [{ key: "telegram:default:42", label: "Family trip", updatedAt: Date.now() }];
    await page.setViewportSize({ width: 360, height: 740 });
    await open();
    await page.getByRole("button", { name: "Sessions" }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Family trip/ })
      .click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await expect.poll(() => page.getByRole("heading", { level: 1 }).textContent()).toBe("Family trip");
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  });

  test.skipIf(SHOTS === undefined)("is photographed", async () => {
    const { scene } = await import("./scene.ts");
    scene(gateway);
    for (const [name, scheme, width, height] of [
      ["desktop-light", "light", 1280, 820],
      ["desktop-dark", "dark", 1280, 820],
      ["phone-light", "light", 390, 844],
      ["phone-dark", "dark", 390, 844],
    ] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height });
      await open();
      await page.locator(".tool").first().waitFor();
      await shoot(name);
    }
    await page.getByRole("button", { name: "Sessions" }).click();
    await page.getByRole("dialog").waitFor();
    await page.waitForTimeout(300);
    await shoot("phone-drawer");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 820 });
    const runId = await ask("Yes, but show me the old snapshots first.");
    gateway.stream(runId, ["Gladly. I ask the repository for them."]);
    const start = {
      phase: "start",
      name: "exec",
      toolCallId: "t9",
      args: { command: "restic snapshots --json | jq length" },
    };
    gateway.agent(runId, "tool", start);
    gateway.agent(runId, "tool", {
      phase: "result",
      name: "exec",
      toolCallId: "t9",
      isError: true,
      result: "jq: command not found",
    });
    gateway.agent(runId, "tool", { ...start, toolCallId: "t10", name: "read", args: { path: "logs/restic.log" } });
    await page.locator(".tool.failed summary").click();
    await page.waitForTimeout(300);
    await shoot("desktop-working");
    gateway.chat(runId, { state: "aborted" });
    await open("?session=webchat:default:empty");
    await page.getByText("What can I do").waitFor();
    await shoot("desktop-welcome");
    gateway.approvals.push({
      id: "a1",
      request: {
        sessionKey: "webchat:default:operator",
        runId: "r1",
        command: "git push --force origin main",
        cwd: "~/.openclaw/workspace",
        reason: "not on the allowlist",
      },
      expiresAtMs: Date.now() + 290_000,
    });
    gateway.pairings = [
      {
        channel: "telegram",
        account: "default",
        senderId: "77",
        code: "K7WQ2MXA",
        name: "Dana",
        createdAt: Date.now() - 600_000,
        expiresAt: Date.now() + 3_000_000,
      },
    ];
    gateway.problems = [
      {
        message: "channels.telegram.dmPolcy is not a key (openclaw.json:14). Did you mean dmPolicy?",
        fix: "openclaw doctor --fix",
      },
    ];
    await open();
    await page.getByText("Run this command?").waitFor();
    await shoot("desktop-approval");
    await page.setViewportSize({ width: 390, height: 844 });
    await shoot("phone-approval");
    await page.evaluate(() => localStorage.clear());
    await page.goto("about:blank");
    await page.goto(`http://127.0.0.1:${port}/#token=wrong`);
    await page.getByLabel("Token").waitFor();
    await shoot("phone-gate");
  });
  test("shows channels, sends a test message and links an account", async () => {
    const account = {
      accountId: "default",
      enabled: true,
      lifecycle: "trouble",
      lastError: "no network",
      fix: "Look.",
    };
    const linked = Promise.withResolvers<unknown>();
    const view = { loginId: "l-1", state: "waiting", next: 1 };
    gateway.answers.set("channels.status", () => ({
      channelOrder: ["telegram", "whatsapp"],
      channelLabels: { telegram: "Telegram", whatsapp: "WhatsApp" },
      channelAccounts: {
        telegram: [
          { ...account, lifecycle: "running", connected: true, silentMs: 4000, self: { id: "1", name: "@me" } },
          { accountId: "new", enabled: true, lifecycle: "starting", connected: false, activity: "fetching a library" },
        ],
        whatsapp: [{ ...account, connected: false, retryAt: Date.now() + 60_000 }],
      },
    }));
    gateway.answers.set("channels.capabilities", () => ({
      channels: [{ ...CAPABILITIES, channel: "whatsapp", label: "WhatsApp", accountId: "default", login: true }],
    }));
    const probed = { channel: "telegram", accountId: "default", status: "ok", message: "answers as @me" };
    gateway.answers.set("channels.probe", () => ({ accounts: [probed] }));
    gateway.answers.set("send", ({ to, channel, accountId }) => {
      const place = { channel, accountId, chatId: to, chatKind: "direct" };
      return { ...place, state: to === "42" ? "sent" : "failed", reason: "blocked" };
    });
    gateway.answers.set("channels.login.start", () => ({
      ...view,
      steps: [{ kind: "qr", text: "2@a", rows: ["101", "010", "111"] }],
    }));
    gateway.answers.set("channels.login.wait", () => linked.promise);
    gateway.answers.set("channels.login.cancel", () => ({ ok: true }));
    gateway.answers.set("channels.setups", () => ({ channels: [] }));
    gateway.answers.set("config.get", () => ({ hash: "1", config: {} }));
    await open();
    await page.getByRole("link", { name: "Channels" }).click();
    const panel = page.getByRole("main");
    const telegram = panel.getByRole("listitem", { name: "Telegram default" });
    await telegram.getByText("connected · last activity now").waitFor();
    const whatsapp = panel.getByRole("listitem", { name: "WhatsApp default" });
    await whatsapp.getByText("no network").waitFor();
    await whatsapp.getByText("Look.").waitFor();
    await panel.getByText("starting · fetching a library").waitFor();
    await whatsapp.getByText(/next attempt in \d+ s/).waitFor();
    await expect.poll(() => whatsapp.getByRole("button", { name: "Test" }).isEnabled()).toBe(true);
    await expect.poll(() => telegram.getByRole("button", { name: "Link" }).count()).toBe(0);

    await telegram.getByRole("button", { name: "Test" }).click();
    await telegram.getByLabel("Chat that gets the test message").fill("42");
    await page.keyboard.press("Enter");
    await telegram.getByText("Sent.", { exact: true }).waitFor();
    await telegram.getByLabel("Chat that gets the test message").fill("43");
    await page.keyboard.press("Enter");
    await telegram.getByText("Not sent: blocked.").waitFor();
    await telegram.getByLabel("Chat that gets the test message").fill("");
    await page.keyboard.press("Enter");
    await telegram.getByText("Connected; answers as @me").waitFor();

    await whatsapp.getByRole("button", { name: "Link" }).click();
    const code = whatsapp.getByRole("img", { name: "QR code to scan with the app" });
    await expect
      .poll(() => code.locator("path").getAttribute("d"))
      .toBe("M4 4h1v1h-1zM6 4h1v1h-1zM5 5h1v1h-1zM4 6h3v1h-3z");
    await shoot("channels");
    linked.resolve({ ...view, state: "linked", steps: [] });
    await whatsapp.getByText("Linked.").waitFor();
    await expect.poll(() => code.count()).toBe(0);
    expect(gateway.asked.findLast(({ method }) => method === "channels.login.wait")?.params).toMatchObject({ next: 1 });
  });

  test("asks for what an account needs, says beside the answer what is wrong, and forgets the secret", async () => {
    const accounts: Record<string, unknown>[] = [];
    gateway.answers.set("channels.status", () => ({ channelOrder: [], channelLabels: {}, channelAccounts: {} }));
    gateway.answers.set("channels.capabilities", () => ({ channels: accounts }));
    gateway.answers.set("channels.setups", () => ({ channels: SETUPS }));
    gateway.answers.set("channels.enable", (params) => ({ ok: true, restartNeeded: false, ...params }));
    gateway.answers.set("channels.add", ({ channel, accountId, values }) => {
      const { token } = values as Record<string, string>;
      if (token === "wrong") return new Refusal("That is no token.", "token");
      accounts.push({ ...CAPABILITIES, channel, accountId, label: "Telegram" });
      return { ok: true, channel, accountId, restartNeeded: false };
    });
    gateway.answers.set("config.get", () => ({ hash: "1", config: {} }));
    await open();
    await page.getByRole("link", { name: "Channels" }).click();
    const panel = page.getByRole("main");
    const channels = panel.getByRole("region", { name: "Add a channel" });
    await channels.getByRole("button", { name: "WhatsApp" }).click();
    await expect.poll(() => panel.getByRole("form", { name: "Add WhatsApp" }).locator("input").count()).toBe(1);
    await channels.getByRole("button", { name: "Telegram" }).click();
    const form = panel.getByRole("form", { name: "Add Telegram" });
    await form.getByLabel("The token is").selectOption("in the gateway's environment");
    await form.getByText("TELEGRAM_BOT_TOKEN").waitFor();
    await form.getByLabel("The token is").selectOption("in a file on the gateway's machine");
    await form.getByLabel("File with the token").waitFor();
    await form.getByLabel("The token is").selectOption("typed here, stored in the config");
    const token = form.getByLabel("Bot token");
    await expect.poll(() => token.getAttribute("type")).toBe("password");
    await token.fill("wrong");
    await form.getByLabel("Account name").fill("work");
    await page.keyboard.press("Enter");
    await form.getByRole("alert").getByText("That is no token.").waitFor();
    await expect.poll(() => token.getAttribute("aria-invalid")).toBe("true");
    await expect.poll(() => token.evaluate("document.activeElement.name")).toBe("token");
    await shoot("channels-add");
    await token.fill("right");
    await page.keyboard.press("Enter");
    await panel.getByRole("status").getByText("Telegram (work) is added.").waitFor();
    const row = panel.getByRole("listitem", { name: "Telegram work" });
    await row.getByText("off", { exact: true }).waitFor();
    await expect.poll(() => row.getByRole("button", { name: "Test" }).isDisabled()).toBe(true);
    const added = gateway.asked.findLast(({ method }) => method === "channels.add");
    expect(added?.params).toEqual({ channel: "telegram", accountId: "work", values: { token: "right" } });
    expect(await page.content()).not.toContain('right"');
    await row.getByText("What it can do").click();
    await row.getByText("4,096 characters").waitFor();

    await row.getByRole("button", { name: "Change" }).click();
    const change = panel.getByRole("form", { name: "Change Telegram" });
    await change.getByLabel("Bot token").fill("wrong");
    await page.keyboard.press("Enter");
    await change.getByRole("alert").getByText("That is no token.").waitFor();
    expect(gateway.asked.findLast(({ method }) => method === "channels.add")?.params).toMatchObject({ replace: true });
    await change.getByRole("button", { name: "Cancel" }).click();
    await row.getByRole("button", { name: "Remove" }).click();
    const question = row.getByRole("group", { name: "Remove Telegram?" });
    await expect
      .poll(() => question.getByRole("button", { name: "Keep" }).evaluate("document.activeElement.textContent"))
      .toBe("Keep");
    await page.keyboard.press("Enter");
    await question.waitFor({ state: "detached" });
    expect(gateway.asked.some(({ method }) => method === "channels.remove")).toBe(false);
  });
});

const CAPABILITIES = {
  limits: { text: 4096, media: 52_428_800, format: "html" },
  silent: true,
  login: false,
  logout: false,
  probe: true,
};
const TOKEN_FIELDS = [
  { name: "token", label: "Bot token, from @BotFather", secret: true, required: true, env: "TELEGRAM_BOT_TOKEN" },
  { name: "tokenFile", label: "File with the token, on the gateway's machine", secret: false, required: false },
];
const SETUPS = [
  { channel: "telegram", label: "Telegram", login: false, fields: TOKEN_FIELDS },
  { channel: "whatsapp", label: "WhatsApp", login: true, fields: [] },
];
