// node one-sender.mjs [MESSAGES (100)] [WARM (5)] [GAP (0)]   One chat, one message after the other.
// GAP: milliseconds between messages, for gateways that slow down a chat.
import process from "node:process";
import * as L from "../lib.mjs";

const [messages, warm, gap] = [2, 3, 4].map((at, index) => +(process.argv[at] ?? [100, 5, 0][index]));
const CHAT = 5001;

async function oneByOne() {
  const rows = [];
  for (let n = 0; n < messages; n++) {
    rows.push(await L.roundTrip(CHAT, "", 60_000));
    if (gap) await L.sleep(gap);
  }
  return rows;
}

L.mkConfig();
await L.startFakes();
try {
  const gateway = await L.startGateway();
  const { pid } = gateway.child;
  await L.sleep(3000);
  const before = L.mem(pid).rssMiB;
  const [cold] = await L.join([await L.roundTrip(CHAT, "", 60_000)]);
  if (cold.total == null) throw new Error("no reply to the first message");
  for (let n = 1; n < warm; n++) await L.roundTrip(CHAT);
  const { rows, cpuMsPerMsg } = await L.timed(oneByOne, () => L.cpu(pid));
  const first = { pre: L.r1(cold.pre), post: L.r1(cold.post), total: L.r1(cold.total), calls: cold.calls };
  const result = L.summarize(await L.join(rows));
  L.save("seq", { gap, first, ...result, cpuMsPerMsg, mem0: before, mem1: L.mem(pid) });
  await L.stopGateway(gateway);
} finally {
  await L.stopAll();
}
process.exit(0);
