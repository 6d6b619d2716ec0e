import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { Browsers } from "../../src/browser/browsers.ts";
import { browserConfig } from "../../src/browser/config.ts";
import { browserTools } from "../../src/browser/tool.ts";
import { hostBackends } from "../../src/tools/host/host.ts";
import { runTool } from "../../src/tools/run.ts";
import { systemClock } from "../../src/types/clock.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { OPERATOR } from "../../src/types/run/principal.ts";
import type { Tool, ToolResult } from "../../src/types/run/tool.ts";
import type { Resolve } from "../../src/utils/net/safe-fetch.ts";
import { CHROMIUM } from "../kit/page/chromium.ts";
import { agentSettings, textOf, toolContext } from "../kit/tools.ts";
import { silent } from "../kit/toy-channel.ts";
import { Site } from "./site.ts";

/** The tool with a browser, and a site that it can open. */
export interface BrowserKit {
  readonly dir: string;
  readonly workspace: string;
  readonly site: Site;
  browsers: Browsers;
  tool: Tool;
  /** Other browsers, with these keys of the config. */
  opened(more?: object, resolve?: Resolve, mostStored?: number): void;
  call(input: object, context?: ReturnType<typeof toolContext>): Promise<ToolResult>;
  said(input: object): Promise<string>;
  /** The ref of the first line of a snapshot that fits. */
  refOf(fits: RegExp): Promise<string>;
  /** The processes of the profiles' browsers. */
  processes(): readonly string[];
  close(): Promise<void>;
}

export async function openBrowserKit(): Promise<BrowserKit> {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-browser-"));
  const workspace = join(dir, "workspace");
  await mkdir(workspace);
  const site = new Site();
  await site.open();
  const first = madeIn(dir, {});
  const kit: BrowserKit = {
    dir,
    workspace,
    site,
    ...first,
    opened: (more = {}, resolve, mostStored) => void Object.assign(kit, madeIn(dir, more, resolve, mostStored)),
    call: (input, context = toolContext(workspace)) => runTool(kit.tool, input, context),
    said: async (input) => textOf(await kit.call(input)),
    async refOf(fits) {
      const snapshot = await kit.said({ action: "snapshot" });
      const line = snapshot.split("\n").find((one) => fits.test(one));
      return /\[ref=(\w+)\]/.exec(line ?? "")?.[1] ?? `no ref for ${String(fits)} in ${snapshot}`;
    },
    processes: () =>
      execFileSync("ps", ["-eo", "pid,stat,args"], { encoding: "utf8" })
        .split("\n")
        .filter((line) => line.includes(join(dir, "profiles")) && !/^\s*\d+\s+Z/.test(line)),
    async close() {
      await kit.browsers.close();
      await site.close();
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return kit;
}

function madeIn(
  dir: string,
  more: object,
  resolve?: Resolve,
  mostStored?: number,
): Pick<BrowserKit, "browsers"> & { tool: Tool } {
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
    ...(mostStored !== undefined && { mostStored }),
  };
  const browsers = new Browsers(ports, resolve);
  const agent = { id: agentId("main"), ...agentSettings(join(dir, "workspace")) };
  const settings = { ...agent, tools: { ...agent.tools, workspaceOnly: true } };
  const backends = hostBackends({ settings, rights: "owner", deniedPaths: [] });
  const acting = { principal: OPERATOR, sessionKey: sessionKey("s1") };
  const [tool] = browserTools(browsers).map((one) => one.forRun({ agent, acting, ...backends }));
  return { browsers, ...(tool && { tool }) } as Pick<BrowserKit, "browsers"> & { tool: Tool };
}
