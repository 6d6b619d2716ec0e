import { mkdirSync, openSync, renameSync, statSync, fstatSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import type { Log } from "../../types/log.ts";
import { OpenClawError } from "../../types/errors.ts";
import { Secret } from "../../types/secret.ts";
import { errorCode } from "../../utils/missing.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { escapedControls } from "../../utils/text/escaped-controls.ts";
import { boundedFields, boundedText } from "./bounded.ts";
import { redacted, redactPattern } from "./redact.ts";
import { humanLine } from "./human.ts";
import { LogLineFile, droppedNote } from "./log-line-file.ts";

export type Level = "silent" | "fatal" | "error" | "warn" | "info" | "debug" | "trace";

export interface LogOptions {
  /** Folder of the daily files; none for commands that only print. */
  readonly dir?: string | undefined;
  /**
   * Most bytes of a day's file; 256 MiB when unset. A full file becomes the day's `.1` file and replaces the previous
   * one.
   */
  readonly maxDayBytes?: number;
  /** One file instead of a daily one. */
  readonly file?: string | undefined;
  readonly level: Level;
  readonly consoleLevel: Level;
  readonly consoleStyle: "pretty" | "compact" | "json";
  /** Patterns of text to mask in addition to the secrets of this process, as `redactPattern` reads them. */
  readonly redactPatterns?: readonly string[];
  /** The name of a conversation for people, by its key; the key itself when unset. */
  readonly sessionName?: (key: string) => string;
}

export interface OpenLog extends Log {
  /** Path of the current file; undefined when there is none. */
  file(): string | undefined;
  setLevels(levels: { level: Level; consoleLevel: Level }): void;
  /** Writes buffered lines to the disk at once. */
  flush(): void;
}

type Fields = Readonly<Record<string, unknown>>;
type Verb = "debug" | "info" | "warn" | "error";

const RANK: Readonly<Record<Level, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
  silent: 99,
};

const MAX_DAY_BYTES = 268_435_456;
/**
 * Milliseconds after which the lines of that time are made and written together: the work that they report has the
 * processor first.
 */
const SHARED_MS = 20;
/** Number of waiting lines at which they are made at once, whatever the time. */
const MOST_UNMADE = 256;

/** A line that is not made yet. */
interface UnmadeLine {
  readonly verb: Verb;
  readonly message: string;
  readonly fields: Fields;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The name of a day's file, local time. */
function dailyName(now: Date): string {
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("-");
  return `openclaw-${day}.log`;
}

/**
 * Writes JSON lines to a daily file, and to the console lines for people at a terminal, else JSON lines. Every secret
 * of this process becomes `[secret]`.
 */
export const openLog = (options: LogOptions): OpenLog => new LogWith(new Root(options), {});

/** A log whose lines all have some fields. */
class LogWith implements OpenLog {
  readonly #root: Root;
  readonly #fields: Fields;

  constructor(root: Root, fields: Fields) {
    this.#root = root;
    this.#fields = fields;
  }

  debug(message: string, fields?: Fields): void {
    this.#root.write("debug", message, { ...this.#fields, ...fields });
  }

  info(message: string, fields?: Fields): void {
    this.#root.write("info", message, { ...this.#fields, ...fields });
  }

  warn(message: string, fields?: Fields): void {
    this.#root.write("warn", message, { ...this.#fields, ...fields });
  }

  error(message: string, fields?: Fields): void {
    this.#root.write("error", message, { ...this.#fields, ...fields });
  }

  with(fields: Fields): LogWith {
    return new LogWith(this.#root, { ...this.#fields, ...fields });
  }

  file(): string | undefined {
    return this.#root.file();
  }

  setLevels(levels: { level: Level; consoleLevel: Level }): void {
    this.#root.setLevels(levels);
  }

  flush(): void {
    this.#root.flush();
  }
}

class Root {
  #options: LogOptions;
  #path: string | undefined;
  /** Bytes of the current file. */
  #bytes = 0;
  #file: Lines | undefined;
  #lines: LogLineFile | undefined;
  #console: Lines | undefined;
  #dailyPath: string | undefined;
  /** Epoch milliseconds at which the name of the daily file changes. */
  #nextDay = 0;
  #unmade: UnmadeLine[] = [];
  #timer: NodeJS.Timeout | undefined;
  #watchesExit = false;
  /** Destinations of the line that is being made, and the time when it was logged. */
  #to: readonly Lines[] = [];
  #at = 0;
  readonly #pino = pino(
    { ...SHAPE, timestamp: () => `,"time":"${new Date(this.#at).toISOString()}"` },
    { write: (line: string) => this.#put(line) },
  );
  readonly #asJson: boolean;
  readonly #redact: readonly RegExp[];

  constructor(options: LogOptions) {
    this.#options = options;
    this.#redact = (options.redactPatterns ?? []).map(redactPattern);
    this.#asJson = options.consoleStyle === "json" || process.stdout.isTTY !== true;
  }

  file(): string | undefined {
    this.#make();
    return this.#path;
  }

  setLevels(levels: { level: Level; consoleLevel: Level }): void {
    this.#make();
    this.#options = { ...this.#options, ...levels };
  }

  write(verb: Verb, message: string, given: Fields): void {
    const fields = this.#withName(given);
    const rank = RANK[verb];
    const { level, consoleLevel } = this.#options;
    const isOnConsole = rank >= RANK[consoleLevel];
    if (rank >= RANK[level] || (isOnConsole && this.#asJson)) this.#makeSoon({ verb, message, fields, at: Date.now() });
    if (isOnConsole && !this.#asJson) process.stdout.write(this.#humanLine(verb, message, fields));
  }

  #humanLine(verb: Verb, message: string, fields: Fields): string {
    const redact = this.#redact;
    const { error } = fields;
    const texts = error === undefined ? fields : { ...fields, error: errorText(error) };
    const line = humanLine(verb, boundedText(redacted(message, redact)), boundedFields(texts, redact));
    return redacted(Secret.mask(line), redact);
  }

  #withName(fields: Fields): Fields {
    const { session } = fields;
    const { sessionName } = this.#options;
    return typeof session === "string" && sessionName ? { ...fields, session: sessionName(session) } : fields;
  }

  #makeSoon(line: UnmadeLine): void {
    this.#unmade.push(line);
    // Warnings and errors are written at once: the process may be killed next.
    if (RANK[line.verb] >= RANK.warn || this.#unmade.length >= MOST_UNMADE) return this.#make();
    this.#timer ??= setTimeout(() => this.#make(), SHARED_MS).unref();
    if (this.#watchesExit) return;
    this.#watchesExit = true;
    process.once("exit", this.#onExit);
  }

  readonly #onExit = (): void => this.flush();

  flush(): void {
    this.#make();
    this.#lines?.flush();
    this.#console?.flush?.();
  }

  #make(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    process.off("exit", this.#onExit);
    this.#watchesExit = false;
    const unmade = this.#unmade;
    this.#unmade = [];
    for (const line of unmade) this.#makeLine(line);
  }

  #makeLine({ verb, message, fields, at }: UnmadeLine): void {
    const redact = this.#redact;
    const rank = RANK[verb];
    const { level, consoleLevel } = this.#options;
    const file = rank >= RANK[level] ? this.#today(at) : undefined;
    const stdout = rank >= RANK[consoleLevel] && this.#asJson ? this.#stdout() : undefined;
    // One line is made for both destinations.
    this.#to = [file, stdout].filter((lines) => lines !== undefined);
    this.#at = at;
    if (this.#to.length > 0)
      this.#pino[verb](boundedFields(shown(fields), redact), boundedText(redacted(message, redact)));
  }

  #put(line: string): void {
    for (const lines of this.#to) lines.write(line);
  }

  #stdout(): Lines {
    this.#console ??= openStdout();
    return this.#console;
  }

  /**
   * Whether the current file is to be rotated. Only daily files are: the operator rotates a file that the operator
   * chose.
   */
  #isFull(): boolean {
    const { file, maxDayBytes = MAX_DAY_BYTES } = this.#options;
    return file === undefined && this.#bytes >= maxDayBytes;
  }

  #pathOf({ dir, file }: LogOptions, now: number): string | undefined {
    if (file !== undefined || dir === undefined) return file;
    // A clock that is set back changes the name at its next midnight.
    if (now >= this.#nextDay) {
      this.#dailyPath = join(dir, dailyName(new Date(now)));
      this.#nextDay = new Date(now).setHours(24, 0, 0, 0);
    }
    return this.#dailyPath;
  }

  #today(now: number): Lines | undefined {
    const { dir } = this.#options;
    const path = this.#pathOf(this.#options, now);
    if (path === undefined || (path === this.#path && !this.#isFull())) return this.#file;
    if (dir !== undefined) mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.#lines?.flush();
    this.#lines?.end();
    const isStuck = path === this.#path && !putAside(path);
    this.#path = path;
    // A failed rotation is tried again after the same number of bytes.
    this.#bytes = isStuck ? 0 : sizeOf(path);
    this.#file = this.#open(path);
    return this.#file;
  }

  /**
   * Opens a file; undefined while the disk is full. That must not end the gateway, and the terminal still gets the
   * line.
   */
  #open(path: string): Lines | undefined {
    this.#lines = openLines(path);
    const lines = this.#lines;
    // The next line opens the file again.
    if (!lines) this.#path = undefined;
    const write = (line: string): void => {
      this.#bytes += Buffer.byteLength(line);
      lines?.write(line);
    };
    return lines && { write };
  }
}

function openLines(path: string): LogLineFile | undefined {
  try {
    return new LogLineFile(openSync(path, "a", 0o600));
  } catch (error) {
    if (errorCode(error) === "ENOSPC" || errorCode(error) === "EDQUOT") return undefined;
    throw error;
  }
}

/** Renames a day's full file to `.1`, which replaces an earlier one. False when that fails. */
function putAside(path: string): boolean {
  try {
    renameSync(path, path.replace(/\.log$/, ".1.log"));
    return true;
  } catch {
    // The file cannot be renamed: it keeps growing, so that no line is lost.
    return false;
  }
}

/** Bytes of a file; 0 when there is none. */
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const SHAPE = {
  level: "trace",
  base: null,
  formatters: { level: (label: string) => ({ level: label }) },
  hooks: { streamWrite: (line: string) => escapedControls(Secret.mask(line)) },
};

/** The fields with an error as its message, and its code and fix or its stack; everything else as it is. */
function shown(fields: Fields): Fields {
  if (!("error" in fields)) return fields;
  const { error } = fields;
  if (!(error instanceof Error)) return fields;
  const code = error instanceof OpenClawError ? { code: error.code, fix: error.fix } : { stack: error.stack };
  return { ...fields, error: error.message, ...code };
}

/** Most bytes that may wait for the reader of standard output. More is dropped; the log file has it. */
const MOST_WAITING = 1_048_576;

interface Lines {
  write(line: string): void;
  /** Writes buffered lines, where lines are buffered. */
  flush?(): void;
}

/** The lines of standard output. A slow reader does not block the gateway. */
function openStdout(): Lines {
  return isFile(1) ? new LogLineFile(1) : new LineStream(process.stdout);
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    // There is no standard output.
    return false;
  }
}

class LineStream implements Lines {
  readonly #stream: NodeJS.WriteStream;
  #dropped = 0;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    // The reader has closed the pipe: only the output ends.
    stream.on("error", () => undefined);
    stream.on("drain", () => this.#tellDropped());
  }

  write(line: string): void {
    if (this.#stream.destroyed) return;
    if (this.#stream.writableLength + line.length > MOST_WAITING) this.#dropped += 1;
    else this.#stream.write(line);
  }

  #tellDropped(): void {
    const lines = this.#dropped;
    this.#dropped = 0;
    if (lines > 0) this.#stream.write(droppedNote(lines));
  }
}
