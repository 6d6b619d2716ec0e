import { readlinkSync } from "node:fs";
import { open } from "node:fs/promises";
import { vi } from "vitest";

/** Counts the syncs of files that this process makes through `FileHandle.datasync`, by the end of their path. Only on Linux; null elsewhere. */
export async function countSyncs(): Promise<{ of(end: string): number; stop(): void } | null> {
  if (process.platform !== "linux") return null;
  const handle = await open("/dev/null");
  const prototype: typeof handle = Object.getPrototypeOf(handle);
  await handle.close();
  const synced: string[] = [];
  const datasync = prototype.datasync;
  const spy = vi.spyOn(prototype, "datasync").mockImplementation(function (this: typeof handle) {
    synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
    return datasync.call(this);
  });
  return { of: (end) => synced.filter((path) => path.endsWith(end)).length, stop: () => spy.mockRestore() };
}
