import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { BrokenPlugin, FoundPlugin } from "../../types/plugin/manifest.ts";
import type { Contributor } from "../../types/contribution.ts";
import type { Log } from "../../types/log.ts";
import { defined } from "../../utils/defined.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { background } from "../../utils/background.ts";
import { within, withinTold } from "../../utils/within.ts";
import { createPluginApi, type RegistrationMode } from "../plugin-api.ts";
import { mayReadConversations, warnOfSilentHooks } from "../api/registrations/hooks.ts";
import { PluginScope, type SessionAction } from "../api/scope.ts";
import type { Contributions } from "../contributions.ts";
import { activationOf } from "../found/activation.ts";
import type { Discovered } from "../found/discover.ts";
import { importEntry } from "../load/import-entry.ts";
import type { PluginPorts } from "../ports.ts";
import { startPlugin, stopperOf } from "./life.ts";
import { recordFacts, refusedSettings, type PluginProblem, type PluginRecord } from "./record.ts";
import { RunningCode } from "../api/running-code.ts";
import { StrayErrors } from "./stray-errors.ts";
import { PluginTimers } from "./timers.ts";
import { PluginWatch } from "../api/watch.ts";
import { missingSdk } from "../load/missing-sdk.ts";
import type { SdkUrls } from "../load/sdk-resolution.ts";
import { noGuard, type LoadGuard } from "../trial/guard.ts";
import { HeapWatch } from "./heap-watch.ts";
import { EventLoopWatch } from "./loop-watch.ts";

/** Milliseconds for running a plugin's entry, and for its `register` where that returns a promise. */
const IMPORT_MS = 30_000;
const REGISTER_MS = 10_000;

interface Loaded {
  readonly found: FoundPlugin;
  readonly scope: PluginScope;
  readonly loadMs: number;
  /** The plugin's entry of the config when it was registered. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** A plugin whose contributions are removed, and what ends its hooks and services. */
interface Leaving {
  readonly scope: PluginScope;
  stop(): Promise<void>;
}

interface Failed extends PluginProblem {
  readonly found: FoundPlugin;
  readonly state: "off" | "failed";
}

/** The plugins of this process: loads and unloads them as the config says, and can say what became of each. */
export class Plugins {
  readonly #contributions: Contributions;
  readonly #ports: PluginPorts;
  readonly #log: Log;
  readonly #watch: PluginWatch;
  readonly #timers: PluginTimers;
  /** The code of each plugin that was run, also of one whose registration fails, by its id. */
  readonly #codes = new Map<string, RunningCode>();
  /** The latest code of each plugin that this process has run. */
  readonly #everRun = new Map<string, RunningCode>();
  readonly #way: LoadWay;
  /** Errors that plugins throw where nobody waits for them. */
  readonly strayErrors: StrayErrors;
  /** When the code of a folder was first run, by the folder: Node runs a module once. */
  readonly #codeSince = new Map<string, number>();
  readonly #loaded = new Map<string, Loaded>();
  /** Plugins that are out of the config while runs still use their engines. `now` ends them at once. */
  readonly #endings = new Map<string, { now(): Promise<void> }>();
  #failed: readonly Failed[] = [];
  #broken: readonly BrokenPlugin[] = [];
  #isRunning = false;

  constructor(contributions: Contributions, ports: PluginPorts, way: Partial<LoadWay> = {}) {
    this.#contributions = contributions;
    this.#ports = ports;
    this.#log = ports.log;
    const { watch, timers } = createObservers(ports.log);
    this.#watch = watch;
    this.#timers = timers;
    this.#way = { ...USUAL_WAY, ...way };
    const { guard, ownRoot } = this.#way;
    this.strayErrors = new StrayErrors({ watch, guard, ownRoot, codes: () => this.#everRun.values() });
  }

  /**
   * Loads plugins that the coming config wants and that are not loaded, then calls `take`, which puts that config into
   * force, and in the same step removes plugins that the config no longer wants. A plugin that fails is reported and
   * left out. Never rejects, unless `take` does. One call at a time.
   */
  async apply({ plugins, broken }: Discovered, take: () => void = () => undefined): Promise<void> {
    const config = this.#ports.pluginsConfig();
    const decided = plugins.map((found) => ({ found, activation: activationOf(found, config) }));
    const wanted = decided.flatMap(({ found, activation }) => (activation.isOn ? [found] : []));
    const missing = wanted.filter((found) => !this.#isLoaded(found));
    const runnable = missing.filter((found) => this.#refusedSettings(found) === undefined);
    const ids = new Set(wanted.map(({ manifest }) => manifest.id));
    const unwanted = [...this.#loaded.keys()].filter((id) => !ids.has(id));
    for (const id of unwanted) this.#contributions.willRemove(id);
    const leftOut = await this.#way.guard.leftOut(runnable);
    this.#failed = decided.flatMap(({ found, activation }) =>
      activation.isOn ? [] : [{ found, why: activation.reason, state: activation.isProblem ? "failed" : "off" }],
    );
    this.#broken = broken;
    for (const problem of this.#failed) if (problem.state === "failed") this.#report(problem);
    for (const { id, why, root } of broken)
      this.#log.warn("plugin cannot be loaded", { plugin: id, why, folder: root });
    for (const found of missing) await this.#replace(found, leftOut.get(found.manifest.id));
    take();
    const leaving = unwanted.flatMap((id) => this.#remove(id) ?? []);
    for (const one of leaving) await this.#endUnused(one);
  }

  /** Whether a plugin is loaded with its present folder and settings. */
  #isLoaded({ manifest: { id }, root }: FoundPlugin): boolean {
    const loaded = this.#loaded.get(id);
    return loaded?.found.root === root && isDeepStrictEqual(loaded.settings, this.#ports.settingsOf(id));
  }

  /**
   * Loads a plugin in the place of its loaded version. Its code may be the same, whose end must not come after its new
   * begin; registrations meanwhile wait.
   */
  async #replace(found: FoundPlugin, leftOut: PluginProblem | undefined): Promise<void> {
    const { id } = found.manifest;
    await this.#endings.get(id)?.now();
    const before = this.#loaded.get(id);
    if (!before) return this.#load(found, leftOut);
    await this.#contributions.replacing(async () => {
      await this.unload(id);
      await this.#load(found, leftOut);
    });
  }

  /** Watches what plugins' code does in this process between calls, until the returned function is called. Never rejects. */
  observe(): Promise<() => void> {
    const codes = () => [...this.#codes.values()];
    return observeProcess({ watch: this.#watch, timers: this.#timers, codes, log: this.#log });
  }

  /** Calls `gateway_start` and starts the services of all plugins. Plugins that are loaded later start at once. */
  async start(): Promise<void> {
    this.#isRunning = true;
    for (const { scope } of this.#loaded.values()) await this.#start(scope);
  }

  async stop(): Promise<void> {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    for (const { scope } of this.#loaded.values()) await stopperOf(scope, this.#around)();
  }

  #start(scope: PluginScope): Promise<void> {
    return this.#way.guard.during(scope.plugin, () => startPlugin(scope, this.#around));
  }

  get #around() {
    return { contributions: this.#contributions, clock: this.#ports.clock };
  }

  /** Removes everything that the plugin added, and ends its services. Never rejects. */
  async unload(id: string): Promise<void> {
    const leaving = this.#remove(id);
    if (leaving) await this.#end(leaving);
  }

  /** Removes the plugin's contributions at once. Calls under way still work. */
  #remove(id: string): Leaving | undefined {
    const loaded = this.#loaded.get(id);
    if (!loaded) return undefined;
    this.#loaded.delete(id);
    const { scope } = loaded;
    const stop = this.#isRunning ? stopperOf(scope, this.#around) : async () => undefined;
    this.#contributions.remove(id);
    return { scope, stop };
  }

  /** Ends the rest of a plugin when no run uses its engine any more; the caller waits only where none does now. */
  async #endUnused(leaving: Leaving): Promise<void> {
    const { scope } = leaving;
    if (!scope.isInUse) return this.#end(leaving);
    const early = Promise.withResolvers<void>();
    const ending = Promise.race([scope.unused(), early.promise]).then(() => this.#end(leaving));
    this.#endings.set(scope.id, {
      now() {
        early.resolve();
        return ending;
      },
    });
    background(
      "end of a plugin",
      ending.finally(() => this.#endings.delete(scope.id)),
    );
  }

  async #end({ scope, stop }: Leaving): Promise<void> {
    const { id } = scope;
    await stop();
    await scope.end();
    this.#endCode(id);
    this.#watch.forget(id);
    this.#log.info("plugin unloaded", { plugin: id });
  }

  async close(): Promise<void> {
    for (const ending of this.#endings.values()) await ending.now();
    for (const id of [...this.#loaded.keys()].toReversed()) await this.unload(id);
  }

  action(plugin: string, id: string): SessionAction | undefined {
    return this.#loaded.get(plugin)?.scope.actions.get(id);
  }

  get records(): readonly PluginRecord[] {
    const loaded = [...this.#loaded.values()].map((one) => this.#recordOf(one));
    const failed = this.#failed.map(({ found, ...problem }) => ({ ...recordFacts(found), ...problem }));
    const broken = this.#broken.map(({ id, root, origin, why }) => ({
      id,
      root,
      origin,
      why,
      state: "broken" as const,
    }));
    return [...loaded, ...failed, ...broken];
  }

  #recordOf({ found, scope, loadMs }: Loaded): PluginRecord {
    const cost = this.#watch.costOf(scope.id);
    const silent = mayReadConversations(scope) ? [] : scope.readingHooks;
    const refusedHooks = [...new Set([...silent, ...scope.refusedHooks])];
    return {
      ...recordFacts(found),
      state: "loaded",
      added: this.#contributions.namesOf(scope.id),
      loadMs: Math.round(loadMs),
      ...defined({ codeSince: this.#codeSince.get(found.root) }),
      ...(scope.missing.size > 0 && { missing: [...scope.missing] }),
      ...(scope.notServed.size > 0 && { notServed: [...scope.notServed] }),
      ...(scope.neverCalled.size > 0 && { neverCalled: [...scope.neverCalled] }),
      ...(scope.refusedParts.size > 0 && { refusedParts: [...scope.refusedParts] }),
      ...(refusedHooks.length > 0 && { refusedHooks }),
      ...(cost && { cost }),
    };
  }

  async #load(found: FoundPlugin, leftOut?: PluginProblem): Promise<void> {
    const problem = leftOut ?? (await this.#whyNot(found));
    if (problem === undefined) return;
    await this.#removeFailed(found.manifest.id);
    const failed = { found, ...problem, state: "failed" as const };
    this.#failed = [...this.#failed, failed];
    this.#contributions.noteFailure(found.manifest.id, problem.why);
    this.#report(failed);
  }

  async #whyNot(found: FoundPlugin): Promise<PluginProblem | undefined> {
    const begun = performance.now();
    const refused = this.#refusedSettings(found);
    if (refused) return refused;
    return this.#tryLoad(found, () => performance.now() - begun);
  }

  #refusedSettings(found: FoundPlugin): PluginProblem | undefined {
    return refusedSettings(found, this.#ports.settingsOf(found.manifest.id)["config"]);
  }

  async #removeFailed(id: string): Promise<void> {
    this.#contributions.remove(id);
    const partly = this.#loaded.get(id);
    this.#loaded.delete(id);
    await partly?.scope.end();
    this.#endCode(id);
  }

  /** Ends timers and other work that the plugin's code has left. */
  #endCode(id: string): void {
    const code = this.#codes.get(id);
    if (!code) return;
    this.#codes.delete(id);
    const intervals = this.#timers.end(code);
    if (intervals > 0) this.#log.info("intervals that a plugin left are ended", { plugin: id, intervals });
  }

  /** Loads a plugin. Why that failed; undefined when the plugin is loaded. */
  async #tryLoad(found: FoundPlugin, elapsed: () => number): Promise<PluginProblem | undefined> {
    const { id } = found.manifest;
    const failed = await this.#way.guard.during(found, () => this.#run(found, elapsed));
    if (failed !== undefined) return failed;
    const scope = this.#loaded.get(id)?.scope;
    if (scope) await noteMissing(scope, this.#way);
    if (scope && this.#isRunning) await this.#start(scope);
    this.#log.info("plugin loaded", { plugin: id, version: found.package.version, ms: Math.round(elapsed()) });
    return undefined;
  }

  /** Runs the plugin's entry and its `register`, each within a time limit. Why that failed, else undefined. */
  async #run(found: FoundPlugin, elapsed: () => number): Promise<PluginProblem | undefined> {
    const { manifest, root } = found;
    const code = new RunningCode(manifest.id, root);
    this.#codes.set(manifest.id, code);
    this.#everRun.set(manifest.id, code);
    const importing = this.#watch.inside(code, () => importEntry(found));
    if (!(await within(importing, IMPORT_MS, this.#ports.clock)))
      return { why: `its code was not loaded within ${IMPORT_MS / 1000} s` };
    const imported = await importing;
    if (imported.kind === "ok" && !this.#codeSince.has(root)) this.#codeSince.set(root, this.#ports.clock.now());
    if (imported.kind === "failed") return { why: imported.why, ...defined({ fix: imported.fix }) };
    try {
      const registering = this.#register(found, { ...imported, code }, elapsed);
      const failedLate = (error: unknown) =>
        this.#log.error("a plugin's register failed after its time", { plugin: manifest.id, error });
      if (await withinTold(registering, REGISTER_MS, this.#ports.clock, failedLate)) return undefined;
      return { why: `its register did not end within ${REGISTER_MS / 1000} s` };
    } catch (error) {
      return { why: `its register failed: ${errorText(error)}` };
    }
  }

  async #register(found: FoundPlugin, { definition, entry, code }: Runnable, elapsed: () => number): Promise<void> {
    const { id } = found.manifest;
    let returned: unknown;
    const { kinds } = found.manifest;
    const contributor: Contributor = {
      id,
      ...(kinds.includes("memory") && { memory: kinds.length === 1 ? "only" : "also" }),
      register: (registry) => {
        const scope = new PluginScope(found, { code, registry, ports: this.#ports, watch: this.#watch });
        const api = createPluginApi(scope, { definition, entry, mode: this.#way.mode });
        returned = scope.call("register", () => definition.register(api));
        this.#loaded.set(id, { found, scope, loadMs: elapsed(), settings: this.#ports.settingsOf(id) });
      },
    };
    this.#contributions.add(contributor);
    this.#contributions.addSkillFolders(
      id,
      found.manifest.skills.map((folder) => join(found.root, folder)),
    );
    await returned;
    const scope = this.#loaded.get(id)?.scope;
    if (scope) warnOfSilentHooks(scope);
  }

  #report({ found, code, why, fix }: Failed): void {
    const { id } = found.manifest;
    const usual = `Mend or update it, or run: openclaw plugins disable ${id}`;
    this.#log.error("plugin is left out", { plugin: id, ...(code !== undefined && { code }), why, fix: fix ?? usual });
  }
}

type Runnable = Extract<Awaited<ReturnType<typeof importEntry>>, { kind: "ok" }> & { readonly code: RunningCode };

/** How a process loads plugins. */
interface LoadWay {
  readonly mode: RegistrationMode;
  readonly guard: LoadGuard;
  /** Absolute folder of the gateway's own code, without links. */
  readonly ownRoot?: string;
  /** Places of the SDK's modules: with these, plugins are searched for uses of missing parts. */
  readonly sdk?: SdkUrls;
}

/** Where nothing else is said. */
const USUAL_WAY: LoadWay = { mode: "full", guard: noGuard };

/** Notes and logs imports of a loaded plugin that come only later, and would fail then. */
async function noteMissing({ plugin, log, missing }: PluginScope, { sdk }: LoadWay): Promise<void> {
  const found = sdk ? await missingSdk(plugin.root, sdk) : [];
  if (found.length === 0) return;
  for (const one of found) missing.add(one);
  const fix = `Nothing to do if you do not need that part; else run: openclaw plugins update ${plugin.manifest.id}`;
  log.warn("plugin uses parts of the SDK that this gateway does not have", { missing: found, fix });
}

/** Observers of plugins' code while it runs. */
interface Observers {
  readonly watch: PluginWatch;
  readonly timers: PluginTimers;
}

function createObservers(log: Log): Observers {
  const watch = new PluginWatch(log);
  return { watch, timers: new PluginTimers(watch) };
}

interface Observed extends Observers {
  readonly codes: () => readonly RunningCode[];
  readonly log: Log;
}

/** Follows timers, the event loop and the heap of this process. The returned function ends that. Never rejects. */
async function observeProcess({ watch, timers, codes, log }: Observed): Promise<() => void> {
  const ends = [timers.follow(), new EventLoopWatch(watch).follow()];
  try {
    ends.push(await new HeapWatch(watch, codes).follow());
  } catch (error) {
    // A Node that was built without its inspector.
    log.info("the heap is not watched", { error });
  }
  return () => {
    for (const end of ends) end();
  };
}
