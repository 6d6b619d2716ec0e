import { EmbedError, embed, NOTHING, type Counted } from "./embeddings.ts";
import type { IndexFile } from "./index-file.ts";
import type { VectorSettings, VectorState } from "../job.ts";
import { Nearest, type Near } from "./nearest.ts";
import {
  addVectors,
  completeSet,
  identityOf,
  pendingCount,
  pendingIn,
  pendingTexts,
  renewVectors,
  setToFill,
  vectorSet,
  type VectorSet,
} from "./vector-sets.ts";

/** Milliseconds for the vector of a question, and for vectors of notes. */
const QUERY_MS = 10_000;
const NOTES_MS = 120_000;
/** Milliseconds without a request after one for a question has failed. */
const REST_MS = 10_000;

interface Known {
  /** The state of the file, and the settings. */
  readonly of: string;
  readonly set: VectorSet | undefined;
  readonly pending: number;
}

/** How a request ended. */
type Ended = Pick<VectorState, "failed" | "retryAfterMs" | "tokens" | "isEstimate">;

/** The vectors of one index. They are asked for in requests; whatever goes wrong with one is a state, and never thrown. */
export class Vectors {
  readonly #index: IndexFile;
  readonly #nearest = new Nearest();
  #last: Known | undefined;
  #rest: { readonly why: string; readonly until: number } | undefined;

  constructor(index: IndexFile) {
    this.#index = index;
  }

  /** Changes nothing. */
  state(settings: VectorSettings, also: Partial<Ended> = {}): VectorState {
    const generation = this.#index.current();
    const { set, pending } = this.#known(settings, generation);
    return {
      provider: settings.provider,
      model: settings.model,
      ...(set?.dimensions !== undefined && { dimensions: set.dimensions }),
      pending,
      isComplete: set?.isCurrent === true,
      tokens: 0,
      ...also,
    };
  }

  /** Counted once for each state of the file: comparing all parts with all vectors takes longer than a search. */
  #known(settings: VectorSettings, generation: number): Known {
    const of = `${this.#index.revision()} ${generation} ${identityOf(settings)}`;
    if (this.#last?.of !== of) {
      this.#last = this.#index.with((db) => ({
        of,
        set: vectorSet(db, settings),
        pending: pendingIn(db, generation, settings),
      }));
    }
    return this.#last;
  }

  /** Asks for the vectors of at most `most` parts that have none. */
  async fill(settings: VectorSettings, { most, rebuild }: { most: number; rebuild: boolean }): Promise<VectorState> {
    let counted: Counted = NOTHING;
    try {
      if (rebuild) this.#index.with((db) => renewVectors(db, settings));
      await this.#fill(settings, most, (tokens) => (counted = tokens));
      return this.state(settings, counted);
    } catch (error) {
      const { retryAfterMs } = error instanceof EmbedError ? error : {};
      return this.state(settings, {
        ...(error instanceof EmbedError ? error.counted : counted),
        failed: errorMessage(error),
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      });
    }
  }

  async #fill(settings: VectorSettings, most: number, onAnswer: (counted: Counted) => void): Promise<void> {
    const generation = this.#index.current();
    const { set, texts } = this.#index.with((db) => {
      const toFill = setToFill(db, settings);
      return { set: toFill, texts: pendingTexts(db, generation, { ...toFill, most }) };
    });
    if (texts.length > 0) {
      const asked = texts.map(({ text }) => text);
      const made = await embed(settings, asked, { kind: "document", ms: NOTES_MS });
      onAnswer(made.counted);
      mustFit(set, made.vectors);
      const vectors = texts.flatMap(({ hash }, at) => {
        const vector = made.vectors[at];
        return vector ? [{ hash, vector }] : [];
      });
      this.#index.with((db) => addVectors(db, set, vectors));
    }
    this.#index.with((db) => {
      if (pendingCount(db, generation, set) === 0) completeSet(db, generation, set);
    });
  }

  /** The parts of notes that are nearest to a question, or why that cannot be found out. */
  async near(settings: VectorSettings, query: string, most: number): Promise<Ended & { near?: readonly Near[] }> {
    if (this.#rest && performance.now() < this.#rest.until) return { tokens: 0, failed: this.#rest.why };
    let counted: Counted = NOTHING;
    try {
      const made = await embed(settings, [query], { kind: "query", ms: QUERY_MS });
      ({ counted } = made);
      return { ...counted, near: this.#nearTo(settings, made.vectors, most) };
    } catch (error) {
      const why = errorMessage(error);
      // Searches that wait for this one would each wait as long.
      this.#rest = { why, until: performance.now() + REST_MS };
      return { ...(error instanceof EmbedError ? error.counted : counted), failed: why };
    }
  }

  #nearTo(settings: VectorSettings, vectors: readonly Float32Array[], most: number): readonly Near[] {
    const [vector] = vectors;
    return this.#index.with((db) => {
      const set = vectorSet(db, settings);
      if (!set || !vector) return [];
      mustFit(set, vectors);
      return this.#nearest.find(db, set, { query: vector, most });
    });
  }
}

/** A server may have got another model under the same name. */
function mustFit({ dimensions }: VectorSet, vectors: readonly Float32Array[]): void {
  const other = vectors.find(({ length }) => dimensions !== undefined && length !== dimensions);
  if (!other) return;
  throw new Error(
    `the endpoint gives vectors of ${other.length} numbers, and those of the index have ${dimensions}; openclaw memory index --force makes them again`,
  );
}

export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
