import { join } from "node:path";
import { stampOf } from "../store/file-stamp.ts";
import { readRegular } from "../utils/read-regular.ts";
import type { StartupNotes } from "../types/settings.ts";
import { realOf } from "../utils/real-path.ts";
import { timestamp } from "./timestamp.ts";
import { truncateMiddle } from "./truncate-middle.ts";

const FOLDER = "memory";
const DAY_MS = 86_400_000;

/** A note of a day. */
export interface DailyNote {
  /** Relative to the workspace. */
  readonly path: string;
  readonly text: string;
}

interface Today {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly timezone: string;
}

/**
 * The notes of the last days, the newest first, each shortened to its limit. Links and files that cannot be read are left out. Never
 * rejects.
 */
export async function readDailyNotes(
  workspace: string,
  limits: StartupNotes,
  today: Today,
): Promise<readonly DailyNote[]> {
  const root = await realOf(workspace);
  // A link could lead to any file of the machine.
  if ((await realOf(join(root, FOLDER))) !== join(root, FOLDER)) return [];
  const names = lastDays(limits.days, today).map((day) => `${FOLDER}/${day}.md`);
  const texts = await Promise.all(names.map((path) => textOf(join(root, path), limits)));
  let left = limits.maxTotalChars;
  return names.flatMap((path, at) => {
    const whole = texts[at]?.trim() ?? "";
    if (whole === "" || left <= 0) return [];
    const text = truncateMiddle(whole, Math.min(limits.maxFileChars, left));
    left -= text.length;
    return [{ path, text }];
  });
}

async function textOf(path: string, { maxFileBytes }: StartupNotes): Promise<string | undefined> {
  try {
    const size = stampOf(path)?.size ?? 0;
    if (size > maxFileBytes) return `[not shown here: it has more than ${maxFileBytes} bytes]`;
    return size === 0 ? undefined : String(await readRegular(path, maxFileBytes));
  } catch {
    return undefined;
  }
}

/** Dates of the calendar, so that a day of 23 or 25 hours counts as one. */
function lastDays(count: number, { now, timezone }: Today): readonly string[] {
  const today = Date.parse(`${timestamp(now, timezone).slice(0, 10)}T00:00Z`);
  return Array.from({ length: count }, (_day, back) => new Date(today - back * DAY_MS).toISOString().slice(0, 10));
}
