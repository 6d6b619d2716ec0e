import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openJournal, type OpenJournal } from "../../../src/store/journal/journal.ts";
import type { Clock } from "../../../src/types/clock.ts";

export type StateDir = Awaited<ReturnType<typeof openStateDir>>;

/** An empty directory and the journals that a test opens in it. `remove` closes them and deletes the directory. */
export async function openStateDir(clock?: Clock) {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-test-"));
  const opened: OpenJournal[] = [];
  return {
    dir,
    async journal(bootId = "boot-1"): Promise<OpenJournal> {
      const journal = await openJournal({
        path: join(dir, "journal.sqlite"),
        bootId,
        sync: "normal",
        ...(clock && { clock }),
      });
      opened.push(journal);
      return journal;
    },
    async remove(): Promise<void> {
      for (const journal of opened) await journal.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
