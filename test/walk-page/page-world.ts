import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { makeHome, type Home } from "../kit/gateway/process.ts";
import { Browser } from "./browser.ts";
import { twoModels } from "./two-models.ts";

/** What the tests of one file share: a browser, and for each test a model and a home of its own. */
export interface PageWorld {
  readonly browser: Browser;
  readonly model: FakeModel;
  readonly home: Home;
}

/** Registers the hooks that open and close them, and that expect no complaint of the browser. To be called inside `describe`. */
export function pageWorld(): PageWorld {
  let parts: Partial<PageWorld> = {};
  const part = <Name extends keyof PageWorld>(name: Name): PageWorld[Name] => {
    const found: PageWorld[Name] | undefined = parts[name];
    if (found === undefined) throw new Error(`no test has begun, so there is no ${name}`);
    return found;
  };
  beforeAll(async () => {
    parts = { browser: await Browser.launch() };
  });
  afterAll(() => part("browser").close());
  beforeEach(async () => {
    const model = await startFakeModel();
    parts = { browser: part("browser"), model, home: await makeHome(twoModels(model)) };
  });
  afterEach(async () => {
    const { browser, model, home } = world;
    await browser.closeTabs();
    await home.remove();
    await model.close();
    expect(browser.complaints.splice(0)).toEqual([]);
  });
  const world: PageWorld = {
    get browser() {
      return part("browser");
    },
    get model() {
      return part("model");
    },
    get home() {
      return part("home");
    },
  };
  return world;
}
