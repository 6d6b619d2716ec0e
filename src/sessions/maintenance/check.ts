import type { Check, CheckResult } from "../../types/check.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { MaintenanceReport } from "../../types/answers/session-maintenance.ts";
import { sizeText } from "../../utils/text/size-text.ts";
import { readRows, type RowPlaces } from "../rows/read-rows.ts";
import { rowsPath } from "../rows/rows-file.ts";
import type { MaintenanceConfig } from "./config.ts";
import { type MaintenanceAsk, planMaintenance } from "./plan.ts";
import { maintenanceText, reportOf } from "./report.ts";
import { readStoredFiles, sizesIn } from "./stored-files.ts";

export interface MaintenanceScene {
  readonly places: RowPlaces;
  readonly rules: MaintenanceConfig;
  readonly defaultAgent: AgentId;
  /** The sessions that must stay, and what uses each. */
  inUse(): Promise<ReadonlyMap<SessionKey, string>>;
  now(): number;
}

/** Milliseconds for the sizes of 100,000 files on a slow disk. */
const PATIENCE_MS = 30_000;

/** The check of what `session.maintenance` asks for. It changes nothing. */
export const maintenanceCheck = (sceneNow: () => MaintenanceScene): Check => ({
  id: "sessions.maintenance",
  title: "Upkeep of sessions",
  timeoutMs: PATIENCE_MS,
  run: async (signal) => [resultOf(await lookAtSessions(sceneNow(), {}, signal))],
});

/** What `SessionMaintenance` would do, for a process that does not own the state directory. Changes nothing. */
export async function lookAtSessions(
  scene: MaintenanceScene,
  ask: MaintenanceAsk,
  signal?: AbortSignal,
): Promise<MaintenanceReport> {
  const { places, rules, defaultAgent } = scene;
  const { dir } = places;
  const [stored, files, inUse] = await Promise.all([
    readRows(places, defaultAgent),
    readStoredFiles(dir, signal),
    scene.inUse(),
  ]);
  const rows = [...stored]
    .map(([key, entry]) => ({ key, entry }))
    .toSorted((a, b) => b.entry.updatedAt - a.entry.updatedAt || (a.key < b.key ? -1 : 1));
  const sizeOf = sizesIn(dir, files);
  const plan = await planMaintenance({ rows, files, rules, now: scene.now(), defaultAgent, inUse, sizeOf, ask });
  return reportOf({ plan, files, rules, ask, storePath: rowsPath(dir), skipped: undefined });
}

const LOOK = "See what and why: openclaw sessions cleanup --dry-run. Do it once with --enforce";
const DAILY = `${LOOK}, or daily with session.maintenance.mode "enforce".`;

function resultOf(report: MaintenanceReport): CheckResult {
  const { mode, diskBudget, unreferencedArtifacts: old } = report;
  const due = maintenanceText(report);
  const isOver = diskBudget?.overBudget === true;
  const size = isOver ? ` The sessions have ${sizeText(diskBudget.totalBytesBefore)}.` : "";
  const fix = mode === "warn" ? DAILY : `${LOOK}.`;
  if (due !== undefined)
    return { status: isOver ? "warn" : "ok", message: `Due (session.maintenance): ${due}.${size}`, fix };
  if (isOver)
    return {
      status: "warn",
      message: `The sessions have ${sizeText(diskBudget.totalBytesBefore)}, and all of it is in use.`,
      fix: "Delete sessions that nobody needs (openclaw sessions delete), or raise session.maintenance.maxDiskBytes.",
    };
  return { status: "ok", message: `Nothing is due; ${old.scannedFiles} old transcripts are kept.` };
}
