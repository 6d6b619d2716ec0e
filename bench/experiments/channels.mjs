// node channels.mjs [MESSAGES (10000)] [CHATS (500)]   First measures the start with each channel. Then sends messages through Telegram,
// Slack, Signal, Discord and WhatsApp at once, then through the first three: 5 % of the messages get a 429, a 5xx, a dropped connection or
// a lost answer, 5 % of the platform's packets are slow, and all connections break at times. Exits with 1 when a message is lost, repeated
// without its label, or out of order, or when memory grows.
import process from "node:process";
import * as L from "../lib.mjs";
import { runLoad } from "../../test/faults/load/load.ts";
import {
  loadedDiscord,
  loadedSignal,
  loadedSlack,
  loadedTelegram,
  loadedWhatsapp,
} from "../../test/faults/load/load-platforms.ts";
import { isUp, makeHome } from "../../test/kit/gateway/process.ts";

const messages = +(process.argv[2] ?? 10000),
  chats = +(process.argv[3] ?? 500);
const FLAT = 1.3;
const IDLE_MS = 3000;
const r2 = (x) => Math.round(x * 100) / 100;

/** Milliseconds until the gateway listens and until the channel is connected, and its memory when idle; medians of three starts. */
async function startCost(open, off) {
  const rows = [];
  for (let n = 0; n < 3; n++) {
    const platform = await open?.(() => 0);
    const section =
      off ??
      (platform && { [platform.id]: { enabled: true, dmPolicy: "open", allowFrom: ["*"], ...platform.channel } });
    const home = await makeHome(section ? { channels: section } : {});
    await platform?.prepare?.(home.stateDir);
    const began = performance.now();
    const gateway = await home.start(platform?.env ? { env: { ...platform.env } } : {});
    const listening = performance.now() - began;
    if (platform) await gateway.logged(isUp(platform.id));
    const connected = performance.now() - began;
    await L.sleep(IDLE_MS);
    rows.push({ listening, connected, rss: L.mem(gateway.pid).rssMiB });
    await home.remove();
    await platform?.close();
  }
  const median = (key) =>
    L.r1(
      L.q(
        rows.map((row) => row[key]),
        0.5,
      ),
    );
  return { listening: median("listening"), connected: median("connected"), rss: median("rss") };
}

const OFF = Object.fromEntries(
  ["telegram", "slack", "discord", "signal", "whatsapp"].map((id) => [id, { enabled: false }]),
);
const costs = {
  none: await startCost(),
  "all five off": await startCost(undefined, OFF),
  telegram: await startCost(loadedTelegram),
  slack: await startCost(loadedSlack),
  discord: await startCost(loadedDiscord),
  signal: await startCost(loadedSignal),
  whatsapp: await startCost(loadedWhatsapp),
};

const THREE = [loadedTelegram, loadedSlack, loadedSignal];

/** The result of many messages over these platforms. */
async function loaded(platforms) {
  const load = await runLoad({ platforms, messages, chats, faultShare: 0.05, seed: 11, underway: 100 });
  const median = (some) => L.q(some, 0.5);
  const quarter = Math.floor(load.memory.length / 4);
  const early = median(load.memory.slice(quarter, 2 * quarter)),
    late = median(load.memory.slice(-quarter));
  const memoryRatio = r2(late / early);
  const wrong = [
    ...(load.lost.length > 0 ? [`lost: ${load.lost.slice(0, 20).join(" ")}`] : []),
    ...(load.doubled.length > 0 ? [`doubled without a label: ${load.doubled.slice(0, 20).join(" ")}`] : []),
    ...(load.outOfOrder.length > 0 ? [`out of order: ${load.outOfOrder.slice(0, 3).join("; ")}`] : []),
    ...(load.unsettled > 0 ? [`${load.unsettled} rows of the journal have no outcome`] : []),
    ...(memoryRatio >= FLAT ? [`memory grew ${memoryRatio} times`] : []),
  ];
  const { faults, labelled, memory } = load;
  const [seconds, perSecond] = [L.r1(load.seconds), L.r1(load.messagesPerSecond)];
  const givenUp = load.givenUp.length;
  return {
    channels: platforms.length,
    seconds,
    perSecond,
    faults,
    labelled,
    givenUp,
    early,
    late,
    memoryRatio,
    memory,
    wrong,
  };
}

const loads = [await loaded([...THREE, loadedDiscord, loadedWhatsapp]), await loaded(THREE)];
L.save("channels", { messages, chats, costs, loads });
const wrong = loads.flatMap((load) => load.wrong.map((one) => `${load.channels} channels: ${one}`));
for (const one of wrong) console.error(one);
process.exit(wrong.length > 0 ? 1 : 0);
