import { expect } from "vitest";
import { z } from "zod";
import type { GatewayUnderTest } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { type FaultFixture, journalRows } from "../fixture.ts";
import { rowsOf } from "./rows.ts";

/** A job that reports to a chat: at one time, or each so many milliseconds from a time on. */
export interface WantedJob {
  readonly name: string;
  /** Epoch milliseconds of the first slot. */
  readonly first: number;
  readonly everyMs?: number;
  readonly delivery: { readonly channel: string; readonly to: string };
}

export interface Job extends WantedJob {
  readonly id: string;
}

const added = z.looseObject({ id: z.string(), createdAtMs: z.number() });

export async function addJob(gateway: GatewayUnderTest, wanted: WantedJob): Promise<Job> {
  const { name, everyMs, delivery } = wanted;
  // A busy machine may be late.
  const first = everyMs === undefined ? Math.max(wanted.first, Date.now()) : wanted.first;
  const schedule =
    everyMs === undefined
      ? { kind: "at", at: new Date(first).toISOString() }
      : { kind: "every", everyMs, anchorMs: first };
  const { id, createdAtMs } = added.parse(
    await call(gateway, "cron.add", {
      name,
      schedule,
      missed: "all",
      deleteAfterRun: false,
      payload: { kind: "agentTurn", message: `report ${name};` },
      delivery: { mode: "announce", ...delivery },
    }),
  );
  return { ...wanted, first: firstAfter(createdAtMs, first, everyMs), id };
}

/** Slots of a repeated job that passed before it was there do not count. */
function firstAfter(createdAtMs: number, first: number, everyMs: number | undefined): number {
  if (everyMs === undefined || createdAtMs < first) return first;
  return first + (Math.floor((createdAtMs - first) / everyMs) + 1) * everyMs;
}

/** Ends repeated jobs, so that no slot follows. */
export async function endJobs(gateway: GatewayUnderTest, jobs: readonly Job[]): Promise<void> {
  for (const { id, everyMs } of jobs)
    if (everyMs !== undefined) await call(gateway, "cron.update", { id, patch: { enabled: false } });
}

interface Slot {
  readonly slotMs: number;
  readonly outcome: string | undefined;
}

const record = z.looseObject({ jobId: z.string(), slotAtMs: z.number(), summary: z.string().min(1) });

/** Slots that were skipped, each with its reason: a job that failed because of kills waits a while, and later slots meanwhile are skipped. */
function skippedOf(at: FaultFixture, { id, everyMs = 0 }: Job): readonly Slot[] {
  const rows = journalRows(at.home, "SELECT record FROM cron_runs WHERE status = 'skipped'");
  const records = rows.map((row) => record.parse(JSON.parse(String(row["record"]))));
  return records
    .filter(({ jobId }) => jobId === id)
    .flatMap(({ slotAtMs, summary }) => {
      const since = /with all slots since (\S+)\)$/.exec(summary)?.[1];
      const count = since === undefined ? 1 : 1 + (slotAtMs - Date.parse(since)) / everyMs;
      return Array.from({ length: count }, (_, back) => ({ slotMs: slotAtMs - back * everyMs, outcome: "skipped" }));
    });
}

/** The slots of a job that were begun. A second try of a slot counts as the slot. */
function begunOf(at: FaultFixture, { id }: Job): readonly Slot[] {
  const rows = rowsOf(at).filter(({ key }) => key.startsWith(`cron:${id}:`));
  expect(new Set(rows.map(({ key }) => key)).size, "a slot has two messages").toBe(rows.length);
  const tries = new Map<number, Slot>();
  for (const { key, outcome } of rows) {
    const slotMs = Number(key.split(":")[3]);
    const before = tries.get(slotMs);
    expect(before?.outcome, `slot ${key} was tried again although it was answered`).not.toBe("replied");
    tries.set(slotMs, { slotMs, outcome });
  }
  return [...tries.values()];
}

/**
 * Each slot of each job up to its last was begun or skipped, once, and each answer is in the chat once. Gives the number of slots that were
 * begun.
 */
export function expectSlots(at: FaultFixture, jobs: readonly Job[], shownIn: (job: Job) => readonly string[]): number {
  return jobs.reduce((sum, job) => sum + expectSlotsOf(at, job, shownIn(job)), 0);
}

function expectSlotsOf(at: FaultFixture, job: Job, shown: readonly string[]): number {
  const begun = begunOf(at, job);
  const slots = [...begun, ...skippedOf(at, job)].toSorted((a, b) => a.slotMs - b.slotMs);
  const wanted = slots.map((_, index) => job.first + index * (job.everyMs ?? 0));
  expect(begun.length, `${job.name} never ran`).toBeGreaterThan(0);
  expect(
    slots.map(({ slotMs }) => slotMs),
    `${job.name}: lost or doubled`,
  ).toEqual(wanted);
  const reports = shown.filter((text) => text.includes(`report of ${job.name} `));
  const firsts = reports.filter((text) => !text.startsWith("(possible repeat)"));
  expect(new Set(firsts).size, `${job.name}: an answer is there twice without its label`).toBe(firsts.length);
  const distinct = new Set(reports.map((text) => text.replace("(possible repeat) ", "")));
  const replied = slots.filter(({ outcome }) => outcome === "replied").length;
  expect(distinct.size, `${job.name}: answers in the chat`).toBe(replied);
  return begun.length;
}
