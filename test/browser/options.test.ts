import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { PATIENCE_MS } from "../kit/gateway/process.ts";
import { textOf } from "../kit/tools.ts";
import { type BrowserKit, openBrowserKit } from "./kit.ts";

const SOON = { timeout: PATIENCE_MS };

let kit: BrowserKit;
beforeEach(async () => {
  kit = await openBrowserKit();
});
afterEach(() => kit.close());

const open = (path: string) => kit.said({ action: "open", targetUrl: kit.site.url(path) });
const snapshot = (more: object) => kit.said({ action: "snapshot", ...more });

const PARTS = `<main><h1>Shop</h1><div><div><a href="/orders">Orders</a></div></div>
  <div style="cursor:pointer" onclick="document.title='clicked'">Card</div>
  <p>Long text of the page</p><iframe id="inner" srcdoc="<button>Inside</button>"></iframe></main>
  <aside><button>Aside</button></aside><script>
  new MutationObserver((all) => all.some(({ addedNodes: [node] }) => node?.id?.startsWith("refs-")) && (document.title = "labelled"))
    .observe(document.documentElement, { childList: true })</script>`;

describe.runIf(hasChromium)("the options of a snapshot, in Chromium", () => {
  beforeEach(async () => {
    kit.site.show("/parts", PARTS);
    await open("/parts");
    await expect.poll(() => snapshot({}), SOON).toContain("Inside");
  });

  it("choose a part of the page, or a frame, whose refs act on it", async () => {
    const aside = await snapshot({ selector: "aside" });
    expect(aside).toContain("Aside");
    expect(aside).not.toContain("Shop");
    for (const frame of ["#inner", await kit.refOf(/iframe/)]) {
      const inside = await snapshot({ frame });
      expect(inside).toMatch(/button "Inside" \[ref=f\d+e\d+\]/);
      expect(inside).not.toContain("Shop");
    }
    const ref = /"Inside" \[ref=(\w+)\]/.exec(await snapshot({ frame: "#inner" }))?.[1];
    expect((await kit.call({ action: "act", kind: "click", ref })).isError).toBeUndefined();
    expect(await snapshot({ selector: "#none-such" })).toMatch(/^Nothing on the page fits that selector/);
    for (const selector of [">>>", "a[", "::"]) expect(await snapshot({ selector })).toBe("That is no CSS selector.");
  }, 60_000);

  it("make it shorter: compact, efficient, limit, depth, without addresses", async () => {
    const whole = await snapshot({});
    expect(whole).toContain("/url: /orders");
    expect(await snapshot({ urls: false })).not.toContain("/url:");
    const compact = await snapshot({ compact: true });
    expect(compact.split("\n").length).toBeLessThan(whole.split("\n").length);
    expect(compact).toMatch(/^ *- link "Orders"/m);
    const efficient = await snapshot({ mode: "efficient" });
    expect(efficient).toContain('button "Aside"');
    expect(efficient).not.toContain("Long text");
    expect(efficient).not.toContain("/url:");
    expect(await snapshot({ interactive: true, urls: true })).toContain("/url: /orders");
    expect(await snapshot({ interactive: true })).toContain("Card");
    expect(await snapshot({ limit: 2 })).toMatch(/\d+ lines left out: use limit/);
  }, 60_000);

  it("give the refs of the other format, which act takes too", async () => {
    const ref = /link "Orders" \[ref=(\w+)\]/.exec(await snapshot({ snapshotFormat: "aria", refs: "aria" }))?.[1];
    expect(ref).toMatch(/^ax\d+$/);
    await kit.call({ action: "act", kind: "click", ref });
    await expect.poll(() => snapshot({}), SOON).toContain("Lamp");
  }, 60_000);

  it("add a picture with the refs, of which nothing stays on the page", async () => {
    const result = await kit.call({ action: "snapshot", labels: true });
    expect(result.content.map(({ type }) => type)).toEqual(["text", "image"]);
    expect(await snapshot({})).toContain("title: labelled");
    expect(await kit.browsers.session().running?.tabs.current?.page.locator("[id^=refs-]").count()).toBe(0);
  }, 60_000);
});

describe.runIf(hasChromium)("other options of the browser tool, in Chromium", () => {
  it("take a picture of an element, in either format, and of nothing that cannot be", async () => {
    await open("/orders");
    const mime = async (input: object) => {
      const { content, isError } = await kit.call({ action: "screenshot", ...input });
      const image = content.find(({ type }) => type === "image");
      return isError === true ? textOf({ content }) : image && "mimeType" in image && image.mimeType;
    };
    expect(await mime({ element: "table" })).toBe("image/png");
    expect(await mime({ type: "jpeg", fullPage: true })).toBe("image/jpeg");
    expect(await mime({ element: "table", fullPage: true })).toContain("fullPage is for the whole page");
  }, 60_000);

  it("hold keys and buttons for a while", async () => {
    kit.site.show(
      "/hold",
      `<button onmousedown="this.at=performance.now()" onmouseup="document.title = 'held ' + (performance.now() - this.at >= 300)">Hold</button>
       <input aria-label="Name" onkeydown="(window.times ??= []).push(performance.now())" oninput="document.title = 'keys ' + (times.at(-1) - times[0] >= 200)">`,
    );
    await open("/hold");
    const button = await kit.refOf(/button "Hold"/);
    expect(await kit.said({ action: "act", kind: "click", ref: button, delayMs: 300 })).toContain("title: held true");
    const field = await kit.refOf(/textbox "Name"/);
    expect(await kit.said({ action: "act", kind: "type", ref: field, text: "abc", delayMs: 120 })).toContain(
      "title: keys true",
    );
  }, 60_000);

  it("end a call after its own time", async () => {
    await open("/orders");
    const late = await kit.said({ action: "act", kind: "wait", text: "never there", timeoutMs: 300 });
    expect(late).toBe("Not found on the page within 0.3 s. Take a new snapshot.");
    kit.site.pages.set("/slow", () => undefined);
    const slow = await kit.said({ action: "navigate", targetUrl: kit.site.url("/slow"), timeoutMs: 300 });
    expect(slow).toContain("within 0.3 s");
    // The next call has the usual time again.
    kit.site.show("/later", "<script>setTimeout(() => document.body.append('Later'), 900)</script>");
    await kit.said({ action: "navigate", targetUrl: kit.site.url("/later") });
    expect((await kit.call({ action: "act", kind: "wait", text: "Later" })).isError).toBeUndefined();
  }, 60_000);

  it("refuse another place, in which there is no browser", async () => {
    for (const place of [{ target: "sandbox" }, { target: "node", node: "phone" }, { node: "phone" }])
      expect(await kit.said({ action: "snapshot", ...place })).toContain("leave target and node out");
    expect(kit.browsers.session().running).toBeUndefined();
    expect(await kit.said({ action: "status", target: "host" })).toContain("not running");
  });

  it("list requests and errors of the page", async () => {
    kit.site.show(
      "/noisy",
      "<img src=/none.png><script>fetch('/orders'); console.error('first'); undefinedName()</script>",
    );
    await open("/noisy");
    await expect.poll(() => kit.said({ action: "requests" }), SOON).toMatch(/GET \S+\/none\.png \(image\): 404/);
    const requests = await kit.said({ action: "requests" });
    expect(requests).toMatch(/GET \S+\/noisy \(document\): 200/);
    expect(requests).toMatch(/GET \S+\/orders \(fetch\): 200/);
    expect(await kit.said({ action: "requests", limit: 1 })).not.toContain("/noisy (document)");
    expect(await kit.said({ action: "errors" })).toMatch(/error: first[^]*undefinedName is not defined/);
    await open("/orders");
    expect(await kit.said({ action: "errors" })).toContain("[no errors]");
  }, 60_000);

  it("show a page as elsewhere, and back", async () => {
    kit.site.show(
      "/where",
      `<p id=p></p><script>setInterval(() => p.textContent = [matchMedia('(prefers-color-scheme: dark)').matches, navigator.language,
        Intl.DateTimeFormat().resolvedOptions().timeZone, innerWidth, navigator.onLine].join(' '), 50)</script>`,
    );
    await open("/where");
    const shown = () => kit.said({ action: "text" });
    const ZONE = / (\S+\/\S+|UTC) \d/;
    // The page writes its first line 50 ms after it is loaded.
    await expect.poll(shown, SOON).toMatch(ZONE);
    const zone = ZONE.exec(await shown())?.[1] ?? "";
    const width = / (\d+) (?:true|false)/.exec(await shown())?.[1] ?? "";
    const set = await kit.said({
      action: "emulate",
      colorScheme: "dark",
      locale: "sv-SE",
      timezone: "Asia/Tokyo",
      width: 500,
      height: 400,
      offline: true,
    });
    expect(set).toContain(
      "Set: width 500, height 400, colorScheme dark, locale sv-SE, timezone Asia/Tokyo, offline true.",
    );
    await expect.poll(shown, SOON).toMatch(/true \S+ Asia\/Tokyo 500 false/);
    expect((await kit.call({ action: "emulate", timezone: "Nowhere/Land" })).isError).toBe(true);
    expect(await kit.said({ action: "emulate" })).toContain("Set back");
    await expect.poll(shown, SOON).toContain(` ${zone} ${width} `);
    await expect.poll(shown, SOON).toMatch(/true\n|true$/m);
  }, 60_000);

  it("download what an element or an address gives, and say when there is nothing", async () => {
    await open("/orders");
    expect(await kit.said({ action: "download" })).toContain("The page downloads nothing");
    const path = (text: string) => /Downloaded to (.+)\.$/m.exec(text)?.[1] ?? "";
    const byRef = await kit.said({ action: "download", ref: await kit.refOf(/link "Get the list"/) });
    expect(await readFile(path(byRef), "utf8")).toBe("Lamp,12\n");
    const byAddress = await kit.said({ action: "download", targetUrl: kit.site.url("/file") });
    expect(await readFile(path(byAddress), "utf8")).toBe("Lamp,12\n");
    expect(await kit.said({ action: "download", targetUrl: kit.site.url("/secret", "localhost") })).toContain(
      "localhost is not on the public internet",
    );
    expect(await kit.tool.riskOf?.({ action: "download" }, { workspace: kit.workspace })).toMatchObject({
      use: "network",
    });
  }, 60_000);

  it("download a PDF file instead of showing it", async () => {
    kit.site.pages.set("/doc.pdf", (_asked, answer) => {
      answer.writeHead(200, { "content-type": "application/pdf" }).end("%PDF-1.4\n%%EOF");
    });
    await open("/orders");
    const text = await kit.said({ action: "navigate", targetUrl: kit.site.url("/doc.pdf") });
    expect(text).toContain("The address is a file to download");
    const path = /Downloaded to (.+\.pdf)\.$/m.exec(text)?.[1] ?? "";
    expect(existsSync(path)).toBe(true);
  }, 60_000);
});
