/** A text that occurs once in a file, and the text that replaces it. */
export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
}

interface Match extends Replacement {
  readonly start: number;
}

function matchOf(content: string, edit: Replacement, number: number): Match {
  const start = edit.oldText === "" ? -1 : content.indexOf(edit.oldText);
  if (start < 0) {
    throw new Error(
      `Edit ${number}: its oldText is not in the file. It must match exactly, including spaces and line ends; read the file again.`,
    );
  }
  if (content.indexOf(edit.oldText, start + 1) >= 0) {
    throw new Error(
      `Edit ${number}: its oldText occurs in the file more than once. Add surrounding lines until it is unique.`,
    );
  }
  return { ...edit, start };
}

/** Applies all edits, each matched against the content as given. Throws when one is missing, ambiguous or overlaps another. */
export function applyEdits(content: string, edits: readonly Replacement[]): string {
  const matches = edits.map((edit, index) => matchOf(content, edit, index + 1)).toSorted((a, b) => a.start - b.start);
  let result = "";
  let position = 0;
  for (const match of matches) {
    if (match.start < position) {
      throw new Error("Two edits overlap; join them into one.");
    }
    result += content.slice(position, match.start) + match.newText;
    position = match.start + match.oldText.length;
  }
  return result + content.slice(position);
}
