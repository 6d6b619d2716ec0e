import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { makePrivateDir, removeUnfinished, writeAtomic } from "../../store/disk.ts";
import { lockFile } from "../../store/lock/lock-file.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { isFields } from "../../utils/fields.ts";
import { own } from "../../utils/own.ts";
import { ownFiles } from "../found/own-files.ts";
import { CRASHES, CRASHES_WITHIN_MS, forgetCrashes } from "./crashes.ts";

/**
 * How a plugin's code behaved when it was run where it could do no harm. `hung`: it did not end; `crashed`: it ended the
 * process of the trial; `killed`: the gateway itself ended while it was loaded; `ended`: it ended the gateway again and again.
 */
export type TrialOutcome = "passed" | "hung" | "crashed" | "killed" | "ended";

/** Result of the trial of a plugin's code with exactly these files. */
export interface Trial {
  readonly outcome: TrialOutcome;
  /** Stamp of the files, and of their places: another stamp is another code. */
  readonly stamp: string;
  readonly version?: string | undefined;
  /** How the code crashed, such as `exit code 1`; for `ended` its last error. */
  readonly detail?: string | undefined;
  /** Context engines that the plugin registered; unset where the trial did not look for them. */
  readonly engines?: readonly string[] | undefined;
  /** ISO 8601. */
  readonly at: string;
}

export type Trials = Readonly<Record<string, Trial>>;

const trialShape = z.object({
  outcome: z.enum(["passed", "hung", "crashed", "killed", "ended"]),
  stamp: z.string(),
  version: z.string().optional(),
  detail: z.string().optional(),
  engines: z.array(z.string()).optional(),
  at: z.string(),
});

interface State {
  readonly stateDir: string;
}

const trialsFile = ({ stateDir }: State): string => join(stateDir, "plugins", "trials.json");

/** The trials by plugin id. A file that cannot be read has none: every plugin is tried again. */
export async function readTrials(state: State): Promise<Trials> {
  const content = await readFile(trialsFile(state), "utf8").catch(() => undefined);
  const given = fieldsIn(content)["trials"];
  if (!isFields(given)) return {};
  const trials = Object.entries(given).flatMap(([id, value]) => {
    const parsed = trialShape.safeParse(value);
    return parsed.success ? [[id, parsed.data] as const] : [];
  });
  return Object.fromEntries(trials);
}

function fieldsIn(content: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(content ?? "{}");
    return isFields(value) ? value : {};
  } catch {
    // A lost file costs only repeated trials.
    return {};
  }
}

/** The context engines that plugins registered at their last trial, by the plugins' ids. */
export async function triedEngines(state: State): Promise<Readonly<Record<string, readonly string[]>>> {
  const trials = Object.entries(await readTrials(state));
  return Object.fromEntries(trials.flatMap(([id, { engines }]) => (engines ? [[id, engines] as const] : [])));
}

/**
 * Keeps these trials beside the others. Throws `DISK_WRITE`, also when other processes keep the file locked, and
 * `DISK_FULL`.
 */
export async function putTrials(state: State, trials: Trials, patienceMs?: number): Promise<void> {
  if (Object.keys(trials).length === 0) return;
  await rewrite(state, (known) => ({ ...known, ...trials }), patienceMs);
}

/** Forgets a plugin's trial and its crashes, so that it is tried again. The trial that had kept it out, if one had. */
export async function forgetTrial(state: State, id: string): Promise<Trial | undefined> {
  forgetCrashes(state, id);
  const { [id]: known } = await readTrials(state);
  if (!known) return undefined;
  await rewrite(state, ({ [id]: _forgotten, ...others }) => others);
  return known.outcome === "passed" ? undefined : known;
}

/** The file is locked, because the gateway and commands write it at the same time. */
async function rewrite(state: State, change: (trials: Trials) => Trials, patienceMs?: number): Promise<void> {
  const file = trialsFile(state);
  await makePrivateDir(dirname(file));
  const release = await lockFile(file, patienceMs);
  try {
    await removeUnfinished(file);
    await writeAtomic(file, `${JSON.stringify({ trials: change(await readTrials(state)) }, null, 2)}\n`);
  } finally {
    await release();
  }
}

/** Stamp of the version, and of the names, sizes and times of the plugin's own files. */
export async function pluginStamp({ root, manifest, package: { version, entries } }: FoundPlugin): Promise<string> {
  const facts = [root, version ?? manifest.version ?? "", entries[0] ?? "", await ownFiles(root)];
  return `sha256-${createHash("sha256").update(JSON.stringify(facts)).digest("base64")}`;
}

/** Why a plugin is not run, and what to do about it. */
export interface LeftOutPlugin {
  readonly code: "PLUGIN_HANGS" | "PLUGIN_CRASHES";
  /** Half a sentence. */
  readonly why: string;
  readonly fix: string;
}

/** The plugins that must not be run, by the trials of their code; by id. */
export async function leftOutOf(
  state: State,
  plugins: readonly FoundPlugin[],
): Promise<ReadonlyMap<string, LeftOutPlugin>> {
  const trials = await readTrials(state);
  const out = new Map<string, LeftOutPlugin>();
  for (const plugin of plugins) {
    const { id } = plugin.manifest;
    const trial = own(trials, id);
    if (!trial || trial.outcome === "passed" || trial.stamp !== (await pluginStamp(plugin))) continue;
    out.set(id, leftOut(id, trial));
  }
  return out;
}

/** Message about a plugin with this trial. */
export function leftOut(id: string, { outcome, detail, at }: Pick<Trial, "outcome" | "detail" | "at">): LeftOutPlugin {
  return {
    code: outcome === "hung" ? "PLUGIN_HANGS" : "PLUGIN_CRASHES",
    why: WHY[outcome](detail ?? "for an unknown reason", at),
    fix: `Run: openclaw plugins update ${id}. To try the same version again: openclaw plugins enable ${id}`,
  };
}

const WHY: Readonly<Record<TrialOutcome, (detail: string, at: string) => string>> = {
  passed: () => "it passed its trial",
  hung: (detail) => `its code does not end: ${detail}`,
  crashed: (detail) => `its code ended the process in which it was tried: ${detail}`,
  killed: (_detail, at) => `the gateway ended while this plugin was being loaded, at ${at}`,
  ended: (detail, at) =>
    `its code ended the gateway ${CRASHES} times within ${CRASHES_WITHIN_MS / 60_000} minutes, at last at ${at}: ${detail}`,
};
