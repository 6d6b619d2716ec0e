import { z } from "zod";
import { keyField } from "../key-field.ts";

const agentId = z.string();
const path = z.string();
const text = z.string().optional();
const count = z.number().optional();

/** The index of an agent's notes: why it is not in use, why it cannot be read, or its state. */
const index = z.looseObject({
  off: text,
  failed: text,
  /** Notes and conversations. */
  files: count,
  conversations: count,
  /** Parts of notes. */
  chunks: count,
  /** Files that are not in the index yet. */
  pending: count,
  /** Epoch milliseconds of the time when it was last complete; null before that. */
  syncedAt: z.number().nullish(),
  /** Why a search may find less than there is. */
  degraded: text,
  /** `model` as `provider/model`; `pending`: parts without a vector. */
  vectors: z.looseObject({ model: z.string(), pending: z.number() }).optional(),
  /** The command that helps with what is wrong. */
  fix: text,
});
export type MemoryState = z.output<typeof index>;

/** A change that wrote lines of a note. */
const origin = z.looseObject({
  /** ISO 8601. */
  at: z.string(),
  /** `owner`, `guest`, `automation` or `plugin`; `untrusted` after the conversation had read content of others. */
  origin: z.string(),
  /** Kind and id of the principal. */
  by: z.string(),
  tool: z.string(),
  /** Sources of untrusted content. */
  sources: text,
  sessionKey: keyField().optional(),
  runId: text,
  /** The change was too large to be compared by lines: any line may be from it. */
  isGuess: z.boolean().optional(),
});

/** Answers about the memory of an agent. */
export const memoryAnswers = {
  status: z.looseObject({
    agentId,
    provider: text,
    embedding: z.looseObject({ ok: z.boolean(), checked: z.boolean(), error: text }),
    /** As in OpenClaw; nothing rewrites the notes here. */
    dreaming: z.record(z.string(), z.unknown()),
    index,
  }),
  notes: z.looseObject({
    agentId,
    /** `leftOut`: why the note is not searched. */
    notes: z.array(z.looseObject({ path, size: count, updatedAtMs: count, leftOut: text })),
  }),
  /** A part of a note. `origin` of a line is its place in `origins`; unset where that is not known. */
  note: z.looseObject({
    agentId,
    path,
    from: z.number(),
    total: z.number(),
    lines: z.array(z.looseObject({ text: z.string(), origin: count })),
    origins: z.array(origin),
  }),
  forget: z.looseObject({ agentId, path, line: z.number() }),
};
