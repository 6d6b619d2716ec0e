import { StatementSync } from "node:sqlite";
import { onTestFinished, vi } from "vitest";

/** SQLite's code for a disk without space. */
const SQLITE_FULL = 13;

export interface FullDisk {
  /** Whether the next commit finds no space. */
  isFull: () => boolean;
  /** Commits that found no space. */
  readonly refusals: number;
}

/** The disk under the databases of this process, which has no space when the test says so. It has again when the test ends. */
export function diskOfDatabases(): FullDisk {
  const { run } = StatementSync.prototype;
  const disk = { isFull: () => false, refusals: 0 };
  const spy = vi.spyOn(StatementSync.prototype, "run").mockImplementation(function commit(
    this: StatementSync,
    ...values: readonly unknown[]
  ) {
    if (this.sourceSQL === "COMMIT" && disk.isFull()) {
      disk.refusals += 1;
      throw Object.assign(new Error("database or disk is full"), { code: "ERR_SQLITE_ERROR", errcode: SQLITE_FULL });
    }
    return Reflect.apply(run, this, values);
  });
  onTestFinished(() => spy.mockRestore());
  return disk;
}
