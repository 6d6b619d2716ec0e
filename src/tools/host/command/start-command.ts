import { setTimeout as delay } from "node:timers/promises";
import type { CommandEnd, CommandInput, Launch, LeftRunning, RunningCommand } from "../../../types/run/backend.ts";
import { startPiped, CLOSED_INPUT, type Child } from "./child.ts";
import { OutputLog } from "./command-output.ts";
import { endRunning, leftRunning, MARK, processIds } from "./left-running.ts";
import { endGroup, hasGroup } from "./process-group.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { programUrl } from "../../../utils/thread/job-thread.ts";
import { terminalNews, type TerminalLaunch, type TerminalNews } from "./terminal-news.ts";

export interface HostCommand {
  readonly launch: Launch;
  /** Value that identifies the command in the environment of all its processes; different for each command. */
  readonly mark: string;
  readonly input: CommandInput;
  /** Time limit in milliseconds; 0 for none. */
  readonly timeoutMs: number;
  /** File for the whole output when it is long. */
  readonly outputFile: string;
}

/** Milliseconds in which more output may follow the end of a command. */
const DRAIN_MS = 100;
/** The same limit for a program that cannot be ended and keeps writing. */
const MOST_DRAIN_MS = 2000;

/** The shell that runs a command's text. On POSIX `/bin/sh -c`, which is no login shell and runs no profile. */
export const shellArgv = (command: string): Launch["argv"] =>
  process.platform === "win32"
    ? [process.env["ComSpec"] ?? "cmd.exe", "/d", "/s", "/c", `"${command}"`]
    : ["/bin/sh", "-c", command];

/**
 * Starts a command in its own process group. After `end` or the timeout the group gets SIGTERM, and SIGKILL a second
 * later, as do processes that left the group. Background processes that run when the command ends are ended too.
 * Rejects only when the command cannot be started.
 */
export async function startCommand({ launch, mark, outputFile, ...line }: HostCommand): Promise<RunningCommand> {
  const before = await processIds();
  const { child, warning } = await startChild({ ...launch, env: { ...launch.env, [MARK]: mark } }, line.input);
  const output = new OutputLog(outputFile);
  for (const source of child.sources) output.listen(source);
  const life = new Life(child, mark, before);
  const timer = line.timeoutMs > 0 ? setTimeout(() => life.end("timeout"), line.timeoutMs) : undefined;
  return {
    pid: child.pid,
    input: child.input,
    ...(warning !== undefined && { warning }),
    output,
    ended: life.follow(output).finally(() => clearTimeout(timer)),
    write: (data) => child.write(data),
    closeInput: () => child.closeInput(),
    end: (because) => life.end(because),
  };
}

async function startChild(launch: Launch, input: CommandInput): Promise<{ child: Child; warning?: string }> {
  if (input !== "terminal") return { child: await startPiped(launch, input) };
  const started = await startInTerminal(launch);
  return "child" in started ? started : { child: await startPiped(launch, "pipe"), warning: started.warning };
}

/** The end of a command, whatever its cause. */
class Life {
  readonly #child: Child;
  readonly #mark: string;
  readonly #before: ReadonlySet<number>;
  #because: CommandEnd["because"] = "exit";
  #ending: Promise<readonly LeftRunning[]> | undefined;

  /** `before`: the processes that ran before the command was started. */
  constructor(child: Child, mark: string, before: ReadonlySet<number>) {
    this.#child = child;
    this.#mark = mark;
    this.#before = before;
  }

  end(because: Exclude<CommandEnd["because"], "exit">): void {
    if (this.#ending) return;
    this.#because = because;
    this.#ending = this.#endAll();
  }

  async follow(output: OutputLog): Promise<CommandEnd> {
    const { exited, closed } = this.#child;
    const code = await exited;
    await Promise.race([closed, delay(DRAIN_MS)]);
    const background = this.#ending ? [] : await leftRunning(this.#mark, this.#before);
    if (background.length > 0 || (await hasGroup(this.#child.pid))) this.#ending ??= this.#endAll();
    const left = (await this.#ending) ?? [];
    await drained(closed, output);
    this.#child.close();
    const endedToo = background.filter(({ pid }) => !left.some((one) => one.pid === pid));
    return {
      output: await output.finish(),
      code,
      because: this.#because,
      left,
      ...(endedToo.length > 0 && { endedToo }),
    };
  }

  async #endAll(): Promise<readonly LeftRunning[]> {
    await endGroup(this.#child.pid);
    // Processes that left the group (`setsid`) still have the mark.
    return endRunning(this.#mark);
  }
}

/** Resolves when the whole output was read, or none came for a moment. */
async function drained(closed: Promise<void>, output: OutputLog): Promise<void> {
  let isClosed = false;
  const noted = closed.then(() => {
    isClosed = true;
  });
  for (let waited = 0, size = -1; waited < MOST_DRAIN_MS && !isClosed && size !== output.size; waited += DRAIN_MS) {
    size = output.size;
    await Promise.race([noted, delay(DRAIN_MS)]);
  }
}

const COLUMNS = 120;
const ROWS = 30;
/** Ctrl-D, by which a terminal marks the end of the input. */
const END_OF_FILE = new Uint8Array([4]);

const { SystemRoot } = process.env;
/** Variables of the gateway for the process of a terminal: without `SystemRoot` no program starts on Windows. */
const NEEDED = SystemRoot === undefined ? {} : { SystemRoot };

/**
 * Starts a process in a pseudoterminal, as the leader of a session and group of its own. The terminal belongs to a
 * process of its own: every program that the gateway starts inherits the terminals that the gateway has, and could type
 * into them. The package for terminals is optional: returns a warning, with the reason, when it is missing or fails.
 */
async function startInTerminal({
  argv,
  cwd,
  env,
}: Launch): Promise<{ readonly child: Child } | { readonly warning: string }> {
  try {
    const host = await startHost({ argv: [...argv], cwd, env: { ...env }, columns: COLUMNS, rows: ROWS });
    return { child: childOf(host) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { warning: `There is no terminal, so it has pipes instead: ${why}` };
  }
}

/** The process of a terminal, in which a command has begun. */
interface Host {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Exit code of the command; null after a signal. */
  readonly exited: Promise<number | null>;
}

async function startHost(launch: TerminalLaunch): Promise<Host> {
  const program = fileURLToPath(programUrl(import.meta.url, "terminal-program"));
  const host = spawn(process.execPath, [program], {
    env: NEEDED,
    stdio: ["pipe", "pipe", "ignore", "ipc"],
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  // The process may end without having read its input.
  host.stdin?.on("error", () => undefined);
  const begun = Promise.withResolvers<number>();
  const exited = Promise.withResolvers<number | null>();
  host.on("message", (message) => {
    const news = terminalNews.safeParse(message).data;
    if (news) take(news, { begun, exited });
  });
  host.once("error", begun.reject);
  host.once("exit", () => {
    begun.reject(new Error("its process has ended"));
    exited.resolve(null);
  });
  host.send(launch, (error) => void (error && host.kill()));
  return { process: host, pid: await begun.promise, exited: exited.promise };
}

function take(
  news: TerminalNews,
  { begun, exited }: { begun: PromiseWithResolvers<number>; exited: PromiseWithResolvers<number | null> },
): void {
  switch (news.kind) {
    case "begun":
      return begun.resolve(news.pid);
    case "failed":
      return begun.reject(new Error(news.why));
    case "ended":
      return exited.resolve(news.code);
  }
}

function childOf({ process: host, pid, exited }: Host): Child {
  const { stdin, stdout } = host;
  const closed = Promise.withResolvers<void>();
  stdout?.once("close", () => closed.resolve());
  let isOpen = true;
  const ended = exited.finally(() => {
    isOpen = false;
  });
  const write = async (data: Uint8Array) => {
    if (!isOpen) throw new Error(CLOSED_INPUT);
    stdin?.write(data);
  };
  return {
    pid,
    input: "terminal",
    sources: stdout ? [stdout] : [],
    exited: ended,
    closed: closed.promise,
    write,
    closeInput: () => write(END_OF_FILE),
    close() {
      stdout?.destroy();
      if (host.connected) host.disconnect();
    },
  };
}
