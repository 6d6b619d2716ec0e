import type { ChatMessage } from "../../types/run/model.ts";
import type { EntryBody, Session, TranscriptEntry } from "../../types/session.ts";

export interface Rewrite {
  readonly replacements: readonly { readonly entryId: string; readonly message: ChatMessage }[];
  /** The most entries after the first replaced one that may be written again. No limit when unset. */
  readonly allowedRewriteSuffixEntryIds?: readonly string[];
}

export interface Rewritten {
  readonly changed: boolean;
  readonly bytesFreed: number;
  readonly rewrittenEntries: number;
  readonly reason?: string;
}

type Branching = Pick<Session, "after" | "parentOf" | "append" | "branch">;

/**
 * Replaces messages of the present branch. The file keeps all messages: a new branch begins before the first replaced
 * one, with its new message and copies of the entries after it, under new ids. Rejects when the transcript cannot be
 * written.
 */
export async function rewriteEntries(session: Branching, rewrite: Rewrite): Promise<Rewritten> {
  const wanted = new Map(rewrite.replacements.map(({ entryId, message }) => [entryId, message]));
  const found = await oldestOf([...wanted.keys()], session);
  if (!found) return nothing("no such entry on the present branch");
  const { entryId, behind } = found;
  const parent = await session.parentOf(entryId);
  if (parent === undefined) return nothing("the entry lies too far back");
  const allowed = rewrite.allowedRewriteSuffixEntryIds;
  const foreign = behind.find(({ id }) => allowed !== undefined && !allowed.includes(id) && !wanted.has(id));
  if (foreign) return nothing(`entry ${foreign.id} was added in the meantime`);
  const first = wanted.get(entryId);
  if (!first) return nothing("no such entry on the present branch");
  // The first entry of a file cannot be found by an earlier one, so its bytes are not counted.
  const [was] = (parent !== null && (await session.after(parent))) || [];
  session.branch(parent);
  const bytesFreed = await copy(session, [
    { id: entryId, body: { type: "message", message: first }, ...(was && { was }) },
    ...bodiesOf(behind, wanted),
  ]);
  const rewrittenEntries = 1 + behind.filter(({ id }) => wanted.has(id)).length;
  return { changed: true, rewrittenEntries, bytesFreed: Math.max(0, bytesFreed) };
}

const nothing = (reason: string): Rewritten => ({ changed: false, bytesFreed: 0, rewrittenEntries: 0, reason });

/** The entry with the most entries after it. */
async function oldestOf(ids: readonly string[], session: Branching) {
  let oldest: { entryId: string; behind: readonly TranscriptEntry[] } | undefined;
  for (const entryId of ids) {
    const behind = await session.after(entryId);
    if (behind && behind.length >= (oldest?.behind.length ?? 0)) oldest = { entryId, behind };
  }
  return oldest;
}

interface Copy {
  readonly id: string;
  readonly body: EntryBody;
  readonly was?: TranscriptEntry;
}

function bodiesOf(behind: readonly TranscriptEntry[], wanted: ReadonlyMap<string, ChatMessage>): readonly Copy[] {
  return behind.map((entry) => {
    const { id, parentId: _parent, timestamp: _at, ...body } = entry;
    const message = wanted.get(id);
    return { id, body: message ? { type: "message", message } : body, was: entry };
  });
}

/**
 * Copies the entries. Resolves with the number of bytes by which the copies are smaller than the entries that they
 * replace.
 */
async function copy(session: Branching, copies: readonly Copy[]): Promise<number> {
  const renamed = new Map<string, string>();
  let freed = 0;
  for (const [at, { id, body, was }] of copies.entries()) {
    const durable = at === copies.length - 1;
    renamed.set(id, await session.append(pointed(body, renamed), { durable }));
    if (was?.type === "message" && body.type === "message")
      freed += JSON.stringify(was.message).length - JSON.stringify(body.message).length;
  }
  return freed;
}

/** A compaction names the first entry that it keeps. */
function pointed(body: EntryBody, renamed: ReadonlyMap<string, string>): EntryBody {
  if (body.type !== "compaction") return body;
  return { ...body, firstKeptEntryId: renamed.get(body.firstKeptEntryId) ?? body.firstKeptEntryId };
}
