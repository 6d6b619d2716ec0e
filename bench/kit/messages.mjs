// Sends messages through the fake Telegram, and joins what both fakes recorded about them.
import http from "node:http";
import { LLM, TG } from "./home.mjs";
import { ms, nowNs, r1, stat } from "./numbers.mjs";

const agent = new http.Agent({ keepAlive: true, maxSockets: 1000 });

/** A GET, or a POST of `body`. Rejects when the answer takes longer than `timeoutMs`. */
export function httpJson(url, body, timeoutMs = 120_000) {
  const { hostname, port, pathname, search } = new URL(url);
  const what = { method: "GET", headers: {} };
  if (body !== undefined) Object.assign(what, { method: "POST", headers: { "content-type": "application/json" } });
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, path: pathname + search, timeout: timeoutMs, agent, ...what });
    request.on("response", (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode, json: parsed(text), text });
      });
    });
    request.on("error", reject);
    request.on("timeout", () => request.destroy(new Error("timeout")));
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    // An answer that is not JSON has its text only.
    return null;
  }
}

/** The control paths of the fakes. */
export const tg = async (path, body, timeoutMs) =>
  (await httpJson(`http://127.0.0.1:${TG}/control/${path}`, body, timeoutMs)).json;
export const llm = async (path, body) => (await httpJson(`http://127.0.0.1:${LLM}/control/${path}`, body)).json;

const run = Date.now().toString(36).replaceAll("x", "y");
let messages = 0;

/** One message, with a file or without, and its answer; `tReply` is null when there was none in time. */
export async function roundTrip(chatId, extra = "", timeoutMs = 120_000, document) {
  const marker = `${run}x${++messages}`;
  const [update] = await tg("inject", [{ chatId, text: `hello M#${marker} ${extra}`.trim(), document }]);
  const sent = await tg(`wait?marker=${marker}&timeoutMs=${timeoutMs}`, undefined, timeoutMs + 5000);
  const tReply = sent.timeout ? null : sent.tNs;
  return { marker, chatId, updateId: update.updateId, tInject: update.tNs, tReply, method: sent.method };
}

/** Each sender sends `each` messages and waits for the answer before the next. Returns the round trips in the order of their ends. */
export async function closedLoop(senders, each, { firstChat = 6000 } = {}) {
  const rows = [];
  const send = async (chat) => {
    for (let n = 0; n < each; n++) rows.push(await roundTrip(chat, "", 240_000));
  };
  await Promise.all(Array.from({ length: senders }, (_, n) => send(firstChat + n)));
  return rows;
}

/** Adds to each round trip `pre`, `llmMs`, `post` and `total` in ms (README.md), and the last request's size. */
export async function join(rows) {
  const calls = Map.groupBy(await llm("log"), (call) => call.marker);
  const deliveries = await tg("deliveries");
  return rows.map((row) => joined(row, calls.get(row.marker) ?? [], deliveries[row.updateId]));
}

function joined(row, calls, delivery) {
  const [first, last] = [calls[0], calls.at(-1)];
  const between = (from, to) => (from && to ? ms(from, to) : null);
  return {
    ...row,
    calls: calls.length,
    pre: between(delivery?.tDeliver, first?.tArr),
    llmMs: between(first?.tArr, last?.tEnd),
    post: between(last?.tEnd, row.tReply),
    total: between(row.tInject, row.tReply),
    bytes: last?.bytes,
    nMsgs: last?.nMsgs,
  };
}

export function summarize(rows) {
  const of = (key) => stat(rows.map((row) => row[key]).filter((value) => value != null));
  const ok = rows.filter((row) => row.total != null).length;
  return {
    ok,
    lost: rows.length - ok,
    total: of("total"),
    pre: of("pre"),
    llm: of("llmMs"),
    post: of("post"),
    llmCallsPerMsg: r1(rows.reduce((sum, row) => sum + row.calls, 0) / rows.length),
    bodyBytes: rows.at(-1)?.bytes,
    nMsgs: rows.at(-1)?.nMsgs,
  };
}

/** The processor time and the messages per second of `work`, which returns round trips. */
export async function timed(work, cpuSeconds) {
  const [cpu, at] = [cpuSeconds(), nowNs()];
  const rows = await work();
  const wallS = ms(at, nowNs()) / 1000;
  const answered = rows.filter((row) => row.tReply).length;
  return { rows, wallS, msgPerS: answered / wallS, cpuMsPerMsg: ((cpuSeconds() - cpu) * 1000) / rows.length };
}
