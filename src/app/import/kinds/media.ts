import { readdir, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { writeAtomic } from "../../../store/disk.ts";
import { makeDirectory } from "../../../store/make-directory.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import { openSourceFile, SourceFault, sourceFile } from "../frame/source-file.ts";

/** Where copied files are, below the media folder of the target. */
const FOLDER = "imported";
const MARK = "/media/";
/** Bytes that are copied at once. */
const BLOCK_BYTES = 256 * 1024;
/** Characters of a path below the media folder. */
const MOST_NAME = 400;
/** Characters in front of the mark among which the path begins. */
const MOST_FRONT = 1000;

/** The files of the source's media folder that conversations name, and their copies. */
export class MediaCopies {
  readonly #from: string;
  readonly #to: string;
  readonly #files: ReadonlySet<string>;
  readonly #source: string;
  readonly #copies = new Map<string, Promise<boolean>>();
  readonly #front: RegExp;

  private constructor(source: string, media: string, files: ReadonlySet<string>) {
    this.#source = source;
    this.#from = join(source, "media");
    this.#to = join(media, FOLDER);
    this.#files = files;
    const known = [source, ".openclaw", ".moltbot", ".clawdbot"].map((name) =>
      name.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&"),
    );
    this.#front = new RegExp(`(?:[^\\s"'()\\[\\]<>=,]*/|~/)?(?:${known.join("|")})$`);
  }

  /** Lists the folder. */
  static async of(source: string, media: string): Promise<MediaCopies> {
    const folder = join(source, "media");
    const entries = (await unlessMissing(readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
    return new MediaCopies(source, media, new Set(files));
  }

  /** How many files the folder has, and how many of them no conversation named so far. */
  get unnamed(): number {
    return this.#files.size - this.#copies.size;
  }

  /** A line of JSON with the files' places here. `named` gets each file that the line names, with whether it is there. */
  here(line: string, named: (file: string, isThere: boolean) => void): string {
    if (!line.includes(MARK)) return line;
    let written = "";
    let done = 0;
    for (let at = line.indexOf(MARK); at >= 0; at = line.indexOf(MARK, at + 1)) {
      const front = this.#front.exec(line.slice(Math.max(done, at - MOST_FRONT), at))?.[0];
      if (front === undefined) continue;
      const rest = line.slice(at + MARK.length, at + MARK.length + MOST_NAME).split(/["\\\n]/, 1)[0] ?? "";
      const file = this.#fileIn(rest);
      named(file ?? rest, file !== undefined);
      if (file === undefined) continue;
      written += line.slice(done, at - front.length) + JSON.stringify(join(this.#to, file)).slice(1, -1);
      done = at + MARK.length + file.length;
    }
    return done === 0 ? line : written + line.slice(done);
  }

  /** Copies a file, once. A copy that is there is not made again. False when the source's file cannot be read. */
  copy(file: string): Promise<boolean> {
    const known = this.#copies.get(file);
    if (known) return known;
    const copying = this.#copy(file);
    this.#copies.set(file, copying);
    return copying;
  }

  async #copy(file: string): Promise<boolean> {
    try {
      await this.#write(file);
      return true;
    } catch (error) {
      if (SourceFault.in(error)) return false;
      throw error;
    }
  }

  async #write(file: string): Promise<void> {
    const [from, to] = [join(this.#from, file), join(this.#to, file)];
    const there = await unlessMissing(stat(to));
    if (there !== undefined && there.size === (await sourceFile(from, this.#source))?.size) return;
    await makeDirectory(dirname(to));
    await writeAtomic(to, await openSourceFile(from, this.#source, BLOCK_BYTES));
  }

  /** The longest name of a file at the beginning of a text: names may have spaces. */
  #fileIn(text: string): string | undefined {
    for (let end = text.length; end > 0; end = lastBreak(text, end)) {
      const name = text.slice(0, end);
      if (this.#files.has(name)) return name;
    }
    return undefined;
  }
}

/** The last place before `end` at which a name may end in a text. */
const lastBreak = (text: string, end: number): number =>
  text.slice(0, end).search(/[\s)\]>},;:|'`.!?]+[^\s)\]>},;:|'`.!?]*$/);
