// node soak.mjs [TURNS (2000)]   one conversation that is much longer than the model's window, through the whole gateway: a tool call in
// every third turn, a long result in every tenth, and forty of them in every fiftieth. The fake model checks every request
// (test/harness/compaction/soak-judge.ts). Exits with 1 after any fault.
// env: WINDOW (16000) tokens
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import * as L from "../lib.mjs";
import { callIn, SoakJudge, soakText } from "../../test/harness/compaction/soak-judge.ts";

const TURNS = +(process.argv[2] ?? 2000),
  WINDOW = +(process.env.WINDOW || 16000),
  CHAT = 9001;
const EDGE = Math.min(200, Math.floor(TURNS / 2));
const FLAT = 1.3;
const r2 = (x) => Math.round(x * 100) / 100;

const judge = new SoakJudge({
  window: WINDOW,
  callOf: (n, step) => callIn(n, step) && { tool: "read", args: { path: `${callIn(n, step)}.md`, offset: step + 1 } },
  answerTo: (n) => `This is the answer to no. ${n}, in a few words of its own. END#t${n}x`,
});

/** The time of the first request of each turn. */
const arrivals = new Map();
const model = http.createServer((req, res) => {
  const tArr = L.nowNs(),
    chunks = [];
  req.on("data", (c) => chunks.push(c));
  req.on("end", () => {
    if (req.method !== "POST")
      return res
        .writeHead(200, { "content-type": "application/json" })
        .end('{"object":"list","data":[{"id":"fake-1","object":"model"}]}');
    const raw = Buffer.concat(chunks),
      body = JSON.parse(raw),
      reply = judge.answer(body);
    if ((reply.tool || reply.text.includes("END#")) && !arrivals.has(asked)) arrivals.set(asked, tArr);
    const base = { id: `fake-${judge.calls}`, object: "chat.completion.chunk", created: 1, model: body.model };
    const send = (delta, finish_reason = null) =>
      res.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    res.writeHead(200, { "content-type": "text/event-stream" });
    send({ role: "assistant", content: "" });
    if (reply.tool)
      send({
        tool_calls: [
          {
            index: 0,
            id: `call_${judge.calls}`,
            type: "function",
            function: { name: reply.tool, arguments: JSON.stringify(reply.args) },
          },
        ],
      });
    else for (const piece of reply.text.match(/.{1,40}/gs)) send({ content: piece });
    send({}, reply.tool ? "tool_calls" : "stop");
    const prompt_tokens = Math.ceil(raw.length / 4),
      completion_tokens = 20;
    res.end(
      `data: ${JSON.stringify({ ...base, choices: [], usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens } })}\n\ndata: [DONE]\n\n`,
    );
  });
});
model.keepAliveTimeout = 120000;
/** The current turn. */
let asked = 0;

function setUp() {
  L.mkConfig({ agents: { defaults: { contextTokens: WINDOW } } });
  const workspace = path.join(L.STATE, "workspace");
  fs.mkdirSync(workspace, { recursive: true });
  fs.writeFileSync(path.join(workspace, "short.md"), "a short note\n");
  fs.writeFileSync(
    path.join(workspace, "long.md"),
    "a line of a long note, which fills a good part of the window\n".repeat(130),
  );
}

async function turn(n) {
  asked = n;
  const t = L.nowNs();
  const [u] = await L.tg("inject", [{ chatId: CHAT, text: soakText(n) }]);
  const w = await L.tg(`wait?marker=t${n}x&timeoutMs=30000`, undefined, 35000);
  return { n, updateId: u.updateId, tDone: w.timeout ? null : w.tNs, total: w.timeout ? null : L.ms(t, w.tNs) };
}

const transcriptOf = () => {
  const dir = path.join(L.STATE, "sessions");
  const row = Object.entries(JSON.parse(fs.readFileSync(path.join(dir, "sessions.json"), "utf8"))).find(([key]) =>
    key.endsWith(`:${CHAT}`),
  )?.[1];
  const file =
    row.sessionFile && path.isAbsolute(row.sessionFile)
      ? row.sessionFile
      : path.join(dir, row.sessionFile ?? `${row.sessionId}.jsonl`);
  return {
    bytes: fs.statSync(file).size,
    entries: fs
      .readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  };
};
const userTexts = (entries) =>
  entries
    .filter((e) => e.message?.role === "user")
    .map((e) =>
      typeof e.message.content === "string" ? e.message.content : e.message.content.map((p) => p.text ?? "").join("\n"),
    );

/** The messages that the chat received; each answer must be one of them. */
async function answersWrong() {
  const messages = new Map();
  for (const call of await L.tg("sent"))
    for (const [, n] of String(call.text ?? "").matchAll(/END#t(\d+)x/g)) {
      if (!messages.has(+n)) messages.set(+n, new Set());
      messages.get(+n).add(String(call.resultId ?? call.messageId));
    }
  return Array.from({ length: TURNS }, (_, i) => i + 1).filter((n) => messages.get(n)?.size !== 1);
}

function wrongs({ rows, compactions, texts, answered, cpuRatio, rssRatio }) {
  const missing = rows.filter((r) => !texts.some((t) => t.includes(soakText(r.n)))).length;
  return [
    ...judge.faults,
    ...(compactions < TURNS / 100 ? [`${compactions} compactions`] : []),
    ...(missing > 0 ? [`${missing} turns are not in the transcript`] : []),
    ...(answered.length > 0 ? [`turns not answered once: ${answered.slice(0, 20).join(", ")}`] : []),
    // CPU time, because wall time also contains the machine's other work.
    ...(cpuRatio >= FLAT ? [`CPU per turn grew ${cpuRatio} times`] : []),
    ...(rssRatio >= FLAT ? [`memory grew ${rssRatio} times`] : []),
  ];
}

setUp();
await L.startFakes(); // its fake model is not used; the one of this script has the port below
await new Promise((resolve) => model.listen(L.PORT + 30, "127.0.0.1", resolve));
const config = JSON.parse(fs.readFileSync(L.CONFIG, "utf8"));
config.models.providers.fake.baseUrl = `http://127.0.0.1:${L.PORT + 30}/v1`;
fs.writeFileSync(L.CONFIG, JSON.stringify(config, null, 2));
let failed = true;
try {
  const g = await L.startGateway();
  await L.sleep(1000);
  const spent = [L.cpu(g.child.pid)];
  const rows = [],
    rss = [];
  for (let n = 1; n <= TURNS; n++) {
    rows.push(await turn(n));
    if (rows.at(-1).tDone === null) throw new Error(`no answer to turn ${n}: ${judge.faults.join("; ")}`);
    spent.push(L.cpu(g.child.pid));
    if (n % 10 === 0) rss.push({ n, rss: L.mem(g.child.pid).rssMiB });
  }
  const del = await L.tg("deliveries");
  for (const r of rows) r.pre = arrivals.has(r.n) ? L.ms(del[r.updateId].tDeliver, arrivals.get(r.n)) : null;
  const answered = await answersWrong();
  await L.stopGateway(g);
  const { bytes, entries } = transcriptOf();
  const [early, late] = [rows.slice(0, EDGE), rows.slice(-EDGE)];
  const timesOf = (some) => ({
    total: L.stat(some.map((r) => r.total)),
    pre: L.stat(some.map((r) => r.pre).filter((x) => x != null)),
  });
  const rssAround = (at) =>
    L.q(
      rss.filter((x) => Math.abs(x.n - at) <= 50).map((x) => x.rss),
      0.5,
    );
  const [first, last] = [timesOf(early), timesOf(late)];
  const ratio = r2(last.total.p50 / first.total.p50),
    rss1 = rssAround(EDGE),
    rss2 = rssAround(TURNS),
    rssRatio = r2(rss2 / rss1);
  const cpuOf = (from, to) => L.r1(((spent[to] - spent[from]) * 1000) / (to - from));
  const [cpu1, cpu2] = [cpuOf(0, EDGE), cpuOf(TURNS - EDGE, TURNS)];
  const cpuRatio = r2(cpu2 / cpu1);
  const compactions = entries.filter((e) => e.type === "compaction").length;
  const wrong = wrongs({ rows, compactions, texts: userTexts(entries), answered, cpuRatio, rssRatio });
  L.save("soak", {
    turns: TURNS,
    window: WINDOW,
    first,
    last,
    ratio,
    cpu1,
    cpu2,
    cpuRatio,
    rss1,
    rss2,
    rssRatio,
    rss: rss.filter((x) => x.n % 200 === 0),
    transcriptBytes: bytes,
    compactions,
    summaryCalls: judge.summaries,
    flushes: judge.flushes,
    calls: judge.calls,
    largestTokens: judge.largest,
    wrong,
  });
  failed = wrong.length > 0;
  for (const w of wrong) console.error(`soak: ${w}`);
} finally {
  await L.stopAll();
}
process.exit(failed ? 1 : 0);
