/** Headings, empty bullets and boxes, and fences, which contain no task. */
const EMPTY_LINE = /^(?:#{1,6}(?:\s.*)?|[-*+](?:\s+\[[ x]?\])?|`{3,}\w*|-{3,}|\*{3,})$/i;

/** True when a `HEARTBEAT.md` has a task. Comments are none. */
export function hasTasks(text: string | undefined): boolean {
  if (text === undefined) return false;
  const lines = text.replaceAll(/<!--[^]*?(?:-->|$)/g, "").split("\n");
  return lines.map((line) => line.trim()).some((line) => line !== "" && !EMPTY_LINE.test(line));
}
