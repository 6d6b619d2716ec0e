import type { Contributions } from "../../plugins/contributions.ts";
import { bundledContributions } from "../contributions/extensions.ts";
import { errText, terminalText, withoutTerminalControls } from "./terminal-text.ts";
import type { Env } from "../../utils/env.ts";
import { escapedControls } from "../../utils/text/escaped-controls.ts";
import { fullDiskOr } from "../../store/disk.ts";
import { ERROR_CODES, OpenClawError } from "../../types/errors.ts";
import { Secret } from "../../types/secret.ts";

/** The terminal, or its replacement in tests, as the commands see it. */
export interface Io {
  readonly env: Env;
  /** The additions of extensions and plugins to the gateway. */
  readonly contributions: Contributions;
  /**
   * Results. Data for programs, such as a file that is exported, reach a file or pipe as they are; everything else is for people and
   * has no control characters, wherever it goes.
   */
  out(text: string, kind?: "data"): void;
  /** Progress, warnings, errors; secrets are masked. */
  err(text: string): void;
  /** Whether a person reads `out`. */
  readonly isTerminal: boolean;
  /** Whether a person reads `err`. */
  readonly isErrTerminal: boolean;
  /** Whether `out` may be coloured. */
  readonly color: boolean;
  /** Whether errors show their stack. */
  readonly verbose: boolean;
}

/** This process's own terminal. `NO_COLOR`, `FORCE_COLOR=0`, `--no-color` and a dumb terminal turn colours off. */
export function terminalIo(args: readonly string[], env: Env): Io {
  const isTerminal = process.stdout.isTTY === true;
  const isErrTerminal = process.stderr.isTTY === true;
  const isOff = Boolean(env["NO_COLOR"]) || /^(?:0|false)$/.test(env["FORCE_COLOR"] ?? "");
  const plain = isOff || env["TERM"] === "dumb" || args.includes("--no-color");
  return {
    env,
    contributions: bundledContributions(),
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    isTerminal,
    isErrTerminal,
    color: isTerminal && !plain,
    verbose: args.includes("--verbose") || Boolean(env["OPENCLAW_DEBUG"]),
  };
}

/** The same without what could control a terminal, change the direction of text or tell a secret. */
export const safeIo = (io: Io): Io => ({
  ...io,
  out: (text, kind) => {
    if (kind === "data" && !io.isTerminal) io.out(text, kind);
    else io.out(io.isTerminal ? terminalText(text) : withoutTerminalControls(text), kind);
  },
  err: (text) => io.err(io.isErrTerminal ? errText(text) : withoutTerminalControls(Secret.mask(text))),
});

export const writeJson = (io: Io, value: unknown): void =>
  io.out(`${escapedControls(JSON.stringify(value, null, 2))}\n`, "data");

/** Waits until all output is written, because pipes are asynchronous on some systems. Never rejects. */
export async function drainOutput(): Promise<void> {
  const left = (stream: NodeJS.WriteStream) =>
    new Promise<void>((resolve) => {
      if (stream.writable) stream.write("", () => resolve());
      else resolve();
    });
  await Promise.all([left(process.stdout), left(process.stderr)]);
}

/** A reader that closes the pipe (`| head`) ends the command without an error. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(process.exitCode ?? 0);
      const full = fullDiskOr(error, stream === process.stdout ? "the standard output" : "the error output");
      if (!(full instanceof OpenClawError)) throw error;
      process.stderr.write(`error ${full.code}: ${full.message}\nfix: ${full.fix}\n`);
      process.exit(ERROR_CODES[full.code].exit);
    });
  }
}

/** A daemon continues when its terminal is closed. */
export function outliveReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners("error");
    stream.on("error", () => undefined);
  }
}
