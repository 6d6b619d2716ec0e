const LINE_CHARS = 120;

/** The first sentences of a text, as many as stay within `chars` but at least one, and the rest. */
export function splitAtSentence(text: string, chars: number): readonly [string, string] {
  if (text.length <= chars) return [text, ""];
  const ends = [...text.matchAll(/[.!?](?= [\p{Lu}`"])/gu)].map(({ index }) => index + 1);
  const end = ends.findLast((at) => at <= chars) ?? ends[0] ?? text.length;
  return [text.slice(0, end), text.slice(end).trim()];
}

/** A Markdown list item in lines of at most 120 characters where its words allow it. */
export function listItem(text: string): string {
  const lines: string[] = [];
  let line = "-";
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > LINE_CHARS) {
      lines.push(line);
      line = ` `;
    }
    line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}
