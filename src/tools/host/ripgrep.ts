import { spawn } from "node:child_process";
import type { SearchEnd } from "../../types/run/backend.ts";

interface Search {
  readonly args: readonly string[];
  /** Directory to run in, or the descriptor of an open file that becomes its standard input. */
  readonly over: { readonly cwd: string } | { readonly stdin: number };
  /** The character after each record of ripgrep's output. */
  readonly separator: "\n" | "\0";
  readonly signal: AbortSignal;
  /** Ends the search early; the records until then are kept. */
  readonly deadline: AbortSignal;
  /** Takes one record of output; false when no more are needed. */
  take(record: string): boolean;
}

/** Time limit of one search in milliseconds. */
export const SEARCH_MS = 30_000;
const MAX_STDERR = 2000;
/** Milliseconds after which a killed program that still does not end (a dead network disk) is left alone. */
const GIVE_UP_MS = 500;

/** Variables for ripgrep. It needs none, but Windows programs need the system's directory. */
const environment = (): Record<string, string> => {
  const root = process.platform === "win32" ? process.env["SystemRoot"] : undefined;
  return root === undefined ? {} : { SystemRoot: root };
};

/**
 * Runs the bundled ripgrep, without a shell and with an empty environment. Throws its error message when it fails, and
 * throws when `signal` aborts. Memory is bounded: a record of more than 64 KB ends the search with an error.
 */
export async function runRipgrep({ args, over, separator, signal, deadline, take }: Search): Promise<SearchEnd> {
  // Loaded late, because its index looks for the platform's package.
  const { rgPath } = await import("@vscode/ripgrep");
  const ends = AbortSignal.any([signal, deadline]);
  signal.throwIfAborted();
  if (ends.aborted) {
    return { isLate: true, isPartial: false };
  }
  const child = spawn(rgPath, ["--no-config", "--color=never", "--no-messages", ...args], {
    ...("cwd" in over && { cwd: over.cwd }),
    stdio: ["stdin" in over ? over.stdin : "ignore", "pipe", "pipe"],
    env: environment(),
    windowsHide: true,
  });
  const { promise: ended, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject).once("close", resolve);
  const stop = (): void => {
    child.kill("SIGKILL");
    setTimeout(() => resolve(null), GIVE_UP_MS).unref();
  };
  ends.addEventListener("abort", stop, { once: true });
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(0, MAX_STDERR);
  });
  const splitter = new RecordSplitter(separator, take);
  child.stdout?.on("data", (chunk: Buffer) => {
    if (!splitter.push(chunk)) stop();
  });
  try {
    const code = await ended;
    signal.throwIfAborted();
    return endOf({ code, errors, isLate: deadline.aborted, hasEnough: splitter.finish() });
  } finally {
    ends.removeEventListener("abort", stop);
  }
}

interface Outcome {
  readonly code: number | null;
  readonly errors: string;
  readonly isLate: boolean;
  readonly hasEnough: boolean;
}

/**
 * The end of a search. Exit code 1 means that nothing was found; 2 without errors means that a file could not be read.
 */
function endOf({ code, errors, isLate, hasEnough }: Outcome): SearchEnd {
  const isPartial = code === 2 && errors.trim() === "";
  if (!hasEnough && !isLate && !isPartial && code !== 0 && code !== 1) {
    throw new Error(errors.trim() || "The search failed.");
  }
  return { isLate, isPartial };
}

/** Most bytes of one record; every record in use is shorter. */
const MAX_RECORD = 64 * 1024;

/** Splits a program's output into records, with at most one in memory. */
class RecordSplitter {
  readonly #separator: number;
  readonly #take: (record: string) => boolean;
  #pending: Buffer[] = [];
  #bytes = 0;
  #hasEnough = false;
  #isTooLong = false;

  /** `take` returns false when no more records are needed. */
  constructor(separator: "\n" | "\0", take: (record: string) => boolean) {
    this.#separator = separator.charCodeAt(0);
    this.#take = take;
  }

  /** Takes output. False when no more is needed: `take` had enough, or a record is longer than 64 KB. */
  push(chunk: Buffer): boolean {
    let start = 0;
    while (!this.#hasEnough && !this.#isTooLong) {
      const end = chunk.indexOf(this.#separator, start);
      this.#add(chunk.subarray(start, end < 0 ? chunk.length : end));
      if (end < 0) break;
      this.#emit();
      start = end + 1;
    }
    return !this.#hasEnough && !this.#isTooLong;
  }

  /**
   * Passes on a last record without a separator; true when `take` had enough. Throws for a record of more than 64 KB.
   */
  finish(): boolean {
    if (this.#isTooLong) throw new Error("The search found a line that is too long to show; narrow the search.");
    if (this.#bytes > 0 && !this.#hasEnough) this.#emit();
    return this.#hasEnough;
  }

  #add(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#isTooLong = this.#bytes > MAX_RECORD;
    if (!this.#isTooLong) this.#pending.push(piece);
  }

  #emit(): void {
    if (this.#isTooLong) return;
    const record = Buffer.concat(this.#pending).toString();
    this.#pending = [];
    this.#bytes = 0;
    this.#hasEnough = !this.#take(record);
  }
}
