// node streams.mjs [OPEN (60)] [TOKENS_PER_SECOND (20)] [PREVIEWS (partial|off)]   That many model streams open at once: processor time
// and memory while they are open, then short messages of another chat.
import process from "node:process";
import * as L from "../lib.mjs";

const open = +(process.argv[2] ?? 60);
const perSecond = +(process.argv[3] ?? 20);
const mode = process.argv[4] ?? "partial";

const SECONDS = 50;
const SHORT_MESSAGES = 40;
const PAUSE_MS = 300;
// All streams open in the first seconds; then their cost is measured, and then the short messages.
const OPENING_MS = 8000 + open * 20;
const MEASURED_MS = 15_000;

const quick = { ttftMs: 0, tokens: 20, itlMs: 0 };
const long = { ttftMs: 200, tokens: perSecond * (SECONDS + Math.ceil(OPENING_MS / 1000)), itlMs: 1000 / perSecond };

async function shortMessages() {
  const rows = [];
  for (let n = 0; n < SHORT_MESSAGES; n++) {
    rows.push(await L.roundTrip(7001, "", 60_000));
    await L.sleep(PAUSE_MS);
  }
  return L.summarize(await L.join(rows));
}

async function measure(gateway) {
  const { pid } = gateway.child;
  await L.llm("config", quick);
  await L.sleep(1500);
  for (let n = 0; n < 5; n++) await L.roundTrip(7001);
  const idleMiB = L.mem(pid).rssMiB;
  await L.llm("config", long);
  const streams = Array.from({ length: open }, (_, n) => L.roundTrip(7100 + n, "", (SECONDS + 180) * 1000));
  await L.sleep(OPENING_MS);
  await L.llm("config", quick);
  const { inflight } = await L.llm("inflight");
  const before = { cpu: L.cpu(pid), at: L.nowNs() };
  await L.sleep(MEASURED_MS);
  const cpuPercent = ((L.cpu(pid) - before.cpu) * 100_000) / L.ms(before.at, L.nowNs());
  const openMiB = L.mem(pid).rssMiB;
  const short = await shortMessages();
  const answered = (await Promise.all(streams)).filter((row) => row.tReply).length;
  const calls = Object.fromEntries(
    Object.entries(Object.groupBy(await L.tg("sent"), (call) => call.method)).map(([method, some]) => [
      method,
      some.length,
    ]),
  );
  return { inflight, answered, cpuPercent, idleMiB, openMiB, eachMiB: (openMiB - idleMiB) / open, short, calls };
}

// As many runs may be active as there are streams, and a few for the short messages.
L.mkConfig({ agents: { defaults: { maxConcurrent: open + 20 } }, channels: { telegram: { streaming: { mode } } } });
await L.startFakes();
try {
  const gateway = await L.startGateway();
  L.save("streams", { open, perSecond, mode, ...(await measure(gateway)) });
  await L.stopGateway(gateway);
} finally {
  await L.stopAll();
}
process.exit(0);
