// node page.mjs [MESSAGES (10000)] [PER_SECOND (50)] [SECONDS (10)]   The web page in Chromium, on a conversation of MESSAGES messages:
// its first view, the frames while it scrolls through all of them, and while PER_SECOND messages a second arrive at its end.
// Without Chromium (OPENCLAW_CHROMIUM, or on the PATH) it measures nothing. The frames are those of a machine without a graphics card.
import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { chromium } from "playwright-core";
import { z } from "zod";
import { connectGateway } from "../../src/app/cli/client.ts";
import { Secret } from "../../src/types/secret.ts";
import { CHROMIUM, hasChromium } from "../../test/kit/page/chromium.ts";
import * as L from "../lib.mjs";

const [messages = 10_000, perSecond = 50, seconds = 10] = process.argv.slice(2).map(Number);
const KEY = "webchat:default:operator";
const ROUNDS = 5;
const SCROLL_MS = 20_000;
/** Messages that the page reads with each wish for more. */
const PAGE = 200;
const PARAGRAPH = "The quick brown fox jumps over the lazy dog while the gateway keeps every line in order. ";
const ANSWER = `${PARAGRAPH}\n\n- one **bold** item\n- another with \`code\`\n\n${PARAGRAPH.repeat(3)}`;

/** Writes a conversation of the page, as the gateway stores it. */
function writeConversation() {
  const folder = path.join(L.STATE, "sessions");
  fs.mkdirSync(folder, { recursive: true });
  const sessionId = crypto.randomUUID();
  const begin = Date.now() - messages * 1000;
  let parentId = null;
  const lines = [{ type: "session", version: 3, id: sessionId, timestamp: new Date(begin).toISOString(), cwd: L.HOME }];
  for (let at = 0; at < messages; at += 1) {
    const timestamp = begin + at * 1000;
    const id = at.toString(16).padStart(16, "0");
    const text = at % 2 === 0 ? `Question ${at}: ${PARAGRAPH}` : `Answer ${at}: ${ANSWER}`;
    const said = { role: "user", content: [{ type: "text", text }], timestamp };
    const answered = { ...said, role: "assistant", api: "openai-completions", provider: "fake", model: "fake-1" };
    const usage = { input: 1000, output: 100, cacheRead: 0, cacheWrite: 0, totalTokens: 1100 };
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    const message = at % 2 === 0 ? said : { ...answered, usage: { ...usage, cost }, stopReason: "stop" };
    lines.push({ type: "message", timestamp: new Date(timestamp).toISOString(), message, id, parentId });
    parentId = id;
  }
  const file = path.join(folder, `${sessionId}.jsonl`);
  fs.writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  const row = { sessionId, updatedAt: Date.now(), chatType: "direct", sessionFile: file };
  fs.writeFileSync(path.join(folder, "sessions.json"), JSON.stringify({ [KEY]: row }));
}

/** Keeps the milliseconds between frames, and those of tasks that took longer than 50, until it is read. */
const WATCH = `{
  const seen = { frames: [], tasks: [] };
  let last = performance.now();
  const next = (now) => { seen.frames.push(now - last); last = now; globalThis.watch === seen && requestAnimationFrame(next); };
  new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
  globalThis.watch = seen;
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(next); });
}`;
const READ_WATCH = `{ const seen = globalThis.watch; globalThis.watch = undefined; seen; }`;

async function frames(page, act) {
  await page.evaluate(WATCH);
  await act();
  const { frames: times, tasks } = await page.evaluate(READ_WATCH);
  return { ...L.stat(times), late: times.filter((ms) => ms > 50).length, task: L.r1(Math.max(0, ...tasks)) };
}

/** Milliseconds from the gateway's answer until the conversation is shown, and what was fetched until then. */
async function firstView(page) {
  await page.goto(`http://127.0.0.1:${L.PORT}/#token=${L.TOKEN}`);
  await page.locator("li.turn").last().waitFor();
  return page.evaluate(`(() => {
    const [document] = performance.getEntriesByType("navigation");
    const fetched = [document, ...performance.getEntriesByType("resource")];
    const shown = performance.getEntriesByName("conversation shown")[0]?.startTime ?? performance.now();
    return { ms: shown - document.responseStart, bytes: fetched.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) };
  })()`);
}

/** Marks the moment of the frame that shows the first turn. */
const MARK = `new MutationObserver((_, watcher) => {
  if (document.querySelector("li.turn") === null) return;
  watcher.disconnect();
  requestAnimationFrame(() => setTimeout(() => performance.mark("conversation shown")));
}).observe(document, { childList: true, subtree: true });`;

const LOG = `document.querySelector(".log")`;
/** How many messages have a place on the page, drawn or not. */
const PLACED = `[...document.querySelectorAll("[data-messages]")].reduce((sum, { dataset }) => sum + dataset.messages.split(" ").length, 0)`;
const toEnd = (page) => page.evaluate(`${LOG}.scrollTo({ top: ${LOG}.scrollHeight })`);

/** Loads everything, then scrolls from the end to the beginning by 200 pixels a frame, for at most SCROLL_MS. */
async function scrollThrough(page) {
  const earlier = page.locator("button.earlier");
  while ((await earlier.count()) > 0) {
    const before = await page.evaluate(PLACED);
    await earlier.click();
    while ((await earlier.count()) > 0 && (await page.evaluate(PLACED)) < before + PAGE) await L.sleep(20);
  }
  // The blocks of turns are drawn one after another.
  while ((await page.evaluate(PLACED)) < messages) await L.sleep(100);
  await toEnd(page);
  await L.sleep(1000);
  return frames(page, () =>
    page.evaluate(`new Promise((resolve) => {
      const step = () => {
        ${LOG}.scrollBy({ top: -200 });
        if (${LOG}.scrollTop <= 0) resolve(); else requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
      setTimeout(resolve, ${SCROLL_MS});
    })`),
  );
}

async function arrive(page) {
  const url = `ws://127.0.0.1:${L.PORT}`;
  const client = await connectGateway({ url, token: new Secret(L.TOKEN), isElsewhere: false }, 10_000);
  await toEnd(page);
  const result = await frames(page, async () => {
    const begun = performance.now();
    for (let at = 0; at < perSecond * seconds; at += 1) {
      const message = `Note ${at}: ${PARAGRAPH}`;
      await client.call("chat.inject", { sessionKey: KEY, message }, z.unknown());
      await L.sleep(Math.max(0, begun + ((at + 1) * 1000) / perSecond - performance.now()));
    }
    await page
      .getByText(`Note ${perSecond * seconds - 1}:`)
      .first()
      .waitFor()
      .catch(async (e) => {
        await page.screenshot({ path: "/tmp/pagebench.png" });
        throw e;
      });
  });
  client.close();
  return result;
}

if (!hasChromium) {
  console.error("page: there is no chromium on the PATH; install it, or name one in OPENCLAW_CHROMIUM");
  process.exit(0);
}
L.mkConfig({ channels: { telegram: { enabled: false } } });
await L.startFakes();
const profile = fs.mkdtempSync(path.join(os.tmpdir(), "page-bench-"));
try {
  writeConversation();
  const gateway = await L.startGateway({ waitPoll: false });
  const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  const browser = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args, headless: true });
  await browser.addInitScript(MARK);
  const views = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const page = await browser.newPage();
    await page.setViewportSize({ width: 1280, height: 800 });
    views.push(await firstView(page));
    if (round < ROUNDS - 1) await page.close();
  }
  const page = browser.pages().at(-1);
  const latest = await arrive(page);
  const scrolled = await scrollThrough(page);
  const all = await arrive(page);
  L.save("page", {
    messages,
    perSecond,
    firstMs: views.map(({ ms }) => L.r1(ms)),
    firstBytes: views[0].bytes,
    latest,
    scrolled,
    all,
  });
  await browser.close();
  await L.stopGateway(gateway);
} finally {
  await L.stopAll();
  fs.rmSync(profile, { recursive: true, force: true });
}
process.exit(0);
