// node fifty-senders.mjs [SENDERS (50)] [EACH (10)]   Each sender waits for an answer before its next message.
import process from "node:process";
import * as L from "../lib.mjs";

const [senders, each] = [2, 3].map((at, index) => +(process.argv[at] ?? [50, 10][index]));

L.mkConfig();
await L.startFakes();
try {
  const gateway = await L.startGateway();
  const { pid } = gateway.child;
  await L.sleep(3000);
  await L.roundTrip(5001);
  const before = L.mem(pid).rssMiB;
  const { rows, ...speed } = await L.timed(
    () => L.closedLoop(senders, each),
    () => L.cpu(pid),
  );
  const after = L.mem(pid);
  const { maxInflight } = await L.llm("inflight");
  L.save("conc", {
    senders,
    each,
    ...speed,
    ...L.summarize(await L.join(rows)),
    maxInflight,
    mem0: before,
    mem1: after,
  });
  await L.stopGateway(gateway);
} finally {
  await L.stopAll();
}
process.exit(0);
