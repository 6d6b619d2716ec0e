import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join, relative } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { parseEnv } from "node:util";
import { z } from "zod";
import { journalRefusal } from "../../store/journal/read-only.ts";
import { endWaiting } from "../../store/journal/restored.ts";
import { changeInstance } from "../../store/lock/instance.ts";
import { OpenClawError, sentences } from "../../types/errors.ts";
import type { Env } from "../../utils/env.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { isInside } from "../../utils/real-path.ts";
import type { StatePaths } from "../config/paths.ts";
import { runProgram } from "./fetch.ts";
import type { Version, Versions } from "./versions.ts";
import { readTextFile } from "../../store/text-file.ts";

/** A version that is to run, and the state that it must work with. */
export interface VersionTrial {
  readonly id: string;
  readonly candidate: Version;
  readonly present: Version;
  readonly paths: StatePaths;
  /** Files of the config. */
  readonly configFiles: readonly string[];
  readonly env: Env;
  readonly signal: AbortSignal;
}

export interface Tried {
  /** Why the present version could not go on with a state that the candidate has used; undefined when it could. */
  readonly oneWay: string | undefined;
}

/** Milliseconds until a version that was started on a copy must answer, within the time of the whole update. */
const BOOT_MS = 120_000;
const LOOK_EVERY_MS = 100;

/**
 * Tries a version on a copy of the state, beside the gateway that runs: it reads the config, its doctor finds no failure that the present
 * one does not find, and its gateway starts and answers, on another port, with channels and jobs off. Rejects with UPDATE_FAILED.
 */
export async function tryVersion(versions: Versions, trial: VersionTrial): Promise<Tried> {
  const dir = versions.draft("trial", trial.id);
  try {
    const env = await copyState(dir, trial);
    await readsConfig(versions, trial, env);
    await findsNothingNew(versions, trial, env);
    await boots(versions, trial, env);
    return { oneWay: journalRefusal(join(dir, "state", "journal.sqlite"))?.message };
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

/** Parts of a state directory that a start needs. Conversations, files and logs are not copied, nor is what belongs to one link. */
const COPIED = ["credentials", "exec-approvals.json", "skills", ".env"];
const NOT_COPIED = /^credentials[/\\](?:whatsapp|signal)(?:$|[/\\])/;

/** Makes the copy, which answers nothing that waits. Resolves with the variables of a program that works with it. */
async function copyState(dir: string, { paths, configFiles, env }: VersionTrial): Promise<Env> {
  const { stateDir, stateSub, configPath } = paths;
  await mkdir(join(dir, "state"), { recursive: true, mode: 0o700 });
  const filter = (path: string) => !NOT_COPIED.test(relative(stateDir, path));
  for (const name of COPIED)
    if (existsSync(join(stateDir, name))) await cp(join(stateDir, name), join(dir, name), { recursive: true, filter });
  for (const name of (await unlessMissing(readdir(stateSub))) ?? [])
    if (name.endsWith(".json")) await cp(join(stateSub, name), join(dir, "state", name));
  const journal = join(dir, "state", "journal.sqlite");
  if (existsSync(join(stateSub, "journal.sqlite"))) {
    await copyDatabase(join(stateSub, "journal.sqlite"), journal);
    // A journal that only a newer version works with is its candidate's matter.
    if (journalRefusal(journal) === undefined) endWaiting(journal, Date.now());
  }
  await changeInstance(dir, { id: crypto.randomUUID(), isAdopted: false, origin: "backup" });
  const secrets = await readTextFile(join(stateDir, "service-env", "gateway.env"));
  const config = await copyConfig(join(dir, "config"), configPath, configFiles);
  return { ...parseEnv(secrets ?? ""), ...env, OPENCLAW_STATE_DIR: dir, OPENCLAW_CONFIG_PATH: config };
}

async function copyDatabase(path: string, copy: string): Promise<void> {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    await backup(db, copy);
  } finally {
    db.close();
  }
}

/** The config's copy, or the config itself where it includes files from elsewhere, which are read only. */
async function copyConfig(into: string, configPath: string, files: readonly string[]): Promise<string> {
  const folder = dirname(configPath);
  if (!existsSync(configPath) || !files.every((file) => isInside(file, folder))) return configPath;
  for (const file of new Set([configPath, ...files])) await cp(file, join(into, relative(folder, file)));
  return join(into, relative(folder, configPath));
}

async function readsConfig(versions: Versions, { candidate, signal }: VersionTrial, env: Env): Promise<void> {
  const program = versions.programOf(candidate);
  const { code, err } = await runProgram([process.execPath, program, "config", "validate"], env, signal);
  if (code !== 0) throw unfit(candidate, `cannot use the config: ${lastOf(err)}`, "Mend the config for it first.");
}

const report = z.looseObject({
  checks: z.array(
    z.looseObject({
      id: z.string(),
      title: z.string(),
      results: z.array(z.looseObject({ status: z.string(), message: z.string() })),
    }),
  ),
});

/** Failures that the present version finds as well are no reason against another one. */
async function findsNothingNew(versions: Versions, trial: VersionTrial, env: Env): Promise<void> {
  const [before, after] = [trial.present, trial.candidate].map((one) =>
    failuresOf(versions.programOf(one), env, trial),
  );
  const known = new Set((await before)?.keys());
  const found = await after;
  if (!found) throw unfit(trial.candidate, "has a doctor that gives no report", "Try another version.");
  const added = [...found].filter(([id]) => !known.has(id)).map(([, text]) => text);
  if (added.length > 0)
    throw unfit(trial.candidate, `does not work with this state: ${added.join(" ")}`, "Mend that first.");
}

/** The checks of a version's doctor that fail, with their first words; undefined without a report. */
async function failuresOf(
  program: string,
  env: Env,
  { signal }: VersionTrial,
): Promise<ReadonlyMap<string, string> | undefined> {
  const { out } = await runProgram([process.execPath, program, "doctor", "--json"], env, signal);
  const { checks } = parsed(out) ?? {};
  return (
    checks &&
    new Map(
      checks.flatMap(({ id, title, results }) => {
        const failed = results.find(({ status }) => status === "fail");
        return failed ? [[id, `${title}: ${failed.message}`] as const] : [];
      }),
    )
  );
}

function parsed(text: string): z.infer<typeof report> | undefined {
  try {
    return report.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Starts the gateway of a version on the copy, until it answers. */
async function boots(versions: Versions, { candidate, signal }: VersionTrial, env: Env): Promise<void> {
  const port = await freePort();
  const args = [versions.programOf(candidate), "gateway", "run", "--port", String(port), "--bind", "loopback"];
  const child = spawn(process.execPath, args, {
    // The channel to this process ends it when this one is killed.
    env: { ...env, OPENCLAW_WRAPPED: "1" },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (data: Buffer) => (said = (said + data.toString()).slice(-4000)));
  const ended = once(child, "exit");
  try {
    const why = await untilAnswers(child, port, AbortSignal.any([signal, AbortSignal.timeout(BOOT_MS)]));
    if (why !== undefined) throw unfit(candidate, `${why}: ${lastOf(said)}`, "Try another version.");
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(late);
    }
  }
}

const STOP_MS = 20_000;

/** Why a started gateway does not answer; undefined when it does. */
async function untilAnswers(child: ChildProcess, port: number, signal: AbortSignal): Promise<string | undefined> {
  while (!signal.aborted) {
    if (child.exitCode !== null || child.signalCode !== null) return `does not start on a copy of the state`;
    // A port that nobody listens on yet is no answer.
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(2000) }).catch(
      () => undefined,
    );
    if (answer?.ok) return undefined;
    await sleep(LOOK_EVERY_MS);
  }
  return "does not answer on a copy of the state";
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address ? address.port : 0;
}

const unfit = ({ version }: Version, why: string, fix: string) =>
  new OpenClawError("UPDATE_FAILED", {
    message: `${version} ${why}`,
    fix: sentences(fix, "The present version runs on, and nothing was changed."),
  });

/** The last lines of a program's output. */
const lastOf = (text: string): string =>
  text
    .split("\n")
    .filter((line) => /\S/.test(line))
    .slice(-4)
    .join(" ")
    .slice(-600) || "it says nothing";
