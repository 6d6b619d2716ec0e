// The written notes and questions of bench/memory, and how well a search answers them.
import fs from "node:fs";
import path from "node:path";

const folder = path.join(path.dirname(import.meta.dirname), "memory");

/** The notes by their paths in a workspace. Throws when a question names a place that there is not, or that there is twice. */
export function writtenNotes() {
  const texts = fs.readdirSync(path.join(folder, "notes")).map((name) => read("notes", name));
  const parts = texts.flatMap((text) => text.split(/^@ /m).slice(1));
  const notes = new Map(parts.map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n") + 1)]));
  const lines = read("questions.jsonl").trim().split("\n");
  const questions = lines.map((line, index) => questionOf(JSON.parse(line), index, notes));
  return { notes, questions };
}

const read = (...names) => fs.readFileSync(path.join(folder, ...names), "utf8");

/** A question with the lines that answer it; every third is held back. */
function questionOf({ q: query, at }, index, notes) {
  const places = at.map(([note, words]) => {
    const found = (notes.get(note) ?? "").split("\n").flatMap((line, at) => (line.includes(words) ? [at + 1] : []));
    if (found.length !== 1) throw new Error(`${note} has ${found.length} lines with "${words}"`);
    return { path: note, line: found[0] };
  });
  return { query, places, isHeldBack: index % 3 === 2 };
}

/** Writes the notes into the folder of an agent. */
export function writeNotes(workspace, notes) {
  for (const [name, text] of notes) {
    const file = path.join(workspace, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
}

/** The rank of the first hit that has a line with the answer; 0 when none has. */
export function rankOf({ places }, hits) {
  const answers = (hit) =>
    places.some(({ path: note, line }) => note === hit.path && hit.startLine <= line && line <= hit.endLine);
  return hits.findIndex(answers) + 1;
}

/** The share of questions that are answered at all, and the mean of 1 divided by the rank. */
export function quality(ranks) {
  const sum = (of) => ranks.reduce((total, rank) => total + of(rank), 0) / ranks.length;
  return { recall: sum((rank) => Number(rank > 0)), mrr: sum((rank) => (rank > 0 ? 1 / rank : 0)) };
}
