import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { makePrivateDir } from "../../store/disk.ts";
import { lockFile } from "../../store/lock/lock-file.ts";
import { OpenClawError, withFix } from "../../types/errors.ts";
import type { Env } from "../../utils/env.ts";
import type { StatePaths } from "../config/paths.ts";
import { fetchVersion, specOf, versionAt } from "./fetch.ts";
import { tryVersion } from "./trial.ts";
import { type UpdateRecord, type UpdateStep, type Version, Versions } from "./versions.ts";

/** The gateway that runs, as an update deals with it. */
export interface RunningGateway {
  /** Tells a person what is being done. */
  tell(step: UpdateStep, line: string): void;
  /** Whether a restart is this program's to do: a service of this state directory runs. */
  isService(): Promise<boolean>;
  /** Restarts the service, calls `started`, and resolves when a gateway of this version answers. Rejects when none does. */
  restart(version: string, started: () => Promise<void>): Promise<void>;
}

export interface UpdateOptions {
  readonly paths: StatePaths;
  readonly configFiles: readonly string[];
  readonly env: Env;
  readonly gateway: RunningGateway;
  readonly timeoutMs: number;
  /** Leave the running gateway as it is. */
  readonly noRestart: boolean;
  /** Go on although the present version could not take the state back. */
  readonly oneWay: boolean;
}

/** What an update would do. */
export interface UpdatePlan {
  readonly from: string;
  readonly to: string;
  readonly spec: string;
  readonly isSame: boolean;
}

/** Looks what an update would fetch, and changes nothing. */
export async function planUpdate(tag: string, options: UpdateOptions): Promise<UpdatePlan> {
  const versions = new Versions(options.paths.stateDir);
  refuseCheckout(versions);
  const spec = await specOf(tag);
  const { use } = await versions.choice();
  const to = await versionAt(spec, options.env, AbortSignal.timeout(options.timeoutMs));
  return { from: use.version, to, spec, isSame: use.version === to && !isFile(spec) };
}

/** A package in a file may differ from another one of its version. */
const isFile = (spec: string): boolean => isAbsolute(spec);

/**
 * Fetches a version, tries it on copies, and lets starts use it. What fails before that changes nothing; a gateway that does not answer
 * afterwards gets its earlier version back. Resolves with the record. Rejects with UPDATE_REFUSED and UPDATE_BUSY before anything is done.
 */
export function update(tag: string, options: UpdateOptions): Promise<UpdateRecord> {
  const versions = new Versions(options.paths.stateDir);
  refuseCheckout(versions);
  return alone(versions, async () => {
    await settleLast(versions, options);
    const spec = await specOf(tag);
    const { use } = await versions.choice();
    const run = new Run(versions, options, begun("update", spec, use));
    return run.through(async () => {
      await run.reach("staging", `Fetching ${spec}`);
      const to = isFile(spec) ? undefined : await versionAt(spec, options.env, run.signal);
      if (to === use.version) return run.end("skipped", `${to} runs already.`);
      const { id } = run.record;
      run.record.to = await fetchVersion(versions, { id, spec, env: options.env, signal: run.signal });
      return run.switchTo(run.record.to);
    });
  });
}

/** Returns to the version before, which is tried on a copy of the present state as any other. Resolves and rejects as `update` does. */
export function updateBack(options: UpdateOptions): Promise<UpdateRecord> {
  const versions = new Versions(options.paths.stateDir);
  refuseCheckout(versions);
  return alone(versions, async () => {
    await settleLast(versions, options);
    const { use, before } = await versions.choice();
    if (!before || !existsSync(versions.programOf(before)))
      throw new OpenClawError("UPDATE_REFUSED", {
        message: `No earlier version is kept beside ${use.version}.`,
        fix: "Name the version: openclaw update --tag <version>",
      });
    const run = new Run(versions, options, { ...begun("back", before.version, use), to: before });
    return run.through(() => run.switchTo(before));
  });
}

/** The last update, when it was interrupted; the next one settles it. */
export const interrupted = (updates: readonly UpdateRecord[]): UpdateRecord | undefined => {
  const last = updates.at(-1);
  return last && last.outcome === undefined ? last : undefined;
};

/** Removes what no start uses any more: other versions than the present one and the one before. Resolves with their names. */
export function cleanUpVersions(options: UpdateOptions): Promise<readonly string[]> {
  const versions = new Versions(options.paths.stateDir);
  return alone(versions, async () => {
    await settleLast(versions, options);
    return removeUnused(versions);
  });
}

async function removeUnused(versions: Versions): Promise<readonly string[]> {
  const { use, before } = await versions.choice();
  return versions.removeBut([use, ...(before ? [before] : [])]);
}

const begun = (kind: UpdateRecord["kind"], spec: string, from: Version): UpdateRecord => ({
  id: randomBytes(4).toString("hex"),
  kind,
  spec,
  from,
  steps: [],
});

function refuseCheckout({ installed: { root } }: Versions): void {
  if (!existsSync(join(root, ".git")) && !existsSync(join(root, "src", "app"))) return;
  throw new OpenClawError("UPDATE_REFUSED", {
    message: `The gateway runs from a git checkout, ${root}, which git updates.`,
    fix: `Run: cd ${root} && git pull && npm ci && npm run build. Then: openclaw gateway restart`,
  });
}

/** Milliseconds that a command waits for another one that updates: longer than the mark of a killed one stays. */
const PATIENCE_MS = 30_000;

async function alone<T>(versions: Versions, work: () => Promise<T>): Promise<T> {
  await makePrivateDir(versions.dir);
  const release = await lockFile(versions.lock, PATIENCE_MS).catch((error: unknown) => {
    throw new OpenClawError("UPDATE_BUSY", {
      message: `Another update runs on ${versions.dir}.`,
      fix: "Wait for its end: openclaw update status.",
      cause: error,
    });
  });
  try {
    return await work();
  } finally {
    await release();
  }
}

/** An update from its request to its outcome. */
class Run {
  readonly record: UpdateRecord;
  readonly signal: AbortSignal;
  readonly #versions: Versions;
  readonly #options: UpdateOptions;

  constructor(versions: Versions, options: UpdateOptions, record: UpdateRecord) {
    this.#versions = versions;
    this.#options = options;
    this.record = record;
    this.signal = AbortSignal.timeout(options.timeoutMs);
  }

  async reach(step: UpdateStep, line: string): Promise<void> {
    this.record.steps.push({ step, at: new Date().toISOString() });
    await this.#versions.note(this.record);
    this.#options.gateway.tell(step, line);
  }

  async end(outcome: NonNullable<UpdateRecord["outcome"]>, why?: string): Promise<UpdateRecord> {
    this.record.outcome = outcome;
    if (why !== undefined) this.record.why = why;
    await this.reach("finished", "");
    return this.record;
  }

  /** The work's record, or one that failed; what failed before the switch leaves nothing. */
  async through(work: () => Promise<UpdateRecord>): Promise<UpdateRecord> {
    await this.reach("requested", "");
    try {
      return await work();
    } catch (error) {
      const ended = await this.end("failed", withFix(error));
      await removeUnused(this.#versions);
      return ended;
    }
  }

  async switchTo(to: Version): Promise<UpdateRecord> {
    const { paths, configFiles, env, oneWay } = this.#options;
    const { from, id } = this.record;
    await this.reach("validating", `Trying ${to.version} on a copy of the state`);
    const scene = { id, candidate: to, present: from, paths, configFiles, env, signal: this.signal };
    const tried = await tryVersion(this.#versions, scene);
    if (tried.oneWay !== undefined && !oneWay)
      throw new OpenClawError("UPDATE_REFUSED", {
        message: `${to.version} changes the state so that ${from.version} could not go on with it: there would be no way back.`,
        fix: "Make a backup, then say that you want it: openclaw backup create, and openclaw update --one-way with the same --tag.",
      });
    await this.reach("activating", `Choosing ${to.version}`);
    await this.#versions.choose({ use: to, before: from });
    return this.bringUp(to);
  }

  /** Lets the gateway run the chosen version. Where it does not, the earlier one is chosen again and started. */
  async bringUp(to: Version): Promise<UpdateRecord> {
    const { gateway, noRestart } = this.#options;
    if (noRestart || !(await gateway.isService())) return this.#done(noRestart ? undefined : NO_SERVICE);
    await this.reach("restarting", "Restarting the gateway");
    try {
      await gateway.restart(to.version, () => this.reach("verifying", "Looking whether it answers"));
    } catch (error) {
      return this.#takeBack(to, withFix(error));
    }
    return this.#done();
  }

  async #done(why?: string): Promise<UpdateRecord> {
    const ended = await this.end("succeeded", why);
    await removeUnused(this.#versions);
    return ended;
  }

  async #takeBack(to: Version, why: string): Promise<UpdateRecord> {
    const { from } = this.record;
    this.#options.gateway.tell("restarting", `${to.version} does not work, back to ${from.version}`);
    await this.#versions.choose({ use: from });
    try {
      await this.#options.gateway.restart(from.version, async () => undefined);
    } catch (error) {
      return this.end(
        "failed",
        `${why} ${from.version} was chosen again, but does not answer either: ${withFix(error)}`,
      );
    }
    const ended = await this.end("rolled-back", why);
    await removeUnused(this.#versions);
    return ended;
  }
}

const NO_SERVICE = `No service runs here: a gateway in a terminal runs its version until it is started again.`;

/**
 * Brings an update to its end that was killed: before the switch it has failed; after it the chosen version is started and looked
 * at, and taken back where it does not answer.
 */
async function settleLast(versions: Versions, options: UpdateOptions): Promise<void> {
  const last = interrupted(await versions.updates());
  if (last) {
    const run = new Run(versions, options, last);
    const { to } = last;
    const { use } = await versions.choice();
    const isChosen = to !== undefined && use.name === to.name && use.version === to.version;
    if (isChosen && last.steps.some(({ step }) => step === "activating")) await run.bringUp(to);
    else await run.end("failed", `It was interrupted at the step "${last.steps.at(-1)?.step ?? "requested"}".`);
  }
  await removeUnused(versions);
}
