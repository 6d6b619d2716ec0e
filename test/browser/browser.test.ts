import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Browsers } from "../../src/browser/browsers.ts";
import { browserConfig } from "../../src/browser/config.ts";
import { browserTools } from "../../src/browser/tool/tool.ts";
import { hostBackends } from "../../src/tools/host/host.ts";
import { runTool } from "../../src/tools/run.ts";
import { systemClock } from "../../src/types/clock.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { OPERATOR } from "../../src/types/run/principal.ts";
import type { Tool } from "../../src/types/run/tool.ts";
import type { Resolve } from "../../src/utils/net/safe-fetch.ts";
import { silent } from "../kit/toy-channel.ts";
import { CHROMIUM, hasChromium } from "../kit/page/chromium.ts";
import { PATIENCE_MS } from "../kit/gateway/process.ts";
import { agentSettings, textOf, toolContext } from "../kit/tools.ts";
import { Site } from "./site.ts";

const SOON = { timeout: PATIENCE_MS };

let dir: string;
let workspace: string;
let site: Site;
let browsers: Browsers;
let tool: Tool;

const opened = (more: object = {}, resolve?: Resolve) => {
  const config = browserConfig.parse({
    enabled: true,
    executablePath: CHROMIUM,
    noSandbox: true,
    actionTimeoutMs: 20_000,
    ssrfPolicy: { allowedHostnames: ["127.0.0.1"] },
    ...more,
  });
  const ports = {
    config: () => config,
    profiles: join(dir, "profiles"),
    files: join(dir, "files"),
    env: { ...process.env, SECRET_TOKEN: "s3cret" },
    clock: systemClock,
    log: silent,
    load: async () => ({ chromium }),
  };
  browsers = new Browsers(ports, resolve);
  const [contribution] = browserTools(browsers);
  const agent = { id: agentId("main"), ...agentSettings(workspace) };
  const settings = { ...agent, tools: { ...agent.tools, workspaceOnly: true } };
  const backends = hostBackends({ settings, rights: "owner", deniedPaths: [] });
  const acting = { principal: OPERATOR, sessionKey: sessionKey("s1") };
  const made = contribution?.forRun({ agent, acting, ...backends });
  if (made) tool = made;
};
const call = (input: object, context = toolContext(workspace)) => runTool(tool, input, context);
const said = async (input: object) => textOf(await call(input));
/** The ref of the first line of a snapshot that fits. */
const refOf = async (fits: RegExp): Promise<string> => {
  const snapshot = await said({ action: "snapshot" });
  const line = snapshot.split("\n").find((one) => fits.test(one));
  return /\[ref=(\w+)\]/.exec(line ?? "")?.[1] ?? `no ref for ${String(fits)} in ${snapshot}`;
};
/** The processes of the profiles' browsers. */
const processes = (): readonly string[] =>
  execFileSync("ps", ["-eo", "pid,stat,args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(join(dir, "profiles")) && !/^\s*\d+\s+Z/.test(line));

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "openclaw-browser-"));
  workspace = join(dir, "workspace");
  await mkdir(workspace);
  site = new Site();
  await site.open();
  opened();
});
afterEach(async () => {
  await browsers.close();
  await site.close();
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
});

describe.runIf(hasChromium)("the browser tool, in Chromium", () => {
  it("logs in, fills a form, reads a table and answers dialogs", async () => {
    const first = await call({ action: "open", targetUrl: site.url("/") });
    expect(first.details).toMatchObject({ tab: "t1", externalContent: { untrusted: true, source: "browser" } });
    const fields = [
      { ref: await refOf(/textbox "Name"/), value: "ada" },
      { ref: await refOf(/textbox "Password"/), value: "pw" },
      { ref: await refOf(/checkbox "Stay"/), value: true },
    ];
    await call({ action: "act", kind: "fill", fields });
    const role = await call({ action: "act", kind: "select", ref: await refOf(/combobox "Role"/), values: ["writer"] });
    expect(textOf(role)).toContain("Selected: writer.");
    await call({ action: "act", request: { kind: "click", ref: await refOf(/button "Log in"/) } });
    await expect.poll(() => site.posted, SOON).toEqual(["name=ada&password=pw&stay=on&role=writer"]);
    await call({ action: "act", kind: "wait", text: "Orders" });
    const orders = await said({ action: "snapshot" });
    expect(orders).toMatch(/EXTERNAL_UNTRUSTED_CONTENT.*\nSource: Browser\nFrom: http:\/\/127\.0\.0\.1:\d+\n/);
    expect(orders).toContain("Lamp");
    expect(orders).not.toContain("invisible");
    await call({ action: "dialog", accept: true });
    const deleted = await said({ action: "act", kind: "click", ref: await refOf(/button "Delete"/) });
    expect(deleted).toContain("title: yes");
    expect(deleted).toContain("dialog: confirm: Really? (accepted)");
    expect(await said({ action: "act", kind: "click", ref: await refOf(/button "Delete"/) })).toContain("title: no");
  }, 60_000);

  it("keeps downloads under a name that leads nowhere else", async () => {
    await call({ action: "open", targetUrl: site.url("/orders") });
    let text = await said({ action: "act", kind: "click", ref: await refOf(/link "Get the list"/) });
    await expect
      .poll(async () => {
        if (!text.includes("Downloaded to")) text = await said({ action: "snapshot" });
        return text;
      }, SOON)
      .toContain("Downloaded to");
    const path = /Downloaded to (.+)\.$/m.exec(text)?.[1] ?? "";
    expect(path.startsWith(join(dir, "files"))).toBe(true);
    expect(path).toMatch(/-\.\._list_of_orders\.csv$|-_?list_of_orders\.csv$/);
    expect(await readFile(path, "utf8")).toBe("Lamp,12\n");
  }, 60_000);

  it("takes a picture, saves a page and reads the console", async () => {
    site.show(
      "/noisy",
      "<h1>Noise</h1><script>console.log('hello'); setTimeout(() => { throw new Error('broken') })</script>",
    );
    await call({ action: "open", targetUrl: site.url("/noisy") });
    const shot = await call({ action: "screenshot" });
    expect(shot.content.map(({ type }) => type)).toEqual(["text", "image"]);
    expect((await call({ action: "screenshot", ref: await refOf(/heading "Noise"/) })).isError).toBeUndefined();
    await expect.poll(() => said({ action: "console" }), SOON).toMatch(/log: hello[\s\S]*error: broken/);
    const saved = await call({ action: "pdf" });
    expect((await readFile(String(saved.details?.["path"]))).subarray(0, 4).toString()).toBe("%PDF");
  }, 60_000);

  it("lets no page lead to a private address: not by a redirect, a frame, a script or a name that changes", async () => {
    site.redirect("/away", site.url("/secret", "localhost"));
    const away = await call({ action: "open", targetUrl: site.url("/away") });
    expect(away.isError).toBe(true);
    expect(textOf(away)).toContain("localhost is not on the public internet");
    const secret = site.url("/secret", "localhost");
    site.show(
      "/frames",
      `<iframe src="${secret}"></iframe><img src="${secret}"><script>fetch("${secret}", { mode: "no-cors" }).catch(() => {});
       new WebSocket("${secret.replace("http", "ws")}");</script>done`,
    );
    expect(await said({ action: "navigate", targetUrl: site.url("/frames") })).toContain("/frames");
    await call({ action: "act", kind: "wait", loadState: "networkidle" });
    site.show("/moves", `<script>location.href = "${secret}"</script>`);
    await call({ action: "navigate", targetUrl: site.url("/moves") });
    await call({ action: "act", kind: "wait", timeMs: 300 });
    expect(site.asked.filter((one) => one.includes("/secret"))).toEqual([]);
    expect(await said({ action: "snapshot" })).not.toContain("the secret");
  }, 60_000);

  it("uses the address that was checked, and refuses a name whose next answer is private", async () => {
    const answers = ["93.184.216.34", "127.0.0.1"];
    await browsers.close();
    opened({}, async () => [{ address: answers.shift() ?? "127.0.0.1", family: 4 }]);
    const rebound = await call({ action: "open", targetUrl: site.url("/secret", "rebind.test") });
    expect(textOf(rebound)).toContain("rebind.test is not on the public internet");
    expect(site.asked).toEqual([]);
  }, 60_000);

  it("opens web addresses only, and obeys the lists of the config", async () => {
    await browsers.close();
    const policy = {
      allowedHostnames: ["127.0.0.1"],
      blockedHostnames: ["*.bad.test"],
      hostnameAllowlist: ["127.0.0.1"],
    };
    opened({ ssrfPolicy: policy });
    for (const targetUrl of [
      "file:///etc/passwd",
      "chrome://settings",
      "javascript:alert(1)",
      "data:text/html,x",
      "view-source:http://127.0.0.1",
      "http://a.bad.test/",
      "http://example.test/",
      "http://169.254.169.254/latest",
      "http://metadata.google.internal/",
      "http://[::1]/",
      "not an address",
      "",
    ]) {
      const refused = await call({ action: "open", targetUrl });
      expect([targetUrl, refused.isError]).toEqual([targetUrl, true]);
    }
    expect(site.asked.filter((one) => one.includes("secret"))).toEqual([]);
  }, 60_000);

  it("keeps few of the two hundred tabs that a page opens, and keeps working", async () => {
    await call({ action: "open", targetUrl: site.url("/many") });
    await call({ action: "act", kind: "click", ref: await refOf(/button "Open many"/) });
    const tabs = () => browsers.session().running?.tabs;
    await expect.poll(() => tabs()?.all.length, SOON).toBe(11);
    expect(await said({ action: "navigate", targetId: "t1", targetUrl: site.url("/orders") })).toContain("/orders");
    for (let more = 0; more < 12; more += 1) await browsers.session().running?.context.newPage();
    await expect.poll(() => tabs()?.all.length, SOON).toBe(20);
    expect(await said({ action: "tabs" })).toContain("there are at most 20");
  }, 90_000);

  it("starts anew after a crash, keeps logins, and stops after three", async () => {
    await call({ action: "open", targetUrl: site.url("/") });
    await call({ action: "act", kind: "click", ref: await refOf(/button "Log in"/) });
    await expect.poll(() => site.posted.length, SOON).toBe(1);
    for (let crash = 1; crash <= 3; crash += 1) {
      const running = browsers.session().running;
      for (const line of processes()) {
        const pid = Number(line.trim().split(/\s+/)[0]);
        if (!line.includes("--type=")) process.kill(pid, "SIGKILL");
      }
      await expect.poll(() => browsers.session().running === running, SOON).toBe(false);
      const next = await call({ action: "open", targetUrl: site.url("/orders") });
      expect(next.isError === true).toBe(crash === 3);
      if (crash === 3) expect(textOf(next)).toContain("failed 3 times");
    }
  }, 90_000);

  it("starts the browser as the config says", async () => {
    await browsers.close();
    opened({ extraArgs: ["--lang=sv"], defaultProfile: "work", profiles: { play: {} } });
    await call({ action: "open", targetUrl: site.url("/orders") });
    const [main] = processes().filter((line) => !line.includes("--type="));
    expect(main).toContain(join(dir, "profiles", "work"));
    expect(main).toMatch(/--headless.*--lang=sv|--lang=sv.*--headless/);
    expect(main).toContain("--no-sandbox");
    expect(await said({ action: "profiles" })).toContain("work, play");
    expect(await said({ action: "status", profile: "play" })).toContain("not running");
  }, 60_000);

  it("gives an action up after the time of the config", async () => {
    await browsers.close();
    opened({ actionTimeoutMs: 300 });
    await call({ action: "open", targetUrl: site.url("/orders") });
    const late = await call({ action: "act", kind: "wait", text: "never there" });
    expect(textOf(late)).toContain("Timeout 300ms exceeded");
  }, 60_000);

  it("opens private addresses where the config lets it", async () => {
    await browsers.close();
    opened({ ssrfPolicy: { dangerouslyAllowPrivateNetwork: true } });
    expect(await said({ action: "open", targetUrl: site.url("/secret", "localhost") })).toContain("/secret");
  }, 60_000);

  it("leaves no process behind", async () => {
    await call({ action: "open", targetUrl: site.url("/orders") });
    expect(processes().length).toBeGreaterThan(0);
    await call({ action: "stop" });
    await expect.poll(processes, SOON).toEqual([]);
    expect(await said({ action: "status" })).toContain("not running");
  }, 60_000);

  it("removes the lock of a browser that no longer runs", async () => {
    const profile = join(dir, "profiles", "openclaw");
    await mkdir(profile, { recursive: true });
    await symlink("otherhost-999999999", join(profile, "SingletonLock"));
    expect((await call({ action: "open", targetUrl: site.url("/orders") })).isError).toBeUndefined();
  }, 60_000);

  it("uploads files that the agent may read, and no others", async () => {
    await writeFile(join(workspace, "mine.txt"), "mine");
    await writeFile(join(dir, "other.txt"), "other");
    await call({ action: "open", targetUrl: site.url("/upload") });
    const ref = await refOf(/button "Your file"|"Your file"/);
    expect(await said({ action: "upload", ref, paths: ["mine.txt"] })).toContain("Chose 1 files");
    expect((await call({ action: "upload", ref, paths: [join(dir, "other.txt")] })).isError).toBe(true);
    expect((await call({ action: "upload", ref, paths: ["/etc/passwd"] })).isError).toBe(true);
  }, 60_000);

  it("runs no JavaScript of the model unless the config lets it, and takes no selectors", async () => {
    await call({ action: "open", targetUrl: site.url("/orders") });
    expect(textOf(await call({ action: "act", kind: "evaluate", fn: "document.cookie" }))).toContain("evaluateEnabled");
    for (const ref of ["#id", "a >> nth=0", "12", "javascript:1"])
      expect((await call({ action: "act", kind: "click", ref })).isError).toBe(true);
    await browsers.close();
    opened({ evaluateEnabled: true });
    await call({ action: "open", targetUrl: site.url("/orders") });
    expect(await said({ action: "act", kind: "evaluate", fn: "() => document.title" })).toContain('Result: "A page"');
    expect(await said({ action: "act", kind: "evaluate", fn: "1 + 1 // two" })).toContain("Result: 2");
  }, 60_000);

  it("gives the browser none of the gateway's secrets, and ends a call when its run ends", async () => {
    await call({ action: "open", targetUrl: site.url("/orders") });
    const pids = processes().map((line) => line.trim().split(/\s+/)[0] ?? "");
    for (const pid of pids)
      if (existsSync(`/proc/${pid}/environ`))
        expect(await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")).not.toContain("s3cret");
    const run = new AbortController();
    const waiting = call(
      { action: "act", kind: "wait", text: "never there" },
      { ...toolContext(workspace), signal: run.signal },
    );
    run.abort();
    expect((await waiting).isError).toBe(true);
  }, 60_000);
});

describe("the browser tool", () => {
  it("is missing unless the config has it on, and is off for guests unless it is named", () => {
    expect(browserTools(browsers)).toMatchObject([{ name: "browser", namedFor: "guests" }]);
    opened({ enabled: false });
    expect(browserTools(browsers)).toEqual([]);
  });

  it("says what the operator can do when there is no browser, or no such profile", async () => {
    opened({ executablePath: join(dir, "none") });
    expect(await said({ action: "open", targetUrl: site.url("/") })).toContain("browser.executablePath");
    expect(await said({ action: "status", profile: "other" })).toContain('There is no profile "other"');
  });

  it("calls what sends data to a server risky, and looking not", async () => {
    const riskOf = (input: object) => tool.riskOf?.(input, { workspace });
    expect(await riskOf({ action: "open", targetUrl: "http://a.test" })).toMatchObject({ use: "network" });
    expect(await riskOf({ action: "act", kind: "click" })).toMatchObject({ use: "network" });
    expect(await riskOf({ action: "snapshot" })).toBeUndefined();
  });
});
