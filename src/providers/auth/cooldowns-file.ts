import { readFile } from "node:fs/promises";
import { writeAtomic } from "../../store/disk.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { isMissing } from "../../utils/missing.ts";
import { Cooldowns, savedShape, type SavedCooldowns } from "./cooldowns.ts";

/** Milliseconds between a change and its write: a crash may forget one cooldown, which the next call finds out again. */
const WRITE_AFTER_MS = 1000;

export interface OpenCooldowns {
  readonly cooldowns: Cooldowns;
  /** Writes pending changes, and none afterwards. Never rejects. */
  close(): Promise<void>;
}

/** The cooldowns of a state directory, read once and written now and then in the background. Never throws. */
export async function openCooldowns(path: string, clock: Clock, log: Log): Promise<OpenCooldowns> {
  const saved = await readCooldowns(path).catch((error: unknown) => {
    log.warn("the cooldowns of the keys were not read", { error });
    return undefined;
  });
  const cooldowns = new Cooldowns(clock, saved);
  let forget: (() => void) | undefined;
  const write = async () => {
    forget = undefined;
    await writeAtomic(path, `${JSON.stringify(cooldowns.snapshot())}\n`).catch((error: unknown) =>
      log.warn("the cooldowns of the keys were not written", { error }),
    );
  };
  let writing = Promise.resolve();
  cooldowns.onChange = () => {
    forget ??= clock.after(WRITE_AFTER_MS, () => {
      writing = writing.then(write);
    });
  };
  return {
    cooldowns,
    async close() {
      cooldowns.onChange = () => undefined;
      const isDue = forget !== undefined;
      forget?.();
      if (isDue) writing = writing.then(write);
      await writing;
    },
  };
}

/** Undefined when there are none, or none that can be read: they are only a memory, and the next call finds out again. */
export async function readCooldowns(path: string): Promise<SavedCooldowns | undefined> {
  try {
    return savedShape.safeParse(JSON.parse(await readFile(path, "utf8"))).data;
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
