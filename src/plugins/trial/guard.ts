import { randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Log } from "../../types/log.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import { Secret } from "../../types/secret.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { forgetCrashes, putCrash, readCrashes, repeatedCrashes } from "./crashes.ts";
import type { TrialResult } from "./run-trials.ts";
import { leftOut, putTrials, readTrials, pluginStamp, type LeftOutPlugin, type Trial, type Trials } from "./trials.ts";
import { readTextFile } from "../../store/text-file.ts";

/** Keeps plugins out whose code would stop the process. */
export interface LoadGuard {
  /**
   * Tries the plugins whose code is not known yet. Resolves with the plugins that must not be run, by id. Never
   * rejects.
   */
  leftOut(plugins: readonly FoundPlugin[]): Promise<ReadonlyMap<string, LeftOutPlugin>>;
  /** Runs a plugin's code. When the process does not survive it, the next one leaves the plugin out. Rejects as `work` does. */
  during<T>(plugin: FoundPlugin, work: () => Promise<T>): Promise<T>;
  /** The process ends because of the code of a plugin: when that repeats, a later one leaves the plugin out. Never throws. */
  noteCrash(id: string, error: string): void;
}

/** Lets every plugin run. */
export const noGuard: LoadGuard = {
  leftOut: async () => new Map(),
  during: (_plugin, work) => work(),
  noteCrash: () => undefined,
};

/** Milliseconds to wait for the file of trials: plugins are loaded without it too. */
const LOCK_MS = 2000;
/** Characters of an error. */
const MOST_CHARS = 300;

interface Surroundings {
  readonly stateDir: string;
  readonly log: Log;
  /** Whether this process has the state directory to itself, as the gateway does: it marks the code that it runs. */
  readonly isAlone: boolean;
  /** Runs plugins where they can do no harm. Rejects when that is not possible here. */
  tryOut(plugins: readonly FoundPlugin[]): Promise<ReadonlyMap<string, TrialResult>>;
}

/** Tries plugins, and remembers the results in the state directory. */
export class TrialGuard implements LoadGuard {
  readonly #around: Surroundings;
  /** Stamps of the code that this process has run, by plugin. */
  readonly #stamps = new Map<string, string>();
  readonly #process = randomUUID();
  /** Trials that could not be written, for example because the disk is full. */
  #unwritten: Trials = {};

  constructor(around: Surroundings) {
    this.#around = around;
  }

  async leftOut(plugins: readonly FoundPlugin[]): Promise<ReadonlyMap<string, LeftOutPlugin>> {
    try {
      await this.#takeMark();
      await this.#takeCrashes();
      const trials = await this.#tried(plugins);
      return new Map(
        Object.entries(trials).flatMap(([id, trial]) =>
          trial.outcome === "passed" ? [] : [[id, leftOut(id, trial)] as const],
        ),
      );
    } catch (error) {
      this.#around.log.warn("plugins are loaded without a trial", { error });
      return new Map();
    }
  }

  async during<T>(plugin: FoundPlugin, work: () => Promise<T>): Promise<T> {
    const { stateDir, log, isAlone } = this.#around;
    if (!isAlone) return work();
    const { id } = plugin.manifest;
    const unmarked = (error: unknown) => log.warn("plugin runs without a mark", { plugin: id, error });
    await pluginStamp(plugin)
      .then((stamp) => {
        this.#stamps.set(id, stamp);
        return putMark(stateDir, { id, stamp, at: new Date().toISOString(), process: this.#process });
      })
      .catch(unmarked);
    try {
      return await work();
    } finally {
      await removeMark(stateDir).catch(unmarked);
    }
  }

  noteCrash(id: string, error: string): void {
    const { stateDir, log, isAlone } = this.#around;
    const stamp = this.#stamps.get(id);
    if (!isAlone || stamp === undefined) return;
    try {
      const at = new Date().toISOString();
      putCrash({ stateDir }, { id, stamp, at, process: this.#process, error: oneLine(error) });
    } catch (failed) {
      log.warn("the crash of a plugin is not remembered", { plugin: id, error: failed });
    }
  }

  /** A mark that is still there is of a process that ended while it ran the plugin. */
  async #takeMark(): Promise<void> {
    if (!this.#around.isAlone) return;
    const mark = await takeMark(this.#around.stateDir);
    if (!mark) return;
    // A plugin that was being loaded when another plugin's code ended the process is not to blame.
    const crashes = await readCrashes(this.#around);
    if (crashes.some(({ id, process }) => process !== undefined && process === mark.process && id !== mark.id)) return;
    await this.#remember({ [mark.id]: { outcome: "killed", stamp: mark.stamp, at: mark.at } });
  }

  /** Plugins that ended earlier processes again and again. */
  async #takeCrashes(): Promise<void> {
    if (!this.#around.isAlone) return;
    const repeated = repeatedCrashes(await readCrashes(this.#around));
    const trials = repeated.map(({ id, stamp, at, error }) => [
      id,
      { outcome: "ended" as const, stamp, at, detail: error },
    ]);
    await this.#remember(Object.fromEntries(trials));
    for (const { id } of repeated) forgetCrashes(this.#around, id);
  }

  async #remember(trials: Trials): Promise<void> {
    try {
      await putTrials(this.#around, trials, LOCK_MS);
    } catch (error) {
      this.#around.log.warn("trials of plugins are not remembered", { error });
      this.#unwritten = { ...this.#unwritten, ...trials };
    }
  }

  /** The trial of each plugin with the files that it has now, by id. */
  async #tried(plugins: readonly FoundPlugin[]): Promise<Trials> {
    const { tryOut } = this.#around;
    const known = plugins.length === 0 ? {} : { ...(await readTrials(this.#around)), ...this.#unwritten };
    const stamped = await Promise.all(plugins.map(async (plugin) => ({ plugin, stamp: await pluginStamp(plugin) })));
    const isKnown = ({ plugin, stamp }: (typeof stamped)[number]) => {
      const trial = own(known, plugin.manifest.id);
      // An earlier version did not look for engines.
      return trial?.stamp === stamp && (trial.outcome !== "passed" || trial.engines !== undefined);
    };
    const fresh = stamped.filter((one) => !isKnown(one));
    const results = await tryOut(fresh.map(({ plugin }) => plugin));
    const made = fresh.flatMap(({ plugin, stamp }) => {
      const result = results.get(plugin.manifest.id);
      return result ? [[plugin.manifest.id, trialOf(plugin, stamp, result)] as const] : [];
    });
    await this.#remember(Object.fromEntries(made));
    const old = stamped.filter(isKnown).flatMap(({ plugin: { manifest } }) => {
      const trial = own(known, manifest.id);
      return trial ? [[manifest.id, trial] as const] : [];
    });
    return Object.fromEntries([...old, ...made]);
  }
}

const oneLine = (text: string): string => Secret.mask(shorten(text.replaceAll(/\s+/g, " ").trim(), MOST_CHARS));

/** Record of a trial. */
export function trialOf({ manifest, package: pack }: FoundPlugin, stamp: string, result: TrialResult): Trial {
  const { outcome, detail, report } = result;
  const version = pack.version ?? manifest.version;
  // A plugin whose trial could not look for engines is not tried again for that.
  const engines = outcome === "passed" ? (report?.engines ?? []) : undefined;
  return { outcome, stamp, version, detail, engines, at: new Date().toISOString() };
}

/**
 * The plugin whose code is being run. A mark that is found at a start means that the process before ended in that code.
 * `process`: any text that only that process has.
 */
const markShape = z.object({ id: z.string(), stamp: z.string(), at: z.string(), process: z.string().optional() });
type LoadingMark = z.output<typeof markShape>;

const markFile = (stateDir: string): string => join(stateDir, "plugins", "loading.json");

/** Writes the mark without a sync: it has to survive the end of a process, not that of the machine. */
async function putMark(stateDir: string, mark: LoadingMark): Promise<void> {
  const file = markFile(stateDir);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, JSON.stringify(mark), { mode: 0o600 });
}

const removeMark = (stateDir: string): Promise<void> => rm(markFile(stateDir), { force: true });

/** The mark that a process left, which is removed; undefined without one, and for one that was not written to its end. */
async function takeMark(stateDir: string): Promise<LoadingMark | undefined> {
  const content = await readTextFile(markFile(stateDir));
  if (content === undefined) return undefined;
  await removeMark(stateDir);
  return parsed(content);
}

function parsed(content: string): LoadingMark | undefined {
  try {
    return markShape.safeParse(JSON.parse(content)).data;
  } catch {
    // A mark that is cut off was being written, so no plugin ran.
    return undefined;
  }
}
