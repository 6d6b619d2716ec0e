import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { appendFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FREE_COMMANDS, type FaultFixture } from "../fixture.ts";

const SIZE = "24m";

/** Why no small disk can be mounted here; mounting needs root. Tests are then left out, and say so. */
export const mountRefusal = ((): string | undefined => {
  const dir = mkdtempSync(join(tmpdir(), "openclaw-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", dir], { stdio: "pipe" });
    execFileSync("umount", [dir]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
})();

/** Says that the tests of this file are left out, and fails in CI, whose run would show nothing of what they promise. */
export function needsSmallDisk(): void {
  if (mountRefusal === undefined) return;
  console.log(`full disk not tested: a small disk cannot be mounted here (${mountRefusal})`);
  test.runIf(process.env["CI"] !== undefined)("a small disk can be mounted in CI", () => {
    expect.fail(`the full disk is not tested: ${mountRefusal}`);
  });
}

/** The disk under a state directory. */
export interface SmallDisk {
  /** Takes every byte that is left, but for so many. */
  fill(left?: number): Promise<void>;
  free(): Promise<void>;
}

/** Puts the state directory of each test on a small disk. */
export function useSmallDisk(fixture: () => FaultFixture, config: Record<string, unknown> = {}): SmallDisk {
  const filler = (): string => join(fixture().home.stateDir, "filler");
  beforeEach(async () => {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE},mode=0700`, "tmpfs", fixture().home.stateDir]);
    await fixture().config({ ...FREE_COMMANDS, ...config });
  });
  afterEach(() => {
    // Lazily: the gateway that the fixture ends after this may still stand on it.
    execFileSync("umount", ["-l", fixture().home.stateDir]);
  });
  return {
    async fill(left = 0) {
      const unused = () => {
        const { bavail, bsize } = statfsSync(fixture().home.stateDir);
        return Math.max(0, bavail * bsize - left);
      };
      // The gateway writes its log meanwhile, so the last bytes take more than one try.
      for (let bytes = unused(); bytes > 0; bytes = unused()) {
        await appendFile(filler(), Buffer.alloc(bytes)).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOSPC") throw error;
        });
      }
    },
    free: () => rm(filler()),
  };
}
