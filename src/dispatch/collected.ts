import type { Waiting } from "./ports.ts";

/** Characters of a message that is only told of. */
const BRIEF = 160;

/** Messages that came while the agent was busy, as one text; beyond `cap` the oldest have a line each. */
export function collectedText(waiting: Waiting, cap: number): string {
  const texts = waiting.rows.map((row) => row.message.text);
  if (texts.length <= 1) return waiting.text ?? texts[0] ?? "";
  const over = Math.max(0, texts.length - cap);
  const brief = texts.slice(0, over).map((text) => `- ${brieflyPut(text)}`);
  const numbered = texts.slice(over).map((text, index) => `---\nQueued #${index + 1}\n${text}`);
  return [
    "[Queued messages while agent was busy]",
    ...(over > 0 ? [`[${over} more came before, shortened:]`] : []),
    ...brief,
    ...numbered,
  ].join("\n");
}

function brieflyPut(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > BRIEF ? `${line.slice(0, BRIEF)}…` : line;
}
