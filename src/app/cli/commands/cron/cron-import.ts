import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { z } from "zod";
import { readJobsFile } from "../../../../automation/cron/reading/jobs-file.ts";
import { cronAnswers } from "../../../../types/cron/answers.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { unlessMissing } from "../../../../utils/missing.ts";
import { withGateway } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";

type Imported = z.output<typeof cronAnswers.import>;

/** Jobs or records that are taken over in one call. */
const MOST_AT_ONCE = 200;

function parts(all: readonly unknown[]): readonly (readonly unknown[])[] {
  const count = Math.ceil(all.length / MOST_AT_ONCE);
  return Array.from({ length: count }, (_, at) => all.slice(at * MOST_AT_ONCE, (at + 1) * MOST_AT_ONCE));
}

function addTo(all: Imported, { added, known, runs, refused }: Imported): void {
  all.added += added;
  all.known += known;
  all.runs += runs;
  all.refused.push(...refused);
}

/** Takes over the jobs of a `jobs.json` and the records of its `runs` folder. The files stay as they are. */
export async function cronImport(
  io: Io,
  file: string | undefined,
  { json }: { readonly json?: boolean },
): Promise<number> {
  const state = await readState(io);
  const path = file ?? state.config.cron.store ?? join(state.paths.stateDir, "cron", "jobs.json");
  const jobs = await readJobsFile(path);
  if (!jobs)
    throw new OpenClawError("NOT_FOUND", {
      message: `${path} does not exist`,
      fix: "Name the file: openclaw cron import <file>.",
    });
  const records = await readRecords(join(dirname(path), "runs"));
  const answer = await withGateway(io, state, async (client) => {
    const all: Imported = { added: 0, known: 0, runs: 0, refused: [] };
    for (const part of [...parts(jobs).map((some) => ({ jobs: some })), ...parts(records).map((runs) => ({ runs }))])
      addTo(all, await client.call("cron.import", { jobs: [], runs: [], ...part }, cronAnswers.import));
    return all;
  });
  if (json === true) writeJson(io, answer);
  else {
    io.out(`${answer.added} jobs were added, ${answer.known} were here already; ${answer.runs} records were added.\n`);
    for (const { name, problem } of answer.refused) io.out(`Not added: "${name}": ${problem}\n`);
  }
  return answer.refused.length === 0 ? 0 : 1;
}

async function readRecords(folder: string): Promise<readonly unknown[]> {
  const names = (await unlessMissing(readdir(folder))) ?? [];
  const files = names.filter((name) => name.endsWith(".jsonl"));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) => text.split("\n").flatMap(lineOf));
}

/** A line that a kill has cut off is no record. */
function lineOf(line: string): readonly unknown[] {
  try {
    return line.trim() === "" ? [] : [JSON.parse(line)];
  } catch {
    // The end of the line was never written.
    return [];
  }
}
