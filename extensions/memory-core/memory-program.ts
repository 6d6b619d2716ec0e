import { parentPort } from "node:worker_threads";
import { IndexFile } from "./index-file.ts";
import type { Answer, Job } from "./job.ts";
import { readNote } from "./notes.ts";
import { searchIndex } from "./search-index.ts";

/** Milliseconds of one slice of indexing. A search that waits is answered after it. */
const SLICE_MS = 200;
/** Milliseconds that a search takes to bring the index up to date. */
const BEFORE_SEARCH_MS = 50;

const NOTHING: Answer = { state: { files: 0, chunks: 0, pending: 0, syncedAt: null }, hits: [] };

const open = new Map<string, IndexFile>();

function indexOf({ place }: Job): IndexFile {
  const known = open.get(place.db);
  if (known) return known;
  const index = new IndexFile(place);
  open.set(place.db, index);
  return index;
}

function answer(job: Job): Answer {
  if (job.kind === "get") {
    const text = readNote(job.place.workspace, job.path);
    return text === undefined ? NOTHING : { ...NOTHING, text };
  }
  const index = indexOf(job);
  if (job.kind === "status") return { state: index.look(), hits: [] };
  if (job.kind === "sync") return { state: index.sync(SLICE_MS, job.rebuild), hits: [] };
  const state = index.sync(BEFORE_SEARCH_MS);
  const hits = index.with((db) => searchIndex(db, index.current(), job));
  return { state, hits };
}

// The thread in which notes are indexed and searched. A job that throws ends the thread, which closes the files.
parentPort?.on("message", (job: Job) => {
  parentPort?.postMessage(answer(job));
});
