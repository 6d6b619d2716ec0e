import type { IPty } from "@lydell/node-pty";
import type { Launch } from "../../../types/run/backend.ts";
import { CLOSED_INPUT, type Child } from "./child.ts";
import type { OutputSource } from "./command-output.ts";

const COLUMNS = 120;
const ROWS = 30;
/** Ctrl-D, which a terminal takes for the end of the input. */
const END_OF_FILE = new Uint8Array([4]);

/**
 * Starts a process in a pseudoterminal, as the leader of a session and group of its own. The package for that is optional: a
 * warning, with the reason, when it is missing or fails.
 */
export async function startInTerminal({
  argv: [program, ...args],
  cwd,
  env,
}: Launch): Promise<{ readonly child: Child } | { readonly warning: string }> {
  try {
    const { spawn } = await import("@lydell/node-pty");
    const options = { name: "xterm-256color", cols: COLUMNS, rows: ROWS, cwd, env: { ...env }, encoding: null };
    return { child: childOf(spawn(program, args, options)) };
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n")[0] : String(error);
    return { warning: `There is no terminal, so it has pipes instead: ${why}` };
  }
}

function childOf(pty: IPty): Child {
  const exited = Promise.withResolvers<number | null>();
  let isOpen = true;
  // Its types do not say that it reports errors of the terminal, and that it throws them where nobody listens.
  if ("on" in pty && typeof pty.on === "function") for (const _twice of [1, 2]) pty.on("error", () => undefined);
  pty.onExit(({ exitCode, signal }) => {
    isOpen = false;
    exited.resolve(signal !== undefined && signal > 0 ? null : exitCode);
  });
  const source: OutputSource = {
    // Without an encoding it gives bytes, which its types do not say.
    on: (_event, take) => pty.onData((data: string | Buffer) => take(Buffer.from(data))),
    pause: () => pty.pause(),
    resume: () => pty.resume(),
  };
  const write = async (data: Uint8Array) => {
    if (!isOpen) throw new Error(CLOSED_INPUT);
    pty.write(Buffer.from(data).toString("utf8"));
  };
  return {
    pid: pty.pid,
    input: "terminal",
    sources: [source],
    exited: exited.promise,
    // It reports the end after all output.
    closed: exited.promise.then(() => undefined),
    write,
    closeInput: () => write(END_OF_FILE),
    close: () => undefined,
  };
}
