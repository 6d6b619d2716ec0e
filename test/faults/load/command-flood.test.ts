import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Processes } from "../../../src/tools/process/processes.ts";
import { runTool } from "../../../src/tools/run.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { Secret } from "../../../src/types/secret.ts";
import { createTools } from "../../kit/create-tools.ts";
import { agentSettings, noRules, toolContext } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";

const MB = 1024 * 1024;
/** Reading rests after 128 KiB; a piece that has arrived by then, of up to 64 KiB, may follow. */
const MOST_AT_ONCE = 256 * 1024;

/** What came of the output between two looks, each of them a turn of the event loop that others had too. */
function watchOutput(processes: Processes): { readonly most: () => number; readonly stop: () => void } {
  let most = 0;
  let before = 0;
  const timer = setInterval(() => {
    const { size } = processes.all()[0]?.of.running.output ?? { size: 0 };
    most = Math.max(most, size - before);
    before = size;
  }, 1);
  return { most: () => most, stop: () => clearInterval(timer) };
}

it("a background command that prints without end leaves the event loop and the memory as they are", async () => {
  const workspace = await realpath(await mkdtemp(join(tmpdir(), "flood-")));
  const processes = new Processes({ clock: systemClock, exited: () => undefined });
  try {
    for (let count = 0; count < 50; count += 1) new Secret(`secret-number-${count}-of-this-process`).reveal();
    const settings = agentSettings(workspace, { exec: { timeoutMs: 0 } });
    const tools = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [], processes });
    const exec = tools.find(({ name }) => name === "exec");
    const command = "yes 'a line of a build that says the same again and again' | head -c 268435456";
    const before = process.memoryUsage().rss;
    let most = before;
    const sampling = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 20);
    const reading = watchOutput(processes);
    await runTool(exec!, { command, background: true }, toolContext(workspace));
    await until(() => processes.all()[0]?.status === "completed", "its end", 240_000);
    reading.stop();
    clearInterval(sampling);
    const grownMb = (most - before) / MB;
    expect(reading.most()).toBeLessThanOrEqual(MOST_AT_ONCE);
    expect(grownMb).toBeLessThan(150);
    expect(processes.all()[0]?.of.running.output.size).toBe(268_435_456);
    expect(processes.all()[0]?.of.running.output.text().length).toBe(200_000);
  } finally {
    await processes.close();
    await rm(workspace, { recursive: true, force: true });
  }
}, 300_000);
