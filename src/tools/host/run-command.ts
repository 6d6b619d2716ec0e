import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { CommandEnd, CommandLine, Launch, LeftRunning } from "../../types/run/backend.ts";
import { OutputTail } from "./command-output.ts";
import { endRunning, leftRunning, MARK } from "./left-running.ts";

interface HostCommand extends Pick<CommandLine, "timeoutMs" | "signal" | "update"> {
  readonly launch: Launch;
  /** File for the whole output when it is long. */
  readonly outputFile: string;
}

const KILL_AFTER_MS = 300;
const DRAIN_MS = 100;
const UPDATE_EVERY_MS = 250;
/** Factor by which each pause is longer than the one before, so that a command of a day makes only about a hundred updates. */
const UPDATE_GROWTH = 1.1;
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
    // The group is empty, as wanted.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) {
      child.kill(name);
    }
  }
}

/** The shell that runs a command's text. On POSIX `/bin/sh -c`, which is no login shell and runs no profile. */
export const shellArgv = (command: string): Launch["argv"] =>
  process.platform === "win32"
    ? [process.env["ComSpec"] ?? "cmd.exe", "/d", "/s", "/c", `"${command}"`]
    : ["/bin/sh", "-c", command];

function start({ argv: [program, ...args], cwd, env }: Launch, mark: string): ChildProcess {
  return spawn(program, args, {
    cwd,
    env: { ...env, [MARK]: mark },
    // Node would quote the text that `cmd.exe` is to read as it is.
    windowsVerbatimArguments: true,
    // Its own group, so that one signal reaches all its processes.
    detached: process.platform !== "win32",
    stdio: ["ignore", "pipe", "pipe"],
    windowsHide: true,
  });
}

/** Calls at once, then after 250 ms, then less and less often. The last request is never lost before `stop`. */
function throttle(call: () => void): { request(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  let waitMs = UPDATE_EVERY_MS;
  const fire = (): void => {
    isDue = false;
    timer = setTimeout(() => {
      timer = undefined;
      if (isDue) {
        fire();
      }
    }, waitMs);
    waitMs *= UPDATE_GROWTH;
    call();
  };
  return {
    request() {
      isDue = true;
      if (timer === undefined) {
        fire();
      }
    },
    stop: () => clearTimeout(timer),
  };
}

interface EndWatch {
  because(): CommandEnd["because"];
  /** The processes that still run after the end. */
  left(): Promise<readonly LeftRunning[]>;
  stop(): void;
}

/** Ends the command on a timeout or abort, whichever is first, and remembers which it was. */
function watchEnd(child: ChildProcess, line: HostCommand, mark: string): EndWatch {
  let because: CommandEnd["because"] = "exit";
  let ending: Promise<readonly LeftRunning[]> | undefined;
  const end = (reason: "timeout" | "abort"): void => {
    if (because !== "exit") {
      return;
    }
    because = reason;
    ending = endAll(child, mark);
  };
  const onAbort = (): void => end("abort");
  const timer = setTimeout(() => end("timeout"), line.timeoutMs);
  line.signal.addEventListener("abort", onAbort, { once: true });
  if (line.signal.aborted) {
    onAbort();
  }
  return {
    because: () => because,
    left: () => ending ?? leftRunning(mark),
    stop() {
      clearTimeout(timer);
      line.signal.removeEventListener("abort", onAbort);
    },
  };
}

async function endAll(child: ChildProcess, mark: string): Promise<readonly LeftRunning[]> {
  killGroup(child, "SIGTERM");
  await delay(KILL_AFTER_MS);
  // Even if the shell obeyed, its children may not have.
  killGroup(child, "SIGKILL");
  // Processes that left the group (`setsid`) still have the mark.
  return endRunning(mark);
}

/** Resolves with the exit code when the command has ended and its output was read; rejects when it cannot start. */
function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code));
    child.once("exit", (code) => {
      // A background program keeps the pipes open; its output is not waited for.
      setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        resolve(code);
      }, DRAIN_MS);
    });
  });
}

/**
 * Starts a command in its own process group and waits for its end. After an abort or the timeout the group gets SIGTERM, and 300 ms
 * later SIGKILL, as do processes that left the group. Rejects only when it cannot be started.
 */
export async function runCommand(line: HostCommand): Promise<CommandEnd> {
  const mark = randomUUID();
  const child = start(line.launch, mark);
  const tail = new OutputTail(line.outputFile);
  const updates = throttle(() => line.update(tail.peek(UPDATE_BYTES)));
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) {
      tail.listen(stream, updates.request);
    }
  }
  const watch = watchEnd(child, line, mark);
  try {
    const code = await ended(child);
    const output = await tail.finish();
    // Read before the cause, since an abort may come during the search.
    const left = await watch.left();
    return { output, code, because: watch.because(), left };
  } finally {
    watch.stop();
    updates.stop();
  }
}
