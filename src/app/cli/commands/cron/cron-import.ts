import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { OpenClawError } from "../../../../types/errors.ts";
import { isFields } from "../../../../utils/fields.ts";
import { unlessMissing } from "../../../../utils/missing.ts";
import { withGateway } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";

const answerShape = z.looseObject({
  added: z.number(),
  known: z.number(),
  runs: z.number(),
  refused: z.array(z.looseObject({ name: z.string(), problem: z.string() })),
});

/** Records that are taken over in one call. */
const RECORDS_AT_ONCE = 200;

/** Takes over the jobs of a `jobs.json` and the records of its `runs` folder. The files stay as they are. */
export async function cronImport(
  io: Io,
  file: string | undefined,
  { json }: { readonly json?: boolean },
): Promise<number> {
  const state = await readState(io);
  const path = file ?? state.config.cron.store ?? join(state.paths.stateDir, "cron", "jobs.json");
  const jobs = await readJobs(path);
  const records = await readRecords(join(dirname(path), "runs"));
  const answer = await withGateway(io, state, async (client) => {
    const first = await client.call("cron.import", { jobs, runs: [] }, answerShape);
    let runs = 0;
    for (let at = 0; at < records.length; at += RECORDS_AT_ONCE)
      runs += (
        await client.call("cron.import", { jobs: [], runs: records.slice(at, at + RECORDS_AT_ONCE) }, answerShape)
      ).runs;
    return { ...first, runs };
  });
  if (json === true) writeJson(io, answer);
  else {
    io.out(`${answer.added} jobs were added, ${answer.known} were here already; ${answer.runs} records were added.\n`);
    for (const { name, problem } of answer.refused) io.out(`Not added: "${name}": ${problem}\n`);
  }
  return answer.refused.length === 0 ? 0 : 1;
}

async function readJobs(path: string): Promise<readonly unknown[]> {
  const text = await unlessMissing(readFile(path, "utf8"));
  if (text === undefined)
    throw new OpenClawError("NOT_FOUND", {
      message: `${path} does not exist`,
      fix: "Name the file: openclaw cron import <file>.",
    });
  const value: unknown = JSON.parse(text);
  const jobs = isFields(value) ? value["jobs"] : value;
  if (!Array.isArray(jobs))
    throw new OpenClawError("NOT_FOUND", {
      message: `${path} has no list of jobs`,
      fix: "Name a jobs.json of OpenClaw.",
    });
  return jobs;
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
