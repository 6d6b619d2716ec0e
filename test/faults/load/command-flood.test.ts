import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, it } from "vitest";
import { Processes } from "../../../src/tools/process/processes.ts";
import { runTool } from "../../../src/tools/run.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { Secret } from "../../../src/types/secret.ts";
import { createTools } from "../../kit/create-tools.ts";
import { agentSettings, noRules, toolContext } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";

const MB = 1024 * 1024;

/** The delay of the event loop at its 99th percentile, milliseconds. */
async function p99During(work: () => Promise<unknown>): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  await work();
  delays.disable();
  return delays.percentile(99) / 1e6;
}

it("a background command that prints a gigabyte leaves the event loop and the memory as they are", async () => {
  const workspace = await realpath(await mkdtemp(join(tmpdir(), "flood-")));
  const processes = new Processes({ clock: systemClock, exited: () => undefined });
  try {
    for (let count = 0; count < 50; count += 1) new Secret(`secret-number-${count}-of-this-process`).reveal();
    const settings = agentSettings(workspace, { exec: { timeoutMs: 0 } });
    const tools = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [], processes });
    const exec = tools.find(({ name }) => name === "exec");
    const command = "yes 'a line of a build that says the same again and again' | head -c 1073741824";
    // The same programs with the same hunger for processor time, but nothing to read.
    const aloneP99 = await p99During(() =>
      runTool(exec!, { command: `${command} > /dev/null` }, toolContext(workspace)),
    );
    const before = process.memoryUsage().rss;
    let most = before;
    const sampling = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 20);
    const p99 = await p99During(async () => {
      await runTool(exec!, { command, background: true }, toolContext(workspace));
      await until(() => processes.all()[0]?.status === "completed", "its end", 240_000);
    });
    clearInterval(sampling);
    const grownMb = (most - before) / MB;
    // Without rests the reading would keep the event loop for seconds; a busy machine adds tens of milliseconds.
    expect(p99).toBeLessThan(aloneP99 + 250);
    expect(grownMb).toBeLessThan(150);
    expect(processes.all()[0]?.of.running.output.size).toBe(1_073_741_824);
    expect(processes.all()[0]?.of.running.output.text().length).toBe(200_000);
  } finally {
    await processes.close();
    await rm(workspace, { recursive: true, force: true });
  }
}, 300_000);
