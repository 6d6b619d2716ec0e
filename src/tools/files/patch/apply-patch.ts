import { z } from "zod";
import type { FileBackend } from "../../../types/run/backend.ts";
import type { Tool, ToolResult } from "../../../types/run/tool.ts";
import { defineTool, errorResult, FILE_TOOL_MS, textResult } from "../../define.ts";
import { changeOf } from "../changes.ts";
import { mustHold, readToChange } from "../stored.ts";
import { promptFileRisk } from "../prompt-file-risk.ts";
import { fold } from "../folded.ts";
import { keepingLineEnds } from "../line-ends.ts";
import { nearestText } from "../nearest-lines.ts";

/** A place of a file that a patch changes. */
interface Hunk {
  /** Line somewhere before the place, such as the head of a function. */
  readonly after?: string;
  readonly oldLines: readonly string[];
  readonly newLines: readonly string[];
  /** True when the old lines are the last ones of the file. */
  readonly isAtEnd: boolean;
}

/** Change of one file by a patch. */
type FilePatch =
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
function parsePatch(input: string): readonly FilePatch[] {
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

/** Most characters of a patch. */
const MOST_CHARS = 4_000_000;

const input = z.object({
  input: z
    .string()
    .min(1)
    .max(MOST_CHARS)
    .describe(
      '"*** Begin Patch", then "*** Add File: p" with + lines, "*** Update File: p" (then maybe "*** Move to: p") with @@ ' +
        'places of " ", "-" and "+" lines, or "*** Delete File: p", then "*** End Patch"',
    ),
});

/** A checked step of a patch. */
interface Step {
  /** `A`, `M` or `D`, and the path. */
  readonly mark: string;
  make(): Promise<void>;
  /** The change of the step, for people. */
  change(): Promise<Readonly<Record<string, unknown>>>;
}

/** Applies a patch. Every possible check is made before the first file changes. */
async function applyPatch(text: string, files: FileBackend, workspace: string): Promise<ToolResult> {
  const patches = parsePatch(text);
  await mustBeSeparate(patches, files, workspace);
  const steps: Step[] = [];
  for (const patch of patches) steps.push(await stepOf(patch, files, workspace));
  const made: string[] = [];
  for (const step of steps) {
    try {
      await step.make();
    } catch (error) {
      return errorResult(failure(step.mark, error, made), { changed: made.length > 0, files: made });
    }
    made.push(step.mark);
  }
  const changes = await Promise.all(steps.map((step) => step.change()));
  return textResult(`Applied the patch:\n${made.join("\n")}`, { changed: true, files: changes });
}

function failure(mark: string, error: unknown, made: readonly string[]): string {
  const why = error instanceof Error ? error.message : String(error);
  const before = made.length === 0 ? "No file was changed." : `Changed before that, and still so:\n${made.join("\n")}`;
  return `The patch failed at "${mark}": ${why}\n${before}`;
}

/** Throws when a file is named twice: its changes could be made in the wrong order. */
async function mustBeSeparate(patches: readonly FilePatch[], files: FileBackend, workspace: string): Promise<void> {
  const seen = new Set<string>();
  for (const patch of patches) {
    for (const path of [patch.path, ...(patch.kind === "update" && patch.to !== undefined ? [patch.to] : [])]) {
      const located = files.locate(path, workspace, "write");
      // A link that is to be deleted may lead anywhere: its own place is checked when it is deleted.
      const real = await (patch.kind === "delete" ? located.catch(() => path) : located);
      if (seen.has(real)) throw new Error(`${path} is named twice; put all changes of a file into one section.`);
      seen.add(real);
    }
  }
}

function stepOf(patch: FilePatch, files: FileBackend, workspace: string): Promise<Step> {
  switch (patch.kind) {
    case "add":
      return addition(patch, files, workspace);
    case "delete":
      return Promise.resolve(deletion(patch.path, files, workspace));
    case "update":
      return update(patch, files, workspace);
  }
}

async function addition(
  { path, content }: { readonly path: string; readonly content: string },
  files: FileBackend,
  workspace: string,
): Promise<Step> {
  await mustBeAbsent(path, files, workspace);
  return {
    mark: `A ${path}`,
    async make() {
      await files.create({ path, content }, workspace);
      await mustHold({ path, content }, files, workspace);
    },
    change: async () => ({ path, ...(await changeOf(path, undefined, content)) }),
  };
}

const deletion = (path: string, files: FileBackend, workspace: string): Step => ({
  mark: `D ${path}`,
  make: () => files.remove(path, workspace),
  change: async () => ({ path, changed: true, deleted: true }),
});

async function update(
  { path, to, hunks }: Extract<FilePatch, { readonly kind: "update" }>,
  files: FileBackend,
  workspace: string,
): Promise<Step> {
  const { content: before, mode } = await readToChange(path, files, workspace);
  const content = patched(path, before, hunks);
  if (to === undefined && content === before) throw new Error(`The patch changes nothing in ${path}.`);
  if (to !== undefined) await mustBeAbsent(to, files, workspace);
  const target = to ?? path;
  return {
    mark: to === undefined ? `M ${path}` : `M ${path} -> ${to}`,
    async make() {
      if (to === undefined) await files.replace({ path, content }, workspace);
      else await files.create({ path: to, content, mode }, workspace);
      await mustHold({ path: target, content }, files, workspace);
      if (to !== undefined) await files.remove(path, workspace);
    },
    change: async () => ({
      path,
      ...(to !== undefined && { to }),
      ...(await changeOf(target, before, content)),
    }),
  };
}

/** Throws when a path exists, before anything changes. The backend checks again when it creates the file. */
async function mustBeAbsent(path: string, files: FileBackend, workspace: string): Promise<void> {
  if (await files.exists(path, workspace)) throw new Error(`${path} exists already; nothing was changed.`);
}

/** The paths that a patch changes; none when the patch is not valid, since the call is refused then. */
function pathsOf(text: string): readonly string[] {
  try {
    return parsePatch(text).flatMap((one) => [one.path, ...(one.kind === "update" && one.to ? [one.to] : [])]);
  } catch {
    return [];
  }
}

/** The tool `apply_patch`: changes several files by one patch. */
export function applyPatchTool(files: FileBackend): Tool {
  return defineTool({
    name: "apply_patch",
    label: "Apply patch",
    description:
      "Change several files by one patch: add, update, move and delete. Added files and targets of moves must not exist.",
    input,
    timeoutMs: FILE_TOOL_MS,
    hasSideEffects: true,
    riskOf: ({ input: text }, { workspace }) => promptFileRisk(pathsOf(text), files, workspace),
    run: ({ input: text }, { workspace }) => applyPatch(text, files, workspace),
  });
}

/** Lines that may be compared for one file, so that other chats are not kept waiting. */
const MOST_COMPARED = 5_000_000;

/**
 * Forms in which two lines may be the same: exactly, apart from spaces at their ends, and apart from the kind of
 * spaces, quotes and dashes.
 */
const FORMS: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => fold(line.trim()).text,
];

/** A file's text with all places of a patch changed. Throws a text for the model when a place is not in the file. */
const patched = (path: string, content: string, hunks: readonly Hunk[]): string =>
  keepingLineEnds(content, (text) => patchedLines(path, text, hunks));

function patchedLines(path: string, text: string, hunks: readonly Hunk[]): string {
  const lines = linesOf(text);
  const search = new LineSearch(lines);
  const pieces: (readonly string[])[] = [];
  let done = 0;
  for (const [index, hunk] of hunks.entries()) {
    const at = placeOf(hunk, { search, from: done });
    if (at === undefined) throw new Error(missing(path, index + 1, hunk, text));
    pieces.push(lines.slice(done, at), hunk.newLines);
    done = at + hunk.oldLines.length;
  }
  const result = [...pieces, lines.slice(done)].flat();
  return result.length === 0 ? "" : result.join("\n") + (hasLastEnd(text) ? "\n" : "");
}

/**
 * Whether the new text ends with a line end. A last line without an end keeps none; lines that are added to an empty
 * file get one.
 */
const hasLastEnd = (text: string): boolean => text === "" || text.endsWith("\n");

const linesOf = (text: string): readonly string[] =>
  text === "" ? [] : (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");

const missing = (path: string, number: number, { after, oldLines }: Hunk, text: string): string =>
  `Place ${number} of ${path}: ${after === undefined ? "its lines are" : `"${after}" followed by its lines is`} not in the file ` +
  `after the place before. ${nearestText(text, oldLines.join("\n") || (after ?? ""))}\nRead the file again and copy the lines from it.`;

function placeOf(
  { after, oldLines, isAtEnd }: Hunk,
  { search, from }: { readonly search: LineSearch; readonly from: number },
): number | undefined {
  const begin = after === undefined ? from : search.find([after], from);
  if (begin === undefined) return undefined;
  // The line itself may be the first one of the place.
  const start = after === undefined ? begin : begin + 1;
  if (oldLines.length === 0) return after === undefined || isAtEnd ? search.lines.length : start;
  if (isAtEnd) return search.find(oldLines, Math.max(from, search.lines.length - oldLines.length));
  return search.find(oldLines, start) ?? (after === undefined ? undefined : search.find(oldLines, begin));
}

/** The lines of a file, which are searched in each of the forms. */
class LineSearch {
  readonly lines: readonly string[];
  readonly #forms = new Map<number, readonly string[]>();
  #compared = 0;

  constructor(lines: readonly string[]) {
    this.lines = lines;
  }

  /** First place, at `from` or after it, where these lines follow each other; the most exact form counts. */
  find(wanted: readonly string[], from: number): number | undefined {
    for (const [index, form] of FORMS.entries()) {
      const at = this.#findIn(this.#inForm(index, form), wanted.map(form), from);
      if (at !== undefined) return at;
    }
    return undefined;
  }

  #inForm(index: number, form: (line: string) => string): readonly string[] {
    const known = this.#forms.get(index);
    if (known) return known;
    const made = this.lines.map(form);
    this.#forms.set(index, made);
    return made;
  }

  #findIn(lines: readonly string[], wanted: readonly string[], from: number): number | undefined {
    for (let at = from; at + wanted.length <= lines.length; at += 1) {
      let same = 0;
      while (same < wanted.length && lines[at + same] === wanted[same]) same += 1;
      if (same === wanted.length) return at;
      this.#compared += same + 1;
      if (this.#compared > MOST_COMPARED)
        throw new Error("The search for the lines of the patch takes too long in this file; use edit, or write.");
    }
    return undefined;
  }
}
