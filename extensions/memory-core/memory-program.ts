import { parentPort } from "node:worker_threads";
import { UntrustedLines, changesFileOf } from "./changes.ts";
import { IndexFile } from "./index-file.ts";
import type { Answer, Job } from "./job.ts";
import { readNote } from "./notes.ts";
import { search, type OpenIndex } from "./search.ts";
import { Vectors, textOf } from "./vectors.ts";

/** Milliseconds of one slice of indexing. A search that waits is answered after it. */
const SLICE_MS = 200;

const NOTHING: Answer = { state: { files: 0, chunks: 0, pending: 0, syncedAt: null }, hits: [] };

const open = new Map<string, OpenIndex>();

function indexOf({ place }: Job): OpenIndex {
  const known = open.get(place.db);
  if (known) return known;
  const file = new IndexFile(place);
  const untrusted = new UntrustedLines(changesFileOf(place.db));
  const index = { file, vectors: new Vectors(file), untrusted };
  open.set(place.db, index);
  return index;
}

async function answer(job: Job): Promise<Answer> {
  if (job.kind === "get") {
    const text = readNote(job.place.workspace, job.path);
    if (text === undefined) return NOTHING;
    const untrusted = new UntrustedLines(changesFileOf(job.place.db)).in(job.path, text);
    return { ...NOTHING, text, ...(untrusted && { untrusted }) };
  }
  const index = indexOf(job);
  if (job.kind === "search") return search(index, job);
  const { vectors: settings } = job.place;
  if (job.kind === "embed") {
    const vectors = settings && (await index.vectors.fill(settings, job));
    return { state: index.file.state(), hits: [], ...(vectors && { vectors }) };
  }
  const state = job.kind === "status" ? index.file.look() : index.file.sync(SLICE_MS, job.rebuild);
  return { state, hits: [], ...(settings && { vectors: index.vectors.state(settings) }) };
}

// The thread in which notes are indexed and searched. A job that throws ends the thread, which closes the files.
parentPort?.on("message", (job: Job) => {
  answer(job).then(
    (answered) => parentPort?.postMessage(answered),
    (error: unknown) => {
      throw new Error(textOf(error), { cause: error });
    },
  );
});
