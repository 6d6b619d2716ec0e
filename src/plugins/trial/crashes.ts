import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readTextFile } from "../../store/text-file.ts";

/** A plugin whose code ended the gateway. */
const crashShape = z.object({
  id: z.string(),
  /** Stamp of the code that ended the gateway; see `pluginStamp`. */
  stamp: z.string(),
  /** ISO 8601. */
  at: z.string(),
  /** Any text that only the process has that ended. */
  process: z.string().optional(),
  /** Error that was thrown, in one line. */
  error: z.string(),
});
export type Crash = z.output<typeof crashShape>;

const fileShape = z.object({ crashes: z.array(z.unknown()) });

interface State {
  readonly stateDir: string;
}

/** Crashes within `CRASHES_WITHIN_MS` milliseconds that keep a plugin out of the next start. */
export const CRASHES = 3;
export const CRASHES_WITHIN_MS = 10 * 60_000;
/** Milliseconds for which crashes are kept, and the most crashes that are kept. */
const REMEMBERED_MS = 24 * 60 * 60_000;
const MOST = 50;

const crashesFile = ({ stateDir }: State): string => join(stateDir, "plugins", "crashes.json");

/** The crashes of the last 24 hours, the oldest first. A file that cannot be read has none. */
export async function readCrashes(state: State, now = Date.now()): Promise<readonly Crash[]> {
  return recent(await readTextFile(crashesFile(state)), now);
}

/**
 * Keeps a crash beside the others. Synchronous, because the process may end at any moment. Throws the errors of the
 * disk.
 */
export function putCrash(state: State, crash: Crash): void {
  const file = crashesFile(state);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  write(file, [...recent(readNow(file), Date.parse(crash.at)), crash]);
}

/** Removes the crashes of a plugin. Throws the errors of the disk. */
export function forgetCrashes(state: State, id: string): void {
  const file = crashesFile(state);
  const content = readNow(file);
  if (content === undefined) return;
  write(
    file,
    recent(content, Date.now()).filter((crash) => crash.id !== id),
  );
}

/** The latest crash of each plugin that crashed too often, with the same code, in too short a time. */
export function repeatedCrashes(crashes: readonly Crash[]): readonly Crash[] {
  const ids = [...new Set(crashes.map(({ id }) => id))];
  return ids.flatMap((id) => {
    const own = crashes.filter((crash) => crash.id === id);
    const last = own.at(-1);
    const same = own.filter(({ stamp }) => stamp === last?.stamp);
    const first = same.at(-CRASHES);
    if (!last || !first || Date.parse(last.at) - Date.parse(first.at) > CRASHES_WITHIN_MS) return [];
    return [last];
  });
}

/** How often a plugin has ended the gateway, as the rest of a sentence; undefined when it has not. */
export function crashText(id: string, crashes: readonly Crash[]): string | undefined {
  const own = crashes.filter((crash) => crash.id === id);
  const last = own.at(-1);
  if (!last) return undefined;
  const times = own.length === 1 ? "once" : `${own.length} times`;
  return `ended the gateway ${times} in the last 24 hours, at last at ${last.at}: ${last.error}`;
}

/** Writes the file without a sync: it has to survive the end of a process, not that of the machine. */
function write(file: string, crashes: readonly Crash[]): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, JSON.stringify({ crashes: crashes.slice(-MOST) }, null, 2), { mode: 0o600 });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function readNow(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // Without the file, this crash is the first.
    return undefined;
  }
}

function recent(content: string | undefined, now: number): readonly Crash[] {
  const crashes = fileShape.safeParse(parsed(content)).data?.crashes ?? [];
  return crashes.flatMap((one) => {
    const crash = crashShape.safeParse(one).data;
    return crash && Math.abs(now - Date.parse(crash.at)) <= REMEMBERED_MS ? [crash] : [];
  });
}

function parsed(content: string | undefined): unknown {
  try {
    return JSON.parse(content ?? "{}");
  } catch {
    // A lost file costs only the record of crashes.
    return {};
  }
}
