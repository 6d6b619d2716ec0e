import { writeJson, type Io } from "../../io.ts";
import { table } from "../../table.ts";
import { figures, answeredBy, showMs, timeOf } from "./run-figures.ts";
import { promptText } from "./run-prompt-text.ts";
import type { RunLine } from "./run-shapes.ts";
import { readPrompt, readRun, readRuns, type RunsAsked } from "./run-source.ts";
import { runText } from "./run-text.ts";

export interface RunListFlags extends RunsAsked {
  readonly json?: boolean;
}

/** Runs, the latest first. */
export async function runsList(io: Io, flags: RunListFlags): Promise<number> {
  const runs = await readRuns(io, flags);
  if (flags.json === true) writeJson(io, { count: runs.length, runs });
  else if (runs.length === 0) io.out("No such run is known.\n");
  else io.out(table(io, ["TIME", "RUN", "SESSION", "MODEL", "RESULT", "TOOK", "IN", "OUT", "COST"], runs.map(cells)));
  return 0;
}

function cells({ at, runId, sessionKey, result, receipt }: RunLine): readonly string[] {
  const { input, output, cost } = figures(receipt);
  return [timeOf(at), runId, sessionKey, answeredBy(receipt), result, showMs(receipt.durationMs), input, output, cost];
}

export interface RunShowFlags {
  readonly json?: boolean;
  readonly prompt?: boolean;
}

/** Shows the course of a run, or what its model saw. Throws NOT_FOUND. */
export async function runsShow(io: Io, id: string, flags: RunShowFlags): Promise<number> {
  if (flags.prompt === true) {
    const prompt = await readPrompt(io, id);
    if (flags.json === true) writeJson(io, prompt);
    else io.out(promptText(io, prompt));
    return 0;
  }
  const run = await readRun(io, id);
  if (flags.json === true) writeJson(io, run);
  else io.out(runText(io, run));
  return 0;
}
