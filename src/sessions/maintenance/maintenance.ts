import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { MaintenanceReport } from "../../types/answers/session-maintenance.ts";
import type { Clock } from "../../types/clock.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { Sessions } from "../../types/session.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { rowsPath } from "../rows/rows-file.ts";
import type { MaintenanceConfig } from "./config.ts";
import {
  ARCHIVE_REASONS,
  type FileStep,
  type MaintenanceAsk,
  type MaintenancePlan,
  planMaintenance,
  type MaintenanceAct,
  type SessionStep,
} from "./plan.ts";
import { freedBytesOf, reportOf } from "./report.ts";
import { readStoredFiles, sizesIn } from "./stored-files.ts";

export interface MaintenancePorts {
  /** The folder of sessions. */
  readonly dir: string;
  readonly sessions: Pick<Sessions, "newest" | "peek" | "patch" | "remove" | "flush">;
  readonly defaultAgent: AgentId;
  rules(): MaintenanceConfig;
  /** The sessions that must stay, and what uses each. */
  inUse(): Promise<ReadonlyMap<SessionKey, string>>;
  /** Whether a run of the session is active or waits. */
  isBusy(key: SessionKey): boolean;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
}

export interface MaintenanceRun extends MaintenanceAsk {
  /** Changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Does in the mode `warn` what `enforce` would. */
  readonly enforce?: boolean | undefined;
}

/** Changes that are made before other work gets its turn. */
const AT_ONCE = 50;

/** Keeps the sessions and old transcripts of a state directory within `session.maintenance`. One run at a time. */
export class SessionMaintenance {
  /** The report of the latest run over all agents; undefined before the first one. */
  last: { readonly report: MaintenanceReport; readonly at: number } | undefined;
  readonly #ports: MaintenancePorts;
  #running: Promise<unknown> = Promise.resolve();

  constructor(ports: MaintenancePorts) {
    this.#ports = ports;
  }

  /** Looks at everything, and changes it unless the run or the mode says otherwise. Rejects when the folder cannot be read. */
  run(ask: MaintenanceRun = {}): Promise<MaintenanceReport> {
    const run = this.#running.then(() => this.#run(ask));
    this.#running = run.catch(() => undefined);
    return run;
  }

  async #run(ask: MaintenanceRun): Promise<MaintenanceReport> {
    const { dir, sessions, defaultAgent, clock } = this.#ports;
    const rules = this.#ports.rules();
    const [files, inUse] = await Promise.all([readStoredFiles(dir), this.#ports.inUse()]);
    const now = clock.now();
    const sizeOf = sizesIn(dir, files);
    const rows = [...sessions.newest()];
    const plan = await planMaintenance({ rows, files, rules, now, defaultAgent, inUse, sizeOf, ask });
    const isDry = ask.dryRun === true || (rules.mode === "warn" && ask.enforce !== true);
    const skipped = isDry ? undefined : await this.#apply(plan, now);
    const report = reportOf({ plan, files, rules, ask, storePath: rowsPath(dir), skipped });
    if (ask.agent === undefined) this.last = { report, at: now };
    this.#tell(report);
    return report;
  }

  /** Old transcripts are removed first: a session is worth more. Returns how many changes were not made. */
  async #apply({ files, sessions }: MaintenancePlan, now: number): Promise<number> {
    let skipped = 0;
    let done = 0;
    for (const step of [...files, ...sessions]) {
      if (++done % AT_ONCE === 0) await setImmediate();
      try {
        const isDone = "key" in step ? await this.#change(step, now) : await this.#removeFile(step);
        if (!isDone) skipped += 1;
      } catch (error) {
        skipped += 1;
        const about = "key" in step ? { session: step.key } : { file: step.name };
        this.#ports.log.warn("upkeep of sessions failed", { ...about, error: errorText(error) });
      }
    }
    await this.#ports.sessions.flush();
    return skipped;
  }

  /** False when the session was used since the plan was made. */
  async #change({ action, key, entry, ageMs, bytes }: SessionStep, now: number): Promise<boolean> {
    const { sessions, log, dir } = this.#ports;
    const row = sessions.peek(key);
    const isSame = row?.sessionId === entry.sessionId && row.updatedAt === entry.updatedAt;
    if (!isSame || this.#ports.isBusy(key)) return false;
    const about = { session: key, why: WHY[action], ageDays: daysOf(ageMs), bytes };
    if (isArchiving(action)) {
      await sessions.patch(key, { archivedAt: now, archiveReason: ARCHIVE_REASONS[action] });
      log.info("session put into the archive", about);
      return true;
    }
    const removed = await sessions.remove(key);
    const file = removed?.archived;
    if (action === "disk-budget" && file !== undefined && dirname(file) === dir) await rm(file, { force: true });
    const isKept = action !== "disk-budget" && file !== undefined;
    log.info("session deleted", { ...about, ...(isKept && { transcript: basename(file) }) });
    return true;
  }

  async #removeFile({ name, ageMs, bytes }: FileStep): Promise<boolean> {
    await rm(join(this.#ports.dir, name), { force: true });
    this.#ports.log.info("old transcript removed", { file: name, ageDays: daysOf(ageMs), bytes });
    return true;
  }

  #tell(report: MaintenanceReport): void {
    if (!report.wouldMutate) return;
    const { archived, capArchived, pruned, capped, diskBudget, unreferencedArtifacts: old, mode } = report;
    const facts = {
      mode,
      archived: archived + capArchived,
      deleted: pruned + capped + report.missing + report.dmScopeRetired + (diskBudget?.removedEntries ?? 0),
      oldTranscripts: old.removedFiles,
      bytes: freedBytesOf(report),
    };
    if (!report.dryRun) this.#ports.log.info("sessions are kept up", facts);
    else this.#ports.log.info("upkeep of sessions is due; see openclaw sessions cleanup --dry-run", facts);
  }
}

/** Why something is done to a session, for the log. */
const WHY: Readonly<Record<MaintenanceAct, string>> = {
  "archive-age": "session.maintenance.pruneAfter",
  "archive-cap": "session.maintenance.maxEntries",
  "prune-stale": "session.maintenance.pruneAfter",
  "cap-overflow": "session.maintenance.maxEntries",
  "prune-missing": "its transcript is missing",
  "retire-dm-scope": "session.dmScope",
  "disk-budget": "session.maintenance.maxDiskBytes",
};

const isArchiving = (action: MaintenanceAct): action is keyof typeof ARCHIVE_REASONS => action in ARCHIVE_REASONS;
const daysOf = (ms: number): number => Math.floor(ms / 86_400_000);
