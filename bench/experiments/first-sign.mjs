// node first-sign.mjs [MESSAGES (100)] [BLOCKS (40)]   How soon a chat shows that something happens, and how soon the first block of an answer
// is sent. Sign: from the long-poll answer with the update until the first of "typing…", a draft, a message or an edit; with a model that
// answers at once and with one that first thinks for a second. Block: from the model's delta that completes the first paragraph until
// `sendMessage` with it. The config is the default one; for the blocks, `streaming.mode` is `block` and no block waits for others to be joined
// (`blockStreamingCoalesce.idleMs: 0`), with paragraphs longer than the smallest block of 800 characters.
import process from "node:process";
import * as L from "../lib.mjs";

const [messages, blocks] = [2, 3].map((at, index) => +(process.argv[at] ?? [100, 40][index]));

const WARM = 10;
const SIGNS = new Set(["sendChatAction", "sendMessage", "sendMessageDraft", "editMessageText"]);
const MODELS = {
  instant: { ttftMs: 0, tokens: 20, itlMs: 0 },
  thinking: { ttftMs: 1000, tokens: 20, itlMs: 0 },
};

/** Paragraphs of different lengths, so that their ends come at different times after whatever happens at intervals. */
const LENGTHS = Array.from({ length: 10 }, (_, n) => 42 + n);
const answerOf = (length) => {
  const words = Array.from({ length }, (_, n) => `the word at place ${100 + n}, `);
  return { deltas: [...words, "the end.\n\n", ...Array.from({ length: 30 }, () => "more ")], itlMs: 10 };
};

/** The first call for a chat from a time on. */
const firstCall = (calls, chatId, since, methods) =>
  calls.find((call) => +call.chatId === chatId && BigInt(call.tNs) >= BigInt(since) && methods.has(call.method));

/** Milliseconds from the delivery of each message until its first sign; chats do not matter, so each message has its own. */
async function signs(count, firstChat) {
  const rows = [];
  for (let n = 0; n < count; n++) rows.push(await L.roundTrip(firstChat + n, "", 60_000));
  const [calls, deliveries] = [await L.tg("sent"), await L.tg("deliveries")];
  return rows.flatMap(({ chatId, updateId }) => {
    const { tDeliver } = deliveries[updateId];
    const sign = firstCall(calls, chatId, tDeliver, SIGNS);
    return sign ? [{ ms: L.ms(tDeliver, sign.tNs), method: sign.method }] : [];
  });
}

/** Milliseconds from the delta that completes the first paragraph of each answer until it is sent. */
async function firstBlocks(count, firstChat) {
  await L.llm("answers", Object.fromEntries(LENGTHS.map((length) => [`p${length}`, answerOf(length)])));
  const rows = [];
  for (let n = 0; n < count; n++) {
    const length = LENGTHS[n % LENGTHS.length];
    rows.push({ length, ...(await L.roundTrip(firstChat + n, `ANSWER:p${length}`, 60_000)) });
  }
  const [calls, log] = [await L.tg("sent"), await L.llm("log")];
  return rows.flatMap(({ chatId, marker, length }) => {
    const request = log.find((one) => one.marker === marker);
    const complete = request?.tDeltas?.[length];
    const sent = complete && firstCall(calls, chatId, request.tArr, new Set(["sendMessage"]));
    return sent && !sent.text.includes("END#") ? [L.ms(complete, sent.tNs)] : [];
  });
}

const summary = (values, asked) => ({ ...L.stat(values), missing: asked - values.length });

async function withGateway(patch, work) {
  L.mkConfig(patch);
  const gateway = await L.startGateway();
  await L.sleep(2000);
  const result = await work();
  await L.stopGateway(gateway);
  return result;
}

async function measureSigns() {
  await L.llm("config", MODELS.instant);
  await signs(WARM, 5000);
  const result = {};
  for (const [name, model] of Object.entries(MODELS)) {
    await L.llm("config", model);
    const count = model.ttftMs > 0 ? Math.ceil(messages / 5) : messages;
    const found = await signs(count, name === "instant" ? 5100 : 5600);
    const methods = Object.groupBy(found, ({ method }) => method);
    const counts = Object.fromEntries(Object.entries(methods).map(([method, some]) => [method, some.length]));
    const times = found.map(({ ms }) => ms);
    result[name] = { ...summary(times, count), methods: counts };
  }
  await L.llm("config", MODELS.instant);
  return result;
}

async function measureBlocks() {
  await firstBlocks(5, 6000);
  return summary(await firstBlocks(blocks, 6100), blocks);
}

const inBlocks = {
  channels: { telegram: { streaming: { mode: "block" } } },
  agents: { defaults: { blockStreamingCoalesce: { idleMs: 0 } } },
};

await L.startFakes();
try {
  const sign = await withGateway({}, measureSigns);
  L.save("first-sign", { sign, block: await withGateway(inBlocks, measureBlocks) });
} finally {
  await L.stopAll();
}
process.exit(0);
