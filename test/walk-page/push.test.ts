import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import type { CDPSession, Page, Worker } from "playwright-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { CERTIFICATE, FakeBrowser, FakePushService, type Delivered } from "../fakes/push-service.ts";
import { call } from "../kit/gateway/rpc.ts";
import { TOKEN } from "../kit/gateway/process.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const NARROW = { width: 390, height: 780 };
const OFFLINE = /cannot be reached|Connecting/;

/** A reverse proxy that serves the gateway below a path, and whose person may install another build of the page. */
class Proxy {
  /** What the new build says in the page's title; unset for the build of the gateway. */
  newTitle: string | undefined;
  /** Code that has other names in the new build. */
  renamed: RegExp | undefined;
  /** The proxy answers in place of the gateway. */
  instead: number | undefined;
  #server: Server | undefined;
  #port = 0;
  readonly #target: number;
  readonly #path: string;

  constructor(target: number, path: string) {
    this.#target = target;
    this.#path = path;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#path}/`;
  }

  async up(): Promise<void> {
    const server = createServer((asked, response) => this.#pass(asked, response));
    server.on("upgrade", (asked, socket, head) => {
      const upstream = connect(this.#target, "127.0.0.1");
      const lines = Object.entries(asked.headers).map(([name, value]) => `${name}: ${String(value)}`);
      upstream.write(`GET ${this.#below(asked)} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
      for (const end of [upstream, socket]) end.on("error", () => [upstream, socket].forEach((one) => one.destroy()));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    for (const socket of this.#sockets.splice(0)) socket.destroy();
    await closed;
  }

  readonly #sockets: { destroy(): void }[] = [];

  #below({ url = "", socket }: IncomingMessage): string {
    this.#sockets.push(socket);
    return url.startsWith(`${this.#path}/`) ? url.slice(this.#path.length) : "/elsewhere";
  }

  #pass(asked: IncomingMessage, response: ServerResponse): void {
    if (this.instead !== undefined) return void response.writeHead(this.instead).end("a proxy's own words");
    const path = this.#below(asked);
    if (this.renamed?.test(path) === true)
      return void response.writeHead(404, { "content-type": "text/plain" }).end("not found");
    const { "accept-encoding": _packed, "if-none-match": _known, ...headers } = asked.headers;
    request({ host: "127.0.0.1", port: this.#target, path, method: asked.method, headers }, (answer) => {
      if (this.newTitle === undefined)
        return void answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers));
      void answer.toArray().then((parts: Buffer[]) => {
        const { "content-length": _length, etag: _etag, ...others } = answer.headers;
        response.writeHead(answer.statusCode ?? 500, others).end(this.#rebuilt(path, Buffer.concat(parts)));
      });
    }).end();
  }

  #rebuilt(path: string, bytes: Buffer): Buffer | string {
    if (path.startsWith("/?") || path === "/")
      return bytes
        .toString()
        .replace("<head>", `<head><meta name="build" content="${this.newTitle}">`)
        .replace(/(start-\w+\.js)/, `$1?${this.newTitle}`);
    if (path !== "/sw.js") return bytes;
    const worker = bytes.toString().replace(/mark:"\w+"/, `mark:"${this.newTitle}"`);
    return worker.replaceAll(/,"([\w-]+\.js)"/g, (file, name: string) =>
      this.renamed?.test(`/${name}`) === true ? "" : file,
    );
  }
}

const isControlled = (page: Page) => page.evaluate("navigator.serviceWorker.controller !== null");
const buildOf = (page: Page) => page.evaluate(`document.querySelector("meta[name=build]")?.content`);

/** The notifications that the browser shows. */
const shownBy = async (worker: Worker) =>
  z
    .array(z.strictObject({ title: z.string(), body: z.string(), silent: z.boolean().nullable() }))
    .parse(
      await worker.evaluate(
        `self.registration.getNotifications().then((all) => all.map(({ title, body, silent }) => ({ title, body, silent })))`,
      ),
    );

/**
 * Counts the messages that the service worker has been given and did not show, as what it says is seen. Asked for
 * again, it gives the count up to now.
 */
const countSeen = (worker: Worker) =>
  worker.evaluate(`{
    if (self.seen === undefined) {
      self.seen = 0;
      const { registration } = self;
      const shown = registration.getNotifications.bind(registration);
      registration.getNotifications = (filter) => {
        if (filter?.tag !== undefined) self.seen += 1;
        return shown(filter);
      };
    }
    self.seen;
  }`);

/** Closes the notifications with a text. */
const closeShown = (worker: Worker, body: string) =>
  worker.evaluate(
    `self.registration.getNotifications().then((all) => all.filter((one) => one.body === ${JSON.stringify(body)}).forEach((one) => one.close()))`,
  );

/** Takes hold of the notification that the browser shows, which a page may close. */
const hold = (worker: Worker) =>
  worker.evaluate(`self.registration.getNotifications().then(([shown]) => void (self.held = shown))`);

/** Clicks the notification that was taken hold of. No window opens, since no person has clicked. */
const click = (worker: Worker) =>
  worker.evaluate(`{
    self.opened = [];
    self.clients.openWindow = async (url) => void self.opened.push(url);
    self.dispatchEvent(new NotificationEvent("notificationclick", { notification: self.held }));
  }`);

/** The service worker of the page's origin; earlier tests have left others. */
async function workerOf(page: Page): Promise<Worker> {
  const { origin } = new URL(page.url());
  const isOwn = (worker: Worker): boolean => worker.url().startsWith(`${origin}/`);
  const context = page.context();
  return context.serviceWorkers().find(isOwn) ?? (await context.waitForEvent("serviceworker", isOwn));
}

/** Brings messages of the push service to the service worker, as the browser does. */
class Postman {
  readonly #session: CDPSession;
  readonly #browser: FakeBrowser;
  readonly #registration: Promise<{ readonly id: string; readonly origin: string }>;

  private constructor(session: CDPSession, browser: FakeBrowser, origin: string) {
    this.#session = session;
    this.#browser = browser;
    this.#registration = new Promise((resolve) => {
      session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
        const own = registrations.find(({ scopeURL }) => new URL(scopeURL).origin === origin);
        if (own) resolve({ id: own.registrationId, origin });
      });
    });
  }

  /** From a tab of its own: a message that comes while the session's tab goes to another address is lost. */
  static async to(page: Page, browser: FakeBrowser): Promise<Postman> {
    const tab = await page.context().newPage();
    const session = await page.context().newCDPSession(tab);
    const postman = new Postman(session, browser, new URL(page.url()).origin);
    await session.send("ServiceWorker.enable");
    return postman;
  }

  async bring(delivered: Delivered): Promise<void> {
    const { id: registrationId, origin } = await this.#registration;
    const data = JSON.stringify(this.#browser.read(delivered));
    await this.#session.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
  }
}

/** The windows that the service worker knows; the browser tells it of one that was left a moment later. */
const COUNT_WINDOWS = `self.clients.matchAll({ type: "window", includeUncontrolled: true }).then((all) => all.length)`;

/** The part of the browser that talks with a push service: Chromium without an account at Google has none. */
const pushManager = ({ endpoint, keys }: FakeBrowser) => `{
  const KEY = "subscribed at";
  const made = { endpoint: ${JSON.stringify(endpoint)}, toJSON: () => (${JSON.stringify({ endpoint, keys })}),
    unsubscribe: async () => { localStorage.removeItem(KEY); return true; } };
  PushManager.prototype.getSubscription = async () => localStorage.getItem(KEY) === null ? null : made;
  PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
    localStorage.setItem(KEY, applicationServerKey.byteLength);
    return made;
  };
}`;

describe.skipIf(!hasChromium || CERTIFICATE === undefined)("the page as an app", () => {
  const world = pageWorld();
  let service: FakePushService;
  let proxy: Proxy | undefined;

  beforeEach(async () => {
    service = await FakePushService.start();
  });

  afterEach(async () => {
    await service.close();
    await proxy?.down();
    proxy = undefined;
  });

  async function start() {
    const ca = join(world.home.dir, "push-service.pem");
    writeFileSync(ca, CERTIFICATE?.cert ?? "");
    const gateway = { port: 0, auth: { token: TOKEN }, push: { allowPrivateNetwork: true } };
    await world.home.writeConfig(twoModels(world.model, { gateway }));
    return again();
  }

  const again = () => world.home.start({ env: { NODE_EXTRA_CA_CERTS: join(world.home.dir, "push-service.pem") } });

  test.each(["", "/claw"])(
    "it can be installed at the path '%s/', and its service worker takes control",
    async (path) => {
      const gateway = await start();
      proxy = new Proxy(gateway.port, path);
      await proxy.up();
      const { page } = await world.browser.open(gateway);
      await page.goto(`${proxy.url}#token=${gateway.token}`);
      await new Tab(page).connected();
      const session = await page.context().newCDPSession(page);
      const { url, errors, manifest } = await session.send("Page.getAppManifest");
      expect({ url, errors }).toEqual({ url: `${proxy.url}manifest.webmanifest`, errors: [] });
      expect(manifest).toMatchObject({ startUrl: proxy.url, scope: proxy.url, id: proxy.url });
      const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
      expect(installabilityErrors).toEqual([]);
      await expect.poll(() => isControlled(page), SOON).toBe(true);
      expect((await workerOf(page)).url()).toBe(`${proxy.url}sw.js`);
    },
  );

  test("without the gateway it shows itself and waits, and a new build takes its place", async () => {
    const gateway = await start();
    proxy = new Proxy(gateway.port, "/claw");
    await proxy.up();
    const tab = await world.browser.open(gateway);
    const { page } = tab;
    await page.goto(`${proxy.url}#token=${gateway.token}`);
    await expect.poll(() => isControlled(page), SOON).toBe(true);
    await proxy.down();
    await page.goto(`${proxy.url}?view=needs`);
    await page.getByRole("heading", { level: 1, name: "Needs you" }).waitFor();
    await page.getByText(OFFLINE).first().waitFor();
    await proxy.up();
    await tab.connected();
    // A proxy may answer while the gateway is away.
    proxy.instead = 502;
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Needs you" }).waitFor();
    proxy.instead = undefined;
    await tab.connected();
    proxy.newTitle = "second";
    const others = ["page / other", "page /claw/ old", "of another program"];
    for (const name of others) await page.evaluate(`caches.open(${JSON.stringify(name)}).then(() => undefined)`);
    await page.reload();
    await tab.connected();
    expect(await buildOf(page)).toBe("second");
    expect(await page.evaluate("localStorage.getItem('openclaw.token /claw/')")).toBe(gateway.token);
    await expect
      .poll(() => page.evaluate("caches.keys()"), SOON)
      .toEqual(["page / other", "of another program", "page /claw/ second"]);
    await proxy.down();
    await page.reload();
    await page.getByText(OFFLINE).first().waitFor();
    expect(await buildOf(page)).toBe("second");
  });

  test("the gateway is updated while the page is open: the page says so, shows its views and keeps what was typed", async () => {
    const gateway = await start();
    proxy = new Proxy(gateway.port, "/claw");
    await proxy.up();
    const { page } = await world.browser.open(gateway);
    await page.goto(`${proxy.url}#token=${gateway.token}`);
    const tab = new Tab(page);
    await tab.connected();
    await expect.poll(() => isControlled(page), SOON).toBe(true);
    await tab.box.fill("not yet");
    await proxy.down();
    proxy.newTitle = "second";
    proxy.renamed = /^\/(?:logs|usage)-/;
    await proxy.up();
    await tab.connected();
    const told = page.getByRole("alert").filter({ hasText: "The gateway has a new version of this page." });
    await told.waitFor();
    // The browser has kept the code of this version.
    await page.getByRole("link", { name: "Logs" }).click();
    await page.getByLabel("Words in the line").waitFor();
    await tab.shoot("updated");
    // Another tab brings the new version, after which the old code is nowhere.
    const other = await page.context().newPage();
    await other.goto(proxy.url);
    await new Tab(other).connected();
    await expect.poll(() => other.evaluate("caches.keys()"), SOON).toEqual(["page /claw/ second"]);
    expect(await other.getByRole("alert").count()).toBe(0);
    await other.close();
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByText("This view could not be loaded.").waitFor();
    await told.waitFor();
    // Chromium's own words on the code that is not there.
    await expect.poll(() => world.browser.complaints, SOON).toEqual([expect.stringContaining("404")]);
    world.browser.complaints.length = 0;
    await tab.shoot("updated-elsewhere");
    proxy.renamed = undefined;
    await told.getByRole("button", { name: "Reload the page" }).click();
    await tab.connected();
    expect(await buildOf(page)).toBe("second");
    expect(await told.count()).toBe(0);
    await page.goto(proxy.url);
    expect(await tab.box.inputValue()).toBe("not yet");
  });

  test("a proxy's password is asked for by the browser", async () => {
    const gateway = await start();
    proxy = new Proxy(gateway.port, "");
    await proxy.up();
    const { page } = await world.browser.open(gateway);
    await page.goto(`${proxy.url}#token=${gateway.token}`);
    await expect.poll(() => isControlled(page), SOON).toBe(true);
    proxy.instead = 401;
    await page.goto(`${proxy.url}?view=needs`).catch(() => undefined);
    expect(page.url()).toBe(`${proxy.url}index.html?view=needs`);
    await page.close();
    expect(world.browser.complaints.splice(0).filter((complaint) => !complaint.includes("401"))).toEqual([]);
  });

  test.each([{ width: 1280, height: 800 }, NARROW])(
    "notifications are turned on, come, lead to what waits and end ($width)",
    async (size) => {
      world.model.answer(({ isAfterTool }) =>
        isAfterTool ? { text: "It is done." } : { tool: "exec", args: { command: "touch asked" } },
      );
      const gateway = await start();
      const browser = new FakeBrowser(service);
      const tab = await world.browser.open(gateway, "?view=needs", size);
      const { page } = tab;
      const context = page.context();
      await context.grantPermissions(["notifications"]);
      await page.addInitScript(pushManager(browser));
      await page.reload();
      const row = page.getByRole("region", { name: "On this device" }).getByRole("listitem");
      await row.getByText("off", { exact: true }).waitFor();
      await row.getByRole("button", { name: "Turn on" }).click();
      await row.getByText("on", { exact: true }).waitFor();
      await expect.poll(() => page.evaluate(`localStorage.getItem("subscribed at")`), SOON).toBe("65");
      await tab.shoot(`notices-${size.width}`);
      const postman = await Postman.to(page, browser);
      const worker = await workerOf(page);
      await row.getByRole("button", { name: "Send a test" }).click();
      const first = await service.nth(1);
      const test = "Notifications reach this device.";
      expect(browser.read(first)).toMatchObject({ body: test });
      // Who looks at the page needs no notification.
      await page.bringToFront();
      // A loaded browser brings a message late, or not at all.
      const seen = async () => {
        const count = await countSeen(worker);
        if (count === 0) await postman.bring(first);
        return count;
      };
      await expect.poll(seen, { ...SOON, interval: 2_000 }).not.toBe(0);
      expect(await shownBy(worker)).toEqual([]);
      await row.getByLabel("What a notification shows").selectOption("detailed");
      const failed = row.getByRole("checkbox", { name: "A job has failed" });
      await failed.click();
      await expect.poll(() => failed.isChecked(), SOON).toBe(true);
      await page.goto(`http://127.0.0.1:${gateway.port}/`);
      await tab.say("Make the file.");
      const asked = await service.nth(2);
      await page.goto("about:blank");
      await expect.poll(() => worker.evaluate(COUNT_WINDOWS), SOON).toBe(0);
      const brought = async () => {
        // The second copy of a late message comes when nobody looks any more.
        await closeShown(worker, test);
        const shown = await shownBy(worker);
        if (shown.length === 0) await postman.bring(asked);
        return shown;
      };
      await expect
        .poll(brought, { ...SOON, interval: 2_000 })
        .toEqual([{ title: "main", body: "The agent waits for your decision.\ntouch asked", silent: false }]);
      await hold(worker);
      await click(worker);
      await expect
        .poll(() => worker.evaluate("self.opened"), SOON)
        .toEqual([`http://127.0.0.1:${gateway.port}/?view=needs`]);
      // A document of the page that hears no message is led there by the browser.
      expect(world.browser.complaints).toEqual([]);
      await page.goto(`http://127.0.0.1:${gateway.port}/icon-192.png`);
      await click(worker);
      await page.getByRole("heading", { level: 1, name: "Needs you" }).waitFor();
      await page.goto(`http://127.0.0.1:${gateway.port}/`);
      await tab.connected();
      // The browser's own document for a picture keeps to no policy.
      world.browser.complaints.splice(0);
      await click(worker);
      await page.getByRole("heading", { level: 1, name: "Needs you" }).waitFor();
      await page.getByRole("button", { name: "Allow once" }).click();
      const over = await service.nth(3);
      await page.goto("about:blank");
      await expect.poll(() => worker.evaluate(COUNT_WINDOWS), SOON).toBe(0);
      await postman.bring(asked);
      await expect.poll(() => shownBy(worker), SOON).toHaveLength(1);
      await postman.bring(over);
      await expect
        .poll(() => shownBy(worker), SOON)
        .toEqual([{ title: "Gateway", body: "This does not wait for you any more.", silent: true }]);
      await page.goto(`http://127.0.0.1:${gateway.port}/?view=needs`);
      await row.getByRole("button", { name: "Turn off" }).click();
      await row.getByText("off", { exact: true }).waitFor();
    },
  );

  test("a gateway that was killed has its subscriptions again, and replaces what ended with it", async () => {
    const gateway = await start();
    const { endpoint, keys } = new FakeBrowser(service);
    await call(gateway, "push.web.subscribe", { endpoint, keys });
    await gateway.kill("SIGKILL");
    const second = await again();
    await call(second, "exec.approval.request", { id: "a1", command: "ls", twoPhase: true });
    const { topic } = (await service.nth(1)).headers;
    await second.kill("SIGKILL");
    const third = await again();
    expect((await service.nth(2)).headers).toMatchObject({ topic, urgency: "normal" });
    await call(third, "exec.approval.request", { id: "a2", command: "ls", twoPhase: true });
    await service.nth(3);
    await third.kill("SIGKILL");
    // The key by which push services know the gateway is for its own user alone.
    const names = readdirSync(world.home.stateDir, { recursive: true, encoding: "utf8" });
    const holding = names.filter((name) => {
      const file = join(world.home.stateDir, name);
      return statSync(file).isFile() && readFileSync(file, "latin1").includes("privateKey");
    });
    expect(holding.length).toBeGreaterThan(0);
    for (const name of holding) expect(statSync(join(world.home.stateDir, name)).mode & 0o077, name).toBe(0);
  });
});
