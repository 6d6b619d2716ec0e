import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { VIEWS } from "../../../extensions/webchat/page/model/state.ts";
import { startFakeTelegram } from "../../fakes/telegram.ts";
import { startFakeModel } from "../../fakes/model.ts";
import { makeHome, walkConfig, type GatewayUnderTest } from "../../kit/gateway/process.ts";
import { ask, call } from "../../kit/gateway/rpc.ts";
import { outcomesOf } from "../../kit/gateway/state-files.ts";
import { hasChromium } from "../../kit/page/chromium.ts";
import { Browser, type Tab } from "../browser.ts";
import { twoModels } from "../two-models.ts";

const SCRIPT = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>`;
/** What members of groups may call their group and themselves. */
const NAMES = [
  SCRIPT,
  "safe\u202Egpj.exe",
  "\u2067turned",
  "\u001B[2J\u001B]0;owned\u0007\u001B[31mred",
  "one line\nApproved by the owner",
  "javascript:window.ran=1",
  "L".repeat(100_000),
  `z${"\u0300".repeat(3000)}`,
];

/** Everything that is shown or read out, whether a script of a name ran, and what leads out of the page. */
const READ_PAGE = `({
  shown: document.title + "\\n" + document.body.innerText + "\\n" + [...document.querySelectorAll("[aria-label], [title], [alt]")]
    .flatMap((one) => ["aria-label", "title", "alt"].map((name) => one.getAttribute(name) ?? "")).join("\\n"),
  ran: window.ran === 1,
  links: [...document.querySelectorAll("[href], [src]")].map((one) => one.getAttribute("href") ?? one.getAttribute("src"))
    .filter((address) => /^(javascript|vbscript|http)/i.test(address)),
  isTooWide: document.documentElement.scrollWidth > innerWidth,
})`;
const pageRead = z.object({ shown: z.string(), ran: z.boolean(), links: z.array(z.string()), isTooWide: z.boolean() });

/** Controls except line ends and tabs, and signs that turn the text after them around. */
const UNFIT = /(?![\n\t])\p{Cc}|[\u202A-\u202E\u2066-\u2069]/u;

async function expectHarmless(tab: Tab): Promise<void> {
  const { shown, ran, links, isTooWide } = pageRead.parse(await tab.page.evaluate(READ_PAGE));
  expect.soft(shown.slice(Math.max(0, shown.search(UNFIT) - 40)).match(UNFIT), tab.page.url()).toBeNull();
  expect.soft(/L{201}/.test(shown), `a long name at ${tab.page.url()}`).toBe(false);
  expect.soft({ ran, links, isTooWide }, tab.page.url()).toEqual({ ran: false, links: [], isTooWide: false });
}

async function expectHarmlessViews(browser: Browser, gateway: GatewayUnderTest): Promise<Tab> {
  const tab = await browser.open(gateway);
  for (const view of VIEWS) {
    await tab.page.goto(`http://127.0.0.1:${gateway.port}/?view=${view}`);
    await tab.connected();
    await tab.page.getByText("Reading…").first().waitFor({ state: "detached" });
    await expectHarmless(tab);
  }
  return tab;
}

describe.skipIf(!hasChromium)("no harm is done in any view of the page", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await Browser.launch();
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await browser.closeTabs();
    expect(browser.complaints.splice(0)).toEqual([]);
  });

  test("by names of strangers, nor in the tables of the command line", async () => {
    const telegram = await startFakeTelegram();
    const model = await startFakeModel();
    const heard = {
      groupPolicy: "open",
      groups: { "*": { requireMention: false } },
      dmPolicy: "pairing",
      allowFrom: [],
    };
    const config = walkConfig(telegram, model);
    const channels = { telegram: { ...config.channels.telegram, ...heard } };
    const home = await makeHome({ ...config, channels });
    const gateway = await home.start();
    NAMES.forEach((name, at) =>
      telegram.say("hello", {
        from: { id: 5000 + at, first_name: name, username: name },
        chat: { id: -100_500 - at, type: "supergroup", title: name },
        more: {
          reply_to_message: { message_id: 1, date: 1, from: { id: 9, first_name: name }, chat: { id: 1 }, text: "x" },
        },
      }),
    );
    NAMES.slice(1, 3).forEach((name, at) => telegram.say("let me in", { from: { id: 7000 + at, first_name: name } }));
    await outcomesOf(home, NAMES.length + 2);

    const tab = await expectHarmlessViews(browser, gateway);
    for (const at of NAMES.keys()) {
      const key = `agent:main:telegram:default:group:${-100_500 - at}`;
      await tab.page.goto(`http://127.0.0.1:${gateway.port}/?session=${encodeURIComponent(key)}`);
      await tab.answered("echo:");
      await expectHarmless(tab);
    }
    for (const args of [["sessions"], ["pairing", "list"], ["inbox", "list"], ["status"]]) {
      const { stdout, stderr } = await home.run(args);
      expect.soft((stdout + stderr).match(UNFIT), args.join(" ")).toBeNull();
      expect.soft(/L{201}/.test(stdout), args.join(" ")).toBe(false);
    }
    await home.remove();
    await telegram.close();
    await model.close();
  });

  test("by what a model names, nor by a skill, a plugin and a note", async () => {
    const model = await startFakeModel();
    const home = await makeHome(twoModels(model, { agents: { defaults: { model: { primary: "fake/plain" } } } }));
    const text = `${SCRIPT}safe\u202Egpj.exe \u001B[2J\u001B]0;owned\u0007`;
    const put = async (name: string, content: string): Promise<void> => {
      await mkdir(path.dirname(path.join(home.stateDir, name)), { recursive: true });
      await writeFile(path.join(home.stateDir, name), content);
    };
    const skill = { emoji: "\u202Ex", homepage: "javascript:window.ran=1", requires: { env: [`A${text}`] } };
    const front = [`description: ${JSON.stringify(text)}`, `metadata: ${JSON.stringify({ openclaw: skill })}`];
    await put("skills/bad/SKILL.md", ["---", "name: bad", ...front, "---", text].join("\n"));
    const shape = { type: "object", properties: { a: { type: "string", title: text, description: text } } };
    const manifest = { id: "bad", name: text, version: text, description: text, configSchema: shape };
    await put("extensions/bad/openclaw.plugin.json", JSON.stringify(manifest));
    await put("extensions/bad/package.json", JSON.stringify({ name: "bad", openclaw: { extensions: ["./index.js"] } }));
    await put("extensions/bad/index.js", "export default { id: 'bad', register() {} };");
    await put("workspace/MEMORY.md", `# ${text}\n- ${text}\n`);
    await put("workspace/memory/a\u202Eb.md", text);
    const gateway = await home.start();

    const job = { schedule: { kind: "every", everyMs: 3_600_000 }, payload: { kind: "agentTurn", message: text } };
    const calls = [
      { tool: "cron", args: { action: "add", job: { ...job, name: text, sessionTarget: "isolated" } } },
      { tool: "sessions_spawn", args: { task: text, label: text } },
      { tool: `r${"\u202E"}ead${"T".repeat(10_000)}`, args: { path: text } },
      { tool: "update_plan", args: { explanation: text, plan: [{ step: text, status: "pending" }] } },
    ];
    for (const reply of calls) {
      model.answer((call) => (call.isAfterTool ? { text: "Done." } : reply));
      await ask(home, "do it");
    }
    model.answer(() => ({ text: `${text}\n\n![x](http://127.0.0.1:9/x.png)\n\n<details><svg onload="window.ran=1">` }));
    await call(gateway, "chat.send", { sessionKey: "webchat:default:bad", message: text, idempotencyKey: "1" });
    await model.called(calls.length + 1);
    await call(gateway, "sessions.patch", { key: "webchat:default:bad", label: text });
    const tab = await expectHarmlessViews(browser, gateway);
    for (const session of [
      "__proto__",
      "constructor:toString:x",
      "\u202Egpj.exe",
      "telegram:a:direct:\u001B[2J",
      SCRIPT,
    ]) {
      await tab.page.goto(`http://127.0.0.1:${gateway.port}/?session=${encodeURIComponent(session)}`);
      await tab.connected();
      await expectHarmless(tab);
    }
    await tab.page.keyboard.press("Control+k");
    await tab.page.getByRole("listbox", { name: "Results" }).waitFor();
    await expectHarmless(tab);
    for (const args of [["doctor"], ["doctor", "--json"], ["skills"], ["skills", "info", "bad"], ["logs"]]) {
      const { stdout, stderr } = await home.run(args);
      expect.soft((stdout + stderr).match(UNFIT), args.join(" ")).toBeNull();
      expect.soft(/T{2001}/.test(stdout), args.join(" ")).toBe(false);
    }
    await home.remove();
    await model.close();
  });
});
