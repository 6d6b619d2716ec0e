import { realpath } from "node:fs/promises";
import { unlessMissing } from "../utils/missing.ts";
import { readRegular } from "../utils/read-regular.ts";

const MOST_BYTES = 10 * 1_048_576;

/**
 * The text of a `HEARTBEAT.md`; undefined when there is none. Rejects for a path that is no regular file: a program may
 * have put a pipe there.
 */
export async function readChecklist(path: string): Promise<string | undefined> {
  const real = await unlessMissing(realpath(path));
  return real === undefined ? undefined : (await readRegular(real, MOST_BYTES)).toString("utf8");
}

/** Lines without a task: headings, empty bullets and boxes, and fences. */
const EMPTY_LINE = /^(?:#{1,6}(?:\s.*)?|[-*+](?:\s+\[[ x]?\])?|`{3,}\w*|-{3,}|\*{3,})$/i;

/** True when a `HEARTBEAT.md` has a task. Comments are no tasks. */
export function hasTasks(text: string | undefined): boolean {
  if (text === undefined) return false;
  const lines = text.replaceAll(/<!--[^]*?(?:-->|$)/g, "").split("\n");
  return lines.map((line) => line.trim()).some((line) => line !== "" && !EMPTY_LINE.test(line));
}
