/** `openclaw/plugin-sdk/media-runtime`: the programs of FFmpeg, where this machine has them. */
import { execFile, type ExecFileException } from "node:child_process";
import { errorCode } from "../../utils/missing.ts";

export interface MediaProgramOptions {
  readonly timeoutMs?: number;
  /** Bytes of the program's output. */
  readonly maxBufferBytes?: number;
  /** Data for the standard input. */
  readonly input?: Uint8Array | string;
}

const FFMPEG_MS = 60_000;
const FFPROBE_MS = 15_000;
const MOST_BYTES = 10 * 1_048_576;

/**
 * Runs ffmpeg without a shell, and resolves with its output. Rejects when it fails, takes too long or is not installed.
 */
export const runFfmpeg = (args: readonly string[], options: MediaProgramOptions = {}): Promise<string> =>
  run("ffmpeg", args, { timeoutMs: FFMPEG_MS, ...options });

/** The same with ffprobe. */
export const runFfprobe = (args: readonly string[], options: MediaProgramOptions = {}): Promise<string> =>
  run("ffprobe", args, { timeoutMs: FFPROBE_MS, ...options });

function run(
  program: string,
  args: readonly string[],
  { timeoutMs, maxBufferBytes = MOST_BYTES, input }: MediaProgramOptions,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const limits = { timeout: timeoutMs, maxBuffer: maxBufferBytes, killSignal: "SIGKILL" as const };
  const child = execFile(program, args, limits, (error, stdout, stderr) => {
    if (error) reject(failureOf(program, error, { stderr, timeoutMs }));
    else resolve(stdout);
  });
  // A program that does not read to the end closes its input: its exit code says whether it failed.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
  return promise;
}

function failureOf(
  program: string,
  error: ExecFileException,
  { stderr, timeoutMs }: { readonly stderr: string; readonly timeoutMs: number | undefined },
): Error {
  if (errorCode(error) === "ENOENT")
    return new Error(`${program} is not on this machine: install FFmpeg`, { cause: error });
  if (error.killed === true) return new Error(`${program} did not end within ${timeoutMs} ms`, { cause: error });
  const said = stderr.trim().split("\n").at(-1) ?? "";
  return new Error(`${program} failed: ${said === "" ? error.message : said}`, { cause: error });
}
