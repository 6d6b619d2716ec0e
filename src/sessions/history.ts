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
  const entries: TranscriptEntry[] = [];
  let wanted: string | null | undefined;
  while (wanted !== null) {
    const raw = await reader.previous();
    if (!raw) break;
    const line = parseLine(raw.text);
    if (line.kind !== "entry" || (wanted !== undefined && line.link.id !== wanted)) continue;
    wanted = line.link.parentId;
    const { entry } = line.link;
    if (!entry || !isForPeople(entry)) continue;
    if (entries.length >= limit) return { entries: entries.reverse(), hasMore: true };
    entries.push(entry);
  }
  return { entries: entries.reverse(), hasMore: false };
}

function isForPeople(entry: TranscriptEntry): boolean {
  if (entry.type === "custom") return entry.customType === NOTICE_TYPE;
  if (entry.type === "custom_message") return entry.display;
  return entry.type === "message" || entry.type === "compaction";
}
