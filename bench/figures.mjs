// Which figures the results of an experiment give, with their targets. `ours` and `floor` are the rows of this gateway and of the floor.
import { atLeast, atLeastFloors, atMost, atMostFloors, exactly, figure, spread } from "./kit/figures.mjs";

/** A figure that `pick` finds in the rows of both. */
const both = (name, unit, { ours, floor }, pick, target) =>
  figure(name, { unit, here: spread(ours, pick), floor: spread(floor, pick), target });

export const versionFigure = (times) =>
  figure("openclaw --version", { unit: "ms", here: spread(times, (one) => one), target: atMost(100) });

export const policyFigures = ({ ours }) => [
  figure("tool policy: one decision with 500 rules", {
    unit: "ms",
    here: spread(
      ours.flatMap((row) => row.decisionMs),
      (ms) => ms,
    ),
    target: atMost(0.1),
  }),
];

/** Tokens of the tools' schemas for each profile, of which only the one of coding has a target, and of `message` for each channel. */
export const schemaFigures = ({ ours }) => [
  ...["minimal", "coding", "messaging", "full"].map((profile) =>
    figure(`schemas of the tools: profile ${profile}`, {
      unit: "tokens",
      here: spread(ours, (row) => row.tokens[profile]),
      ...(profile === "coding" && { target: atMost(4000) }),
    }),
  ),
  ...Object.keys(ours[0]?.message ?? {}).map((channel) =>
    figure(`schema of the tool message in ${channel}`, {
      unit: "tokens",
      here: spread(ours, (row) => row.message[channel]),
    }),
  ),
];

/** What the two tools of the web take; the event loop is that of the process that reads the page. */
export function webFigures({ ours }) {
  const times = (key, target) => ({
    unit: "ms",
    here: spread(
      ours.flatMap((row) => row[key]),
      (ms) => ms,
    ),
    target: atMost(target),
  });
  return [
    figure("web_fetch: a page of 2 MB", times("fetchMs", 150)),
    figure("web_fetch: event loop meanwhile, p99", times("loopP99Ms", 20)),
    figure("web_fetch: the same page from the cache", times("cachedFetchMs", 5)),
    figure("web_search: the same search from the cache", times("cachedSearchMs", 5)),
  ];
}

/** What a person waits for at the page, in milliseconds, and its size. A frame of 60 a second takes 16.7 ms. */
export function pageFigures({ ours: [row] }) {
  const frames = (name, { p50, max }) => [
    figure(`page: frame ${name}, p50`, { unit: "ms", here: exactly(p50), target: atMost(17) }),
    figure(`page: longest frame ${name}`, { unit: "ms", here: exactly(max), target: atMost(50) }),
  ];
  return [
    figure("page: first view", { unit: "KB", here: exactly(row.firstBytes / 1000), target: atMost(200) }),
    figure("page: first view after the answer of the gateway", {
      unit: "ms",
      here: spread(row.firstMs, (ms) => ms),
      target: atMost(300),
    }),
    ...frames(`while ${row.perSecond} messages a second arrive`, row.latest),
    ...frames(`of scrolling through ${row.messages} messages`, row.scrolled),
    ...frames(`while ${row.perSecond} a second arrive below ${row.messages}`, row.all),
  ];
}

/** How well and how fast notes are found. The limits of the search were chosen with two thirds of the questions. */
export function memoryFigures({ ours: [row] }) {
  const answered = Object.entries(row.quality).flatMap(([mode, parts]) =>
    [
      ["chosen with", parts.tuned],
      ["held back", parts.heldBack],
    ].flatMap(([name, { recall, mrr }]) => [
      figure(`notes, ${mode}: questions answered in 6, ${name}`, {
        here: exactly(recall),
        ...(mode === "keyword" && { target: atLeast(0.85) }),
      }),
      figure(`notes, ${mode}: mean of 1/rank, ${name}`, { here: exactly(mrr) }),
    ]),
  );
  const speed = (name, unit, value, target) =>
    figure(`notes, ${row.chunks} parts: ${name}`, { unit, here: exactly(value), target });
  return [
    ...answered,
    speed("first index", "parts/s", row.indexedPerS, atLeast(1000)),
    speed("search, p50", "ms", row.searchP50),
    speed("search, p95", "ms", row.searchP95, atMost(50)),
    speed("event loop late, p99", "ms", row.loopP99Ms),
    speed("heap of the gateway's thread, more", "MiB", row.heapMiB),
    speed("memory of the process, more", "MiB", row.rssMiB),
  ];
}

export function startFigures({ ours, floor }) {
  const starts = (rows) => rows.flatMap((row) => row.rows);
  const healthz = (row) => row.healthz;
  const node = spread(starts([...ours, ...floor]), (row) => row.node);
  return [
    figure("ready (/healthz); floor: node -e 0", {
      unit: "ms",
      here: spread(starts(ours), healthz),
      floor: node,
      target: atMostFloors(12),
    }),
    both("ready (/healthz); floor: the bot", "ms", { ours: starts(ours), floor: starts(floor) }, healthz),
    both("first start", "ms", { ours, floor }, (row) => row.first.healthz),
  ];
}

export function idleFigures(rows) {
  return [
    both("idle, Telegram on", "MiB", rows, (row) => row.rssMiB, atMost(100)),
    both("idle, processor time of a core", "%", rows, (row) => row.cpuPercent, atMost(0.2)),
    both("idle, wake-ups a second", "", rows, (row) => row.wakeUps, atMost(10)),
  ];
}

export function oneSenderFigures(rows) {
  return [
    both("one sender: before the model, p50", "ms", rows, (row) => row.pre.p50, atMostFloors(3.5)),
    both("one sender: before the model, p95", "ms", rows, (row) => row.pre.p95, atMostFloors(5)),
    both("one sender: after the model, p50", "ms", rows, (row) => row.post.p50),
    both("one sender: CPU a message", "ms", rows, (row) => row.cpuMsPerMsg),
    both("one sender: first message, before the model", "ms", rows, (row) => row.first.pre),
  ];
}

export function firstSignFigures({ ours, floor }) {
  const signOf = (model, part) => (row) => row.sign[model][part];
  const signs = (name, model) => [
    both(`first sign, ${name}: p50`, "ms", { ours, floor }, signOf(model, "p50")),
    both(`first sign, ${name}: p95`, "ms", { ours, floor }, signOf(model, "p95"), atMost(150)),
  ];
  const block = (name, part, target) =>
    figure(name, { unit: "ms", here: spread(ours, (row) => row.block[part]), target });
  return [
    ...signs("a model that answers at once", "instant"),
    ...signs("a model that thinks for a second", "thinking"),
    block("first block after its last delta, p50", "p50"),
    block("first block after its last delta, p95", "p95", atMost(50)),
  ];
}

/** Milliseconds that a hostile chat may add to the delay of others, and for which it may occupy the event loop at once. */
const MOST_ADDED = 100;

export function hostileFigures({ ours: [row] }) {
  const of = (name, unit, here, floor, target) =>
    figure(name, { unit, here: exactly(here), floor: exactly(floor), target });
  return [
    figure("others while nothing else happens: delay, p99", { unit: "ms", here: exactly(row.quiet.p99) }),
    ...row.rows.flatMap(({ name, beside, inside }) => [
      of(`${name}: others' delay, p99`, "ms", inside.p99, beside.p99, atMost(Math.round(beside.p99 + MOST_ADDED))),
      of(`${name}: event loop busy at most`, "ms", inside.busy, beside.busy, atMost(MOST_ADDED)),
      of(`${name}: event loop late, p99`, "ms", inside.loopP99, beside.loopP99),
      of(`${name}: event loop late at most`, "ms", inside.loopMax, beside.loopMax),
    ]),
  ];
}

/** Milliseconds that a sandbox may add to a command. */
const MOST_ADDED_BY_SANDBOX = 15;

export function sandboxFigures({ ours: [{ plainMs, sandboxMs }] }) {
  return [
    figure("a command in the sandbox, beside a plain one", {
      unit: "ms",
      here: exactly(sandboxMs),
      floor: exactly(plainMs),
      target: atMost(Math.round(plainMs + MOST_ADDED_BY_SANDBOX)),
    }),
    figure("a command in the sandbox: times a plain one", { unit: "", here: exactly(sandboxMs / plainMs) }),
  ];
}

export function fiftySendersFigures(rows) {
  return [
    both("50 senders: messages/s", "", rows, (row) => row.msgPerS, atLeastFloors(0.33)),
    both("50 senders: CPU a message", "ms", rows, (row) => row.cpuMsPerMsg, atMostFloors(4)),
    both("50 senders: messages lost", "", rows, (row) => row.lost, atMost(0)),
    both("memory after 500 messages", "MiB", rows, (row) => row.mem1.rssMiB, atMostFloors(1.25)),
  ];
}

export function growthFigures({ ours, floor }) {
  const [{ all }] = ours;
  const grown = (row) => row.late.rssMiB / row.early.rssMiB;
  return [
    both(`memory after ${all} messages`, "MiB", { ours, floor }, (row) => row.late.rssMiB),
    both(`memory after ${all} against 500`, "times", { ours, floor }, grown, atMost(1.1)),
    both(`${all} messages: messages/s`, "", { ours, floor }, (row) => row.late.msgPerS),
    both(`${all} messages: CPU a message`, "ms", { ours, floor }, (row) => row.late.cpuMsPerMsg),
  ];
}

/** Throughput may fall by less than a fifth. */
const LEAST_SPEED = 0.8;

export function slowDiskFigures({ ours, floor }) {
  const name = (what) => `each fsync takes 20 ms more: ${what}`;
  const speed = (row) => row.slow && row.slow.msgPerS / row.fast.msgPerS;
  return [
    both(name("event loop late, p99"), "ms", { ours, floor }, (row) => row.slow?.loop.p99, atMost(20)),
    both("under strace without that: event loop late, p99", "ms", { ours, floor }, (row) => row.fast?.loop.p99),
    both(name("messages/s"), "", { ours, floor }, (row) => row.slow?.msgPerS),
    both(name("messages/s against without"), "times", { ours, floor }, speed, atLeast(LEAST_SPEED)),
  ];
}

const streams = (rows, target) => {
  const [{ open, perSecond, mode }] = rows.ours;
  const name = (what) => `${open} streams of ${perSecond} tokens/s, previews ${mode}: ${what}`;
  return [
    both(name("answered"), "", rows, (row) => row.answered, atLeast(open)),
    both(name("processor time of a core"), "%", rows, (row) => row.cpuPercent, target.cpuPercent),
    both(name("memory each"), "MiB", rows, (row) => row.eachMiB, target.eachMiB),
    both(name("short message, p95"), "ms", rows, (row) => row.short.total.p95, target.short),
  ];
};
export const draftStreamsFigures = (rows) => streams(rows, { cpuPercent: atMost(25), short: atMost(25) });
export const plainStreamsFigures = (rows) => streams(rows, { cpuPercent: atMost(16), short: atMost(25) });
export const manyStreamsFigures = (rows) => streams(rows, { eachMiB: atMost(1), short: atMost(100) });

export function flatCostFigures({ ours: [row] }) {
  const large = `${row.messages} messages, ${row.sessions} sessions`;
  return [
    figure(`${large}: ready`, { unit: "ms", here: exactly(row.healthz) }),
    figure(`${large}: idle`, { unit: "MiB", here: exactly(row.rssMiB) }),
    figure(`${large}: event loop, five seconds without a call`, { unit: "ms", here: exactly(row.quietMs) }),
    ...row.calls.flatMap(({ name, loopMs, p99Ms, wallMs }) => [
      figure(`${large}: ${name}: event loop`, { unit: "ms", here: exactly(loopMs), target: atMost(5) }),
      ...(p99Ms === undefined
        ? []
        : [figure(`${large}: ${name}: event loop, p99`, { unit: "ms", here: exactly(p99Ms) })]),
      figure(`${large}: ${name}: time`, { unit: "ms", here: exactly(wallMs) }),
    ]),
  ];
}

export function jobFigures({ ours: [row] }) {
  const large = `${row.jobs} jobs, ${row.sessions} sessions`;
  return [
    figure(`${large}, at rest: processor time of a core`, {
      unit: "%",
      here: exactly(row.cpuPercent),
      target: atMost(0.3),
    }),
    figure(`${large}, at rest: written in ${row.seconds} seconds`, {
      unit: "bytes",
      here: exactly(row.bytes),
      target: atMost(0),
    }),
    figure(`${large}: cron.list`, { unit: "ms", here: exactly(row.listMs), target: atMost(20) }),
  ];
}

export function historyFigures({ ours }) {
  const of = (n) => ours.filter((row) => row.n === n);
  const p50 = (row) => row.pre?.p50;
  const [short, long] = [10, 50_000].map((n) => spread(of(n), p50));
  return [
    ...[...new Set(ours.map((row) => row.n))].map((n) =>
      figure(`before the model at ${n} messages, p50`, { unit: "ms", here: spread(of(n), p50) }),
    ),
    short &&
      long &&
      figure("50,000 messages against 10", { unit: "times", here: exactly(long.mid / short.mid), target: atMost(2) }),
  ].filter(Boolean);
}

export function channelFigures({ ours: [row] }) {
  const { costs, loads, messages, chats } = row;
  const one = (name, unit, value, target) => figure(name, { unit, here: exactly(value), target });
  return [
    ...loads.flatMap((load) =>
      loadFigures(load, `${messages} messages, ${chats} chats, ${load.channels} channels`, one),
    ),
    ...Object.entries(costs).flatMap(([name, { listening, connected, rss }]) => [
      one(`channels on: ${name}: listening`, "ms", listening),
      ...(connected === listening ? [] : [one(`channels on: ${name}: connected`, "ms", connected)]),
      one(`channels on: ${name}: idle`, "MiB", rss),
    ]),
    one(
      "idle, five channels off against none in the config",
      "times",
      costs["all five off"].rss / costs.none.rss,
      atMost(1.05),
    ),
  ];
}

function loadFigures(load, name, one) {
  const { channels, faults } = load;
  const made = Object.values(faults).reduce((sum, n) => sum + n, 0);
  const wrong = "lost, doubled, out of order, unsettled, or memory not flat";
  return [
    one(`${name} with faults`, "messages/s", load.perSecond),
    one(`${channels} channels: faults that were made`, "", made),
    one(`${channels} channels: answers sent again, labelled`, "", load.labelled),
    one(`${channels} channels: given up after two broken sends, operator told`, "", load.givenUp),
    one(`${channels} channels: ${wrong}`, "", load.wrong.length, atMost(0)),
    one(`${channels} channels: memory in the second quarter`, "MiB", load.early),
    one(`${channels} channels: memory in the last quarter`, "MiB", load.late),
    one(`${channels} channels: memory, last quarter against second`, "times", load.memoryRatio, atMost(1.3)),
  ];
}

export function pluginFigures({ ours: [row] }) {
  const { plugins, start, hooks, without, withHooks, perHook } = row;
  const one = (name, value, target) => figure(name, { unit: "ms", here: exactly(value), target });
  return [
    one("ready, no plugins", start.none),
    one(`ready, ${plugins} plugins that are off: more`, start.off - start.none, atMost(50)),
    one(`ready, ${plugins} plugins that are on: more`, start.on - start.none),
    one("CPU a message, no plugins", without),
    one(`CPU a message, ${hooks} hooks that do nothing`, withHooks),
    one("CPU a message for each such hook", perHook, atMost(0.1)),
  ];
}

export function soakFigures({ ours: [soak] }) {
  const { turns, window } = soak;
  const one = (name, unit, value, target) => figure(name, { unit, here: exactly(value), target });
  return [
    one(`${turns} turns in ${window} tokens: compactions`, "", soak.compactions, atLeast(turns / 100)),
    one("largest request", "tokens", soak.largestTokens, atMost(window)),
    one("a turn at the beginning, p50", "ms", soak.first.total.p50),
    one("a turn at the beginning, p95", "ms", soak.first.total.p95),
    one("a turn at the end, p50", "ms", soak.last.total.p50),
    one("a turn at the end, p95", "ms", soak.last.total.p95),
    one("a turn at the end against the beginning", "times", soak.ratio),
    one("CPU per turn at the beginning", "ms", soak.cpu1),
    one("CPU per turn at the end", "ms", soak.cpu2),
    one("CPU per turn, end against beginning", "times", soak.cpuRatio, atMost(1.3)),
    one("memory after 200 turns", "MiB", soak.rss1),
    one(`memory after ${turns} turns`, "MiB", soak.rss2),
    one("memory at the end against 200 turns", "times", soak.rssRatio, atMost(1.3)),
    one("transcript", "MiB", soak.transcriptBytes / 2 ** 20),
    one("requests and replies that were wrong", "", soak.wrong.length, atMost(0)),
  ];
}
