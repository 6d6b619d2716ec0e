import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { emptyTrash } from "../../agents/trash.ts";
import { pruneSandboxes } from "../../compose/sandbox/sandboxing.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import { z } from "zod";
import { sessionsInUse } from "../../../automation/sessions-in-use.ts";
import { SessionMaintenance } from "../../../sessions/maintenance/maintenance.ts";
import { maintenanceAnswer } from "../../../types/answers/session-maintenance.ts";
import { agentId } from "../../../types/ids.ts";
import { keyParam } from "../../../types/key-field.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import type { Parts } from "../parts/parts.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Runs one cleanup by `retention`, and one of the sessions by `session.maintenance`. A file that cannot be removed is
 * reported and tried again the next day.
 */
export async function cleanUp({ live, core, log, maintenance }: CleanupParts): Promise<void> {
  const { rowsDays, strangersDays, dedupeDays, journalMaxMb, trashDays, ...files } = live.config.retention;
  const now = core.ports.clock.now();
  const attempt = (what: string, work: () => Promise<number>) =>
    work().catch((error: unknown) => {
      log.warn("upkeep failed", { what, error });
      return 0;
    });
  const { logs: logsDir, media: mediaDir } = live.paths;
  const keep = { rowsDays, strangersDays, dedupeDays, maxBytes: journalMaxMb * MIB };
  const rows = await attempt("journal", () => core.journal.prune(keep));
  const logs = await attempt("logs", () =>
    removeFiles(logsDir, DAILY_LOG, { days: files.logsDays, maxMb: files.logsMaxMb, now }),
  );
  const media = await attempt("media", () =>
    removeFiles(mediaDir, /^\w/, { days: files.mediaDays, maxMb: files.mediaMaxMb, now }),
  );
  const trash = await attempt("trash", () => emptyTrash(live.paths.stateDir, trashDays, now));
  const sandboxes = await attempt("sandboxes", () => pruneSandboxes(live.agents, now));
  // The run logs itself what it does.
  await attempt("sessions", async () => (await maintenance.run()).actions.length);
  if (rows + logs + media + trash + sandboxes > 0) log.info("cleared away", { rows, logs, media, trash, sandboxes });
}

type CleanupParts = Pick<Parts, "live" | "core" | "log" | "maintenance">;
const MIB = 1_048_576;
const DAILY_LOG = /^openclaw-\d{4}-\d{2}-\d{2}(?:\.1)?\.log$/;

interface KeptFile {
  readonly path: string;
  readonly bytes: number;
  readonly at: number;
}

/**
 * Removes files that are too old, then the oldest until the rest fits the size. A file younger than a day may be in use
 * and stays.
 */
async function removeFiles(
  dir: string,
  names: RegExp,
  keep: { days: number; maxMb: number; now: number },
): Promise<number> {
  const files = (await filesIn(dir, names)).toSorted((a, b) => b.at - a.at);
  let bytes = 0;
  let removed = 0;
  for (const file of files) {
    bytes += file.bytes;
    const age = keep.now - file.at;
    if (age < keep.days * DAY_MS && (bytes <= keep.maxMb * MIB || age < DAY_MS)) continue;
    await rm(file.path, { force: true });
    removed += 1;
  }
  return removed;
}

/**
 * The files of a folder with these names. A missing folder has none, and a file that is removed meanwhile is left out.
 */
async function filesIn(dir: string, names: RegExp): Promise<readonly KeptFile[]> {
  const entries = (await unlessMissing(readdir(dir, { withFileTypes: true }))) ?? [];
  const paths = entries.filter((entry) => entry.isFile() && names.test(entry.name)).map(({ name }) => join(dir, name));
  const files = await Promise.all(paths.map(keptFile));
  return files.filter((file) => file !== undefined);
}

async function keptFile(path: string): Promise<KeptFile | undefined> {
  const found = await unlessMissing(stat(path));
  return found && { path, bytes: found.size, at: found.mtimeMs };
}

/** The upkeep of the sessions of a running gateway. */
export const maintenanceOf = ({ live, core, log }: Pick<Parts, "live" | "core" | "log">): SessionMaintenance =>
  new SessionMaintenance({
    dir: live.paths.sessionsDir,
    sessions: core.sessions,
    defaultAgent: live.defaultAgent.id,
    rules: () => live.config.session.maintenance,
    inUse: () => sessionsInUse(core.journal, live.defaultAgent.id),
    isBusy: (key) => core.dispatch.lanes.isBusy(key),
    clock: core.ports.clock,
    log,
  });

const cleanupParams = z.looseObject({
  /** Only the sessions of this agent. `agentId` says the same. */
  agent: z.string().min(1).optional(),
  agentId: z.string().min(1).optional(),
  allAgents: z.boolean().optional(),
  enforce: z.boolean().optional(),
  dryRun: z.boolean().optional(),
  activeKey: keyParam().optional(),
  fixMissing: z.boolean().optional(),
  fixDmScope: z.boolean().optional(),
});

/** The method that keeps the sessions within `session.maintenance` now. */
export const cleanupMethods = ({ live, core, events, maintenance }: Parts): readonly Method[] => [
  defineMethod({
    name: "sessions.cleanup",
    scope: "operator.admin",
    mayWait: true,
    params: cleanupParams,
    result: maintenanceAnswer,
    run: async ({ agent, agentId: id = agent, fixDmScope, enforce, dryRun, activeKey, fixMissing }) => {
      const report = await maintenance.run({
        ...(id !== undefined && { agent: agentId(id) }),
        retireDirect: fixDmScope === true && live.config.session.dmScope === "main",
        enforce,
        dryRun,
        activeKey,
        fixMissing,
      });
      if (!report.dryRun)
        events.publish({
          event: "sessions.changed",
          payload: { reason: "cleanup", ts: core.ports.clock.now() },
          scope: "operator.read",
        });
      return report;
    },
  }),
];
