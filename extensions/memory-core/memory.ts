import { setTimeout as setTimeoutAsync } from "node:timers/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { JobThread, background, programUrl, type JobFailure, type ToolScene } from "openclaw/plugin-sdk";
import { LATE } from "./index/embeddings.ts";
import type { JobAnswer, Job, LinePart, MemoryPlace, VectorSettings } from "./job.ts";
import { metered, type Reserve } from "./metered.ts";

const SEARCHING = { jobMs: 30_000, idleMs: 60_000, heapMb: { old: 256, young: 32 } };
/** A server without a graphics card may take long for the vectors of a few notes. */
const EMBEDDING = { jobMs: 150_000, idleMs: 5000, heapMb: { old: 256, young: 32 } };
/** Parts of notes in one request; after a failure fewer. */
const MOST_PARTS = 32;
/** Bytes of a part at most, with its path and headings. */
const PART_BYTES = 8000;
/** New parts of notes that get their vectors before a search, and how many milliseconds it waits for that. */
const SEARCH_PARTS = 16;
const BEFORE_SEARCH_MS = 3000;
/** Milliseconds without requests after one failed. */
const REST_MS = 60_000;

/** Milliseconds for which an endpoint is waited for, and how often in a row. */
const LONGEST_WAIT_MS = 60_000;
const MOST_WAITS = 10;

const HOME = /^~(?=$|\/)/;

export type JobOutcome = JobAnswer | JobFailure;

/** Absolute paths. */
export type NoteOwner = Pick<ToolScene["agent"], "id" | "workspace" | "memorySearch">;
type NoteVectors = NonNullable<NonNullable<NoteOwner["memorySearch"]>["vectors"]>;

type Asked = Omit<Job & { kind: "search" }, "kind" | "place" | "withoutVectors">;

/**
 * The memory of all agents. Files are read, indexed and searched in a thread, one job after the other. Vectors are
 * asked for in another thread, so that no search waits for the vectors of other notes.
 */
export class Memory {
  readonly #thread = new JobThread<Job, JobAnswer>(programUrl(import.meta.url, "memory-program"), SEARCHING);
  readonly #embedding = new JobThread<Job, JobAnswer>(programUrl(import.meta.url, "memory-program"), EMBEDDING);
  /** Indexes that are being completed in the background. */
  readonly #completing = new Set<string>();
  /** Why an endpoint was given up, and until when. */
  readonly #resting = new Map<string, { readonly why: string; readonly until: number }>();
  readonly #stateDir: string;
  readonly #reserve: Reserve | undefined;

  /** Without `reserve`, nothing is reserved for vectors. */
  constructor(stateDir: string, reserve?: Reserve) {
    this.#stateDir = stateDir;
    this.#reserve = reserve;
  }

  /** The notes of an agent, with its settings for the thread. */
  placeOf({ id, workspace, memorySearch }: NoteOwner): MemoryPlace {
    const db = join(this.#stateDir, "state", "memory", `${encodeURIComponent(id)}.sqlite`);
    const { vectors, sources = ["memory"], isDefaultAgent = true, extraPaths = [] } = memorySearch ?? {};
    return {
      workspace,
      db,
      agent: id,
      hasNotes: sources.includes("memory"),
      ...(extraPaths.length > 0 && {
        extra: extraPaths.map((path) => resolve(workspace, path.replace(HOME, homedir()))),
      }),
      ...(vectors && { vectors: revealed(vectors) }),
      ...(sources.includes("sessions") && {
        sessions: { dir: join(this.#stateDir, "sessions"), agent: id, isDefault: isDefaultAgent },
      }),
    };
  }

  /**
   * Adds changed notes for a moment and searches; the rest is added afterwards, in the background. A few new parts get
   * their vectors first, if that is quick. Words alone are compared when vectors fail, whatever happens to the thread
   * that asks.
   */
  async search(place: MemoryPlace, asked: Asked): Promise<JobOutcome> {
    const isSynced =
      place.vectors !== undefined && this.#restOf(place) === undefined && (await this.#embedNew(place, asked));
    const run = (withoutVectors?: string) =>
      this.#thread.run({
        kind: "search",
        place,
        ...asked,
        ...(isSynced && { isSynced: true as const }),
        ...(withoutVectors !== undefined && { withoutVectors }),
      });
    const outcome = await this.#searchBest(place, Buffer.byteLength(asked.query), run);
    if ("state" in outcome && isBehind(outcome)) this.#complete(place);
    return outcome;
  }

  async #searchBest(
    place: MemoryPlace,
    bytes: number,
    run: (withoutVectors?: string) => Promise<JobOutcome>,
  ): Promise<JobOutcome> {
    const why = this.#restOf(place);
    if (why !== undefined) return run(why);
    const met = await this.#metered(place, bytes, run);
    const outcome = "refused" in met ? await run(met.refused) : met;
    this.#note(place, outcome);
    return "failed" in outcome && place.vectors ? run(outcome.failed) : outcome;
  }

  /** Whether the index was brought up to date. */
  async #embedNew(place: MemoryPlace, { except }: Pick<Asked, "except">): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), BEFORE_SEARCH_MS);
    let isSynced = false;
    const made = this.#thread
      .run({ kind: "sync", place, rebuild: false, ...(except !== undefined && { except }) })
      .then(async (outcome) => {
        isSynced = "state" in outcome && outcome.state.pending === 0;
        const pending = "state" in outcome ? (outcome.vectors?.pending ?? 0) : 0;
        if (pending === 0 || pending > SEARCH_PARTS) return;
        const embedded = await this.#request(place, { most: pending, rebuild: false });
        this.#note(place, "refused" in embedded ? { failed: embedded.refused } : embedded);
      });
    await Promise.race([promise, made]);
    clearTimeout(timer);
    return isSynced;
  }

  async get(place: MemoryPlace, path: string): Promise<JobOutcome> {
    return this.#thread.run({ kind: "get", place, path });
  }

  /** A part of a note, each line with the change that wrote it. */
  async lines(place: MemoryPlace, path: string, part: LinePart): Promise<JobOutcome> {
    return this.#thread.run({ kind: "lines", place, path, part });
  }

  async notes(place: MemoryPlace): Promise<JobOutcome> {
    return this.#thread.run({ kind: "notes", place });
  }

  async status(place: MemoryPlace): Promise<JobOutcome> {
    return this.#thread.run({ kind: "status", place });
  }

  /**
   * Brings the index up to date, and the vectors where they are configured; `rebuild` makes the whole index again.
   * Searches are answered in between.
   */
  async sync(place: MemoryPlace, rebuild: boolean): Promise<JobOutcome> {
    let outcome = await this.#thread.run({ kind: "sync", place, rebuild });
    while ("state" in outcome && outcome.state.pending > 0) {
      // oxlint-disable-next-line no-await-in-loop -- each slice continues the one before it
      outcome = await this.#thread.run({ kind: "sync", place, rebuild: false });
    }
    return place.vectors && "state" in outcome ? this.#embed(place, { text: outcome, rebuild }) : outcome;
  }

  /**
   * A request that takes too long is followed by smaller ones, and one that came too early by the same when the endpoint says. Another
   * failure ends the work.
   */
  async #embed(place: MemoryPlace, { text, rebuild }: { text: JobAnswer; rebuild: boolean }): Promise<JobOutcome> {
    let outcome: JobOutcome = text;
    let renew = rebuild;
    let waits = 0;
    for (let most = MOST_PARTS; most > 0;) {
      // oxlint-disable-next-line no-await-in-loop -- each request continues the one before it
      const met = await this.#request(place, { most, rebuild: renew });
      outcome = "refused" in met ? withoutVectors(text, met.refused) : met;
      renew = false;
      const waitMs = waitOf(outcome);
      if (waitMs !== undefined && waits < MOST_WAITS) {
        waits += 1;
        // oxlint-disable-next-line no-await-in-loop -- the next request comes after it
        await setTimeoutAsync(waitMs);
      } else if (isLate(outcome)) most = Math.floor(most / 4);
      else if (!isUnfinished(outcome)) break;
      else waits = 0;
    }
    this.#note(place, outcome);
    return outcome;
  }

  #request(place: MemoryPlace, { most, rebuild }: { most: number; rebuild: boolean }) {
    return this.#metered(place, most * PART_BYTES, () => this.#embedding.run({ kind: "embed", place, most, rebuild }));
  }

  async #metered(
    place: MemoryPlace,
    bytes: number,
    run: () => Promise<JobOutcome>,
  ): Promise<JobOutcome | { refused: string }> {
    const { vectors: settings, agent } = place;
    return settings && this.#reserve ? metered(this.#reserve, { settings, agent, bytes }, run) : run();
  }

  #complete(place: MemoryPlace): void {
    if (this.#completing.has(place.db)) return;
    this.#completing.add(place.db);
    const done = this.sync(place, false).finally(() => this.#completing.delete(place.db));
    background("indexing of notes", done);
  }

  /** Leaves the endpoint alone for a while after a failure: each request could take as long as the failed one. */
  #note({ vectors }: MemoryPlace, outcome: JobOutcome): void {
    const why = "state" in outcome ? outcome.vectors?.failed : outcome.failed;
    if (!vectors) return;
    if (why === undefined) this.#resting.delete(vectors.url);
    else this.#resting.set(vectors.url, { why, until: performance.now() + REST_MS });
  }

  #restOf({ vectors }: MemoryPlace): string | undefined {
    const resting = vectors && this.#resting.get(vectors.url);
    return resting && performance.now() < resting.until ? resting.why : undefined;
  }
}

/** How long the endpoint wants to be left alone; undefined where that is no help, or too long. */
function waitOf(outcome: JobOutcome): number | undefined {
  const ms = "state" in outcome ? outcome.vectors?.retryAfterMs : undefined;
  return ms !== undefined && ms <= LONGEST_WAIT_MS ? ms : undefined;
}

const withoutVectors = (answer: JobAnswer, failed: string): JobAnswer =>
  answer.vectors ? { ...answer, vectors: { ...answer.vectors, failed } } : answer;

const isBehind = (answer: JobAnswer): boolean => answer.state.pending > 0 || isUnfinished(answer);

const isUnfinished = (outcome: JobOutcome): boolean =>
  "state" in outcome &&
  outcome.vectors !== undefined &&
  outcome.vectors.failed === undefined &&
  outcome.vectors.pending > 0;

const isLate = (outcome: JobOutcome): boolean =>
  "failed" in outcome || outcome.vectors?.failed?.endsWith(LATE) === true;

/** The thread gets the key as text: it is the place where the key leaves for its service. */
function revealed({ key, headers, ...rest }: NoteVectors): VectorSettings {
  const shown = Object.entries(headers ?? {}).map(([name, value]) => [name, value.reveal()] as const);
  return {
    ...rest,
    ...(key && { key: key.reveal() }),
    ...(shown.length > 0 && { headers: Object.fromEntries(shown) }),
  };
}
