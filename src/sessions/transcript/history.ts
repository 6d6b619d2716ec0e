import { z } from "zod";
import type { UserMessage } from "../../types/run/model.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import { TranscriptCut } from "./back-reader.ts";
import { BranchWalk } from "./branch-walk.ts";
import { openOrMissing } from "./prepare.ts";

export interface HistoryPage {
  readonly entries: readonly TranscriptEntry[];
  readonly hasMore: boolean;
  /** Bytes read of the file. */
  readonly bytesRead: number;
}

/** Notices for people in the transcript: `custom` entries of this type. */
export const NOTICE_TYPE = "openclaw.notice";

/**
 * The part of a transcript's branch that people see: the newest `limit` entries, oldest first. Reads from the end, also
 * while a run writes.
 */
export async function readHistory(path: string, limit: number): Promise<HistoryPage> {
  try {
    return await readOnce(path, limit);
  } catch (error) {
    // A torn line is set aside once, when the conversation is opened.
    if (error instanceof TranscriptCut) return readOnce(path, limit);
    throw error;
  }
}

/** Bytes at the beginning of a transcript in which its first message is searched. */
const OPENING = 64 * 1024;
const opening = z.looseObject({
  type: z.literal("message"),
  message: z.looseObject({
    role: z.literal("user"),
    content: z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]),
  }),
});

/** The first text of a person in a transcript, as it was stored; undefined when the beginning of the file has none. */
export async function readOpening(path: string): Promise<string | undefined> {
  const file = await openOrMissing(path, "r");
  if (!file) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(OPENING), 0, OPENING, 0);
    for (const line of buffer.toString("utf8", 0, bytesRead).split("\n")) {
      const found = opening.safeParse(parsed(line));
      if (!found.success) continue;
      const { content } = found.data.message;
      const text = typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
      if (text.trim() !== "") return text;
    }
    return undefined;
  } finally {
    await file.close();
  }
}

/** Undefined for the line that the end of the part cuts, and for a damaged one. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function readOnce(path: string, limit: number): Promise<HistoryPage> {
  const file = await openOrMissing(path, "r");
  if (!file) return { entries: [], hasMore: false, bytesRead: 0 };
  try {
    const { size } = await file.stat();
    return await collect(new BranchWalk(file, { end: size }), limit);
  } finally {
    await file.close();
  }
}

async function collect(walk: BranchWalk, limit: number): Promise<HistoryPage> {
  const page = new PageFromEnd(Math.max(limit, MOST_HIDDEN));
  while (page.size <= limit) {
    const step = await walk.next();
    if (!step) break;
    const { entry } = step.link;
    if (entry && isForPeople(entry)) page.add(entry);
  }
  const entries = page.close();
  return { entries: entries.slice(0, limit).reverse(), hasMore: entries.length > limit, bytesRead: walk.bytesRead };
}

/** Entries of a hidden turn. A memory flush writes a few notes and never has this many. */
const MOST_HIDDEN = 200;

/**
 * Entries as they are read, newest first. An answer is known to be for people once its turn is read, or once it is
 * longer than a hidden turn can be: a page does not read all steps of a long tool loop.
 */
class PageFromEnd {
  readonly #sure: TranscriptEntry[] = [];
  readonly #mostOpen: number;
  #open: TranscriptEntry[] = [];

  constructor(mostOpen: number) {
    this.#mostOpen = mostOpen;
  }

  get size(): number {
    return this.#sure.length;
  }

  add(entry: TranscriptEntry): void {
    if (entry.type !== "message" || entry.message.role !== "user") {
      this.#open.push(entry);
      if (this.#open.length > this.#mostOpen) this.close();
      return;
    }
    const isHidden = isHousekeeping(entry.message);
    const answers = isHidden ? this.#open.filter(({ type }) => type !== "message") : this.#open;
    this.#sure.push(...answers, ...(isHidden ? [] : [entry]));
    this.#open = [];
  }

  close(): readonly TranscriptEntry[] {
    this.#sure.push(...this.#open);
    this.#open = [];
    return this.#sure;
  }
}

/** Whether the gateway itself started the turn, so that its answer is not for people. */
export const isHousekeeping = ({ provenance }: UserMessage): boolean =>
  provenance?.kind === "internal_system" && provenance.sourceTool === "memory_flush";

function isForPeople(entry: TranscriptEntry): boolean {
  if (entry.type === "custom") return entry.customType === NOTICE_TYPE;
  if (entry.type === "custom_message") return entry.display;
  return entry.type === "message" || entry.type === "compaction";
}
