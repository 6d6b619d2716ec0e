import { parentPort } from "node:worker_threads";
import { UntrustedLines, changesFileOf } from "./changes.ts";
import { IndexFile } from "./index/index-file.ts";
import type { JobAnswer, Job } from "./job.ts";
import { readNoteText } from "./notes.ts";
import { SESSIONS } from "./session-paths.ts";
import { readSession } from "./sessions.ts";
import { search, type OpenIndex } from "./search.ts";
import { Vectors, errorMessage } from "./index/vectors.ts";

/** Milliseconds of one slice of indexing. A search that waits is answered after it. */
const SLICE_MS = 200;

const NOTHING: JobAnswer = { state: { files: 0, chunks: 0, pending: 0, syncedAt: null }, hits: [] };

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

/** A conversation has the lines of its file that somebody said something in. */
function getNote({ place, path }: Job & { readonly kind: "get" }): JobAnswer {
  if (path.startsWith(SESSIONS)) {
    const session = place.sessions && readSession(place.sessions, path);
    if (!session) return NOTHING;
    const said = session.said ?? [];
    const text = said.join("\n");
    const all = said.map((_line, index) => index + 1);
    return { ...NOTHING, text, ...(session.isUntrusted && { untrusted: { lines: all, sources: "the conversation" } }) };
  }
  const text = readNoteText(place, path);
  if (text === undefined) return NOTHING;
  const untrusted = new UntrustedLines(changesFileOf(place.db)).in(path, text);
  return { ...NOTHING, text, ...(untrusted && { untrusted }) };
}

async function answer(job: Job): Promise<JobAnswer> {
  if (job.kind === "get") return getNote(job);
  const index = indexOf(job);
  index.file.at(job.place);
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
      throw new Error(errorMessage(error), { cause: error });
    },
  );
});
