import type { Contributions } from "../../plugins/contributions.ts";
import { UNMETERED, type ModelMeter } from "../../types/run/model-meter.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { StatePaths } from "../config/paths.ts";
import type { Config } from "../config/schema.ts";
import { bundledContributions } from "../contributions/extensions.ts";
import { resolveAgents } from "../config/settings.ts";

/** The current config, with what is derived from it once per change. A run keeps the settings that it began with. */
export class Live {
  readonly paths: StatePaths;
  /** What extensions and plugins add. */
  readonly contributions: Contributions;
  readonly #home: string;
  #loaded: LoadedConfig;
  #agents: readonly AgentSettings[];
  /** Problems of the file while the current config stays in use, and keys that need a restart. */
  problems: readonly { readonly message: string; readonly fix: string }[] = [];
  /** Of the gateway's models, once they are open. */
  meter: ModelMeter = UNMETERED;
  /** Of the meter as it is then. */
  readonly reserve: ModelMeter["reserve"] = (call) => this.meter.reserve(call);

  constructor(paths: StatePaths, home: string, loaded: LoadedConfig, contributions = bundledContributions()) {
    this.paths = paths;
    this.contributions = contributions;
    this.#home = home;
    this.#loaded = loaded;
    this.#agents = this.#resolve(loaded);
    this.#apply(loaded);
  }

  get loaded(): LoadedConfig {
    return this.#loaded;
  }

  get config(): Config {
    return this.#loaded.config;
  }

  get agents(): readonly AgentSettings[] {
    return this.#agents;
  }

  /** The agent that answers when no binding says otherwise. */
  get defaultAgent(): AgentSettings {
    const [first] = this.#agents;
    if (!first) throw new Error("there is always an agent");
    return first;
  }

  /** Throws, and keeps the current config, when a contributor does not accept its part of the new one. */
  replace(loaded: LoadedConfig): void {
    this.#apply(loaded);
    this.#agents = this.#resolve(loaded);
    this.#loaded = loaded;
  }

  #apply({ config: { plugins } }: LoadedConfig): void {
    const { reserve } = this;
    const place = { stateDir: this.paths.stateDir, memorySlot: plugins.slots.memory, reserve };
    this.contributions.applyConfig(plugins.entries, place);
  }

  #resolve({ config, variables, stops }: LoadedConfig): readonly AgentSettings[] {
    return resolveAgents(config, { home: this.#home, stateDir: this.paths.stateDir, variables, stops });
  }
}
