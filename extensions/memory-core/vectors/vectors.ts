import { embed } from "./embeddings.ts";
import type { IndexFile } from "../index/index-file.ts";
import type { VectorSettings, VectorState } from "../job.ts";
import { Nearest, type Near } from "./nearest.ts";
import {
  addVectors,
  completeSet,
  pendingCount,
  pendingTexts,
  renewVectors,
  setToFill,
  vectorSet,
  type VectorSet,
} from "./vector-sets.ts";

/** Milliseconds for the vector of a question, and for those of notes. */
const QUERY_MS = 10_000;
const NOTES_MS = 120_000;

/** The vectors of one index. They are asked for in requests; whatever goes wrong with one is a state, and never thrown. */
export class Vectors {
  readonly #index: IndexFile;
  readonly #nearest = new Nearest();

  constructor(index: IndexFile) {
    this.#index = index;
  }

  /** Changes nothing. */
  state(settings: VectorSettings, also: { readonly failed?: string; readonly tokens?: number } = {}): VectorState {
    const generation = this.#index.current();
    return this.#index.with((db) => {
      const set = vectorSet(db, settings);
      return {
        provider: settings.provider,
        model: settings.model,
        ...(set.dimensions !== undefined && { dimensions: set.dimensions }),
        pending: pendingCount(db, generation, setToFill(db, settings)),
        isComplete: set.isCurrent,
        tokens: 0,
        ...also,
      };
    });
  }

  /** Asks for the vectors of at most `most` parts that have none. */
  async fill(settings: VectorSettings, { most, rebuild }: { most: number; rebuild: boolean }): Promise<VectorState> {
    try {
      if (rebuild) this.#index.with((db) => renewVectors(db, settings));
      return this.state(settings, { tokens: await this.#fill(settings, most) });
    } catch (error) {
      return this.state(settings, { failed: textOf(error) });
    }
  }

  async #fill(settings: VectorSettings, most: number): Promise<number> {
    const generation = this.#index.current();
    const { set, texts } = this.#index.with((db) => {
      const toFill = setToFill(db, settings);
      return { set: toFill, texts: pendingTexts(db, generation, { ...toFill, most }) };
    });
    let tokens = 0;
    if (texts.length > 0) {
      const asked = texts.map(({ text }) => text);
      const made = await embed(settings, asked, { kind: "document", ms: NOTES_MS });
      mustFit(set, made.vectors);
      const vectors = texts.flatMap(({ hash }, at) => {
        const vector = made.vectors[at];
        return vector ? [{ hash, vector }] : [];
      });
      this.#index.with((db) => addVectors(db, set, vectors));
      tokens = made.tokens;
    }
    this.#index.with((db) => {
      if (pendingCount(db, generation, set) === 0) completeSet(db, generation, set);
    });
    return tokens;
  }

  /** The parts of notes that are nearest to a question. Throws an error with a short reason when that cannot be found out. */
  async near(
    settings: VectorSettings,
    query: string,
    most: number,
  ): Promise<{ near: readonly Near[]; tokens: number }> {
    const made = await embed(settings, [query], { kind: "query", ms: QUERY_MS });
    const [vector] = made.vectors;
    const near = this.#index.with((db) => {
      const set = vectorSet(db, settings);
      mustFit(set, made.vectors);
      return vector ? this.#nearest.find(db, set, { query: vector, most }) : [];
    });
    return { near, tokens: made.tokens };
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

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
