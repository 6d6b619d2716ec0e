import type { MaintenanceAction, MaintenanceReport } from "../../types/answers/session-maintenance.ts";
import { sizeText } from "../../utils/text/size-text.ts";
import { diskLimitOf, type MaintenanceConfig } from "./config.ts";
import type { FileStep, MaintenanceAsk, MaintenancePlan, MaintenanceAct, SessionStep } from "./plan.ts";
import type { StoredFiles } from "./stored-files.ts";

/** Actions that a report names. */
const MOST_NAMED = 1000;

interface Reported {
  readonly plan: MaintenancePlan;
  readonly files: StoredFiles;
  readonly rules: MaintenanceConfig;
  readonly ask: MaintenanceAsk;
  readonly storePath: string;
  /** Undefined when nothing was to be changed. */
  readonly skipped: number | undefined;
}

/** The plan in the field's form. */
export function reportOf({ plan, files, rules, ask, storePath, skipped }: Reported): MaintenanceReport {
  const { sessions, kept } = plan;
  const count = (action: MaintenanceAct) => sessions.filter((step) => step.action === action).length;
  const actions = [...plan.files, ...sessions, ...kept];
  const { resetArchiveRetention: keep } = rules;
  return {
    ...(ask.agent !== undefined && { agentId: ask.agent }),
    storePath,
    mode: rules.mode,
    dryRun: skipped === undefined,
    beforeCount: plan.before,
    afterCount: plan.after,
    missing: count("prune-missing"),
    dmScopeRetired: count("retire-dm-scope"),
    modelRunPruned: 0,
    archived: count("archive-age"),
    capArchived: count("archive-cap"),
    pruned: count("prune-stale"),
    capped: count("cap-overflow"),
    unreferencedArtifacts: {
      scannedFiles: files.old.length,
      removedFiles: plan.files.length,
      freedBytes: plan.files.reduce((sum, { bytes }) => sum + bytes, 0),
      ...(keep !== false && { olderThanMs: keep }),
    },
    diskBudget: budgetOf(plan, rules, count("disk-budget")),
    wouldMutate: sessions.length + plan.files.length > 0,
    ...(skipped !== undefined && { applied: true, appliedCount: plan.after, skipped }),
    actions: actions.slice(0, MOST_NAMED).map(actionOf),
    moreActions: Math.max(0, actions.length - MOST_NAMED),
  };
}

function budgetOf(
  { bytesBefore, bytesAfter, files }: MaintenancePlan,
  rules: MaintenanceConfig,
  removedEntries: number,
): MaintenanceReport["diskBudget"] {
  const limit = diskLimitOf(rules);
  if (!limit) return null;
  return {
    totalBytesBefore: bytesBefore,
    totalBytesAfter: bytesAfter,
    removedFiles: files.length,
    removedEntries,
    freedBytes: bytesBefore - bytesAfter,
    maxBytes: limit.max,
    highWaterBytes: limit.target,
    overBudget: bytesBefore > limit.max,
  };
}

function actionOf(step: FileStep | SessionStep | MaintenancePlan["kept"][number]): MaintenanceAction {
  const { action, ageMs, bytes } = step;
  if (!("key" in step)) return { action, file: step.name, ageMs, bytes };
  return { action, key: step.key, ageMs, bytes, ...("why" in step && { why: step.why }) };
}

/** Bytes that a run has freed, or would free. */
export const freedBytesOf = ({ diskBudget, unreferencedArtifacts }: MaintenanceReport): number =>
  diskBudget?.freedBytes ?? unreferencedArtifacts.freedBytes;

/** What a run has done or would do, in a few words; undefined when there is nothing to do. */
export function maintenanceText(report: MaintenanceReport): string | undefined {
  const { archived, capArchived, pruned, capped, missing, dmScopeRetired, unreferencedArtifacts: old } = report;
  const deleted = pruned + capped + missing + dmScopeRetired + (report.diskBudget?.removedEntries ?? 0);
  const parts = [
    counted(archived + capArchived, "session", "put into the archive"),
    counted(deleted, "session", "deleted"),
    counted(old.removedFiles, "old transcript", `removed (${sizeText(freedBytesOf(report))})`),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(", ");
}

const counted = (count: number, noun: string, what: string): string | undefined =>
  count === 0 ? undefined : `${count} ${noun}${count === 1 ? "" : "s"} ${what}`;
