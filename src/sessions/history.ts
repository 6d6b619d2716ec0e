import type { UserMessage } from "../types/model.ts";
import type { TranscriptEntry } from "../types/session.ts";
import { BackReader } from "./back-reader.ts";
import { parseLine } from "./entries.ts";
import { openOrMissing } from "./prepare.ts";

export interface HistoryPage {
  readonly entries: readonly TranscriptEntry[];
  readonly hasMore: boolean;
}

/** Notices for people in the transcript: `custom` entries of this type. */
export const NOTICE_TYPE = "openclaw.notice";

/** What people see of a transcript's branch, oldest first, the newest `limit`; reads from the end while a run may write. */
export async function readHistory(path: string, limit: number): Promise<HistoryPage> {
  const file = await openOrMissing(path, "r");
  if (!file) return { entries: [], hasMore: false };
  try {
    const { size } = await file.stat();
    return await collect(new BackReader(file, size), limit);
  } finally {
    await file.close();
  }
}

async function collect(reader: BackReader, limit: number): Promise<HistoryPage> {
  const page = new PageFromEnd();
  let wanted: string | null | undefined;
  while (wanted !== null && page.size <= limit) {
    const raw = await reader.previous();
    if (!raw) break;
    const line = parseLine(raw.text);
    if (line.kind !== "entry" || (wanted !== undefined && line.link.id !== wanted)) continue;
    wanted = line.link.parentId;
    const { entry } = line.link;
    if (entry && isForPeople(entry)) page.add(entry);
  }
  const entries = page.close();
  return { entries: entries.slice(0, limit).reverse(), hasMore: entries.length > limit };
}

/** Entries as they are read, newest first. What answers a turn is known to be for people once that turn is read. */
class PageFromEnd {
  readonly #sure: TranscriptEntry[] = [];
  #open: TranscriptEntry[] = [];

  get size(): number {
    return this.#sure.length;
  }

  add(entry: TranscriptEntry): void {
    if (entry.type !== "message" || entry.message.role !== "user") {
      this.#open.push(entry);
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

/** A turn that the gateway itself asked of the agent, whose answer is nobody's to read. */
const isHousekeeping = ({ provenance }: UserMessage): boolean =>
  provenance?.kind === "internal_system" && provenance.sourceTool === "memory_flush";

function isForPeople(entry: TranscriptEntry): boolean {
  if (entry.type === "custom") return entry.customType === NOTICE_TYPE;
  if (entry.type === "custom_message") return entry.display;
  return entry.type === "message" || entry.type === "compaction";
}
