import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { BrokenPlugin, FoundPlugin } from "../../types/plugin/manifest.ts";
import type { Contributor } from "../../types/contribution.ts";
import type { Log } from "../../types/log.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { within } from "../../utils/within.ts";
import { createPluginApi, type RegistrationMode } from "../api/plugin-api.ts";
import { PluginScope, type SessionAction } from "../api/scope.ts";
import type { Contributions } from "../contributions.ts";
import { activationOf } from "../found/activation.ts";
import type { AddedHook } from "../hook-table.ts";
import type { Discovered } from "../found/discover.ts";
import { importEntry } from "../load/import-entry.ts";
import type { PluginPorts } from "../ports.ts";
import { noGuard, type LoadGuard } from "../trial/guard.ts";
import { factsOf, refusedSettings, type PluginProblem, type PluginRecord } from "./record.ts";
import { observeProcess } from "./observe.ts";
import { RunningCode } from "./running-code.ts";
import { PluginTimers } from "./timers.ts";
import { PluginWatch } from "./watch.ts";

/** Milliseconds for running a plugin's entry, and for its `register` where that returns a promise. */
const IMPORT_MS = 30_000;
const REGISTER_MS = 10_000;
/** Milliseconds for starting or stopping a service. */
const SERVICE_MS = 15_000;
/** The field's limit for hooks of the gateway's start and stop. */
const LIFE_HOOK_MS = 5000;

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

/** How a process loads plugins; `full` and without a guard where nothing else is said. */
export interface LoadWay {
  readonly mode?: RegistrationMode;
  readonly guard?: LoadGuard;
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
  readonly #mode: RegistrationMode;
  readonly #guard: LoadGuard;
  readonly #loaded = new Map<string, Loaded>();
  #failed: readonly Failed[] = [];
  #broken: readonly BrokenPlugin[] = [];
  #isRunning = false;

  constructor(contributions: Contributions, ports: PluginPorts, { mode = "full", guard = noGuard }: LoadWay = {}) {
    this.#contributions = contributions;
    this.#ports = ports;
    this.#log = ports.log;
    this.#watch = new PluginWatch(ports.log);
    this.#timers = new PluginTimers(this.#watch);
    this.#mode = mode;
    this.#guard = guard;
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
    const leftOut = await this.#guard.leftOut(runnable);
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

  async #start(scope: PluginScope): Promise<void> {
    await this.#guard.during(scope.plugin, async () => {
      await this.#callOwn(scope, "gateway_start");
      for (const service of scope.services) await this.#bounded(scope, `service ${service.id} start`, service.start());
    });
  }

  /** The plugin's own hooks of the gateway's life: others are not affected when one plugin comes or goes. */
  async #callOwn(scope: PluginScope, name: "gateway_start" | "gateway_stop"): Promise<void> {
    const hooks = this.#contributions.hooksOf(name).filter(({ owner }) => owner === scope.id);
    const call = async (hook: AddedHook) => void (await hook.handler({}, {}));
    for (const hook of hooks)
      await this.#bounded(scope, `hook ${name}`, call(hook), hook.options.timeoutMs ?? LIFE_HOOK_MS);
  }

  async #stop(scope: PluginScope): Promise<void> {
    await this.#callOwn(scope, "gateway_stop");
    for (const service of scope.services.toReversed())
      await this.#bounded(scope, `service ${service.id} stop`, service.stop());
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
      ...(scope.notServed.size > 0 && { notServed: [...scope.notServed] }),
      ...(scope.neverCalled.size > 0 && { neverCalled: [...scope.neverCalled] }),
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
    const why = await this.#tryLoad(found, () => performance.now() - begun);
    return why === undefined ? undefined : { why };
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
  async #tryLoad(found: FoundPlugin, elapsed: () => number): Promise<string | undefined> {
    const { id } = found.manifest;
    const failed = await this.#guard.during(found, () => this.#run(found, elapsed));
    if (failed !== undefined) return failed;
    const scope = this.#loaded.get(id)?.scope;
    if (scope && this.#isRunning) await this.#start(scope);
    this.#log.info("plugin loaded", { plugin: id, version: found.package.version, ms: Math.round(elapsed()) });
    return undefined;
  }

  /** Runs its entry and its `register`, each within a time limit. Why that failed, else undefined. */
  async #run(found: FoundPlugin, elapsed: () => number): Promise<string | undefined> {
    const { manifest, root } = found;
    const code = new RunningCode(manifest.id, root);
    this.#codes.set(manifest.id, code);
    const importing = this.#watch.inside(code, () => importEntry(found));
    if (!(await within(importing, IMPORT_MS, this.#ports.clock)))
      return `its code was not loaded within ${IMPORT_MS / 1000} s`;
    const imported = await importing;
    if (imported.kind === "failed") return imported.why;
    try {
      const registering = this.#register(found, { ...imported, code }, elapsed);
      if (await within(registering, REGISTER_MS, this.#ports.clock)) return undefined;
      return `its register did not end within ${REGISTER_MS / 1000} s`;
    } catch (error) {
      return `its register failed: ${errorText(error)}`;
    }
  }

  async #register(found: FoundPlugin, { definition, entry, code }: Runnable, elapsed: () => number): Promise<void> {
    const { id } = found.manifest;
    let returned: unknown;
    const contributor: Contributor = {
      id,
      register: (registry) => {
        const scope = new PluginScope(found, { code, registry, ports: this.#ports, watch: this.#watch });
        const api = createPluginApi(scope, { definition, entry, mode: this.#mode });
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

  /** Waits a bounded time; a service that fails or hangs is logged. */
  async #bounded(scope: PluginScope, what: string, work: Promise<void>, ms = SERVICE_MS): Promise<void> {
    try {
      if (!(await within(work, ms, this.#ports.clock))) scope.log.warn("plugin is late", { call: what, ms });
    } catch (error) {
      scope.log.error("plugin failed", { call: what, error });
    }
  }

  #report({ found, code, why, fix }: Failed): void {
    const { id } = found.manifest;
    const usual = `Mend or update it, or run: openclaw plugins disable ${id}`;
    this.#log.error("plugin is left out", { plugin: id, ...(code !== undefined && { code }), why, fix: fix ?? usual });
  }
}

type Runnable = Extract<Awaited<ReturnType<typeof importEntry>>, { kind: "ok" }> & { readonly code: RunningCode };
