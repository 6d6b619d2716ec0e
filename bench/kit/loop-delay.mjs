// Measures the delay of the gateway's event loop from inside of the gateway.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { ROOT } from "./home.mjs";
import { sleep } from "./numbers.mjs";
import { nodeOf, startGateway } from "./processes.mjs";

/** The first tick after a report is not counted, so what is measured has to begin some ticks later. */
const FIRST_TICKS_MS = 20;

/** A gateway, and a function that returns the delays since its last call: `count`, and `p50`, `p99`, `max` and `busy`, the
 * longest processor time between two turns of a timer, in ms. */
export async function startWithLoopDelay() {
  const file = path.join(ROOT, "loop-delay.json");
  fs.rmSync(file, { force: true });
  process.env.LOOP_DELAY_FILE = file;
  const recorder = pathToFileURL(path.join(import.meta.dirname, "loop-recorder.mjs")).href;
  const gateway = await startGateway({ nodeArgs: `--import ${recorder}` });
  const pid = nodeOf(gateway);
  let reports = 0;
  const delays = async () => {
    reports += 1;
    process.kill(pid, "SIGUSR2");
    for (;;) {
      const report = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined;
      if (report?.report === reports) return report;
      if (gateway.exited) throw new Error("the gateway ended");
      await sleep(5);
    }
  };
  const since = async () => {
    const report = await delays();
    await sleep(FIRST_TICKS_MS);
    return report;
  };
  return { gateway, pid, since };
}
