/** A place of a file that a patch changes. */
export interface Hunk {
  /** Line somewhere before the place, such as the head of a function. */
  readonly after?: string;
  readonly oldLines: readonly string[];
  readonly newLines: readonly string[];
  /** True when the old lines are the last ones of the file. */
  readonly isAtEnd: boolean;
}

/** Change of one file by a patch. */
export type FilePatch =
  | { readonly kind: "add"; readonly path: string; readonly content: string }
  | { readonly kind: "delete"; readonly path: string }
  | { readonly kind: "update"; readonly path: string; readonly to?: string; readonly hunks: readonly Hunk[] };

/** Most files of one patch. */
const MOST_FILES = 200;

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const END_OF_FILE = "*** End of File";
const HEAD = /^\*\*\* (?<what>Add|Update|Delete) File:(?<path>.*)$/;
const MOVE = "*** Move to:";

/** Reads a patch. Throws a text for the model, with the number of the line, when the patch is not valid. */
export function parsePatch(input: string): readonly FilePatch[] {
  const lines = input.trim().replaceAll("\r\n", "\n").split("\n");
  if (lines[0]?.trim() !== BEGIN) throw new Error(`The patch must begin with the line "${BEGIN}".`);
  if (lines.at(-1)?.trim() !== END) throw new Error(`The patch must end with the line "${END}".`);
  const reader = new Reader(lines.slice(0, -1));
  const files: FilePatch[] = [];
  while (!reader.isDone) {
    files.push(fileIn(reader));
    if (files.length > MOST_FILES) throw new Error(`A patch may have at most ${MOST_FILES} files.`);
  }
  if (files.length === 0) throw new Error("The patch has no files: it changes nothing.");
  return files;
}

/** The lines of a patch after its first one, one after the other. */
class Reader {
  readonly #lines: readonly string[];
  #at = 1;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  get isDone(): boolean {
    return this.#at >= this.#lines.length;
  }

  /** The next line; undefined after the last one. */
  get next(): string | undefined {
    return this.#lines[this.#at];
  }

  take(): string {
    const line = this.#lines[this.#at] ?? "";
    this.#at += 1;
    return line;
  }

  /** Takes lines while they fit. */
  takeWhile(fits: (line: string) => boolean): readonly string[] {
    const from = this.#at;
    while (this.next !== undefined && fits(this.next)) this.#at += 1;
    return this.#lines.slice(from, this.#at);
  }

  /** An error for the line that was taken last. */
  error(why: string): Error {
    return new Error(`Line ${this.#at} of the patch: ${why}`);
  }

  /** An error for the next line. */
  nextError(why: string): Error {
    return new Error(`Line ${this.#at + 1} of the patch: ${why}`);
  }
}

function fileIn(reader: Reader): FilePatch {
  const { what, path: given = "" } = HEAD.exec(reader.take())?.groups ?? {};
  if (what === undefined)
    throw reader.error('here must be "*** Add File: ", "*** Update File: " or "*** Delete File: " with a path.');
  const path = given.trim();
  if (path === "") throw reader.error("it has no path.");
  if (what === "Delete") return { kind: "delete", path };
  return what === "Add" ? added(path, reader) : updated(path, reader);
}

function added(path: string, reader: Reader): FilePatch {
  const lines = reader.takeWhile((line) => line.startsWith("+")).map((line) => line.slice(1));
  return { kind: "add", path, content: lines.length === 0 ? "" : `${lines.join("\n")}\n` };
}

function updated(path: string, reader: Reader): FilePatch {
  const to = reader.next?.startsWith(MOVE) ? reader.take().slice(MOVE.length).trim() : undefined;
  if (to === "") throw reader.error("it has no path.");
  const hunks: Hunk[] = [];
  while (reader.next !== undefined && !HEAD.test(reader.next)) hunks.push(hunkIn(reader, hunks.length === 0));
  if (hunks.length === 0 && to === undefined) throw reader.error(`the update of ${path} has no lines.`);
  return { kind: "update", path, ...(to !== undefined && { to }), hunks };
}

/** Reads a place. The first place of a file may be given without its line `@@`. */
function hunkIn(reader: Reader, isFirst: boolean): Hunk {
  const hasHead = reader.next?.startsWith("@@") === true;
  if (!hasHead && !isFirst)
    throw reader.nextError('a line must begin with " ", "+" or "-"; "@@" begins the next place.');
  const after = hasHead ? reader.take().slice(2).trim() : "";
  const taken = reader.takeWhile((line) => line === "" || " +-".includes(line.charAt(0)));
  // Models write the empty lines of a file, and the one before the next section, without a sign.
  const lines = taken.slice(0, taken.findLastIndex((line) => line !== "") + 1);
  if (lines.length === 0) throw reader.nextError('a line must begin with " ", "+" or "-".');
  const isAtEnd = reader.next?.trimEnd() === END_OF_FILE;
  if (isAtEnd) reader.take();
  const sided = (sign: string) => lines.filter((line) => !line.startsWith(sign)).map((line) => line.slice(1));
  return { ...(after !== "" && { after }), oldLines: sided("+"), newLines: sided("-"), isAtEnd };
}
