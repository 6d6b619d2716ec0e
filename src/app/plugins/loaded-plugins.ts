import type { LoadedConfig } from "../config/load.ts";
import type { StatePaths } from "../config/paths.ts";
import { Live } from "../compose/live.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import { loadForCommand, type CommandPlugins } from "./load-for-command.ts";
import type { LoadedPlugin } from "./loaded-problems.ts";

interface Surroundings {
  readonly paths: StatePaths;
  readonly home: string;
  readonly loaded: LoadedConfig;
  /** What extensions add; plugins that this process loads add to it. */
  readonly contributions: Contributions;
  /** The plugins of the running gateway; undefined when none runs. */
  readonly ask: () => Promise<readonly LoadedPlugin[] | undefined>;
}

export interface PluginView {
  readonly records: readonly LoadedPlugin[];
  /** Whether a gateway runs and has answered; else this process has loaded the plugins, as the gateway would. */
  readonly isGateway: boolean;
}

/** The plugins that the config turns on: as the running gateway has them, else loaded into this process when first asked for. */
export class LoadedPlugins {
  readonly live: Live;
  readonly #ask: Surroundings["ask"];
  #view: Promise<PluginView> | undefined;
  #here: CommandPlugins | undefined;

  constructor({ paths, home, loaded, contributions, ask }: Surroundings) {
    this.live = new Live(paths, home, loaded, contributions);
    this.#ask = ask;
  }

  view(): Promise<PluginView> {
    this.#view ??= this.#look();
    return this.#view;
  }

  async close(): Promise<void> {
    await this.#here?.close();
  }

  async #look(): Promise<PluginView> {
    const records = await this.#ask();
    if (records) return { records, isGateway: true };
    this.#here = await loadForCommand(this.live, this.live.loaded.plugins.plugins);
    return { records: this.#here.records, isGateway: false };
  }
}
