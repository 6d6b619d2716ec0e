import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { makePrivateDir, writeUnsynced } from "../disk.ts";
import { readTextFile } from "../text-file.ts";

/** After so many starts of the window that did not end in order, the next one is careful. */
const MOST_UNCLEAN = 3;
const WINDOW_MS = 300_000;

/** The starts that have not ended in order, oldest first: `state/boots.json`. */
const boots = z.object({ starts: z.array(z.object({ at: z.number(), careful: z.boolean().optional() })) });
type Starts = readonly z.infer<typeof boots>["starts"][number][];

const fileIn = (stateDir: string): string => join(stateDir, "state", "boots.json");

/** A start of the gateway, by the process that holds the state directory. */
export interface Boot {
  /** How many starts of the last minutes did not end in order, when there were so many that this one must be careful. */
  readonly unclean: number | undefined;
  /** The process ends, or starts again, in order. */
  endsInOrder(): Promise<void>;
}

/** Notes that the gateway starts. Rejects with DISK_FULL or DISK_WRITE. */
export async function beginBoot(stateDir: string, now: number): Promise<Boot> {
  const before = (await readStarts(stateDir)).filter(({ at }) => at > now - WINDOW_MS && at <= now);
  const isCareful = before.length >= MOST_UNCLEAN;
  await writeStarts(stateDir, [...before, { at: now, ...(isCareful && { careful: true }) }]);
  return {
    unclean: isCareful ? before.length : undefined,
    async endsInOrder() {
      const others = (await readStarts(stateDir)).filter(({ at }) => at !== now);
      // Removing needs no space on the disk.
      await (others.length === 0 ? forgetBoots(stateDir) : writeStarts(stateDir, others));
    },
  };
}

/** Whether the start that was noted last had to be careful. */
export async function isCareful(stateDir: string): Promise<boolean> {
  return (await readStarts(stateDir)).at(-1)?.careful === true;
}

/** The next start is as any other. */
export const forgetBoots = (stateDir: string): Promise<void> => rm(fileIn(stateDir), { force: true });

/** The starts that are noted: the one that runs, and those of the minutes before it that did not end in order. */
export async function readStarts(stateDir: string): Promise<Starts> {
  const text = await readTextFile(fileIn(stateDir));
  if (text === undefined) return [];
  try {
    return boots.safeParse(JSON.parse(text)).data?.starts ?? [];
  } catch {
    // A power cut has damaged it: the starts before it do not count.
    return [];
  }
}

async function writeStarts(stateDir: string, starts: Starts): Promise<void> {
  const path = fileIn(stateDir);
  await makePrivateDir(dirname(path));
  await writeUnsynced(path, `${JSON.stringify({ starts })}\n`);
}
