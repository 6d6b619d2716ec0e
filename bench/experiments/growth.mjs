// node growth.mjs [FIRST (500)] [ALL (10000)]   Memory and speed under 50 senders after the first messages and after all.
import process from "node:process";
import * as L from "../lib.mjs";

const SENDERS = 50;
const [first, all] = [2, 3].map((at, index) => +(process.argv[at] ?? [500, 10_000][index]));

L.mkConfig();
await L.startFakes();
try {
  const gateway = await L.startGateway();
  const { pid } = gateway.child;
  await L.sleep(3000);
  await L.roundTrip(5001);
  const send = async (count) => {
    const { rows, ...speed } = await L.timed(
      () => L.closedLoop(SENDERS, count / SENDERS),
      () => L.cpu(pid),
    );
    return { ...speed, lost: rows.filter((row) => !row.tReply).length, rssMiB: L.mem(pid).rssMiB };
  };
  const early = await send(first);
  const late = await send(all - first);
  L.save("growth", { first, all, early, late });
  await L.stopGateway(gateway);
} finally {
  await L.stopAll();
}
process.exit(0);
