import { spawn } from "node:child_process";
import type { CommandInput, Launch } from "../../../types/run/backend.ts";
import type { OutputSource } from "./command-output.ts";

/** A started process, and the gateway's ends of its pipes or terminal. */
export interface Child {
  readonly pid: number;
  readonly input: CommandInput;
  readonly sources: readonly OutputSource[];
  /** Resolves when the process itself has ended: with its exit code, or null after a signal. */
  readonly exited: Promise<number | null>;
  /** Resolves when no process can write to the output any more, and the whole output was read. */
  readonly closed: Promise<void>;
  write(data: Uint8Array): Promise<void>;
  closeInput(): Promise<void>;
  /** Stops reading. */
  close(): void;
}

/** Starts a process with pipes, in a process group of its own. Rejects when it cannot be started. */
export async function startPiped(
  { argv: [program, ...args], cwd, env }: Launch,
  input: Exclude<CommandInput, "terminal">,
): Promise<Child> {
  const child = spawn(program, args, {
    cwd,
    env: { ...env },
    // Node would quote the text that `cmd.exe` must read as it is.
    windowsVerbatimArguments: true,
    // A group of its own, so that one signal reaches all its processes.
    detached: process.platform !== "win32",
    stdio: [input === "pipe" ? "pipe" : "ignore", "pipe", "pipe"],
    windowsHide: true,
  });
  const { stdin, stdout, stderr } = child;
  const exited = Promise.withResolvers<number | null>();
  const closed = Promise.withResolvers<void>();
  child.once("exit", (code) => exited.resolve(code)).once("close", () => closed.resolve());
  // The process may end without having read its input.
  stdin?.on("error", () => undefined);
  await begun(child);
  return {
    pid: child.pid ?? 0,
    input,
    sources: [stdout, stderr].filter((stream) => stream !== null),
    exited: exited.promise,
    closed: closed.promise,
    write: (data) => writeTo(stdin, data),
    async closeInput() {
      stdin?.end();
    },
    close() {
      stdout?.destroy();
      stderr?.destroy();
    },
  };
}

async function begun(child: ReturnType<typeof spawn>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once("spawn", resolve).once("error", reject);
  await promise;
}

export const CLOSED_INPUT = "Its input is closed; nothing was written.";

function writeTo(stdin: NodeJS.WritableStream | null, data: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stdin?.writable !== true) {
      reject(new Error(CLOSED_INPUT));
      return;
    }
    stdin.write(data, (error) => (error ? reject(new Error(CLOSED_INPUT)) : resolve()));
  });
}
