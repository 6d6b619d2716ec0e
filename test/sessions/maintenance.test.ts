import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lookAtSessions, maintenanceCheck, type MaintenanceScene } from "../../src/sessions/maintenance/check.ts";
import { maintenanceConfig } from "../../src/sessions/maintenance/config.ts";
import { SessionMaintenance, type MaintenancePorts } from "../../src/sessions/maintenance/maintenance.ts";
import { OPERATOR_KEY } from "../../src/sessions/keys.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { SessionPatch, Sessions } from "../../src/types/session.ts";
import type { Log } from "../../src/types/log.ts";
import { manualClock } from "../kit/clock.ts";
import { recordLog } from "../kit/log.ts";
import { journalBeside, tableOf } from "../kit/store/session-table.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";
import { say } from "../kit/store/transcript-file.ts";

const DAY = 86_400_000;
const KIB = "x".repeat(1024);
let dir: string;
let remove: StateDir["remove"];
let clock: ReturnType<typeof manualClock>;
let log: Log;
/** What the log says. */
let told: Readonly<Record<string, unknown>>[];
let sessions: Sessions;

beforeEach(async () => {
  const place = await openStateDir();
  ({ remove } = place);
  dir = join(place.dir, "sessions");
  clock = manualClock();
  told = [];
  log = { ...recordLog(), info: (message, fields) => void told.push({ message, ...fields }) };
  const cwdFor = (agent: string) => `/spaces/${agent}`;
  sessions = await openSessions({
    dir,
    table: await tableOf(dir),
    cwdFor,
    log,
    clock,
    defaultAgent: agentId("main"),
  });
});
afterEach(async () => {
  await sessions.close();
  await remove();
});

/** A session whose last message is this old. */
async function put(key: string, days: number, patch: SessionPatch = {}): Promise<void> {
  const session = await sessions.acquire(sessionKey(key));
  await session.append(say(KIB), { durable: true });
  await session.update({ updatedAt: clock.now() - days * DAY, ...patch });
  session.release();
}

/** A transcript that `/new` left this many days ago. */
async function putOld(name: string, days: number, kib = 1): Promise<string> {
  const stamp = new Date(clock.now() - days * DAY).toISOString().replaceAll(":", "-");
  const file = `${name}.jsonl.reset.${stamp}`;
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, file), KIB.repeat(kib));
  return file;
}

const upkeep = (rules: object = {}, ports: Partial<MaintenancePorts> = {}): SessionMaintenance =>
  new SessionMaintenance({
    dir,
    sessions,
    defaultAgent: agentId("main"),
    rules: () => maintenanceConfig.parse({ mode: "enforce", ...rules }),
    inUse: async () => new Map(),
    isBusy: () => false,
    clock,
    log,
    ...ports,
  });

const KEY = "telegram:default:8001";
const JOB = "cron:job-1:run:1";
const files = async (): Promise<readonly string[]> => (await readdir(dir)).filter((name) => name.includes(".jsonl"));
const actionsOf = async (run: ReturnType<SessionMaintenance["run"]>) =>
  (await run).actions.map(({ action, key, file, why }) => [action, key ?? file, ...(why === undefined ? [] : [why])]);
const reasonOf = (key: string) => sessions.peek(sessionKey(key))?.archiveReason;

describe("upkeep of sessions", () => {
  it("puts an old session of a person into the archive, with its transcript, and a message brings it back", async () => {
    await put(KEY, 31);
    await put("telegram:default:8002", 29);
    const before = await files();
    const report = await upkeep().run();
    expect(report).toMatchObject({ mode: "enforce", dryRun: false, beforeCount: 2, afterCount: 2, archived: 1 });
    expect(sessions.peek(sessionKey(KEY))).toMatchObject({ archivedAt: clock.now(), archiveReason: "age-retention" });
    expect(reasonOf("telegram:default:8002")).toBeUndefined();
    expect(await files()).toEqual(before);
    const why = "session.maintenance.pruneAfter";
    const line = { message: "session put into the archive", session: KEY, why, ageDays: 31, bytes: expect.any(Number) };
    expect(told).toContainEqual(line);
    expect((await upkeep().run()).wouldMutate).toBe(false);
    clock.pass(1);
    await put(KEY, 0);
    const { archivedAt = 0, updatedAt = 0 } = sessions.peek(sessionKey(KEY)) ?? {};
    expect(archivedAt).toBeLessThan(updatedAt);
  });

  it.each([JOB, "hook:mail:1", "heartbeat", `${KEY}::main`, "agent:main:subagent:x", "agent:work:cron:j:run:2"])(
    "deletes the old session %s, which nobody comes back to, and keeps its transcript",
    async (key) => {
      await put(key, 31);
      expect(await upkeep().run()).toMatchObject({ pruned: 1, archived: 0, beforeCount: 1, afterCount: 0 });
      expect([sessions.count, await files()]).toEqual([0, [expect.stringContaining(".jsonl.deleted.")]]);
      const [transcript] = await files();
      expect(told).toContainEqual(expect.objectContaining({ message: "session deleted", ageDays: 31, transcript }));
    },
  );

  it("only says what is due in the mode `warn`, and does it when it is asked to", async () => {
    await put(KEY, 31);
    await put(JOB, 31);
    const rules = { mode: "warn" };
    const report = await upkeep(rules).run();
    expect(report).toMatchObject({ mode: "warn", dryRun: true, archived: 1, pruned: 1, wouldMutate: true });
    expect([sessions.count, reasonOf(KEY)]).toEqual([2, undefined]);
    const message = "upkeep of sessions is due; see openclaw sessions cleanup --dry-run";
    expect(told).toEqual([{ message, mode: "warn", archived: 1, deleted: 1, oldTranscripts: 0, bytes: 0 }]);
    expect((await upkeep(rules).run({ enforce: true, dryRun: true })).dryRun).toBe(true);
    expect(sessions.count).toBe(2);
    await upkeep(rules).run({ enforce: true });
    expect([sessions.count, reasonOf(KEY)]).toEqual([1, "age-retention"]);
  });

  it.each<[string, string, SessionPatch, Partial<MaintenancePorts>?]>([
    ["the main session", OPERATOR_KEY, {}],
    ["the main session of another agent", "agent:work:main", {}],
    ["a pinned one", KEY, { pinnedAt: 1 }],
    ["that of a group", "telegram:default:group:-100", { chatType: "group" }],
    ["that of a thread", "telegram:default:8001:thread:7", {}],
    ["one with a message that waits", KEY, {}, { inUse: async () => new Map([[sessionKey(KEY), "it waits"]]) }],
    ["a job's with a message that waits", JOB, {}, { inUse: async () => new Map([[sessionKey(JOB), "it waits"]]) }],
  ])("leaves %s alone, and says why", async (_, key, patch, ports) => {
    await put(key, 400, patch);
    const keeping = upkeep({ maxDiskBytes: 1 }, ports);
    expect(await actionsOf(keeping.run())).toEqual([["keep", key, expect.stringMatching(/^it /)]]);
    expect([sessions.count, reasonOf(key)]).toEqual([1, undefined]);
  });

  it("leaves the parent alone until the session below it is gone", async () => {
    await put(KEY, 400);
    await put(`${KEY}::main`, 5, { spawnedBy: KEY });
    expect(await actionsOf(upkeep().run())).toEqual([["keep", KEY, "another session belongs to it"]]);
    clock.pass(30 * DAY);
    expect(await actionsOf(upkeep().run())).toEqual([
      ["prune-stale", `${KEY}::main`],
      ["archive-age", KEY],
    ]);
  });

  it("leaves the active one alone, and one that was used since the plan was made", async () => {
    await put(KEY, 31);
    const run = upkeep().run({ activeKey: sessionKey(KEY) });
    expect(await actionsOf(run)).toEqual([["keep", KEY, "it is the active one"]]);
    expect(await upkeep({}, { isBusy: () => true }).run()).toMatchObject({ archived: 1, skipped: 1 });
    const used = async () => {
      await put(KEY, 0);
      return new Map();
    };
    const newest = [...sessions.newest()];
    const seenBefore = { ...portsOf(sessions), newest: () => newest };
    expect(await upkeep({}, { sessions: seenBefore, inUse: used }).run()).toMatchObject({ archived: 1, skipped: 1 });
    expect(reasonOf(KEY)).toBeUndefined();
  });

  it("treats the oldest above `maxEntries` as old ones, and counts those that must stay", async () => {
    for (const [at, key] of [OPERATOR_KEY, "a:b:1", "a:b:2", JOB, "a:b:3"].entries()) await put(key, 20 - at);
    await put("a:b:0", 25, { archivedAt: clock.now(), archiveReason: "manual" });
    expect(await actionsOf(upkeep({ maxEntries: 2, preserveRecent: "17d" }).run({ dryRun: true }))).toEqual([
      ["archive-cap", "a:b:1"],
      ["archive-cap", "a:b:2"],
      ["cap-overflow", JOB],
      ["keep", OPERATOR_KEY, "it is the main session of its agent"],
    ]);
    await upkeep({ maxEntries: 2 }).run();
    expect(["a:b:0", "a:b:1", "a:b:2", "a:b:3"].map(reasonOf)).toEqual([
      "manual",
      "active-session-cap",
      "active-session-cap",
      undefined,
    ]);
    expect(sessions.peek(sessionKey(JOB))).toBeUndefined();
    expect((await upkeep({ maxEntries: 2 }).run()).wouldMutate).toBe(false);
  });

  it("leaves recent sessions of people alone where `preserveRecent` says so", async () => {
    for (const key of ["a:b:1", "a:b:2"]) await put(key, 3);
    expect(await actionsOf(upkeep({ maxEntries: 1, preserveRecent: 7 }).run())).toEqual([
      ["keep", "a:b:2", "it was used lately"],
      ["keep", "a:b:1", "it was used lately"],
    ]);
  });
});

describe("upkeep of old transcripts", () => {
  it("removes them after `resetArchiveRetention`, by the time in their names, and otherwise never", async () => {
    const old = await putOld("a", 31);
    const kept = await putOld("b", 29);
    expect((await upkeep().run()).unreferencedArtifacts).toEqual({ scannedFiles: 2, removedFiles: 0, freedBytes: 0 });
    const { unreferencedArtifacts } = await upkeep({ resetArchiveRetention: "30d" }).run();
    expect(unreferencedArtifacts).toMatchObject({ scannedFiles: 2, removedFiles: 1, freedBytes: 1024 });
    expect(await files()).toEqual([kept]);
    expect(told).toContainEqual({ message: "old transcript removed", file: old, ageDays: 31, bytes: 1024 });
  });

  it("are removed first where the folder is too large, the oldest first, down to the size afterwards", async () => {
    const names = [];
    for (const days of [9, 7, 5, 3, 0]) names.push(await putOld(`t${days}`, days, 10));
    await put(KEY, 3, { archivedAt: clock.now(), archiveReason: "active-session-cap" });
    const rules = { maxDiskBytes: "50kb", highWaterBytes: "35kb" };
    const { diskBudget } = await upkeep(rules).run();
    expect(diskBudget).toMatchObject({ maxBytes: 51_200, highWaterBytes: 35_840, removedFiles: 2, overBudget: true });
    expect(diskBudget?.totalBytesAfter).toBeLessThanOrEqual(35_840);
    expect(sessions.count).toBe(1);
    expect(await files()).toEqual(expect.arrayContaining(names.slice(2)));
    expect((await upkeep(rules).run()).diskBudget).toMatchObject({ removedFiles: 0, overBudget: false });
  });

  it("are followed by the sessions that `maxEntries` put away, and by no others", async () => {
    await put("a:b:1", 9, { archivedAt: clock.now(), archiveReason: "active-session-cap" });
    await put("a:b:2", 8, { archivedAt: clock.now(), archiveReason: "manual" });
    await put("a:b:3", 7, { archivedAt: clock.now(), archiveReason: "age-retention" });
    await put("a:b:4", 6);
    const recent = await putOld("t", 0);
    const { diskBudget } = await upkeep({ maxDiskBytes: 100 }).run();
    expect(diskBudget).toMatchObject({ removedFiles: 0, removedEntries: 1 });
    expect([...sessions.newest()].map(({ key }) => key).toSorted()).toEqual(["a:b:2", "a:b:3", "a:b:4"]);
    expect((await files()).filter((name) => name.includes(".deleted."))).toEqual([]);
    expect(await files()).toContain(recent);
  });

  it.each([[{ maxDiskBytes: false }], [{ maxDiskBytes: 0 }], [{ maxDiskBytes: "1gb" }]])(
    "stay within %j",
    async (rules) => {
      const name = await putOld("t", 400);
      expect((await upkeep(rules).run()).wouldMutate).toBe(false);
      expect(await files()).toEqual([name]);
    },
  );
});

describe("a cleanup that a person asks for", () => {
  it("looks at the sessions of one agent only", async () => {
    await put("agent:work:a:b:1", 31);
    await put("a:b:2", 31);
    await putOld("t", 400);
    const run = upkeep({ resetArchiveRetention: "1d" }).run({ agent: agentId("work") });
    expect(await actionsOf(run)).toEqual([["archive-age", "agent:work:a:b:1"]]);
  });

  it("deletes what has lost its transcript, and the sessions of single people, when it is told to", async () => {
    await put(KEY, 1);
    await put("webchat:default:x", 1);
    await put("telegram:default:group:-1", 1);
    await put("a:b:1", 1);
    const [lost] = (await files()).filter((name) => sessions.fileOf(sessionKey("a:b:1"))?.endsWith(name));
    await rm(join(dir, lost ?? ""));
    expect(await actionsOf(upkeep().run({ dryRun: true, fixMissing: true }))).toEqual([["prune-missing", "a:b:1"]]);
    expect(await actionsOf(upkeep().run({ fixMissing: true, retireDirect: true }))).toEqual([
      ["prune-missing", "a:b:1"],
      ["retire-dm-scope", KEY],
    ]);
    expect(sessions.count).toBe(2);
  });
});

describe("doctor", () => {
  const sceneOf = (rules: object): MaintenanceScene => ({
    places: { dir, journal: journalBeside(dir) },
    rules: maintenanceConfig.parse(rules),
    defaultAgent: agentId("main"),
    inUse: async () => new Map(),
    now: () => clock.now(),
  });
  const doctor = async (rules: object = {}) => {
    await sessions.flush();
    const [line] = await maintenanceCheck(() => sceneOf(rules)).run(new AbortController().signal);
    return `${line?.status} ${line?.message}`;
  };

  it("says what is due and how much it is, and changes nothing", async () => {
    expect(await doctor()).toBe("ok Nothing is due; 0 old transcripts are kept.");
    await put(KEY, 31);
    await put(JOB, 31);
    await putOld("t", 40, 3);
    expect(await doctor({ resetArchiveRetention: 30 })).toBe(
      "ok Due (session.maintenance): 1 session put into the archive, 1 session deleted, 1 old transcript removed (3.0 kB).",
    );
    expect(await doctor({ maxDiskBytes: "1kb" })).toMatch(/^warn Due .* The sessions have \d/);
    expect([sessions.count, (await files()).length]).toEqual([2, 3]);
  });

  it("says the same as a run of the gateway", async () => {
    await put(KEY, 31);
    await put(JOB, 31);
    await sessions.flush();
    const report = await lookAtSessions(sceneOf({ mode: "enforce" }), {});
    expect(await upkeep().run({ dryRun: true })).toEqual(report);
  });
});

/** The part of the sessions that the upkeep uses. */
const portsOf = (all: Sessions): MaintenancePorts["sessions"] => ({
  newest: () => all.newest(),
  peek: (key) => all.peek(key),
  patch: (key, patch) => all.patch(key, patch),
  remove: (key) => all.remove(key),
  flush: () => all.flush(),
});
