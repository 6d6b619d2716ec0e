// node hostile.mjs [SECONDS (8)] [FILES (200000)] [STEP ...]   Delay of other chats while one chat does what costs most: expensive tool calls,
// large results, long streams, Markdown that is hard to parse, large pictures. A hundred other chats in turn send a message every 100 ms,
// whether or not the ones before were answered, to a model that answers at once. Each step is also measured *beside* the gateway: the same load on
// the machine, but not in the gateway, because on few cores that alone delays everybody.
import process from "node:process";
import * as L from "../lib.mjs";
import { startWithLoopDelay } from "../kit/loop-delay.mjs";
import { prepareSteps, stepsOf } from "../kit/hostile-steps.mjs";

const [seconds, files] = [2, 3].map((at, index) => +(process.argv[at] ?? [8, 200_000][index]));
const wanted = process.argv.slice(4);

const OTHERS = 100;
const EVERY_MS = 100;
const LATEST_MS = 60_000;
const SETTLE_MS = 1000;
const QUIET = "nothing";
/** A hostile chat is done when its model has answered and nothing was sent to it for so long. */
const DONE_AFTER_MS = 1000;
const LOOK_EVERY_MS = 100;
/** A hostile chat for each message, so that no conversation grows. */
let hostileChat = 8000;

/** Sends messages of other chats until `stop`, which returns their round trips. */
function otherChats() {
  const trips = [];
  let isOver = false;
  const sending = (async () => {
    const begun = performance.now();
    for (let n = 0; !isOver; n++) {
      trips.push(L.roundTrip(7000 + (n % OTHERS), "", LATEST_MS));
      await L.sleep(Math.max(0, begun + (n + 1) * EVERY_MS - performance.now()));
    }
  })();
  const stop = async () => {
    isOver = true;
    await sending;
    return L.join(await Promise.all(trips));
  };
  return { stop };
}

const rounded = (value) => (Number.isFinite(value) ? L.r1(value) : null);

/** The delay of the others and of the event loop while `load` is done again and again. */
async function measure(since, load) {
  await since();
  const others = otherChats();
  const begun = performance.now();
  let times = 0;
  for (; times < 1 || performance.now() - begun < seconds * 1000; times++) await load();
  const rows = await others.stop();
  const loop = await since();
  const delays = rows.filter((row) => row.tReply).map((row) => row.pre + row.post);
  const of = (p) => rounded(L.q(delays, p));
  const lost = rows.length - delays.length;
  const { p99, max, busy } = loop;
  return {
    times,
    n: rows.length,
    lost,
    p50: of(0.5),
    p99: of(0.99),
    max: of(1),
    loopP99: L.r1(p99),
    loopMax: L.r1(max),
    busy: L.r1(busy),
  };
}

/** One message of a hostile chat. Resolves when all of its answer was sent. */
async function attack({ send, document }) {
  const chat = hostileChat++;
  const { requests } = await L.llm("inflight");
  let calls = (await L.tg("state")).sent;
  await L.tg("inject", [{ chatId: chat, text: `hello M#hostilex${chat} ${send}`, document }]);
  let [isAnswered, lastAt] = [false, performance.now()];
  while (!isAnswered || performance.now() - lastAt < DONE_AFTER_MS) {
    if (performance.now() - lastAt > LATEST_MS) return;
    await L.sleep(LOOK_EVERY_MS);
    const newCalls = await L.tg(`sent?since=${calls}`);
    calls += newCalls.length;
    if (newCalls.some((call) => +call.chatId === chat)) lastAt = performance.now();
    const own = (await L.llm(`log?since=${requests}`)).filter((one) => one.marker === `hostilex${chat}`);
    isAnswered = own.length > 0 && own.every((one) => one.tEnd) && own.at(-1).tool == null;
  }
}

async function measureStep(since, name, step) {
  const beside = await measure(since, step.beside);
  await L.sleep(SETTLE_MS);
  const inside = await measure(since, () => attack(step));
  await L.sleep(SETTLE_MS);
  console.log(`${name}: ${JSON.stringify({ beside, inside })}`);
  return { name, beside, inside };
}

async function measureAll(since) {
  await L.closedLoop(OTHERS, 2, { firstChat: 7000 });
  const quiet = await measure(since, () => L.sleep(seconds * 1000));
  console.log(`${QUIET}: ${JSON.stringify(quiet)}`);
  const rows = [];
  for (const [name, step] of Object.entries(stepsOf({ burnSeconds: seconds })))
    if (wanted.length === 0 || wanted.some((word) => name.includes(word)))
      rows.push(await measureStep(since, name, step));
  return { quiet, rows };
}

L.mkConfig({
  tools: { exec: { security: "full", ask: "off" } },
  models: { providers: { fake: { models: [{ ...L.fakeModel(), input: ["text", "image"] }] } } },
});
await L.startFakes();
try {
  await L.llm("config", { ttftMs: 0, tokens: 20, itlMs: 0 });
  await prepareSteps({ files });
  const { gateway, since } = await startWithLoopDelay();
  await L.sleep(2000);
  L.save("hostile", { seconds, files, ...(await measureAll(since)) });
  await L.stopGateway(gateway);
} finally {
  await L.stopAll();
}
process.exit(0);
