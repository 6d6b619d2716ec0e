import { spawn } from "node:child_process";
import type { SearchEnd } from "../../types/run/backend.ts";
import { RecordSplitter } from "./records.ts";

interface Search {
  readonly args: readonly string[];
  /** Directory to run in, or the descriptor of an open file that becomes its standard input. */
  readonly over: { readonly cwd: string } | { readonly stdin: number };
  /** What ends a record of its output. */
  readonly separator: "\n" | "\0";
  readonly signal: AbortSignal;
  /** Ends the search early; what was found until then counts. */
  readonly deadline: AbortSignal;
  /** Takes one record of output; false when it has enough. */
  take(record: string): boolean;
}

/** Milliseconds for one search. */
export const SEARCH_MS = 30_000;
const MAX_STDERR = 2000;
/** Milliseconds after which a killed program that still does not end (a dead network disk) is left alone. */
const GIVE_UP_MS = 500;

/** It needs nothing of ours; Windows starts no program without its own directory. */
const environment = (): Record<string, string> => {
  const root = process.platform === "win32" ? process.env["SystemRoot"] : undefined;
  return root === undefined ? {} : { SystemRoot: root };
};

/**
 * Runs the bundled ripgrep, without a shell and with an empty environment. Throws what it says when it fails, and when
 * `signal` aborts. Memory is bounded whatever it prints: a record of more than 64 KB ends it with an error.
 */
export async function runRipgrep({ args, over, separator, signal, deadline, take }: Search): Promise<SearchEnd> {
  // Its index looks for the platform's package; nobody should pay for that before the first search.
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
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(0, MAX_STDERR);
  });
  const splitter = new RecordSplitter(separator, take);
  child.stdout?.on("data", (chunk: Buffer) => {
    if (!splitter.push(chunk)) stop();
  });
  try {
    const code = await ended;
    signal.throwIfAborted();
    return endOf({ code, complaint, isLate: deadline.aborted, hasEnough: splitter.finish() });
  } finally {
    ends.removeEventListener("abort", stop);
  }
}

interface Outcome {
  readonly code: number | null;
  readonly complaint: string;
  readonly isLate: boolean;
  readonly hasEnough: boolean;
}

/** 1 is "nothing found"; 2 without a complaint is a file that could not be read. */
function endOf({ code, complaint, isLate, hasEnough }: Outcome): SearchEnd {
  const isPartial = code === 2 && complaint.trim() === "";
  if (!hasEnough && !isLate && !isPartial && code !== 0 && code !== 1) {
    throw new Error(complaint.trim() || "The search failed.");
  }
  return { isLate, isPartial };
}
