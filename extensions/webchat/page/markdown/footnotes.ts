/** A footnote's name, as `[^name]` has it, and its Markdown. */
export interface Footnote {
  readonly name: string;
  readonly text: string;
}

const NOTE = /^ {0,3}\[\^([^\]\s]{1,60})\]:[ \t]?(.*)$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** The most marks and footnotes of a text together. */
const MOST = 1000;

/** The text without its footnotes, and the footnotes; those in fenced code are code. A text with too many keeps them. Pure. */
export function withoutFootnotes(text: string): { readonly body: string; readonly notes: readonly Footnote[] } {
  const count = text.split("[^").length - 1;
  if (count === 0 || count > MOST) return { body: text, notes: [] };
  const body: string[] = [];
  const notes: { name: string; lines: string[] }[] = [];
  let fence: string | undefined;
  let isInNote = false;
  for (const line of text.split("\n")) {
    const [, marks] = FENCE.exec(line) ?? [];
    const note = fence === undefined ? NOTE.exec(line) : null;
    if (note !== null) {
      notes.push({ name: note[1] ?? "", lines: [note[2] ?? ""] });
      isInNote = true;
      continue;
    }
    // Indented lines belong to the note before them.
    if (isInNote && fence === undefined && /^(?: {2,}|\t|$)/.test(line)) {
      notes.at(-1)?.lines.push(line.replace(/^(?: {2,4}|\t)/, ""));
      continue;
    }
    isInNote = false;
    if (marks !== undefined) fence = fenceAfter(fence, marks);
    body.push(line);
  }
  return { body: body.join("\n"), notes: notes.map(({ name, lines }) => ({ name, text: lines.join("\n").trim() })) };
}

/** The open fence after a line that begins with these marks: a fence ends with as many of its marks. */
function fenceAfter(open: string | undefined, marks: string): string | undefined {
  if (open === undefined) return marks;
  return marks.startsWith(open) ? undefined : open;
}

/** Splits a text at the marks `[^name]` of the notes: a number is the place of a note in `notes`, the rest is text. */
export function withNoteMarks(text: string, notes: readonly Footnote[]): readonly (string | number)[] {
  return text.split(/(\[\^[^\]\s]{1,60}\])/).flatMap((piece, index): readonly (string | number)[] => {
    const at = index % 2 === 0 ? -1 : notes.findIndex(({ name }) => piece === `[^${name}]`);
    if (at >= 0) return [at];
    return piece === "" ? [] : [piece];
  });
}
