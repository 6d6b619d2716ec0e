import type { ToolScene } from "openclaw/plugin-sdk";
import type { NoteRecord } from "./changes.ts";
import type { NoteFile } from "./notes.ts";

/** The notes of one agent, and the file of their index. Both are absolute paths. */
export interface MemoryPlace {
  readonly workspace: string;
  /** Further notes: Markdown files, and folders of Markdown files. */
  readonly extra?: readonly string[];
  readonly db: string;
  /** The agent whose budgets pay for vectors. */
  readonly agent?: ToolScene["agent"]["id"];
  /** Notes are found by their words alone when unset. */
  readonly vectors?: VectorSettings;
  /** Conversations are not searched when unset. */
  readonly sessions?: SessionPlace;
  /** False: the notes themselves are not searched. True when unset. */
  readonly hasNotes?: boolean;
}

/** The conversations of one agent. */
export interface SessionPlace {
  /** Absolute: the folder of the transcripts in the state directory. */
  readonly dir: string;
  readonly agent: string;
  /** Keys of the agent's sessions do not name the agent. */
  readonly isDefault: boolean;
}

/** Who makes the vectors of texts. */
export interface VectorSettings {
  readonly provider: string;
  readonly model: string;
  /** The URL up to `/embeddings`. */
  readonly url: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Numbers of a vector; as many as the model gives when unset. */
  readonly dimensions?: number;
  readonly queryInputType?: string;
  readonly documentInputType?: string;
  /** Weight of a hit by its vector, beside the weight of a hit by its words; both together are 1. */
  readonly weight: number;
  /** US dollars of a token; unset when it is not known. */
  readonly price?: number;
}

/** How a search finds notes. */
export type SearchMode = "keyword" | "vector" | "hybrid";

/** Job for the thread of the memory. */
export type Job =
  | {
      readonly kind: "search";
      readonly place: MemoryPlace;
      readonly query: string;
      readonly maxResults: number;
      /** Whether `MEMORY.md` and conversations are searched too. */
      readonly isPrivate: boolean;
      /** Only these are searched; both when unset. */
      readonly corpus?: "memory" | "sessions";
      /** The path of the conversation that asks: it is neither searched nor taken in. */
      readonly except?: string;
      /** The best that is possible when unset. */
      readonly mode?: SearchMode;
      /** Why no vector may be asked for now. */
      readonly withoutVectors?: string;
      /** A job that began after the question was asked has brought the index up to date. */
      readonly isSynced?: true;
    }
  /** A slice of the work; `rebuild` begins a new generation. A search for which it is done has an `except`. */
  | { readonly kind: "sync"; readonly place: MemoryPlace; readonly rebuild: boolean; readonly except?: string }
  /** Vectors of at most so many parts that have none; `rebuild` begins a new set. */
  | { readonly kind: "embed"; readonly place: MemoryPlace; readonly most: number; readonly rebuild: boolean }
  | { readonly kind: "status"; readonly place: MemoryPlace }
  /** The text of a note. */
  | { readonly kind: "get"; readonly place: MemoryPlace; readonly path: string }
  /** The lines of a note with the changes that wrote them. */
  | { readonly kind: "lines"; readonly place: MemoryPlace; readonly path: string; readonly part: LinePart }
  /** All notes. */
  | { readonly kind: "notes"; readonly place: MemoryPlace };

/** So many lines from this one on, which is counted from 1. */
export interface LinePart {
  readonly from: number;
  readonly most: number;
}

/** A line of a note, and the change that wrote it, which is unset where that is not known. */
export interface WrittenLine {
  readonly text: string;
  readonly record?: NoteRecord;
}

/** A part of a note that a search found. Lines count from 1. */
export interface Hit {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  /**
   * Score from 0 to 1, by the ranks in all indexes: 1 is the first in each. It compares the hits of one search only.
   */
  readonly score: number;
  readonly snippet: string;
  /** Where the untrusted content is from that the part has; unset when it is known to have none. */
  readonly untrusted?: string;
}

/** The state of the index. */
export interface IndexState {
  /** Notes and conversations. */
  readonly files: number;
  readonly conversations: number;
  readonly chunks: number;
  /** Files that have changed and are not in the index yet. */
  readonly pending: number;
  /** Epoch milliseconds of the last time when everything was in the index; null before that. */
  readonly syncedAt: number | null;
  /** Why results may be incomplete. */
  readonly degraded?: string;
}

/** The vectors of the notes. */
export interface VectorState {
  readonly provider: string;
  readonly model: string;
  /** Numbers of a vector; unset before the first one. */
  readonly dimensions?: number;
  /** Parts of notes that have no vector yet. */
  readonly pending: number;
  /** Whether all parts had a vector once, so that the vectors are used. */
  readonly isComplete: boolean;
  /** Why the last request gave no vectors. */
  readonly failed?: string;
  /** Milliseconds after which the endpoint wants to be asked again. */
  readonly retryAfterMs?: number;
  /** Tokens of the requests of this job. */
  readonly tokens: number;
  /** The tokens are an estimate: the endpoint did not count them. */
  readonly isEstimate?: true;
}

export interface JobAnswer {
  readonly state: IndexState;
  readonly hits: readonly Hit[];
  /** Mode of a search. */
  readonly mode?: SearchMode;
  /** Unset where none are configured. */
  readonly vectors?: VectorState;
  /** Text of a `get`; unset when there is no such note. */
  readonly text?: string;
  /** Lines of the text, from 1, that a conversation wrote which had read untrusted content. */
  readonly untrusted?: { readonly lines: readonly number[]; readonly sources: string };
  /** The wanted lines of a note, and how many it has; unset when there is no such note. */
  readonly written?: { readonly lines: readonly WrittenLine[]; readonly total: number };
  readonly notes?: readonly NoteFile[];
}
