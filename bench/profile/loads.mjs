// What the gateway does while it is profiled. `warm` comes before the recording; `run` returns by how many units its sums are divided.
import * as L from "../lib.mjs";

const SENDERS = 50;
const STREAMS = 60;
const TOKENS_PER_SECOND = 20;
const RECORDED_S = 20;
const OPENING_S = 10;
const LEFT_S = 30;

const rounded = (messages) => Math.ceil(messages / SENDERS) * SENDERS;

/** 50 senders, each of whom waits for an answer before the next message. */
const senders = (messages) => ({
  title: `${rounded(messages)} messages of ${SENDERS} senders`,
  unit: "message",
  warm: () => L.closedLoop(SENDERS, 5),
  async run() {
    await L.closedLoop(SENDERS, rounded(messages) / SENDERS);
    return rounded(messages);
  },
});

/** One sender, who waits for each answer. */
const sender = (messages) => ({
  title: `${messages} messages of one sender`,
  unit: "message",
  warm: () => L.closedLoop(SENDERS, 5),
  async run() {
    await L.closedLoop(1, messages);
    return messages;
  },
});

/** Model streams that are all open before the recording begins and after it ends, with previews. */
const streams = () => ({
  title: `${STREAMS} open streams of ${TOKENS_PER_SECOND} tokens/s`,
  unit: "1,000 tokens",
  async warm() {
    const tokens = TOKENS_PER_SECOND * (OPENING_S + RECORDED_S + LEFT_S);
    await L.llm("config", { ttftMs: 200, tokens, itlMs: 1000 / TOKENS_PER_SECOND });
    // Nobody waits for the answers: the gateway is stopped while they are still being written.
    for (let n = 0; n < STREAMS; n++) L.tg("inject", [{ chatId: 7100 + n, text: `hello M#s${n}` }]);
    await L.sleep(OPENING_S * 1000);
  },
  async run() {
    await L.sleep(RECORDED_S * 1000);
    return (STREAMS * TOKENS_PER_SECOND * RECORDED_S) / 1000;
  },
});

export const LOADS = { sender, senders, streams };
