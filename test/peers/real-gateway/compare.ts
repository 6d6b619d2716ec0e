import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { compare, orderOf } from "./differences.ts";
import { startGateway } from "./gateways.ts";
import { Recorder, type Recorded } from "./recorder.ts";
import { readOutOfScope, reasonFor } from "./out-of-scope.ts";
import { lacksMethods, report } from "./report.ts";
import { ROWS } from "./rows/all.ts";

const OWN = join(import.meta.dirname, "../../../bin/openclaw.mjs");

const { values } = parseArgs({
  options: {
    /** The program of the real gateway. */
    real: { type: "string" },
    /** A folder of an earlier run from which the real gateway's answers are taken. */
    recorded: { type: "string" },
    ours: { type: "string", default: OWN },
    /** A folder for what both brought. */
    answers: { type: "string" },
    /** Milliseconds without a frame after which the next request is sent. */
    quiet: { type: "string", default: "250" },
  },
});

async function play(program: string, folder: string | undefined): Promise<Recorded[]> {
  const gateway = await startGateway(program);
  try {
    const recorder = new Recorder(gateway.url, gateway.token, Number(values.quiet));
    const all = await recorder.play(ROWS, ({ row }) => process.stderr.write(`${row}\n`));
    if (folder !== undefined) await keep(all, folder);
    return all;
  } finally {
    await gateway.stop();
  }
}

/** A file for each row, and `all.json` with all of them. */
async function keep(all: readonly Recorded[], folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "all.json"), JSON.stringify(all));
  for (const recorded of all) {
    const order = orderOf(recorded);
    await writeFile(join(folder, `${fileOf(recorded.row)}.json`), JSON.stringify({ ...recorded, order }, null, 2));
  }
}

const fileOf = (row: string) => row.replaceAll(/\W*[ ()]+\W*/g, "_").replace(/_$/, "");

const within = (name: string) => (values.answers === undefined ? undefined : join(values.answers, name));

async function answersOfReal(): Promise<Recorded[]> {
  if (values.recorded !== undefined) {
    return JSON.parse(await readFile(join(values.recorded, "all.json"), "utf8")) as Recorded[];
  }
  if (values.real === undefined)
    throw new Error("--real or --recorded says where the real gateway's answers come from");
  return play(values.real, within("real"));
}

const real = await answersOfReal();
const ours = new Map((await play(values.ours, within("ours"))).map((recorded) => [recorded.row, recorded]));
const differences = real.flatMap((recorded) => {
  const own = ours.get(recorded.row);
  return own === undefined ? [] : [compare(recorded, own)];
});
const families = readOutOfScope();
const outOfScope = (method: string) => reasonFor(method, families);
process.stdout.write(report(differences, outOfScope));
process.exitCode = lacksMethods(differences, outOfScope) ? 1 : 0;
