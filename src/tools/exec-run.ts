import { spawn, type ChildProcess } from "node:child_process";
import { OutputTail, type CommandOutput } from "./exec-output.ts";

export interface CommandLine {
  readonly command: string;
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Where the whole output goes when it is long. */
  readonly outputFile: string;
  /** Hears of the output so far, at most four times a second. */
  update(partial: string): void;
}

export interface CommandEnd {
  readonly output: CommandOutput;
  /** Exit code; null when a signal ended it. */
  readonly code: number | null;
  readonly because: "exit" | "timeout" | "abort";
}

const KILL_AFTER_MS = 300;
const DRAIN_MS = 100;
const UPDATE_EVERY_MS = 250;
const UPDATE_BYTES = 8 * 1024;

function killGroup(child: ChildProcess, name: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) {
    return;
  }
  if (process.platform === "win32") {
    spawn("taskkill", ["/pid", String(child.pid), "/T", "/F"], { stdio: "ignore" }).on("error", () => child.kill());
    return;
  }
  try {
    process.kill(-child.pid, name);
  } catch (error) {
    // Nobody is left in the group: that is what was wanted.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) {
      child.kill(name);
    }
  }
}

function start({ command, cwd, env }: CommandLine): ChildProcess {
  return spawn(command, {
    cwd,
    env,
    // On POSIX `/bin/sh -c`, not a login shell: nobody's profile is run.
    shell: true,
    // A group of its own, so that one signal reaches everything that it starts.
    detached: process.platform !== "win32",
    stdio: ["ignore", "pipe", "pipe"],
    windowsHide: true,
  });
}

/** Calls at once and then at most four times a second, with the last call never lost until `stop`. */
function throttle(call: () => void): { ask(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  const fire = (): void => {
    isDue = false;
    timer = setTimeout(() => {
      timer = undefined;
      if (isDue) {
        fire();
      }
    }, UPDATE_EVERY_MS);
    call();
  };
  return {
    ask() {
      isDue = true;
      if (timer === undefined) {
        fire();
      }
    },
    stop: () => clearTimeout(timer),
  };
}

/** Ends the group for the first reason that comes; tells which it was. */
function watchEnd(child: ChildProcess, line: CommandLine): { because(): CommandEnd["because"]; stop(): void } {
  let because: CommandEnd["because"] = "exit";
  const end = (reason: "timeout" | "abort"): void => {
    if (because !== "exit") {
      return;
    }
    because = reason;
    killGroup(child, "SIGTERM");
    // Also when the shell itself obeyed: its children may not have.
    setTimeout(() => killGroup(child, "SIGKILL"), KILL_AFTER_MS);
  };
  const onAbort = (): void => end("abort");
  const timer = setTimeout(() => end("timeout"), line.timeoutMs);
  line.signal.addEventListener("abort", onAbort, { once: true });
  if (line.signal.aborted) {
    onAbort();
  }
  return {
    because: () => because,
    stop() {
      clearTimeout(timer);
      line.signal.removeEventListener("abort", onAbort);
    },
  };
}

/** Resolves with the exit code when the command has ended and its output was read; rejects when it cannot start. */
function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code));
    child.once("exit", (code) => {
      // A program left in the background holds the pipes open; its words are no longer waited for.
      setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        resolve(code);
      }, DRAIN_MS);
    });
  });
}

/**
 * Runs a command in a shell, in a process group of its own. After an abort or the timeout the group gets SIGTERM, and
 * SIGKILL 300 ms later. Rejects only when no shell can be started.
 */
export async function runCommand(line: CommandLine): Promise<CommandEnd> {
  const child = start(line);
  const tail = new OutputTail(line.outputFile);
  const updates = throttle(() => line.update(tail.peek(UPDATE_BYTES)));
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) {
      tail.listen(stream, updates.ask);
    }
  }
  const watch = watchEnd(child, line);
  try {
    const code = await ended(child);
    return { output: await tail.finish(), code, because: watch.because() };
  } finally {
    watch.stop();
    updates.stop();
  }
}
