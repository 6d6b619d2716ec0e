import { randomBytes } from "node:crypto";
import { cp, lstat, mkdtemp, readdir, rename, rm, rmdir } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { readRows } from "../../sessions/rows/read-rows.ts";
import { fullDiskOr, makePrivateDir, syncDir, writeAtomic } from "../../store/disk.ts";
import { openJournalToRead, type StrangerSource } from "../../store/journal/read-only.ts";
import { acquireStateLock } from "../../store/lock/lock.ts";
import { EarlierPlaces, readPlaces } from "../../store/places.ts";
import { EXEC_APPROVALS_FILE } from "../../tools/exec/rules/document.ts";
import { OpenClawError } from "../../types/errors.ts";
import { agentId, type AgentId } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { expandHome, type Env } from "../../utils/env.ts";
import { exists } from "../../utils/exists.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { loadConfig, type LoadOptions } from "../config/load.ts";
import { journalPath, type StatePaths } from "../config/paths.ts";
import { resolveAgents } from "../config/settings.ts";
import { readConfigSource } from "../config/source.ts";
import { configForOpenClaw, type LeftConfigKey } from "./config.ts";
import { cronForOpenClaw } from "./cron.ts";
import { approvalsFor, modelKeysFor, peopleFor, type LeftItem, type Records } from "./records.ts";
import { exportSessions, scopeFor } from "./sessions.ts";

export interface ExportOptions {
  readonly paths: StatePaths;
  readonly load: LoadOptions;
  readonly env: Env;
  /** The directory to make. */
  readonly to: string;
  /** Stored keys of models too. */
  readonly withKeys: boolean;
  readonly log: Log;
  now(): number;
}

/** The receipt of an export. */
export interface Exported {
  readonly to: string;
  readonly counts: {
    readonly sessions: number;
    readonly transcripts: number;
    readonly archives: number;
    readonly jobs: number;
    readonly people: number;
    readonly waiting: number;
    readonly allowedCommands: number;
    readonly keys: number;
    readonly workspaces: number;
    readonly skills: number;
    readonly hooks: number;
  };
  readonly config: {
    readonly left: readonly LeftConfigKey[];
    /** Keys that are written out because OpenClaw has another default. */
    readonly added: readonly string[];
  };
  readonly left: readonly LeftItem[];
}

/**
 * Makes a directory that OpenClaw 2026.5.20 opens as its own. It appears when it is complete, or not at all. Throws USAGE for a target that is
 * not empty or lies in the state directory, NOT_FOUND without a state directory, STATE_LOCKED while a gateway runs on it, what the config,
 * the journal and the sessions throw, and DISK_FULL or DISK_WRITE.
 */
export async function exportState(options: ExportOptions): Promise<Exported> {
  const { paths } = options;
  const to = await targetOf(options);
  if (!(await exists(paths.stateSub)))
    throw new OpenClawError("NOT_FOUND", {
      message: `${paths.stateDir} has no state of this gateway.`,
      fix: "Set OPENCLAW_STATE_DIR to the directory that the gateway names as its state at its start.",
    });
  const lock = await acquireStateLock(paths.stateDir);
  try {
    return await built(to, (dir) => exportInto(dir, { ...options, to }));
  } finally {
    await lock.release();
  }
}

async function targetOf({ to, paths, env }: ExportOptions): Promise<string> {
  const target = await realOf(resolve(expandHome(to, env)));
  const own = await realOf(paths.stateDir);
  if (isInside(target, own) || isInside(own, target))
    throw unfit(`${target} and the state directory ${own} lie in each other.`);
  const found = await unlessMissing(lstat(target));
  if (found && !found.isDirectory()) throw unfit(`${target} is a file.`);
  if (found && (await readdir(target)).length > 0) throw unfit(`${target} is not empty.`);
  return target;
}

const unfit = (message: string): OpenClawError =>
  new OpenClawError("USAGE", { message, fix: "Name a directory that is not there yet: openclaw export --to <dir>." });

/** Lets the work fill a directory beside the target, and gives it the target's name at the end. */
async function built<T>(to: string, work: (dir: string) => Promise<T>): Promise<T> {
  await makePrivateDir(dirname(to));
  const draft = await mkdtemp(join(dirname(to), `.${basename(to)}.unfinished-`));
  try {
    const made = await work(draft);
    // Windows renames no directory onto another one, not even onto an empty one.
    await unlessMissing(rmdir(to));
    await rename(draft, to);
    await syncDir(dirname(to));
    return made;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw fullDiskOr(error, to);
  }
}

async function exportInto(dir: string, options: ExportOptions): Promise<Exported> {
  const { paths, load, env, now } = options;
  const { config } = await loadConfig(load);
  const agents = resolveAgents(config, { home: env["HOME"] ?? homedir(), stateDir: paths.stateDir });
  const journal = await openJournalToRead(journalPath(paths));
  try {
    const place: Place = { dir, options, agents, defaultAgent: agents[0]?.id ?? agentId("main") };
    const sessions = await sessionsInto(place, config.session.dmScope);
    const cron = cronForOpenClaw(await journal.cron.all(), { ...place, names: sessions.names, now: now() });
    await writeRecords(dir, {
      "cron/jobs.json": { version: 1, jobs: cron.jobs },
      "cron/jobs-state.json": { version: 1, jobs: cron.states },
    });
    const value = configForOpenClaw((await readConfigSource(load)).value, {
      stateDir: paths.stateDir,
      to: options.to,
      env,
      agents,
      dmScope: sessions.dmScope,
      token: randomBytes(TOKEN_BYTES).toString("base64url"),
    });
    await writeRecords(dir, { "openclaw.json": value.value });
    const waiting = await journal.pairing.list();
    const people = peopleFor(await journal.pairing.admitted(), waiting);
    const approvals = approvalsFor(join(paths.stateDir, EXEC_APPROVALS_FILE));
    const keys = await keysInto(place);
    for (const { files } of [people, approvals, ...keys]) await writeRecords(dir, files);
    const folders = await foldersInto(place);
    const left = [sessions, cron, people, approvals, ...keys, folders].flatMap((one) => one.left);
    return {
      to: options.to,
      counts: {
        sessions: sessions.sessions,
        transcripts: sessions.transcripts,
        archives: sessions.archives,
        jobs: cron.jobs.length,
        people: people.count,
        waiting: waiting.length,
        allowedCommands: approvals.count,
        keys: keys.reduce((sum, { count }) => sum + count, 0),
        ...folders.counts,
      },
      config: { left: value.left, added: value.added },
      left: [
        ...left,
        ...readElsewhere(approvals, options),
        ...(await unfinishedIn(journal)),
        ...(await staysIn(place)),
      ],
    };
  } finally {
    await journal.close();
  }
}

const TOKEN_BYTES = 32;

interface Place {
  readonly dir: string;
  readonly options: ExportOptions;
  readonly agents: readonly AgentSettings[];
  readonly defaultAgent: AgentId;
}

async function writeRecords(dir: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(dir, name);
    await makePrivateDir(dirname(path));
    await writeAtomic(path, `${JSON.stringify(content, null, 2)}\n`);
  }
}

/** Where a path of the state directory will be; another one stays. */
const movedPath = (path: string, { options: { paths, to } }: Place): string =>
  isInside(path, paths.stateDir) ? join(to, relative(paths.stateDir, path)) : path;

async function sessionsInto(place: Place, given: string) {
  const { options, defaultAgent, agents, dir } = place;
  const { paths, to, log, now } = options;
  const rows = await readRows({ dir: paths.sessionsDir, journal: journalPath(paths) }, defaultAgent);
  const dmScope = scopeFor(rows.keys(), given, defaultAgent);
  const earlier = await readPlaces(paths.stateDir);
  const own = [...new Set([paths.stateDir, await realOf(paths.stateDir)])];
  const outward = new EarlierPlaces(
    to,
    own.map((path) => ({ path, until: Number.POSITIVE_INFINITY })),
  );
  const workspaceOf = (agent: AgentId) =>
    movedPath(agents.find(({ id }) => id === agent)?.workspace ?? join(paths.stateDir, "workspace"), place);
  const moved = (text: string, at: number) => outward.here(earlier.here(text, at), at);
  const scene = { sessionsDir: paths.sessionsDir, rows, defaultAgent, dmScope, workspaceOf, moved, log, now };
  return { ...(await exportSessions(scene, dir)), dmScope };
}

/** Keys of all agents are those of the default agent there, which the others use too. */
async function keysInto({ options: { withKeys, paths }, agents, defaultAgent }: Place): Promise<readonly Records[]> {
  if (!withKeys) return [];
  return Promise.all(
    agents.map(({ id, agentDir }) => {
      const own = agentDir === undefined ? [] : [agentDir];
      return modelKeysFor(id === defaultAgent ? [paths.credentials, ...own] : own, id);
    }),
  );
}

/** Copies the workspaces, and the folders of skills, hooks and received files. A workspace elsewhere stays where it is. */
async function foldersInto(place: Place) {
  const { dir, options, agents } = place;
  const { stateDir, skills, hooks, media } = options.paths;
  const left: LeftItem[] = [];
  const inside = new Set<string>();
  for (const { id, workspace } of agents) {
    if (isInside(workspace, stateDir)) inside.add(workspace);
    else
      left.push({
        what: `the workspace of ${id} stays in ${workspace}`,
        why: "it lies outside of the state directory; both programs use it",
      });
  }
  const copied = async (path: string) => {
    if (!(await exists(path))) return 0;
    await cp(path, join(dir, relative(stateDir, path)), {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
      filter: async (from) => isCopied(await lstat(from)),
    });
    return (await readdir(path)).length;
  };
  let workspaces = 0;
  for (const path of inside) if ((await copied(path)) > 0) workspaces += 1;
  const counts = { workspaces, skills: await copied(skills), hooks: await copied(hooks) };
  await copied(media);
  return { counts, left };
}

/** Sockets and pipes of programs that ran in a workspace are no files. */
const isCopied = (facts: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): boolean =>
  facts.isFile() || facts.isDirectory() || facts.isSymbolicLink();

/** OpenClaw has one file of rules for commands for all its directories. */
function readElsewhere({ files }: Records, { to, env }: ExportOptions): readonly LeftItem[] {
  const home = join(env["HOME"] ?? homedir(), ".openclaw");
  if (Object.keys(files).length === 0 || to === home) return [];
  return [{ what: EXEC_APPROVALS_FILE, why: `OpenClaw reads it in ${home} only: copy it there` }];
}

async function unfinishedIn(journal: StrangerSource): Promise<readonly LeftItem[]> {
  const { openInbox, openOutbox } = await journal.counts();
  const what = [
    openInbox > 0 ? [`${openInbox} messages without an answer`] : [],
    openOutbox > 0 ? [`${openOutbox} replies that are not sent`] : [],
  ].flat();
  return what.map((text) => ({
    what: text,
    why: "OpenClaw would answer or send them a second time; start this gateway once more to finish them",
  }));
}

/** What no export takes, as far as it is there. */
const STAYS: readonly (readonly [name: string, why: string])[] = [
  ["credentials/whatsapp", "a link may be used by one program only; link WhatsApp anew there"],
  ["extensions", "plugins are installed for one program; install them there"],
  ["state/devices.json", "tokens of devices are for this gateway; pair them anew there"],
  ["state/memory", "the index of notes is made anew from their files"],
  ["logs", "they are about this gateway"],
  [".env", "OpenClaw reads variables from its own place; copy what you need"],
];

async function staysIn({ options: { paths, withKeys } }: Place): Promise<readonly LeftItem[]> {
  const keys = withKeys
    ? []
    : [["credentials/auth-profiles.json", "stored keys are secrets; --with-keys takes them along"] as const];
  const all = await Promise.all(
    [...STAYS, ...keys].map(async ([what, why]) => ((await exists(join(paths.stateDir, what))) ? [{ what, why }] : [])),
  );
  return all.flat();
}
