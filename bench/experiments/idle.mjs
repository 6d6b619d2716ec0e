// node idle.mjs [SECONDS (30)]   A gateway with nothing to do, Telegram on: memory after fifteen seconds, then processor time and wake-ups
// (voluntary context switches of all threads) from the twentieth second on: V8 collects all garbage once, some eight seconds after a start and later on a slow machine.
import process from "node:process";
import * as L from "../lib.mjs";

const seconds = +(process.argv[2] ?? 30);

L.mkConfig();
await L.startFakes();
try {
  const gateway = await L.startGateway();
  const { pid } = gateway.child;
  await L.sleep(15_000);
  const memory = L.mem(pid);
  await L.sleep(5000);
  const before = L.threads(pid);
  await L.sleep(seconds * 1000);
  const used = L.usedBetween(before, L.threads(pid));
  const sum = (key) => used.reduce((total, one) => total + one[key], 0) / seconds;
  const byThread = used.map(({ name, cpuMs, wakeUps }) => ({ name, cpuMs: L.r1(cpuMs), wakeUps }));
  L.save("idle", { seconds, ...memory, cpuPercent: sum("cpuMs") / 10, wakeUps: sum("wakeUps"), byThread });
  await L.stopGateway(gateway);
} finally {
  await L.stopAll();
}
process.exit(0);
