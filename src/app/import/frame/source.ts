import { copyFile, mkdir, readdir, realpath, rm, stat } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { processStart } from "../../../store/lock/process-start.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { expandHome, type Env } from "../../../utils/env.ts";
import { errorCode, unlessMissing } from "../../../utils/missing.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { isInside, realOf } from "../../../utils/real-path.ts";
import { withPresentForms } from "../../config/old-forms.ts";
import { isRecord, valueAt } from "../../config/schema/problem.ts";
import { readConfigSource, type ConfigSource } from "../../config/source.ts";
import { readSmall, SourceFault, sourceFile } from "./source-file.ts";

/** How a state directory keeps its conversations. */
export type Era = "clawdbot" | "jsonl" | "mixed" | "sqlite";

/** An agent of the source. */
export interface SourceAgent {
  readonly id: string;
  /** The folder of `sessions.json` and the transcripts. It may not be there. */
  readonly sessions: string;
  /** The folder of the agent's own files, such as its keys. It may not be there. */
  readonly own: string;
  /** The agent's database; undefined in the eras before it. */
  readonly database: string | undefined;
}

/** The state directory of another OpenClaw. Nothing in it is ever written, locked or removed. */
export interface ImportSource {
  /** Without symbolic links. */
  readonly dir: string;
  readonly era: Era;
  readonly agents: readonly SourceAgent[];
  /** Its config with the files that it includes; undefined when there is none, or when it cannot be read. */
  readonly config: ConfigSource | undefined;
  /** The config's value in the forms of today, with references as they are written. `{}` without a config. */
  readonly value: unknown;
  /** Why the config cannot be read. No secrets. */
  readonly configProblem: string | undefined;
  /** Path of the database that all agents share; undefined when there is none. */
  readonly database: string | undefined;
  /** A sentence about a program that uses the directory; undefined when none is found. `sure`: its lock says so. */
  readonly running: { readonly text: string; readonly sure: boolean } | undefined;
  /** Opens copies of its databases. */
  readonly databases: SourceDatabases;
}

const CONFIG_NAMES = ["openclaw.json", "moltbot.json", "clawdbot.json"];
const STATE_NAMES = [".openclaw", ".moltbot", ".clawdbot"];
const DEFAULT_PORT = 18_789;

/**
 * The directory that a person named, else the first of `~/.openclaw`, `~/.moltbot` and `~/.clawdbot` that is not the target.
 * Throws NOT_FOUND, and USAGE when it is the target, or one lies in the other.
 */
export async function findSource(named: string | undefined, target: string, env: Env): Promise<string> {
  const into = await realOf(resolve(target));
  if (named !== undefined) {
    const found = await unlessMissing(realpath(resolve(expandHome(named, env))));
    if (found === undefined) throw notThere(`${named} does not exist`);
    return apart(found, into);
  }
  const home = env["HOME"] ?? "";
  const known = await Promise.all(STATE_NAMES.map((name) => unlessMissing(realpath(join(home, name)))));
  const there = known.filter((path) => path !== undefined);
  const found = there.find((path) => path !== into) ?? there[0];
  if (found === undefined) throw notThere(`There is no ${STATE_NAMES.map((name) => `~/${name}`).join(", ")}`);
  return apart(found, into);
}

const notThere = (message: string): OpenClawError =>
  new OpenClawError("NOT_FOUND", { message: `${message}.`, fix: "Name the state directory: openclaw import <dir>." });

function apart(source: string, target: string): string {
  if (source === target)
    throw new OpenClawError("USAGE", {
      message: `${source} is this gateway's own state directory, and what is imported is never written to.`,
      fix: `Give this gateway a state directory of its own: OPENCLAW_STATE_DIR=~/.claw-gateway/state openclaw import ${source}`,
    });
  if (isInside(source, target) || isInside(target, source))
    throw new OpenClawError("USAGE", {
      message: `${source} and ${target} lie in each other.`,
      fix: "Set OPENCLAW_STATE_DIR to a directory beside the other one.",
    });
  return source;
}

interface SourceScene {
  readonly env: Env;
  readonly databases: SourceDatabases;
  /** The port of this gateway, if it runs: what answers there is not OpenClaw. */
  readonly ownPort?: number | undefined;
}

/** Reads what a source has. Throws NOT_FOUND when the directory belongs to no OpenClaw. */
export async function openSource(dir: string, { env, databases, ownPort }: SourceScene): Promise<ImportSource> {
  const agents = await agentsOf(dir);
  const shared = await fileOr(join(dir, "state", "openclaw.sqlite"));
  const config = await configOf(dir, env);
  if (agents.length === 0 && !shared && config.path === undefined)
    throw new OpenClawError("NOT_FOUND", {
      message: `${dir} has neither a config nor agents of OpenClaw.`,
      fix: "Name the state directory of OpenClaw, which is ~/.openclaw unless OPENCLAW_STATE_DIR was set.",
    });
  const value = withPresentForms(config.source?.value ?? {}).value;
  return {
    dir,
    era: await eraOf({ dir, agents, shared, config: config.path }, databases),
    agents,
    config: config.source,
    value,
    configProblem: config.problem,
    database: shared,
    running: await runningIn(dir, value, ownPort),
    databases,
  };
}

interface Facts {
  readonly dir: string;
  readonly agents: readonly SourceAgent[];
  readonly shared: string | undefined;
  readonly config: string | undefined;
}

async function eraOf({ agents, shared, config, dir }: Facts, databases: SourceDatabases): Promise<Era> {
  for (const { database } of agents) {
    const db = database === undefined ? undefined : await databases.open(database);
    if (db?.has("session_nodes") === true) return "sqlite";
  }
  if (shared !== undefined || agents.some(({ database }) => database !== undefined)) return "mixed";
  const isOld = config !== undefined && basename(config) === "clawdbot.json";
  return isOld || agents.some(({ sessions }) => sessions === join(dir, "sessions")) ? "clawdbot" : "jsonl";
}

/** The agents' folders; before there were several, the directory itself had those of the only agent. */
async function agentsOf(dir: string): Promise<readonly SourceAgent[]> {
  const names = ((await unlessMissing(readdir(join(dir, "agents"), { withFileTypes: true }))) ?? [])
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name)
    .toSorted();
  const found = await Promise.all(
    names.map(async (id) => {
      const own = join(dir, "agents", id, "agent");
      return {
        id,
        sessions: join(dir, "agents", id, "sessions"),
        own,
        database: await fileOr(join(own, "openclaw-agent.sqlite")),
      };
    }),
  );
  const isOld = (await fileOr(join(dir, "sessions", "sessions.json"))) !== undefined;
  if (!isOld) return found;
  return [...found, { id: "main", sessions: join(dir, "sessions"), own: join(dir, "agent"), database: undefined }];
}

async function configOf(dir: string, env: Env): Promise<{ path?: string; source?: ConfigSource; problem?: string }> {
  for (const name of CONFIG_NAMES) {
    const path = join(dir, name);
    if ((await fileOr(path)) === undefined) continue;
    try {
      return { path, source: await readConfigSource({ path, env }) };
    } catch (error) {
      if (error instanceof OpenClawError) return { path, problem: error.message };
      throw error;
    }
  }
  return {};
}

const fileOr = async (path: string): Promise<string | undefined> =>
  (await unlessMissing(stat(path)))?.isFile() === true ? path : undefined;

/** Finds a gateway that uses the directory: by the locks of its versions, else by its port. */
async function runningIn(dir: string, value: unknown, ownPort?: number): Promise<ImportSource["running"]> {
  const names = [`openclaw-${process.getuid?.() ?? ""}`, "openclaw"];
  const folders = [join(dir, "tmp"), tmpdir()].flatMap((above) => names.map((name) => join(above, name)));
  for (const folder of folders) {
    const locks = (await namesIn(folder)).filter((name) => name.endsWith(".lock"));
    for (const lock of locks) {
      const pid = await ownerIn(join(folder, lock), dir);
      if (pid !== undefined) return { text: `its gateway runs (process ${pid})`, sure: true };
    }
  }
  const given = valueAt(value, ["gateway", "port"]);
  const port = typeof given === "number" ? given : DEFAULT_PORT;
  return port !== ownPort && (await answers(port))
    ? { text: `a program answers at its port ${port}`, sure: false }
    : undefined;
}

/** Nothing for a folder that is missing, or that is another user's: the locks of a gateway of this user are not in it. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP"].includes(errorCode(error) ?? "")) return [];
    throw error;
  }
}

/** Bytes of a lock. */
const MOST_LOCK = 64 * 1024;

/** The process of a lock that is about this directory, if it lives. */
async function ownerIn(path: string, dir: string): Promise<number | undefined> {
  const text = await readSmall(path, MOST_LOCK).catch(() => "");
  const { pid, configPath, stateDir, startTime } = fieldsIn(text);
  const isHere = [stateDir, configPath].some((place) => typeof place === "string" && isInside(place, dir));
  if (!isHere || typeof pid !== "number") return undefined;
  const start = await processStart(pid);
  const isOther = typeof startTime === "number" && start?.includes("/") === true && !start.endsWith(`/${startTime}`);
  return start === undefined || isOther ? undefined : pid;
}

function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    // A lock that is being written, or a file of another program.
    return {};
  }
}

const ANSWER_MS = 500;

const answers = (port: number): Promise<boolean> =>
  new Promise((settle) => {
    const socket = createConnection({ host: "127.0.0.1", port, timeout: ANSWER_MS });
    const end = (isThere: boolean) => {
      socket.destroy();
      settle(isThere);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("timeout", () => end(false));
  });

/** A private copy of a database of the source. */
export class SourceDatabase {
  readonly #db: DatabaseSync;
  readonly #columns = new Map<string, ReadonlySet<string>>();

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    for (const { name } of this.#db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()) {
      const table = String(name);
      const columns = this.#db.prepare("SELECT name FROM pragma_table_info(?)").all(table);
      this.#columns.set(table, new Set(columns.map((column) => String(column["name"]))));
    }
  }

  /** Whether it has the table with these columns: other versions have more of them. */
  has(table: string, ...columns: readonly string[]): boolean {
    const there = this.#columns.get(table);
    return there !== undefined && columns.every((column) => there.has(column));
  }

  get tables(): readonly string[] {
    return [...this.#columns.keys()];
  }

  /** The version that the program wrote into it; undefined when there is none. */
  get version(): number | undefined {
    if (!this.has("schema_meta", "schema_version")) return undefined;
    const version = [...this.rows("SELECT schema_version FROM schema_meta LIMIT 1")][0]?.["schema_version"];
    return typeof version === "number" ? version : undefined;
  }

  /** Rows one after the other: a table may be larger than the memory. */
  *rows(sql: string, ...values: readonly (string | number)[]): Generator<Readonly<Record<string, unknown>>> {
    const statement = this.#db.prepare(sql);
    // A number that JavaScript cannot hold exactly would end the reading of all rows.
    statement.setReadBigInts(true);
    for (const row of statement.iterate(...values))
      yield Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]),
      );
  }

  close(): void {
    this.#db.close();
  }
}

const TRIES = 5;

/**
 * Opens copies of databases. The original is only read as a file, with its write-ahead log: opening it, even to read, would make files
 * beside it. One that changed while it was copied is copied again.
 */
export class SourceDatabases {
  readonly #dir: string;
  readonly #source: string;
  readonly #open = new Map<string, Promise<SourceDatabase>>();
  /** Sentences about databases that could not be read. */
  readonly problems: string[] = [];

  /** `dir`: a directory for the copies, which is made when the first is needed. `source`: the directory of the originals. */
  constructor(dir: string, source: string) {
    this.#dir = dir;
    this.#source = source;
  }

  /** The same copy for each call. Rejects when it changes all the time. */
  open(path: string): Promise<SourceDatabase> {
    const known = this.#open.get(path);
    if (known) return known;
    const opening = this.#copied(path, join(this.#dir, `${this.#open.size}.sqlite`));
    this.#open.set(path, opening);
    return opening;
  }

  /** A damaged database is read as one without tables, so that everything else is taken. */
  #readable(path: string, copy: string): SourceDatabase {
    try {
      return new SourceDatabase(copy);
    } catch (error) {
      this.problems.push(`${path} cannot be read: ${errorText(error)}`);
      return new SourceDatabase(":memory:");
    }
  }

  /** Closes and removes the copies. */
  async close(): Promise<void> {
    // A database that could not be opened was named when it was asked for.
    for (const opening of this.#open.values()) (await opening.catch(() => undefined))?.close();
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #copied(path: string, to: string): Promise<SourceDatabase> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    for (let tries = 0; tries < TRIES; tries += 1) {
      const before = await stampsOf(path);
      const [file, log] = await Promise.all([path, `${path}-wal`].map((one) => sourceFile(one, this.#source)));
      if (!file) throw new SourceFault("it is no longer there");
      await copyFile(file.path, to);
      await rm(`${to}-wal`, { force: true });
      if (log) await unlessMissing(copyFile(log.path, `${to}-wal`));
      if ((await stampsOf(path)) === before) return this.#readable(path, to);
    }
    throw new OpenClawError("NOT_FOUND", {
      message: `${path} changes while it is copied.`,
      fix: "Stop the OpenClaw gateway, then run the import again.",
    });
  }
}

async function stampsOf(path: string): Promise<string> {
  const files = await Promise.all([path, `${path}-wal`].map((file) => unlessMissing(stat(file, { bigint: true }))));
  return files.map((facts) => (facts ? `${facts.size}/${facts.mtimeNs}` : "none")).join(" ");
}

/** A section of the config's value; empty where there is none. */
export const sectionOf = (value: unknown, ...path: readonly string[]): Readonly<Record<string, unknown>> => {
  const found = valueAt(value, path);
  return isRecord(found) ? found : {};
};
