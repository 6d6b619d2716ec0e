import { parentPort } from "node:worker_threads";
import { changesFileOf, Origins, readChanges, UntrustedLines } from "./changes.ts";
import { IndexFile } from "./index/index-file.ts";
import type { JobAnswer, Job, IndexState, MemoryPlace, SearchMode, VectorSettings, VectorState } from "./job.ts";
import { noteFiles, readNoteText } from "./notes.ts";
import { SESSIONS } from "./session-paths.ts";
import { readConversations, readSession, type SearchedConversations } from "./sessions.ts";
import { Vectors, errorMessage } from "./index/vectors.ts";
import { fused, hitsOf, isUntrustedFile, scoresByVectors, scoresByWords, type Scores } from "./index/search-index.ts";

/** Milliseconds that a search takes to bring the index up to date, and to begin the first one: few notes are all found at once. */
const BEFORE_SEARCH_MS = 50;
const FIRST_MS = 1000;
/** Nearest parts that are looked at, for each result that is wanted. */
const NEAR = 2;
const NO_SCORES: Scores = new Map();

interface OpenIndex {
  readonly file: IndexFile;
  readonly vectors: Vectors;
  readonly untrusted: UntrustedLines;
}

type Search = Job & { readonly kind: "search" };

/**
 * Brings the index up to date as far as that is quick, and searches it. Without vectors it finds notes by their words,
 * and says why.
 */
async function search({ file, vectors, untrusted }: OpenIndex, job: Search): Promise<JobAnswer> {
  const state = job.isSynced === true ? file.state() : await broughtUp(file, job);
  const generation = file.current();
  const meant = await byVectors({ file, vectors }, job);
  const wanted = { query: job.query, maxResults: job.maxResults };
  const mode = modeOf(job, meant.scores);
  const hits = file.with((db) => {
    const words = mode === "vector" ? NO_SCORES : scoresByWords(db, generation, wanted);
    const scores =
      mode === "keyword" ? words : fused(words, meant.scores ?? NO_SCORES, weightIn(mode, job.place.vectors));
    const { isPrivate, maxResults, corpus, except } = job;
    return hitsOf(db, generation, { scores, isPrivate, maxResults, corpus, except });
  });
  const marked = hits.map((hit) => {
    const isMarked = hit.path.startsWith(SESSIONS) && file.with((db) => isUntrustedFile(db, generation, hit.path));
    const sources = isMarked ? "the conversation" : untrusted.in(hit.path, hit.text)?.sources;
    return { ...hit.hit, ...(sources !== undefined && { untrusted: sources }) };
  });
  return { state, hits: marked, mode, ...(meant.state && { vectors: meant.state }) };
}

/**
 * Brings the index up to date before a search. Where that fails, as on a full disk, the search uses the index as it is.
 */
async function broughtUp(file: IndexFile, { place, except }: Search): Promise<IndexState> {
  try {
    file.at(place, await conversationsOf(place));
    return file.sync(file.isNew ? FIRST_MS : BEFORE_SEARCH_MS, { except });
  } catch (error) {
    const state = file.look();
    const reasons = [`changes of notes cannot be taken in now: ${errorMessage(error)}`, state.degraded];
    return { ...state, degraded: reasons.filter((reason) => reason !== undefined).join("; ") };
  }
}

const modeOf = ({ mode = "hybrid" }: Search, scores: Scores | undefined): SearchMode => (scores ? mode : "keyword");

const weightIn = (mode: SearchMode, settings: VectorSettings | undefined): number =>
  mode === "hybrid" ? (settings?.weight ?? 0) : 1;

interface Meant {
  /** Unset when vectors cannot be used. */
  readonly scores?: Scores;
  readonly state?: VectorState;
}

async function byVectors({ file, vectors }: Omit<OpenIndex, "untrusted">, job: Search): Promise<Meant> {
  const { vectors: settings } = job.place;
  if (!settings) return {};
  if (job.withoutVectors !== undefined) return { state: vectors.state(settings, { failed: job.withoutVectors }) };
  const state = vectors.state(settings);
  if (!state.isComplete || job.mode === "keyword") return { state };
  const { near, ...ended } = await vectors.near(settings, job.query, job.maxResults * NEAR + 1);
  if (!near) return { state: { ...state, ...ended } };
  const generation = file.current();
  return { scores: file.with((db) => scoresByVectors(db, generation, near)), state: { ...state, ...ended } };
}

/** Milliseconds of one slice of indexing. A search that waits is answered after it. */
const SLICE_MS = 200;

const NOTHING: JobAnswer = { state: { files: 0, conversations: 0, chunks: 0, pending: 0, syncedAt: null }, hits: [] };

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

/** Undefined where conversations are not searched. */
const conversationsOf = async ({ sessions }: MemoryPlace): Promise<SearchedConversations | undefined> =>
  sessions && readConversations(sessions);

/** A conversation has the lines of its file that somebody said something in. */
async function getNote({ place, path }: Job & { readonly kind: "get" }): Promise<JobAnswer> {
  if (path.startsWith(SESSIONS)) {
    const conversations = await conversationsOf(place);
    const session = conversations && readSession(conversations, path);
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

function getLines({ place, path, part: { from, most } }: Job & { readonly kind: "lines" }): JobAnswer {
  const all = readNoteText(place, path)?.split("\n");
  if (all === undefined) return NOTHING;
  const origins = new Origins(readChanges(changesFileOf(place.db)));
  const lines = all.slice(from - 1, from - 1 + most).map((text) => {
    const record = origins.of(path, text);
    return { text, ...(record && { record }) };
  });
  return { ...NOTHING, written: { lines, total: all.length } };
}

async function answer(job: Job): Promise<JobAnswer> {
  if (job.kind === "get") return getNote(job);
  if (job.kind === "lines") return getLines(job);
  if (job.kind === "notes") return { ...NOTHING, notes: noteFiles(job.place) };
  const index = indexOf(job);
  if (job.kind === "search") return search(index, job);
  const { vectors: settings } = job.place;
  index.file.at(job.place, job.kind === "embed" ? undefined : await conversationsOf(job.place));
  if (job.kind === "embed") {
    const vectors = settings && (await index.vectors.fill(settings, job));
    return { state: index.file.state(), hits: [], ...(vectors && { vectors }) };
  }
  const state = job.kind === "status" ? index.file.look() : index.file.sync(SLICE_MS, job);
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
