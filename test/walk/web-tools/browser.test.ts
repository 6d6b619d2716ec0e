import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe } from "vitest";
import { Site } from "../../browser/site.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { CHROMIUM, hasChromium } from "../../kit/page/chromium.ts";
import { until } from "../../kit/until.ts";

const CONFIG = {
  commands: { ownerAllowFrom: ["1001"] },
  browser: {
    enabled: true,
    executablePath: CHROMIUM,
    noSandbox: true,
    actionTimeoutMs: 20_000,
    ssrfPolicy: { allowedHostnames: ["127.0.0.1"] },
  },
};

/** The model calls the browser with what a person says as JSON, and tells the result. */
const obey = (world: World): void =>
  world.model.answer(({ isAfterTool, toolText, said }) => {
    const args = /\{.*\}/.exec(said)?.[0];
    if (isAfterTool || args === undefined) return { text: `told: ${toolText}` };
    return { tool: "browser", args: JSON.parse(args) as Record<string, unknown> };
  });

/** The processes of the browser in a state directory. */
const processesIn = (stateDir: string): readonly string[] =>
  execFileSync("ps", ["-eo", "pid,stat,args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(join(stateDir, "state", "browser")) && !/^\s*\d+\s+Z/.test(line));

describe.runIf(hasChromium)("the browser of the built gateway", () => {
  test("opens a page for an agent, and is gone after each end of the gateway, also by SIGKILL", async ({
    world,
    expect,
  }) => {
    const site = new Site();
    await site.open();
    const { home, gateway } = await world.start(CONFIG);
    obey(world);
    world.telegram.say(JSON.stringify({ action: "open", targetUrl: site.url("/orders") }));
    await world.told(/told:[^]*Source: Browser[^]*\/orders/);
    expect(processesIn(home.stateDir).length).toBeGreaterThan(0);
    await gateway.kill("SIGKILL");
    await until(() => processesIn(home.stateDir).length === 0, "the end of the browser after SIGKILL");
    const second = await home.start();
    world.telegram.say(JSON.stringify({ action: "tabs" }));
    await world.told(/told:\s+The browser is not running/);
    world.telegram.say(JSON.stringify({ action: "start" }));
    await world.told(/told:\s+The browser is running/);
    await second.kill("SIGTERM");
    await until(() => processesIn(home.stateDir).length === 0, "the end of the browser after SIGTERM");
    await site.close();
  }, 120_000);
});
