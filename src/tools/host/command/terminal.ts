import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Launch } from "../../../types/run/backend.ts";
import { programUrl } from "../../../utils/thread/job-thread.ts";
import { CLOSED_INPUT, type Child } from "./child.ts";
import { terminalNews, type TerminalLaunch, type TerminalNews } from "./terminal-news.ts";

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
export async function startInTerminal({
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
