// node memory.mjs [CHUNKS] [SEARCHES]   how many of the written questions a search of the written notes answers; then how long the first
// index and a search take with so many parts of notes of made-up words, and what that costs the thread that asks.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Memory } from "../../extensions/memory-core/memory.ts";
import { quality, rankOf, writeNotes, writtenNotes } from "../kit/notes.mjs";
import { startEmbeddings } from "../kit/embeddings.mjs";
import { q, save } from "../kit/numbers.mjs";

const [chunks = 50_000, searches = 300] = process.argv.slice(2).map(Number);
const root = process.env.ROOT ?? fs.mkdtempSync("/tmp/bench-memory-");
/** As the gateway has it when the config says nothing. */
const WEIGHT = Number(process.env.WEIGHT ?? 0.3);
const MIB = 1024 * 1024;

const succeeded = (outcome) => {
  if ("failed" in outcome) throw new Error(outcome.failed);
  return outcome;
};

function openIn(name, vectors) {
  const dir = path.join(root, name);
  fs.mkdirSync(path.join(dir, "memory"), { recursive: true });
  const memory = new Memory(dir);
  return { dir, memory, place: memory.placeOf({ id: "main", workspace: dir, memorySearch: { vectors } }) };
}

/** Recall and rank of each mode, for the questions that were used to choose limits and for those held back. */
async function measureQuality() {
  const { notes, questions } = writtenNotes();
  const embeddings = await startEmbeddings();
  const { dir, memory, place } = openIn("written", vectorsOf(embeddings));
  writeNotes(dir, notes);
  const { vectors } = succeeded(await memory.sync(place, false));
  if (vectors?.isComplete !== true) throw new Error(`there are no vectors: ${JSON.stringify(vectors)}`);
  const modes = {};
  for (const mode of ["keyword", "vector", "hybrid"]) {
    const ranks = { tuned: [], heldBack: [] };
    for (const question of questions) {
      const asked = { query: question.query, maxResults: 6, isPrivate: true, mode };
      const outcome = succeeded(await memory.search(place, asked));
      if (outcome.mode !== mode) throw new Error(`searched by ${outcome.mode} instead of ${mode}`);
      ranks[question.isHeldBack ? "heldBack" : "tuned"].push(rankOf(question, outcome.hits));
    }
    modes[mode] = { tuned: quality(ranks.tuned), heldBack: quality(ranks.heldBack) };
  }
  await embeddings.close();
  return modes;
}

const vectorsOf = ({ baseUrl: url, model }) => ({ provider: "bench", url, model, weight: WEIGHT });

/** Words of two syllables up to five; the first of them are frequent, as in a language. */
function* words() {
  let state = 1;
  const next = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32;
  const syllables =
    "ba be bi bo da de di do ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro sa se si so".split(" ");
  const known = Array.from({ length: 40_000 }, () =>
    Array.from({ length: 2 + Math.floor(next() * 4) }, () => syllables[Math.floor(next() * syllables.length)]).join(""),
  );
  for (;;) yield known[Math.floor(known.length * next() ** 3)];
}

function writeMany(dir) {
  const word = words();
  const some = (count) => Array.from({ length: count }, () => word.next().value).join(" ");
  const PER_FILE = 25;
  for (let file = 0; file * PER_FILE < chunks; file++) {
    const sections = Array.from({ length: PER_FILE }, () => `## ${some(3)}\n${some(60)}\n`);
    fs.writeFileSync(path.join(dir, "memory", `note-${file}.md`), sections.join("\n"));
  }
  return some;
}

async function measureSpeed() {
  const { dir, memory, place } = openIn("many");
  const some = writeMany(dir);
  globalThis.gc?.();
  const before = process.memoryUsage();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const begun = performance.now();
  const { state } = succeeded(await memory.sync(place, false));
  const indexedPerS = state.chunks / ((performance.now() - begun) / 1000);
  const times = [];
  for (let at = 0; at < searches; at++) {
    const started = performance.now();
    succeeded(await memory.search(place, { query: some(4), maxResults: 6, isPrivate: true }));
    times.push(performance.now() - started);
  }
  delay.disable();
  const used = process.memoryUsage();
  return {
    chunks: state.chunks,
    indexedPerS,
    searchP50: q(times, 0.5),
    searchP95: q(times, 0.95),
    loopP99Ms: delay.percentile(99) / 1e6 - 1,
    heapMiB: (used.heapUsed - before.heapUsed) / MIB,
    rssMiB: (used.rss - before.rss) / MIB,
  };
}

const found = await measureQuality();
const speed = chunks > 0 ? await measureSpeed() : {};
save("memory", { quality: found, ...speed });
process.exit(0);
