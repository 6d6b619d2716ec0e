import { resolveAlias } from "../../../../sessions/keys.ts";
import { lookAtSessions } from "../../../../sessions/maintenance/check.ts";
import type { MaintenanceRun } from "../../../../sessions/maintenance/maintenance.ts";
import { maintenanceText } from "../../../../sessions/maintenance/report.ts";
import { maintenanceAnswer, type MaintenanceReport } from "../../../../types/answers/session-maintenance.ts";
import { agentId } from "../../../../types/ids.ts";
import { sizeText } from "../../../../utils/text/size-text.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { maintenanceScene } from "../../../runs/maintenance-scene.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { answerHere, requireState, type State } from "../../state.ts";
import { pairs, table } from "../../table.ts";
import { defaultAgentOf, withSessions } from "./session-store.ts";

/** What is done beside the rules. */
interface FixFlags {
  readonly fixMissing?: boolean;
  readonly fixDmScope?: boolean;
}

interface ShownFlags {
  readonly allAgents?: boolean;
  readonly json?: boolean;
}

export interface CleanupFlags extends FixFlags, ShownFlags {
  readonly dryRun?: boolean;
  readonly enforce?: boolean;
  readonly activeKey?: string;
  readonly agent?: string;
}

/** Sessions of the folder are looked at one by one: 100,000 files take some seconds. */
const PATIENCE_MS = 10 * 60_000;

/** Keeps the sessions within `session.maintenance`, through the gateway where one runs. */
export async function sessionsCleanup(io: Io, flags: CleanupFlags): Promise<number> {
  const state = await requireState(io);
  const report = hasGateway(io, state) ? await askGateway(io, state, flags) : await runHere(state, flags);
  if (flags.json === true) writeJson(io, flags.allAgents === true ? storesOf(report) : report);
  else io.out(reportText(io, report));
  return (report.skipped ?? 0) > 0 ? 1 : 0;
}

/** One list has the sessions of all agents. */
const storesOf = (report: MaintenanceReport) => ({
  allAgents: true,
  mode: report.mode,
  dryRun: report.dryRun,
  stores: [report],
});

function askGateway(io: Io, state: State, flags: CleanupFlags): Promise<MaintenanceReport> {
  const { dryRun, enforce, activeKey, agent, fixMissing, fixDmScope } = flags;
  const params = { dryRun, enforce, activeKey, agentId: agent, fixMissing, fixDmScope };
  const call = { method: "sessions.cleanup", params, shape: maintenanceAnswer };
  return callOnce(io, state, call, { timeoutMs: PATIENCE_MS });
}

async function runHere(state: State, flags: CleanupFlags): Promise<MaintenanceReport> {
  const { config, paths } = state;
  const defaultAgent = defaultAgentOf(state);
  const ask: MaintenanceRun = {
    agent: flags.agent === undefined ? undefined : agentId(flags.agent),
    activeKey: flags.activeKey === undefined ? undefined : resolveAlias(flags.activeKey, defaultAgent),
    fixMissing: flags.fixMissing,
    retireDirect: flags.fixDmScope === true && config.session.dmScope === "main",
    enforce: flags.enforce,
  };
  const changes = flags.dryRun !== true && (flags.enforce === true || config.session.maintenance.mode === "enforce");
  const report = changes
    ? await withSessions(state, ({ maintenance }) => maintenance.run(ask))
    : await lookAtSessions(maintenanceScene({ config, paths, defaultAgent }), ask);
  return answerHere(maintenanceAnswer, report, state);
}

function reportText(io: Io, report: MaintenanceReport): string {
  const { dryRun, mode, beforeCount, afterCount, diskBudget, unreferencedArtifacts: old, actions } = report;
  const text = maintenanceText(report);
  const head = pairs(io, [
    ["Sessions", `${report.storePath}: ${beforeCount}${afterCount === beforeCount ? "" : ` -> ${afterCount}`}`],
    ["Mode", mode],
    [dryRun ? "Due" : "Done", text ?? "nothing"],
    ["Old transcripts", `${old.scannedFiles}`],
    ["Size", diskBudget ? `${sizeText(diskBudget.totalBytesBefore)} of ${sizeText(diskBudget.maxBytes)}` : undefined],
    ["Left out", report.skipped ? `${report.skipped}; the log says why` : undefined],
  ]);
  const rows = actions.map(({ action, key, file = "", ageMs, bytes, why = "" }) => [
    action,
    key ?? file,
    showDuration(ageMs),
    sizeText(bytes),
    why,
  ]);
  const list = rows.length === 0 ? "" : `\n${table(io, ["ACTION", "SESSION", "AGE", "SIZE", "WHY"], rows)}`;
  const more = report.moreActions > 0 ? `and ${report.moreActions} more\n` : "";
  return `${head}${list}${more}${dryRun && text !== undefined ? "\nDo it: openclaw sessions cleanup --enforce\n" : ""}`;
}
