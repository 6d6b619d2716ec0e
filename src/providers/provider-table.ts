import type { Clock } from "../types/clock.ts";
import type { ModelProviderContribution } from "../types/contribution.ts";
import type { ModelRef } from "../types/run/model.ts";
import type { ModelSettings, ProviderAccess, ProviderSettings } from "../types/run/model-provider.ts";
import { defined } from "../utils/defined.ts";
import { own } from "../utils/own.ts";
import { keyVariables } from "./keys.ts";

type Settings = Readonly<Record<string, ProviderSettings>>;

/** Milliseconds for which a provider's answer to `discover` counts, while the key that it was asked with is there. */
const FRESH_MS = 10 * 60_000;
/** The same for the answer that it cannot be used. */
const FRESH_FAILURE_MS = 30_000;

export interface TableSources {
  /** Providers of the config. They have priority over `contributed`, key by key. */
  readonly configured: Settings;
  readonly contributed: readonly ModelProviderContribution[];
  readonly clock: Pick<Clock, "now">;
  /** The keys of a provider, the preferred one first. Never rejects. */
  accessesOf(provider: string): Promise<readonly ProviderAccess[]>;
}

interface Discovered {
  readonly until: number;
  readonly access: ProviderAccess | undefined;
  readonly settings: Promise<ProviderSettings | undefined>;
}

/** The providers of the config, and the providers that extensions and plugins contribute. No method throws. */
export class ProviderTable {
  readonly #from: TableSources;
  readonly #discovered = new Map<string, Discovered>();

  constructor(from: TableSources) {
    this.#from = from;
  }

  /** Settings that are known without running the code of a provider. */
  get plain(): Settings {
    const { configured, contributed } = this.#from;
    const added = contributed.map(
      ({ id, settings }) => [id, joined(settings, undefined, own(configured, id))] as const,
    );
    return { ...configured, ...Object.fromEntries(added) };
  }

  get contributedIds(): readonly string[] {
    return this.#from.contributed.map(({ id }) => id);
  }

  /** The contribution of a provider by its id, or by an alias that no provider of the config has as its id. */
  contribution(name: string): ModelProviderContribution | undefined {
    const { configured, contributed } = this.#from;
    const found = contributed.find(({ id }) => id === name);
    if (found || own(configured, name)) return found;
    return contributed.find(({ aliases }) => aliases?.includes(name));
  }

  /** The model that a name means: aliases of providers and of models are replaced. */
  named(ref: ModelRef): ModelRef {
    const found = this.contribution(ref.provider);
    return found ? { provider: found.id, id: found.methods?.modelId?.(ref.id) ?? ref.id } : ref;
  }

  variablesOf(provider: string): readonly string[] {
    return [...new Set([...(this.contribution(provider)?.keyVariables ?? []), ...keyVariables(provider)])];
  }

  async settingsOf(provider: string): Promise<ProviderSettings | undefined> {
    const { configured, contributed } = this.#from;
    const found = contributed.find(({ id }) => id === provider);
    if (!found) return own(configured, provider);
    return joined(found.settings, await this.#discover(found), own(configured, provider));
  }

  /** The key that the provider brings itself. */
  async keyOf(provider: string): Promise<ProviderSettings["apiKey"]> {
    const found = this.contribution(provider);
    return found && (await this.#discover(found))?.apiKey;
  }

  async all(): Promise<Settings> {
    const { configured } = this.#from;
    const ids = [...new Set([...Object.keys(configured), ...this.contributedIds])];
    const entries = await Promise.all(ids.map(async (id) => [id, (await this.settingsOf(id)) ?? {}] as const));
    return Object.fromEntries(entries);
  }

  async #discover({ id, methods }: ModelProviderContribution): Promise<ProviderSettings | undefined> {
    if (!methods?.discover) return undefined;
    const accesses = await this.#from.accessesOf(id);
    const known = this.#discovered.get(id);
    if (known && known.until > this.#from.clock.now() && isAmong(accesses, known.access)) return known.settings;
    const [access] = accesses;
    const settings = methods.discover(access);
    this.#keep(id, { access, settings }, FRESH_MS);
    const found = await settings;
    if (!found && this.#discovered.get(id)?.settings === settings)
      this.#keep(id, { access, settings }, FRESH_FAILURE_MS);
    return found;
  }

  #keep(id: string, answer: Omit<Discovered, "until">, ms: number): void {
    this.#discovered.set(id, { ...answer, until: this.#from.clock.now() + ms });
  }
}

/** Whether a provider still has this key, or still has none. */
const isAmong = (accesses: readonly ProviderAccess[], access: ProviderAccess | undefined): boolean =>
  access === undefined
    ? accesses.length === 0
    : accesses.some(({ profile, key }) => profile === access.profile && key.reveal() === access.key.reveal());

/** The later ones have priority, key by key, and model by model. */
function joined(
  plain: ProviderSettings,
  discovered: ProviderSettings | undefined,
  configured: ProviderSettings | undefined,
): ProviderSettings {
  const models = [configured, discovered, plain].map((settings) => settings?.models ?? []);
  const byId = new Map<string, ModelSettings>();
  for (const model of models.flat()) byId.set(model.id, { ...model, ...defined(byId.get(model.id) ?? {}) });
  return { ...plain, ...defined(discovered ?? {}), ...defined(configured ?? {}), models: [...byId.values()] };
}
