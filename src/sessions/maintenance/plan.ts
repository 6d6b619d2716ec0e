import { setImmediate } from "node:timers/promises";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { SessionEntry, SessionRow } from "../../types/session.ts";
import { agentOf, isMainKey, isSubagentKey, isThreadKey, parseKey } from "../keys.ts";
import { isArchived } from "../rows/row.ts";
import { diskLimitOf, type MaintenanceConfig } from "./config.ts";
import type { OldTranscript, StoredFiles } from "./stored-files.ts";

/** Why a session was put into the archive, as its row names it. */
export const ARCHIVE_REASONS = { "archive-age": "age-retention", "archive-cap": "active-session-cap" } as const;

/** What is done about a session, in the field's names. `disk-budget` ends with its transcript removed. */
export type MaintenanceAct =
  | keyof typeof ARCHIVE_REASONS
  | "prune-stale"
  | "cap-overflow"
  | "prune-missing"
  | "retire-dm-scope"
  | "disk-budget";

/** A session that is put into the archive or deleted. */
export interface SessionStep {
  readonly action: MaintenanceAct;
  readonly key: SessionKey;
  /** The row that the plan was made for. */
  readonly entry: Readonly<SessionEntry>;
  readonly ageMs: number;
  /** Size of the transcript; 0 when it has none in the folder. */
  readonly bytes: number;
}

/** An old transcript that is removed. */
export interface FileStep {
  readonly action: "remove-transcript";
  readonly name: string;
  readonly ageMs: number;
  readonly bytes: number;
}

/** A session that would have been dealt with and is in use. */
export interface KeptSession {
  readonly action: "keep";
  readonly key: SessionKey;
  readonly entry: Readonly<SessionEntry>;
  readonly ageMs: number;
  readonly bytes: number;
  readonly why: string;
}

export interface MaintenancePlan {
  readonly sessions: readonly SessionStep[];
  readonly files: readonly FileStep[];
  readonly kept: readonly KeptSession[];
  /** Rows before and after, and those outside the archive after it. */
  readonly before: number;
  readonly after: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/** Which sessions are looked at, and what is done beside the rules. */
export interface MaintenanceAsk {
  /** Only the sessions of this agent; old transcripts and the size are then left alone. */
  readonly agent?: AgentId | undefined;
  /** A session that stays. */
  readonly activeKey?: SessionKey | undefined;
  /** Deletes the sessions whose transcript is missing. */
  readonly fixMissing?: boolean | undefined;
  /** Deletes the sessions of single people, which `session.dmScope: "main"` does not use any more. */
  readonly retireDirect?: boolean | undefined;
}

export interface Situation {
  /** The newest first. */
  readonly rows: readonly SessionRow[];
  readonly files: StoredFiles;
  readonly rules: MaintenanceConfig;
  readonly now: number;
  readonly defaultAgent: AgentId;
  /** The sessions that are in use, and how. */
  readonly inUse: ReadonlyMap<SessionKey, string>;
  /** Size of a session's transcript; undefined when it is missing. */
  sizeOf(entry: Readonly<SessionEntry>): number | undefined;
  readonly ask: MaintenanceAsk;
}

/** Rows that are judged before other work gets its turn. */
const AT_ONCE = 500;
const DAY_MS = 86_400_000;

/** Decides by the rules what is put into the archive and what is removed. Changes nothing. */
export async function planMaintenance(situation: Situation): Promise<MaintenancePlan> {
  const planner = new Planner(situation);
  const { rows } = situation;
  for (const judge of [planner.noteParent, planner.judge]) {
    for (let from = 0; from < rows.length; from += AT_ONCE) {
      if (from > 0) await setImmediate();
      for (const row of rows.slice(from, from + AT_ONCE)) judge(row);
    }
  }
  await planner.judgeCount();
  planner.judgeFiles();
  return planner.plan();
}

class Planner {
  readonly #of: Situation;
  readonly #parents = new Set<string>();
  readonly #steps: SessionStep[] = [];
  readonly #kept: KeptSession[] = [];
  /** The sessions outside the archive that stay, the newest first. */
  readonly #present: SessionRow[] = [];
  /** The sessions that `maxEntries` has put into the archive, the newest first. */
  readonly #capped: SessionRow[] = [];
  readonly #files: FileStep[] = [];
  #bytes: number;

  constructor(of: Situation) {
    this.#of = of;
    this.#bytes = of.files.bytes;
  }

  /** A session is a parent as long as a session below it stays. */
  readonly noteParent = ({ key, entry }: SessionRow): void => {
    const { spawnedBy, parentSessionKey, pinnedAt } = entry;
    const isHeld = pinnedAt !== undefined || this.#of.inUse.has(key);
    if (isArchived(entry) || (!isHeld && this.#isOld(entry) && isDisposable(key))) return;
    for (const parent of [spawnedBy, parentSessionKey]) if (parent !== undefined) this.#parents.add(parent);
  };

  readonly judge = (row: SessionRow): void => {
    const { key, entry } = row;
    if (!this.#isAsked(key)) return;
    const action = this.#special(row) ?? this.#byAge(row);
    if (action !== undefined) return this.#decide(action, row);
    if (!isArchived(entry)) this.#present.push(row);
    else if (entry.archiveReason === ARCHIVE_REASONS["archive-cap"]) this.#capped.push(row);
  };

  /** Treats the oldest sessions above `maxEntries` as old ones. */
  async judgeCount(): Promise<void> {
    let tooMany = this.#present.length - this.#of.rules.maxEntries;
    for (let at = this.#present.length - 1; at >= 0 && tooMany > 0; at -= 1) {
      if (at % AT_ONCE === 0) await setImmediate();
      const row = this.#present[at];
      if (!row) continue;
      const before = this.#steps.length;
      this.#decide(isDisposable(row.key) ? "cap-overflow" : "archive-cap", row, this.#whyRecent(row));
      if (this.#steps.length > before) tooMany -= 1;
    }
  }

  /** Old transcripts whose time is over, and what the limit of the disk asks for, the oldest first. */
  judgeFiles(): void {
    const { rules, files, now, ask } = this.#of;
    if (ask.agent !== undefined) return;
    const { resetArchiveRetention: keep } = rules;
    const isOver = ({ at }: OldTranscript) => keep !== false && at < now - keep;
    for (const file of files.old) if (isOver(file)) this.#removeFile(file);
    const limit = diskLimitOf(rules);
    if (!limit || this.#bytes <= limit.max) return;
    for (const file of files.old) {
      // A transcript of the last day may still be wanted back.
      if (this.#bytes <= limit.target || file.at > now - DAY_MS) break;
      if (!isOver(file)) this.#removeFile(file);
    }
    for (const row of this.#capped.toReversed()) {
      if (this.#bytes <= limit.target) break;
      this.#decide("disk-budget", row, this.#whyRecent(row));
    }
  }

  plan(): MaintenancePlan {
    const { rows, files } = this.#of;
    const removed = this.#steps.filter(({ action }) => !(action in ARCHIVE_REASONS)).length;
    return {
      sessions: this.#steps,
      files: this.#files,
      kept: this.#kept,
      before: rows.length,
      after: rows.length - removed,
      bytesBefore: files.bytes,
      bytesAfter: this.#bytes,
    };
  }

  #decide(action: MaintenanceAct, { key, entry }: SessionRow, recent?: string): void {
    const { now, sizeOf } = this.#of;
    const of = { key, entry, ageMs: now - entry.updatedAt, bytes: sizeOf(entry) ?? 0 };
    const why = this.#whyInUse(key, entry) ?? recent;
    if (why !== undefined) return void this.#kept.push({ action: "keep", ...of, why });
    this.#steps.push({ action, ...of });
    if (action === "disk-budget") this.#bytes -= of.bytes;
  }

  #removeFile({ name, bytes, at }: OldTranscript): void {
    this.#files.push({ action: "remove-transcript", name, bytes, ageMs: this.#of.now - at });
    this.#bytes -= bytes;
  }

  #special({ key, entry }: SessionRow): MaintenanceAct | undefined {
    const { ask, sizeOf } = this.#of;
    if (ask.fixMissing === true && sizeOf(entry) === undefined) return "prune-missing";
    return ask.retireDirect === true && isOfOnePerson(key) ? "retire-dm-scope" : undefined;
  }

  #byAge({ key, entry }: SessionRow): MaintenanceAct | undefined {
    if (isArchived(entry) || !this.#isOld(entry)) return undefined;
    return isDisposable(key) ? "prune-stale" : "archive-age";
  }

  #isAsked(key: SessionKey): boolean {
    const { ask, defaultAgent } = this.#of;
    return ask.agent === undefined || agentOf(key, defaultAgent) === ask.agent;
  }

  // A row of another program may have no time, and nobody knows how old it is.
  #isOld({ updatedAt }: Readonly<SessionEntry>): boolean {
    const { now, rules } = this.#of;
    return updatedAt > 0 && updatedAt < now - rules.pruneAfter;
  }

  #whyInUse(key: SessionKey, entry: Readonly<SessionEntry>): string | undefined {
    const { inUse, ask } = this.#of;
    const found = inUse.get(key);
    if (found !== undefined) return found;
    if (key === ask.activeKey) return "it is the active one";
    if (isMainKey(key)) return "it is the main session of its agent";
    if (entry.pinnedAt !== undefined) return "it is pinned";
    if (entry.chatType === "group" || parseKey(key).kind === "group") return "it is that of a group";
    if (entry.chatType === "thread" || isThreadKey(key)) return "it is that of a thread";
    return this.#parents.has(key) ? "another session belongs to it" : undefined;
  }

  #whyRecent({ key, entry }: SessionRow): string | undefined {
    const { now, rules } = this.#of;
    const { preserveRecent } = rules;
    if (preserveRecent === false || isDisposable(key)) return undefined;
    return entry.updatedAt >= now - preserveRecent ? "it was used lately" : undefined;
  }
}

const WEB = "webchat";
/** Beginnings of the keys of sessions that the gateway itself began. */
const MADE = /^(?:cron|hook|heartbeat|acp|subagent)(?::|$)/;

/** A session of a job, webhook, heartbeat or subagent: nobody comes back to it. */
function isDisposable(key: SessionKey): boolean {
  if (isSubagentKey(key)) return true;
  const parsed = parseKey(key);
  return parsed.kind === "other" ? MADE.test(parsed.text) : parsed.kind === "direct" && MADE.test(`${parsed.channel}:`);
}

/** A session of one person in a channel; a chat of the page belongs to nobody else. */
function isOfOnePerson(key: SessionKey): boolean {
  const parsed = parseKey(key);
  if (parsed.kind === "peer") return true;
  return parsed.kind === "direct" && parsed.channel !== WEB && !isDisposable(key);
}
