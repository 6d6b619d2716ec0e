import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { browserTools } from "../../src/browser/tool.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { PATIENCE_MS } from "../kit/gateway/process.ts";
import { textOf, toolContext } from "../kit/tools.ts";
import { type BrowserKit, openBrowserKit } from "./kit.ts";

const SOON = { timeout: PATIENCE_MS };

let kit: BrowserKit;
beforeEach(async () => {
  kit = await openBrowserKit();
});
afterEach(() => kit.close());

describe.runIf(hasChromium)("the browser tool, in Chromium", () => {
  it("logs in, fills a form, reads a table and answers dialogs", async () => {
    const first = await kit.call({ action: "open", targetUrl: kit.site.url("/") });
    expect(first.details).toMatchObject({ tab: "t1", externalContent: { untrusted: true, source: "browser" } });
    const fields = [
      { ref: await kit.refOf(/textbox "Name"/), value: "ada" },
      { ref: await kit.refOf(/textbox "Password"/), value: "pw" },
      { ref: await kit.refOf(/checkbox "Stay"/), value: true },
    ];
    await kit.call({ action: "act", kind: "fill", fields });
    const role = await kit.call({
      action: "act",
      kind: "select",
      ref: await kit.refOf(/combobox "Role"/),
      values: ["writer"],
    });
    expect(textOf(role)).toContain("Selected: writer.");
    await kit.call({ action: "act", request: { kind: "click", ref: await kit.refOf(/button "Log in"/) } });
    await expect.poll(() => kit.site.posted, SOON).toEqual(["name=ada&password=pw&stay=on&role=writer"]);
    await kit.call({ action: "act", kind: "wait", text: "Orders" });
    const orders = await kit.said({ action: "snapshot" });
    expect(orders).toMatch(/EXTERNAL_UNTRUSTED_CONTENT.*\nSource: Browser\nFrom: http:\/\/127\.0\.0\.1:\d+\n/);
    expect(orders).toContain("Lamp");
    expect(orders).not.toContain("invisible");
    await kit.call({ action: "dialog", accept: true });
    const deleted = await kit.said({ action: "act", kind: "click", ref: await kit.refOf(/button "Delete"/) });
    expect(deleted).toContain("title: yes");
    expect(deleted).toContain("dialog: confirm: Really? (accepted)");
    expect(await kit.said({ action: "act", kind: "click", ref: await kit.refOf(/button "Delete"/) })).toContain(
      "title: no",
    );
  }, 60_000);

  it("keeps downloads under a name that leads nowhere else", async () => {
    await kit.call({ action: "open", targetUrl: kit.site.url("/orders") });
    let text = await kit.said({ action: "act", kind: "click", ref: await kit.refOf(/link "Get the list"/) });
    await expect
      .poll(async () => {
        if (!text.includes("Downloaded to")) text = await kit.said({ action: "snapshot" });
        return text;
      }, SOON)
      .toContain("Downloaded to");
    const path = /Downloaded to (.+)\.$/m.exec(text)?.[1] ?? "";
    expect(path.startsWith(join(kit.dir, "files"))).toBe(true);
    expect(path).toMatch(/-\.\._list_of_orders\.csv$|-_?list_of_orders\.csv$/);
    expect(await readFile(path, "utf8")).toBe("Lamp,12\n");
  }, 60_000);

  it("takes a picture, saves a page and reads the console", async () => {
    kit.site.show(
      "/noisy",
      "<h1>Noise</h1><script>console.log('hello'); setTimeout(() => { throw new Error('broken') })</script>",
    );
    await kit.call({ action: "open", targetUrl: kit.site.url("/noisy") });
    const shot = await kit.call({ action: "screenshot" });
    expect(shot.content.map(({ type }) => type)).toEqual(["text", "image"]);
    expect((await kit.call({ action: "screenshot", ref: await kit.refOf(/heading "Noise"/) })).isError).toBeUndefined();
    await expect.poll(() => kit.said({ action: "console" }), SOON).toMatch(/log: hello[\s\S]*error: broken/);
    const saved = await kit.call({ action: "pdf" });
    expect((await readFile(String(saved.details?.["path"]))).subarray(0, 4).toString()).toBe("%PDF");
  }, 60_000);

  it("lets no page lead to a private address: not by a redirect, a frame, a script or a name that changes", async () => {
    kit.site.redirect("/away", kit.site.url("/secret", "localhost"));
    const away = await kit.call({ action: "open", targetUrl: kit.site.url("/away") });
    expect(away.isError).toBe(true);
    expect(textOf(away)).toContain("localhost is not on the public internet");
    const secret = kit.site.url("/secret", "localhost");
    kit.site.show(
      "/frames",
      `<iframe src="${secret}"></iframe><img src="${secret}"><script>fetch("${secret}", { mode: "no-cors" }).catch(() => {});
       new WebSocket("${secret.replace("http", "ws")}");</script>done`,
    );
    expect(await kit.said({ action: "navigate", targetUrl: kit.site.url("/frames") })).toContain("/frames");
    await kit.call({ action: "act", kind: "wait", loadState: "networkidle" });
    kit.site.show("/moves", `<script>location.href = "${secret}"</script>`);
    await kit.call({ action: "navigate", targetUrl: kit.site.url("/moves") });
    await kit.call({ action: "act", kind: "wait", timeMs: 300 });
    expect(kit.site.asked.filter((one) => one.includes("/secret"))).toEqual([]);
    expect(await kit.said({ action: "snapshot" })).not.toContain("the secret");
  }, 60_000);

  it("uses the address that was checked, and refuses a name whose next answer is private", async () => {
    const answers = ["93.184.216.34", "127.0.0.1"];
    await kit.browsers.close();
    kit.opened({}, async () => [{ address: answers.shift() ?? "127.0.0.1", family: 4 }]);
    const rebound = await kit.call({ action: "open", targetUrl: kit.site.url("/secret", "rebind.test") });
    expect(textOf(rebound)).toContain("rebind.test is not on the public internet");
    expect(kit.site.asked).toEqual([]);
  }, 60_000);

  it("opens web addresses only, and obeys the lists of the config", async () => {
    await kit.browsers.close();
    const policy = {
      allowedHostnames: ["127.0.0.1"],
      blockedHostnames: ["*.bad.test"],
      hostnameAllowlist: ["127.0.0.1"],
    };
    kit.opened({ ssrfPolicy: policy });
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
      const refused = await kit.call({ action: "open", targetUrl });
      expect([targetUrl, refused.isError]).toEqual([targetUrl, true]);
    }
    expect(kit.site.asked.filter((one) => one.includes("secret"))).toEqual([]);
  }, 60_000);

  it("keeps few of the two hundred tabs that a page opens, and keeps working", async () => {
    await kit.call({ action: "open", targetUrl: kit.site.url("/many") });
    await kit.call({ action: "act", kind: "click", ref: await kit.refOf(/button "Open many"/) });
    const tabs = () => kit.browsers.session().running?.tabs;
    await expect.poll(() => tabs()?.all.length, SOON).toBe(11);
    expect(await kit.said({ action: "navigate", targetId: "t1", targetUrl: kit.site.url("/orders") })).toContain(
      "/orders",
    );
    for (let more = 0; more < 12; more += 1) await kit.browsers.session().running?.context.newPage();
    await expect.poll(() => tabs()?.all.length, SOON).toBe(20);
    expect(await kit.said({ action: "tabs" })).toContain("there are at most 20");
  }, 90_000);

  it("starts anew after a crash, keeps logins, and stops after three", async () => {
    await kit.call({ action: "open", targetUrl: kit.site.url("/") });
    await kit.call({ action: "act", kind: "click", ref: await kit.refOf(/button "Log in"/) });
    await expect.poll(() => kit.site.posted.length, SOON).toBe(1);
    for (let crash = 1; crash <= 3; crash += 1) {
      const running = kit.browsers.session().running;
      for (const line of kit.processes()) {
        const pid = Number(line.trim().split(/\s+/)[0]);
        if (!line.includes("--type=")) process.kill(pid, "SIGKILL");
      }
      await expect.poll(() => kit.browsers.session().running === running, SOON).toBe(false);
      const next = await kit.call({ action: "open", targetUrl: kit.site.url("/orders") });
      expect(next.isError === true).toBe(crash === 3);
      if (crash === 3) expect(textOf(next)).toContain("failed 3 times");
    }
  }, 90_000);

  it("starts the browser as the config says", async () => {
    await kit.browsers.close();
    kit.opened({ extraArgs: ["--lang=sv"], defaultProfile: "work", profiles: { play: {} } });
    await kit.call({ action: "open", targetUrl: kit.site.url("/orders") });
    const [main] = kit.processes().filter((line) => !line.includes("--type="));
    expect(main).toContain(join(kit.dir, "profiles", "work"));
    expect(main).toMatch(/--headless.*--lang=sv|--lang=sv.*--headless/);
    expect(main).toContain("--no-sandbox");
    expect(await kit.said({ action: "profiles" })).toContain("work, play");
    expect(await kit.said({ action: "status", profile: "play" })).toContain("not running");
  }, 60_000);

  it("gives an action up after the time of the config", async () => {
    await kit.browsers.close();
    kit.opened({ actionTimeoutMs: 300 });
    await kit.call({ action: "open", targetUrl: kit.site.url("/orders") });
    const late = await kit.call({ action: "act", kind: "wait", text: "never there" });
    expect(textOf(late)).toBe("Not found on the page within 0.3 s. Take a new snapshot.");
  }, 60_000);

  it("opens private addresses where the config lets it", async () => {
    await kit.browsers.close();
    kit.opened({ ssrfPolicy: { dangerouslyAllowPrivateNetwork: true } });
    expect(await kit.said({ action: "open", targetUrl: kit.site.url("/secret", "localhost") })).toContain("/secret");
  }, 60_000);

  it("leaves no process behind", async () => {
    await kit.call({ action: "open", targetUrl: kit.site.url("/orders") });
    expect(kit.processes().length).toBeGreaterThan(0);
    await kit.call({ action: "stop" });
    await expect.poll(() => kit.processes(), SOON).toEqual([]);
    expect(await kit.said({ action: "status" })).toContain("not running");
  }, 60_000);

  it("removes the lock of a browser that no longer runs", async () => {
    const profile = join(kit.dir, "profiles", "openclaw");
    await mkdir(profile, { recursive: true });
    await symlink("otherhost-999999999", join(profile, "SingletonLock"));
    expect((await kit.call({ action: "open", targetUrl: kit.site.url("/orders") })).isError).toBeUndefined();
  }, 60_000);

  it("uploads files that the agent may read, and no others", async () => {
    await writeFile(join(kit.workspace, "mine.txt"), "mine");
    await writeFile(join(kit.dir, "other.txt"), "other");
    await kit.call({ action: "open", targetUrl: kit.site.url("/upload") });
    const ref = await kit.refOf(/button "Your file"|"Your file"/);
    expect(await kit.said({ action: "upload", ref, paths: ["mine.txt"] })).toContain("Chose 1 files");
    expect((await kit.call({ action: "upload", ref, paths: [join(kit.dir, "other.txt")] })).isError).toBe(true);
    expect((await kit.call({ action: "upload", ref, paths: ["/etc/passwd"] })).isError).toBe(true);
  }, 60_000);

  it("runs no JavaScript of the model unless the config lets it, and takes no selectors", async () => {
    await kit.call({ action: "open", targetUrl: kit.site.url("/orders") });
    expect(textOf(await kit.call({ action: "act", kind: "evaluate", fn: "document.cookie" }))).toContain(
      "evaluateEnabled",
    );
    for (const ref of ["#id", "a >> nth=0", "12", "javascript:1"])
      expect((await kit.call({ action: "act", kind: "click", ref })).isError).toBe(true);
    await kit.browsers.close();
    kit.opened({ evaluateEnabled: true });
    await kit.call({ action: "open", targetUrl: kit.site.url("/orders") });
    expect(await kit.said({ action: "act", kind: "evaluate", fn: "() => document.title" })).toContain(
      'Result: "A page"',
    );
    expect(await kit.said({ action: "act", kind: "evaluate", fn: "1 + 1 // two" })).toContain("Result: 2");
  }, 60_000);

  it("gives the browser none of the gateway's secrets, and ends a call when its run ends", async () => {
    await kit.call({ action: "open", targetUrl: kit.site.url("/orders") });
    const pids = kit.processes().map((line) => line.trim().split(/\s+/)[0] ?? "");
    for (const pid of pids)
      if (existsSync(`/proc/${pid}/environ`))
        expect(await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")).not.toContain("s3cret");
    const run = new AbortController();
    const waiting = kit.call(
      { action: "act", kind: "wait", text: "never there" },
      { ...toolContext(kit.workspace), signal: run.signal },
    );
    run.abort();
    expect((await waiting).isError).toBe(true);
  }, 60_000);
});

describe("the browser tool", () => {
  it("is missing unless the config has it on, and is off for guests unless it is named", () => {
    expect(browserTools(kit.browsers)).toMatchObject([{ name: "browser", namedFor: "guests" }]);
    kit.opened({ enabled: false });
    expect(browserTools(kit.browsers)).toEqual([]);
    kit.opened({ enabled: true, attachOnly: true });
    expect(browserTools(kit.browsers)).toEqual([]);
  });

  it("says what the operator can do when there is no browser, or no such profile", async () => {
    kit.opened({ executablePath: join(kit.dir, "none") });
    expect(await kit.said({ action: "open", targetUrl: kit.site.url("/") })).toContain("browser.executablePath");
    expect(await kit.said({ action: "status", profile: "other" })).toContain('There is no profile "other"');
  });

  it("calls what sends data to a server risky, and looking not", async () => {
    const riskOf = (input: object) => kit.tool.riskOf?.(input, { workspace: kit.workspace });
    expect(await riskOf({ action: "open", targetUrl: "http://a.test" })).toMatchObject({ use: "network" });
    expect(await riskOf({ action: "act", kind: "click" })).toMatchObject({ use: "network" });
    expect(await riskOf({ action: "snapshot" })).toBeUndefined();
  });
});
