// node slow-disk.mjs [DELAY_MS (20)] [SENDERS (50)] [EACH (20)]   Delay of the event loop and messages per second while each fsync takes
// longer. strace delays them; the gateway also runs under strace without a delay, because strace itself costs time.
import { spawnSync } from "node:child_process";
import process from "node:process";
import * as L from "../lib.mjs";
import { startWithLoopDelay } from "../kit/loop-delay.mjs";

const [delayMs, senders, each] = [2, 3, 4].map((at, index) => +(process.argv[at] ?? [20, 50, 20][index]));
const command = process.env.GW_CMD;
const CALLS = "fsync,fdatasync";

function underStrace(delay) {
  const inject = delay > 0 ? `-e inject=${CALLS}:delay_enter=${delay * 1000}` : "";
  return `strace -f --seccomp-bpf -qq -o /dev/null -e trace=${CALLS} ${inject} ${command}`.replace(/ +/g, " ");
}

async function measure(delay) {
  process.env.GW_CMD = underStrace(delay);
  L.mkConfig();
  const { gateway, since } = await startWithLoopDelay();
  try {
    await L.sleep(2000);
    await L.closedLoop(senders, 2);
    await since();
    const { rows, msgPerS } = await L.timed(
      () => L.closedLoop(senders, each),
      () => 0,
    );
    const delays = await since();
    return { delay, msgPerS, lost: rows.filter((row) => !row.tReply).length, loop: delays };
  } finally {
    await L.stopGateway(gateway);
  }
}

if (spawnSync("strace", ["-V"]).error) {
  L.save("slow-disk", { missing: "strace is not installed" });
  console.error("slow-disk: strace is not installed, so there is no figure");
  process.exit(0);
}
await L.startFakes();
try {
  L.save("slow-disk", { delayMs, fast: await measure(0), slow: await measure(delayMs) });
} finally {
  await L.stopAll();
}
process.exit(0);
