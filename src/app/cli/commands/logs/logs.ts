import { setInterval as every } from "node:timers/promises";
import { expandHome } from "../../../config/secrets.ts";
import type { Io } from "../../io.ts";
import { readState, type State } from "../../state.ts";
import { lastLines, linesSince, logFiles, type LogPlace } from "./log-files.ts";
import { logLine } from "./log-line.ts";

export interface LogFlags {
  readonly follow?: boolean;
  readonly json?: boolean;
  readonly plain?: boolean;
  readonly limit: number;
  readonly interval: number;
}

/** Prints the last lines of the log. With `follow` it then prints new lines, also of the next day's file, until it is stopped. */
export async function logs(io: Io, flags: LogFlags): Promise<number> {
  const place = placeOf(io, await readState(io));
  const color = io.color && flags.plain !== true;
  const write = (lines: readonly string[]) => {
    const shown = flags.json === true ? lines : lines.map((line) => logLine(line, color));
    if (shown.length > 0) io.out(`${shown.join("\n")}\n`);
  };
  const files = await logFiles(place);
  if (files.length === 0) io.err(`No log yet in ${"dir" in place ? place.dir : place.file}.\n`);
  const { lines, end } = await gather(files, flags.limit);
  write(lines);
  if (flags.follow === true) await follow(place, { file: files.at(-1), end }, flags.interval, write);
  return 0;
}

const placeOf = (io: Io, { config, paths }: State): LogPlace =>
  config.logging.file === undefined ? { dir: paths.logs } : { file: expandHome(config.logging.file, io.env) };

/** The last lines of all files together. `end`: the offset at which the newest file ended. */
async function gather(files: readonly string[], limit: number): Promise<{ lines: readonly string[]; end: number }> {
  let lines: readonly string[] = [];
  let end = 0;
  for (const file of files.toReversed()) {
    const found = await lastLines(file, limit - lines.length);
    if (file === files.at(-1)) end = found.end;
    lines = [...found.lines, ...lines];
    if (lines.length >= limit) break;
  }
  return { lines, end };
}

async function follow(
  place: LogPlace,
  from: { file: string | undefined; end: number },
  intervalMs: number,
  write: (lines: readonly string[]) => void,
): Promise<void> {
  let { file: current, end } = from;
  for await (const _ of every(intervalMs)) {
    const files = await logFiles(place);
    // The old day's file is read to its end before the new one begins.
    const unread = current === undefined ? files : files.filter((file) => file >= (current ?? ""));
    for (const file of unread) {
      const found = await linesSince(file, file === current ? end : 0);
      write(found.lines);
      current = file;
      end = found.end;
    }
  }
}
