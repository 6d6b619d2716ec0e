import type { Scene } from "../plugins/found/absence.ts";
import type { Contributions } from "../plugins/contributions.ts";
import { UNMETERED, type ModelMeter } from "../types/run/model-meter.ts";
import type { Peer } from "../types/chat/message.ts";
import type { AgentSettings } from "../types/settings.ts";
import type { LoadedConfig } from "./config/load.ts";
import type { StatePaths } from "./config/paths.ts";
import type { Config } from "./config/schema/schema.ts";
import { bundledContributions } from "./contributions/extensions.ts";
import { resolveAgents } from "./config/settings.ts";

/** The facts by which the reason is found why something of a plugin is not there. */
export const pluginScene = ({ loaded, contributions }: Pick<Live, "loaded" | "contributions">): Scene => ({
  found: loaded.plugins,
  config: loaded.config.plugins,
  contributions,
});

/** The current config, with what is derived from it once per change. A run keeps the settings that it began with. */
export class Live {
  readonly paths: StatePaths;
  /** Contributions of extensions and plugins. */
  readonly contributions: Contributions;
  readonly #home: string;
  /** The config of the start, which alone counts for keys that are read once (`atStart`). */
  readonly started: Config;
  #loaded: LoadedConfig;
  #coming: LoadedConfig | undefined;
  #agents: readonly AgentSettings[];
  /** Problems of the file while the current config stays in use, and keys that need a restart. */
  problems: readonly { readonly message: string; readonly fix: string }[] = [];
  /** Why this start leaves the channels off, after several starts that did not end in order; else undefined. */
  safeMode: string | undefined;
  /** The meter of the gateway's models, once they are open; before that nothing is metered. */
  meter: ModelMeter = UNMETERED;
  /** Reserves a call with the meter as it is at the time of the call. */
  readonly reserve: ModelMeter["reserve"] = (call) => this.meter.reserve(call);

  constructor(paths: StatePaths, home: string, loaded: LoadedConfig, contributions = bundledContributions()) {
    this.paths = paths;
    this.contributions = contributions;
    this.#home = home;
    this.started = loaded.config;
    this.#loaded = loaded;
    this.#agents = this.#resolve(loaded);
    this.#prepare(loaded)();
  }

  get loaded(): LoadedConfig {
    return this.#loaded;
  }

  /** The config that plugins are loaded for: between `prepare` and its end the next one, else the current one. */
  get coming(): LoadedConfig {
    return this.#coming ?? this.#loaded;
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

  /**
   * Checks the next config, for which plugins can then be loaded. Throws, and keeps the current config, when a
   * contributor does not accept its part. `take` puts the next config into force in one step; `end` has to be called in
   * any case.
   */
  prepare(loaded: LoadedConfig): { take(): void; end(): void } {
    const apply = this.#prepare(loaded);
    const agents = this.#resolve(loaded);
    this.#coming = loaded;
    const take = () => {
      apply();
      this.#agents = agents;
      this.#loaded = loaded;
    };
    return { take, end: () => void (this.#coming = undefined) };
  }

  /** Puts a config into force in one step, where nothing has to be loaded for it. Throws as `prepare` does. */
  replace(loaded: LoadedConfig): void {
    const { take, end } = this.prepare(loaded);
    take();
    end();
  }

  #prepare({ config: { plugins } }: LoadedConfig): () => void {
    const { reserve } = this;
    const place = { stateDir: this.paths.stateDir, memorySlot: plugins.slots.memory, reserve };
    return this.contributions.prepareConfig(plugins.entries, place);
  }

  #resolve({ config, variables, stops }: LoadedConfig): readonly AgentSettings[] {
    return resolveAgents(config, { home: this.#home, stateDir: this.paths.stateDir, variables, stops });
  }
}

/** Whether answers in a chat name the notes that they use: unless the config says so, not in groups. */
export const citationsIn = ({ memory: { citations } }: Pick<Config, "memory">, chat: Peer | undefined) =>
  citations === "auto" && chat?.chat.kind === "group" ? "off" : citations;
