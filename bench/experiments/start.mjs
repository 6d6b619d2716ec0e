// node start.mjs [STARTS (5)]   Time until the gateway listens, answers, is ready and polls; beside `node -e 0`, which nothing can undercut.
// The first start has an empty state directory and is listed separately.
import { spawnSync } from "node:child_process";
import process from "node:process";
import * as L from "../lib.mjs";

const starts = +(process.argv[2] ?? 5);

function emptyNode() {
  const begun = L.nowNs();
  spawnSync(process.execPath, ["-e", "0"], { stdio: "ignore" });
  return L.ms(begun, L.nowNs());
}

async function startOnce() {
  const node = L.r1(emptyNode());
  const gateway = await L.startGateway();
  const cpuMs = L.cpu(gateway.child.pid) * 1000;
  const stop = await L.stopGateway(gateway);
  const { tcp, healthz, readyz, readyStatus, poll, exited } = gateway;
  return { node, tcp, healthz, readyz, readyStatus, poll, cpuMs, stop, exited };
}

L.mkConfig();
await L.startFakes();
try {
  const first = await startOnce();
  const rows = [];
  for (let n = 0; n < starts; n++) rows.push(await startOnce());
  L.save("start", { first, rows });
} finally {
  await L.stopAll();
}
process.exit(0);
