import type { LoadedConfig } from "../config/load.ts";
import type { StatePaths } from "../config/paths.ts";
import { Live } from "../live.ts";
import type { ModelProviderContribution } from "../../types/contribution.ts";
import type { WebSearchContribution } from "../../types/plugin/web-search.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import { faultsOf } from "./faults.ts";
import { loadForCommand, type CommandPlugins } from "./load-for-command.ts";
import type { PluginView } from "./loaded-problems.ts";

interface Surroundings {
  readonly paths: StatePaths;
  readonly home: string;
  readonly loaded: LoadedConfig;
  /** Contributions of extensions; plugins that this process loads add to them. */
  readonly contributions: Contributions;
  /** The question for the running gateway's plugins. */
  readonly ask: AskPlugins;
}

/** Asks the running gateway for its plugins; undefined when none runs. */
export type AskPlugins = () => Promise<Omit<PluginView, "isGateway"> | undefined>;

/**
 * The plugins that the config turns on: as the running gateway has them, else loaded into this process when first asked
 * for.
 */
export class LoadedPlugins {
  readonly live: Live;
  readonly #ask: Surroundings["ask"];
  #view: Promise<PluginView> | undefined;
  #here: CommandPlugins | undefined;
  #bringing: Promise<CommandPlugins> | undefined;

  constructor({ paths, home, loaded, contributions, ask }: Surroundings) {
    this.live = new Live(paths, home, loaded, contributions);
    this.#ask = ask;
  }

  view(): Promise<PluginView> {
    this.#view ??= this.#look();
    return this.#view;
  }

  /** The providers of models that plugins bring. With a running gateway this process loads those plugins too. */
  async modelProviders(): Promise<readonly ModelProviderContribution[]> {
    // A gateway that cannot be asked is reported by the check of the plugins.
    const isElsewhere = await this.view().then(
      ({ isGateway }) => isGateway,
      () => true,
    );
    const bringing = this.live.loaded.plugins.plugins.filter(({ manifest }) => manifest.providers.length > 0);
    if (isElsewhere && bringing.length > 0) this.#bringing ??= loadForCommand(this.live, bringing, "discovery");
    await this.#bringing;
    return this.live.contributions.modelProviders;
  }

  /** The providers of web searches that plugins bring; undefined when only the running gateway knows them. */
  async webSearches(): Promise<readonly WebSearchContribution[] | undefined> {
    // A gateway that cannot be asked is reported by the check of the plugins.
    const isElsewhere = await this.view().then(
      ({ isGateway }) => isGateway,
      () => true,
    );
    return isElsewhere ? undefined : this.live.contributions.webSearches;
  }

  async close(): Promise<void> {
    await this.#here?.close();
    await (await this.#bringing)?.close();
  }

  async #look(): Promise<PluginView> {
    const told = await this.#ask();
    if (told) return { ...told, isGateway: true };
    this.#here = await loadForCommand(this.live, this.live.loaded.plugins.plugins);
    return { records: this.#here.records, faults: await faultsOf(this.live), isGateway: false };
  }
}
