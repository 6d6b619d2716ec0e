import { OpenClawError } from "../../../../types/errors.ts";
import type { Check } from "../../../../types/check.ts";
import { nearest } from "../../../config/keys/nearest.ts";
import { applyRepairs, type RepairSum } from "../../../doctor/repair.ts";
import { formatReport, reportJson } from "../../../doctor/report.ts";
import { runChecks, worst, type CheckReport } from "../../../doctor/run-checks.ts";
import { accountCheck } from "../channels/account-check.ts";
import { canAsk, confirmed } from "../../ask.ts";
import { writeJson, type Io } from "../../io.ts";
import { askPlugins } from "../../ask-plugins.ts";
import { withProgress } from "../../progress.ts";

export interface DoctorFlags {
  readonly json?: boolean;
  readonly fix?: boolean;
  readonly repair?: boolean;
  readonly yes?: boolean;
  readonly nonInteractive?: boolean;
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
}

/** Runs the checks, and with `--fix` their repairs. Returns 1 when a check still fails or a repair did, else 0. */
export async function doctor(io: Io, flags: DoctorFlags): Promise<number> {
  const { collectChecks } = await import("../../../doctor/checks.ts");
  const ask = () => askPlugins(io);
  const { checks: all, plugins } = await collectChecks({ contributions: io.contributions, env: { ...io.env }, ask });
  try {
    return await report(io, choose([...all, accountCheck(io)], flags), flags);
  } finally {
    await plugins?.close();
  }
}

async function report(io: Io, checks: readonly Check[], flags: DoctorFlags): Promise<number> {
  const wantsFix = flags.fix === true || flags.repair === true;
  let reports = await look(io, checks);
  let failed = 0;
  if (wantsFix && reports.some(hasRepair)) {
    ({ failed } = await repair(io, reports, flags));
    reports = await look(io, checks);
  }
  if (flags.json === true) writeJson(io, reportJson(reports));
  else io.out(formatReport(reports, { color: io.color }));
  return worst(reports.flatMap((report) => report.results)) === "fail" || failed > 0 ? 1 : 0;
}

const look = (io: Io, checks: readonly Check[]): Promise<readonly CheckReport[]> =>
  withProgress(io, "Looking", runChecks(checks));

const hasRepair = (report: CheckReport): boolean => report.results.some((result) => result.repair);

async function repair(io: Io, reports: readonly CheckReport[], flags: DoctorFlags): Promise<RepairSum> {
  // The report is the only thing on standard output, so that a script can read it.
  const write = (line: string) => io.err(`${line}\n`);
  if (flags.yes === true || flags.nonInteractive === true) {
    return await applyRepairs(reports, { write });
  }
  if (!canAsk(io)) {
    write("Nobody can be asked here, so nothing is changed; add --yes to do this:");
    return await applyRepairs(reports, { write, ask: async () => false });
  }
  return await applyRepairs(reports, { write, ask: confirmed });
}

/** By id (`app.config`) or module (`app`). Throws `USAGE` on an unknown name. */
function choose(checks: readonly Check[], { only, skip }: DoctorFlags): readonly Check[] {
  const names = checks.flatMap(({ id }) => [id, roomOf(id)]);
  for (const name of [...(only ?? []), ...(skip ?? [])]) {
    if (!names.includes(name)) throw unknownCheck(name, names);
  }
  const isIn = (list: readonly string[], { id }: Check) => list.includes(id) || list.includes(roomOf(id));
  return checks.filter((check) => (only === undefined || isIn(only, check)) && !isIn(skip ?? [], check));
}

const roomOf = (id: string): string => id.split(".")[0] ?? id;

function unknownCheck(name: string, names: readonly string[]): OpenClawError {
  const near = nearest(name, names);
  const list = [...new Set(names)].join(", ");
  return new OpenClawError("USAGE", {
    message: `There is no check ${name}.`,
    fix: near === undefined ? `The checks are: ${list}.` : `Did you mean ${near}?`,
  });
}
