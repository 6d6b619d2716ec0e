import { readFile } from "node:fs/promises";
import { writeAtomic } from "../../store/disk.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { isMissing } from "../../utils/missing.ts";
import { Cooldowns, savedShape, type SavedCooldowns } from "./cooldowns.ts";

/** Milliseconds between a change and its write. A crash may lose one cooldown; the next call finds it out again. */
const WRITE_AFTER_MS = 1000;

export interface OpenCooldowns {
  readonly cooldowns: Cooldowns;
  /** Writes pending changes, and none afterwards. Never rejects. */
  close(): Promise<void>;
}

/** The cooldowns of a state directory. Read once, and written in the background after changes. Never throws. */
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

/** Undefined when there is no file or it cannot be read. Nothing is lost then: the next calls find the cooldowns out again. */
export async function readCooldowns(path: string): Promise<SavedCooldowns | undefined> {
  try {
    return savedShape.safeParse(JSON.parse(await readFile(path, "utf8"))).data;
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
