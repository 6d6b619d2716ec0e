import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { BrokenPlugin, FoundPlugin } from "../../types/plugin/manifest.ts";
import type { Contributor } from "../../types/contribution.ts";
import type { Log } from "../../types/log.ts";
import { defined } from "../../utils/defined.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { within } from "../../utils/within.ts";
import { createPluginApi } from "../api/plugin-api.ts";
import { PluginScope, type SessionAction } from "../api/scope.ts";
import type { Contributions } from "../contributions.ts";
import { activationOf } from "../found/activation.ts";
import type { Discovered } from "../found/discover.ts";
import { importEntry } from "../load/import-entry.ts";
import type { PluginPorts } from "../ports.ts";
import { startPlugin, stopPlugin } from "./life.ts";
import { factsOf, refusedSettings, type PluginProblem, type PluginRecord } from "./record.ts";
import { noteMissing, USUAL_WAY, type LoadWay } from "./load-way.ts";
import { createObservers, observeProcess } from "./observe.ts";
import { RunningCode } from "./running-code.ts";
import { StrayErrors } from "./stray-errors.ts";
import type { PluginTimers } from "./timers.ts";
import type { PluginWatch } from "./watch.ts";

/** Milliseconds for running a plugin's entry, and for its `register` where that returns a promise. */
const IMPORT_MS = 30_000;
const REGISTER_MS = 10_000;

interface Loaded {
  readonly found: FoundPlugin;
  readonly scope: PluginScope;
  readonly loadMs: number;
  /** Its entry of the config when it was registered. */
  readonly settings: Readonly<Record<string, unknown>>;
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
  /** What plugins throw where nobody waits for it. */
  readonly strayErrors: StrayErrors;
  /** When the code of a folder was first run, by the folder: Node runs a module once. */
  readonly #codeSince = new Map<string, number>();
  readonly #loaded = new Map<string, Loaded>();
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
   * Unloads what the config no longer wants, and loads what it wants and is not loaded. A plugin that fails is reported and
   * left out. Never rejects. One call at a time.
   */
  async apply({ plugins, broken }: Discovered): Promise<void> {
    const config = this.#ports.pluginsConfig();
    const decided = plugins.map((found) => ({ found, activation: activationOf(found, config) }));
    const wanted = decided.flatMap(({ found, activation }) => (activation.isOn ? [found] : []));
    const roots = new Map(wanted.map(({ manifest, root }) => [manifest.id, root]));
    for (const { found, settings } of this.#loaded.values()) {
      const { id } = found.manifest;
      const isSame = roots.get(id) === found.root && isDeepStrictEqual(settings, this.#ports.settingsOf(id));
      if (!isSame) await this.unload(id);
    }
    this.#broken = broken;
    this.#failed = decided.flatMap(({ found, activation }) =>
      activation.isOn ? [] : [{ found, why: activation.reason, state: activation.isProblem ? "failed" : "off" }],
    );
    for (const problem of this.#failed) if (problem.state === "failed") this.#report(problem);
    for (const { id, why, root } of broken)
      this.#log.warn("plugin cannot be loaded", { plugin: id, why, folder: root });
    const missing = wanted.filter(({ manifest }) => !this.#loaded.has(manifest.id));
    const runnable = missing.filter((found) => this.#refusedSettings(found) === undefined);
    const leftOut = await this.#way.guard.leftOut(runnable);
    for (const found of missing) await this.#load(found, leftOut.get(found.manifest.id));
  }

  /** Watches what plugins' code does in this process between calls, until the returned function is called. Never rejects. */
  observe(): Promise<() => void> {
    const codes = () => [...this.#codes.values()];
    return observeProcess({ watch: this.#watch, timers: this.#timers, codes, log: this.#log });
  }

  /** Calls `gateway_start` and starts the services of all plugins. For those that are loaded later this happens at once. */
  async start(): Promise<void> {
    this.#isRunning = true;
    for (const { scope } of this.#loaded.values()) await this.#start(scope);
  }

  async stop(): Promise<void> {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    for (const { scope } of this.#loaded.values()) await this.#stop(scope);
  }

  #start(scope: PluginScope): Promise<void> {
    return this.#way.guard.during(scope.plugin, () => startPlugin(scope, this.#around));
  }

  #stop(scope: PluginScope): Promise<void> {
    return stopPlugin(scope, this.#around);
  }

  get #around() {
    return { contributions: this.#contributions, clock: this.#ports.clock };
  }

  /** Removes everything that the plugin added, and ends its services. Never rejects. */
  async unload(id: string): Promise<void> {
    const loaded = this.#loaded.get(id);
    if (!loaded) return;
    this.#loaded.delete(id);
    if (this.#isRunning) await this.#stop(loaded.scope);
    this.#contributions.remove(id);
    await loaded.scope.end();
    this.#endCode(id);
    this.#watch.forget(id);
    this.#log.info("plugin unloaded", { plugin: id });
  }

  async close(): Promise<void> {
    for (const id of [...this.#loaded.keys()].toReversed()) await this.unload(id);
  }

  action(plugin: string, id: string): SessionAction | undefined {
    return this.#loaded.get(plugin)?.scope.actions.get(id);
  }

  get records(): readonly PluginRecord[] {
    const loaded = [...this.#loaded.values()].map((one) => this.#recordOf(one));
    const failed = this.#failed.map(({ found, ...problem }) => ({ ...factsOf(found), ...problem }));
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
    return {
      ...factsOf(found),
      state: "loaded",
      added: this.#contributions.namesOf(scope.id),
      loadMs: Math.round(loadMs),
      ...defined({ codeSince: this.#codeSince.get(found.root) }),
      ...(scope.missing.size > 0 && { missing: [...scope.missing] }),
      ...(scope.notServed.size > 0 && { notServed: [...scope.notServed] }),
      ...(scope.neverCalled.size > 0 && { neverCalled: [...scope.neverCalled] }),
      ...(scope.refusedParts.size > 0 && { refusedParts: [...scope.refusedParts] }),
      ...(scope.refusedHooks.size > 0 && { refusedHooks: [...scope.refusedHooks] }),
      ...(cost && { cost }),
    };
  }

  async #load(found: FoundPlugin, leftOut?: PluginProblem): Promise<void> {
    const problem = leftOut ?? (await this.#whyNot(found));
    if (problem === undefined) return;
    await this.#removeFailed(found.manifest.id);
    const failed = { found, ...problem, state: "failed" as const };
    this.#failed = [...this.#failed, failed];
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

  /** Ends what its code has left to itself. */
  #endCode(id: string): void {
    const code = this.#codes.get(id);
    if (!code) return;
    this.#codes.delete(id);
    const intervals = this.#timers.end(code);
    if (intervals > 0) this.#log.info("intervals that a plugin left are ended", { plugin: id, intervals });
  }

  /** Why it failed; undefined when it is loaded. */
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

  /** Runs its entry and its `register`, each within a time limit. Why that failed, else undefined. */
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
      if (await within(registering, REGISTER_MS, this.#ports.clock)) return undefined;
      return { why: `its register did not end within ${REGISTER_MS / 1000} s` };
    } catch (error) {
      return { why: `its register failed: ${errorText(error)}` };
    }
  }

  async #register(found: FoundPlugin, { definition, entry, code }: Runnable, elapsed: () => number): Promise<void> {
    const { id } = found.manifest;
    let returned: unknown;
    const contributor: Contributor = {
      id,
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
  }

  #report({ found, code, why, fix }: Failed): void {
    const { id } = found.manifest;
    const usual = `Mend or update it, or run: openclaw plugins disable ${id}`;
    this.#log.error("plugin is left out", { plugin: id, ...(code !== undefined && { code }), why, fix: fix ?? usual });
  }
}

type Runnable = Extract<Awaited<ReturnType<typeof importEntry>>, { kind: "ok" }> & { readonly code: RunningCode };
