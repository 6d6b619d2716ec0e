import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** Short, because paths of sockets have a limit. */
const PREFIX = "oc-";

let made: string | undefined;

/** Gives all tests of a run, of whatever project, one temporary folder, which is removed after them. */
export function setup(): void {
  if (basename(tmpdir()).startsWith(PREFIX)) return;
  made = mkdtempSync(join(tmpdir(), PREFIX));
  process.env["TMPDIR"] = made;
}

export function teardown(): void {
  if (made !== undefined) rmSync(made, { recursive: true, force: true, maxRetries: 5 });
}
