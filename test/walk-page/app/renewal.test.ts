import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page, Worker } from "playwright-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CERTIFICATE, FakeBrowser, FakePushService } from "../../fakes/push-service.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { TOKEN, type GatewayUnderTest } from "../../kit/gateway/process.ts";
import { hasChromium } from "../../kit/page/chromium.ts";
import { SOON, Tab } from "../browser.ts";
import { pageWorld } from "../page-world.ts";
import { twoModels } from "../two-models.ts";

/**
 * The part of the browser that talks with a push service: Chromium without an account at Google has none. `localStorage` names the
 * subscription that it has, and the one that it makes next.
 */
const pushManager = (browsers: readonly FakeBrowser[]) => `{
  const ALL = ${JSON.stringify(browsers.map(({ endpoint, keys }) => ({ endpoint, keys })))};
  const made = (index) => ({ endpoint: ALL[index].endpoint, toJSON: () => ALL[index],
    unsubscribe: async () => { localStorage.removeItem("has"); return true; } });
  PushManager.prototype.getSubscription = async () => localStorage.getItem("has") && made(localStorage.getItem("has"));
  PushManager.prototype.subscribe = async () => {
    localStorage.setItem("has", localStorage.getItem("next") ?? "0");
    return made(localStorage.getItem("has"));
  };
}`;

const setStored = (page: Page, name: string, value: string | undefined) =>
  page.evaluate(
    value === undefined
      ? `localStorage.removeItem("${name}")`
      : `localStorage.setItem("${name}", ${JSON.stringify(value)})`,
  );

/** The event by which the browser tells a service worker of its renewed subscription. */
const tellWorker = (worker: Worker, { endpoint, keys }: FakeBrowser) =>
  worker.evaluate(`{
    const newSubscription = { endpoint: ${JSON.stringify(endpoint)}, toJSON: () => (${JSON.stringify({ endpoint, keys })}) };
    self.dispatchEvent(Object.assign(new ExtendableEvent("pushsubscriptionchange"), { newSubscription }));
  }`);

describe.skipIf(!hasChromium || CERTIFICATE === undefined)("a browser that renews its subscription", () => {
  const world = pageWorld();
  let service: FakePushService;
  let gateway: GatewayUnderTest;
  let browsers: readonly FakeBrowser[];
  let page: Page;

  beforeEach(async () => {
    service = await FakePushService.start();
    browsers = ["first", "second", "third"].map((name) => new FakeBrowser(service, name));
    const ca = join(world.home.dir, "push-service.pem");
    writeFileSync(ca, CERTIFICATE?.cert ?? "");
    const config = { port: 0, auth: { token: TOKEN }, push: { allowPrivateNetwork: true } };
    await world.home.writeConfig(twoModels(world.model, { gateway: config }));
    gateway = await world.home.start({ env: { NODE_EXTRA_CA_CERTS: ca } });
    ({ page } = await world.browser.open(gateway));
    await page.context().grantPermissions(["notifications"]);
    await page.addInitScript(pushManager(browsers));
    await page.goto(`http://127.0.0.1:${gateway.port}/?view=needs`);
    await row().getByRole("button", { name: "Turn on" }).click();
    await row().getByText("on", { exact: true }).waitFor();
  });

  afterEach(() => service.close());

  const row = () => page.getByRole("region", { name: /On this device|Auf diesem Gerät/ }).getByRole("listitem");

  /** What each browser is told of a command that waits now. */
  async function told(id: string): Promise<readonly { readonly to: string; readonly body: string }[]> {
    const before = service.delivered.length;
    await call(gateway, "exec.approval.request", { id, command: "ls", twoPhase: true });
    await service.nth(before + 1);
    return service.delivered.slice(before).map((one) => {
      const { endpoint } = browsers.find((browser) => browser.endpoint.endsWith(one.path)) ?? { endpoint: "" };
      return { to: one.path, body: browsers.find((browser) => browser.endpoint === endpoint)?.read(one).body ?? "" };
    });
  }

  const WAITS = "The agent waits for your decision.";

  test("the page hands it over when it is opened again, in its own language", async () => {
    expect(await told("a1")).toEqual([{ to: "/push/first", body: WAITS }]);
    // The browser has another one, and the person another language.
    await setStored(page, "has", "1");
    await setStored(page, "openclaw.language", "de");
    await page.reload();
    await row().getByText("an", { exact: true }).waitFor();
    expect(await told("a2")).toEqual([{ to: "/push/second", body: "Der Agent wartet auf deine Entscheidung." }]);
    // The browser has ended it, and the person still allows notifications.
    await setStored(page, "has", undefined);
    await setStored(page, "next", "2");
    await page.reload();
    await row().getByText("an", { exact: true }).waitFor();
    expect(await told("a3")).toEqual([{ to: "/push/third", body: "Der Agent wartet auf deine Entscheidung." }]);
    await row().getByRole("button", { name: "Ausschalten" }).click();
    await row().getByText("aus", { exact: true }).waitFor();
    await page.reload();
    await row().getByText("aus", { exact: true }).waitFor();
  });

  test("the service worker hands it over while the page is closed", async () => {
    const context = page.context();
    const isOwn = (worker: Worker): boolean => worker.url().startsWith(`http://127.0.0.1:${gateway.port}/`);
    const worker = context.serviceWorkers().find(isOwn) ?? (await context.waitForEvent("serviceworker", isOwn));
    await setStored(page, "has", "1");
    await page.goto("about:blank");
    const answered = context.waitForEvent("response", (one) => one.url().endsWith("/push-renewed"));
    await tellWorker(worker, browsers[1]!);
    expect((await answered).status()).toBe(204);
    expect(await told("a1")).toEqual([{ to: "/push/second", body: WAITS }]);
    // The page takes it as it is.
    await page.goto(`http://127.0.0.1:${gateway.port}/?view=needs`);
    await new Tab(page).connected();
    await row().getByText("on", { exact: true }).waitFor();
    // The gateway is away while the browser renews it once more.
    await gateway.kill("SIGKILL");
    await tellWorker(worker, browsers[2]!);
    await setStored(page, "has", "2");
    gateway = await world.home.start({
      env: { NODE_EXTRA_CA_CERTS: join(world.home.dir, "push-service.pem") },
      args: ["--port", String(gateway.port)],
    });
    await new Tab(page).connected();
    await expect.poll(async () => (await told(crypto.randomUUID())).map(({ to }) => to), SOON).toEqual(["/push/third"]);
  });
});
