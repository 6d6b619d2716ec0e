import process from "node:process";
import { errorText } from "../../../utils/text/error-text.ts";
import { isFields } from "../../../utils/fields.ts";
import { terminalLaunch, type TerminalLaunch, type TerminalNews } from "./terminal-news.ts";

// The process that holds one terminal. A process inherits the terminals of its parent, so only this process has the
// terminal.

const tell = (news: TerminalNews): Promise<void> =>
  new Promise((resolve) => void process.send?.(news, undefined, undefined, () => resolve()));

/** The gateway has ended or disconnected: the terminal ends with this process, and its programs get SIGHUP. */
process.once("disconnect", () => process.exit());

async function begin({ argv: [program, ...args], cwd, env, columns: cols, rows }: TerminalLaunch): Promise<void> {
  const { spawn } = await import("@lydell/node-pty");
  const pty = spawn(program, args, { name: "xterm-256color", cols, rows, cwd, env: { ...env }, encoding: null });
  // The types of `pty` leave out that it emits errors of the terminal, and throws them when nobody listens.
  if ("on" in pty && typeof pty.on === "function") for (const _twice of [1, 2]) pty.on("error", () => undefined);
  // Without an encoding `pty` emits bytes, which its types leave out.
  pty.onData((data: string | Buffer) => {
    if (process.stdout.write(data)) return;
    pty.pause();
    process.stdout.once("drain", () => pty.resume());
  });
  // `pty` reports the end after all output.
  pty.onExit(({ exitCode, signal }) => {
    const code = signal !== undefined && signal > 0 ? null : exitCode;
    process.stdout.end(() => void tell({ kind: "ended", code }).then(() => process.exit()));
  });
  process.stdin.on("data", (data) => pty.write(data.toString("utf8")));
  await tell({ kind: "begun", pid: pty.pid });
}

process.once("message", (message: unknown) => {
  const launch = terminalLaunch.parse(isFields(message) ? message : {});
  begin(launch).catch(async (error: unknown) => {
    await tell({ kind: "failed", why: errorText(error).split("\n")[0] ?? "" });
    process.exit();
  });
});
