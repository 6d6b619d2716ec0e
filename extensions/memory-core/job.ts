/** The notes of one agent, and the file of their index. Both are absolute paths. */
export interface Place {
  readonly workspace: string;
  readonly db: string;
}

/** What the thread of the memory is asked. */
export type Job =
  | {
      readonly kind: "search";
      readonly place: Place;
      readonly query: string;
      readonly maxResults: number;
      /** Whether `MEMORY.md` is searched too. */
      readonly isPrivate: boolean;
    }
  /** One slice of the work; `rebuild` begins a new generation. */
  | { readonly kind: "sync"; readonly place: Place; readonly rebuild: boolean }
  | { readonly kind: "status"; readonly place: Place }
  /** The text of a note. */
  | { readonly kind: "get"; readonly place: Place; readonly path: string };

/** A part of a note that a search found. Lines count from 1. */
export interface Hit {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  /** From 0 to 1, by the ranks in both indexes: 1 is the first in each. It compares the hits of one search only. */
  readonly score: number;
  readonly snippet: string;
}

/** The state of the index. */
export interface IndexState {
  readonly files: number;
  readonly chunks: number;
  /** Files that have changed and are not in the index yet. */
  readonly pending: number;
  /** Epoch milliseconds of the last time when everything was in the index; null before that. */
  readonly syncedAt: number | null;
  /** Why results may be incomplete. */
  readonly degraded?: string;
}

export interface Answer {
  readonly state: IndexState;
  readonly hits: readonly Hit[];
  /** Of `get`; unset when there is no such note. */
  readonly text?: string;
}
