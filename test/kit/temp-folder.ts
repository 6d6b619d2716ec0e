import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** Short, because paths of sockets have a limit. */
const PREFIX = "oc-";

/** Gives all tests of a run, of whatever project, one temporary folder, which is removed after them. */
export default function setUp(): () => void {
  if (basename(tmpdir()).startsWith(PREFIX)) return () => undefined;
  const dir = mkdtempSync(join(tmpdir(), PREFIX));
  process.env["TMPDIR"] = dir;
  return () => rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}
