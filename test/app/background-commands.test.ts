import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "../../src/app/config/load.ts";
import { resolveAgents } from "../../src/app/config/settings.ts";
import { Processes } from "../../src/tools/process/processes.ts";
import { runTool } from "../../src/tools/run.ts";
import { createTools } from "../kit/create-tools.ts";
import { noRules, toolContext } from "../kit/tools.ts";
import { until } from "../kit/until.ts";

let dir: string;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), "background-")));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const CONFIG = {
  backgroundMs: 10,
  cleanupMs: 70_000,
  notifyOnExit: true,
  notifyOnExitEmptySuccess: true,
};
const OTHER = { backgroundMs: 120_000, cleanupMs: 90_000, notifyOnExit: false, notifyOnExitEmptySuccess: false };

/** What happens to a command of the first agent that runs for half a second and says nothing. */
async function outcome(config: object) {
  const path = join(dir, "openclaw.json");
  await writeFile(path, JSON.stringify(config));
  const loaded = await loadConfig({ path, env: {} });
  const [agent] = resolveAgents(loaded.config, { home: dir, stateDir: dir });
  const kept: number[] = [];
  const exited: string[] = [];
  const processes = new Processes({
    clock: { now: () => Date.now(), after: (ms) => (kept.push(ms), () => undefined) },
    exited: (one) => exited.push(one.status),
  });
  const settings = { ...agent!, workspace: dir, exec: { ...agent!.exec, security: "full", ask: "off" } as const };
  const tools = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [], processes });
  const exec = tools.find(({ name }) => name === "exec");
  const result = await runTool(exec!, { command: "sleep 0.5" }, toolContext(dir));
  await until(() => processes.all().every(({ status }) => status !== "running"));
  return { status: result.details?.["status"], kept, exited };
}

const TOLD = { status: "running", kept: [70_000], exited: ["completed"] };

it("follows a command of an agent as the config says", async () => {
  expect(await outcome({})).toEqual({ status: "completed", kept: [], exited: [] });
  expect(await outcome({ tools: { exec: CONFIG } })).toEqual(TOLD);
  expect(await outcome({ tools: { exec: { ...CONFIG, notifyOnExit: false } } })).toMatchObject({ exited: [] });
  expect(await outcome({ tools: { exec: { ...CONFIG, notifyOnExitEmptySuccess: false } } })).toMatchObject({
    exited: [],
  });
  const ofAgent = { agents: { list: [{ id: "a", tools: { exec: CONFIG } }] } };
  expect(await outcome({ ...ofAgent, tools: { exec: OTHER } })).toEqual(TOLD);
});
