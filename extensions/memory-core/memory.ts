import { join } from "node:path";
import { JobThread, background, programUrl, type JobFailure } from "openclaw/plugin-sdk";
import type { Answer, Job, Place } from "./job.ts";

const LIMITS = { jobMs: 30_000, idleMs: 60_000, heapMb: { old: 256, young: 32 } };

export type Outcome = Answer | JobFailure;

/** The memory of all agents. Files are read, indexed and searched in a thread, one job after the other. */
export class Memory {
  readonly #thread = new JobThread<Job, Answer>(programUrl(import.meta.url, "memory-program"), LIMITS);
  /** Indexes that are being completed in the background. */
  readonly #completing = new Set<string>();
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** `agent`: its id. The workspace is absolute. */
  placeOf(agent: string, workspace: string): Place {
    return { workspace, db: join(this.#stateDir, "state", "memory", `${encodeURIComponent(agent)}.sqlite`) };
  }

  /** Takes in changed notes for a moment and searches; what is left is taken in afterwards, in the background. */
  async search(place: Place, asked: Omit<Job & { kind: "search" }, "kind" | "place">): Promise<Outcome> {
    const outcome = await this.#thread.run({ kind: "search", place, ...asked });
    if ("state" in outcome && outcome.state.pending > 0) this.#complete(place);
    return outcome;
  }

  async get(place: Place, path: string): Promise<Outcome> {
    return this.#thread.run({ kind: "get", place, path });
  }

  async status(place: Place): Promise<Outcome> {
    return this.#thread.run({ kind: "status", place });
  }

  /** Brings the index up to date; `rebuild` makes all of it again. Searches are answered in between. */
  async sync(place: Place, rebuild: boolean): Promise<Outcome> {
    let outcome = await this.#thread.run({ kind: "sync", place, rebuild });
    while ("state" in outcome && outcome.state.pending > 0) {
      // oxlint-disable-next-line no-await-in-loop -- each slice continues the one before it
      outcome = await this.#thread.run({ kind: "sync", place, rebuild: false });
    }
    return outcome;
  }

  #complete(place: Place): void {
    if (this.#completing.has(place.db)) return;
    this.#completing.add(place.db);
    const done = this.sync(place, false).finally(() => this.#completing.delete(place.db));
    background("indexing of notes", done);
  }
}
