import type { Waiting } from "./ports.ts";

/** Messages that came while the agent was busy, as one text. */
export function collectedText(waiting: Waiting): string {
  const texts = waiting.rows.map((row) => row.message.text);
  if (texts.length <= 1) return waiting.text ?? texts[0] ?? "";
  const numbered = texts.map((text, index) => `---\nQueued #${index + 1}\n${text}`);
  return ["[Queued messages while agent was busy]", ...numbered].join("\n");
}
