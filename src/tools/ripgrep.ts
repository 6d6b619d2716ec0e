import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Search {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** Takes one line of output; false when it has enough. */
  take(line: string): boolean;
}

const MAX_STDERR = 2000;

/** Runs the bundled ripgrep, without a shell. Throws what it says when it fails, and when `signal` aborts. */
export async function searchFiles({ args, cwd, signal, take }: Search): Promise<void> {
  // Its index looks for the platform's package; nobody should pay for that before the first search.
  const { rgPath } = await import("@vscode/ripgrep");
  signal.throwIfAborted();
  const child = spawn(rgPath, ["--no-config", "--color=never", ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    windowsHide: true,
  });
  const kill = (): boolean => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  const closed = once(child, "close");
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(0, MAX_STDERR);
  });
  let hasEnough = false;
  createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => {
    if (!hasEnough && !take(line)) {
      hasEnough = true;
      kill();
    }
  });
  try {
    const [code] = await closed;
    signal.throwIfAborted();
    // 1 is "nothing found"; 2 with results is a file that could not be read.
    if (!hasEnough && code !== 0 && code !== 1) {
      throw new Error(complaint.trim() || "The search failed.");
    }
  } finally {
    signal.removeEventListener("abort", kill);
  }
}
