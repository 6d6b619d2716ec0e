import type { FailureOfKey, Keyring } from "../types/auth.ts";
import { systemClock, type Clock } from "../types/clock.ts";
import { modelName, type ModelInfo, type ModelRef } from "../types/run/model.ts";
import { Secret } from "../types/secret.ts";
import { createKeyring, pairOf } from "./auth/keyring.ts";
import { keyless, Profiles, type FoundProfile, type OwnKeys } from "./auth/profiles.ts";
import { Cooldowns } from "./auth/cooldowns.ts";
import {
  buildPiModel,
  catalogueOf,
  configuredModels,
  DEMO_PI_MODEL,
  fromCatalogue,
  infoOf,
  plainInfo,
  plainModel,
} from "./build.ts";
import { authConfig } from "./config.ts";
import { DEMO_MODEL } from "./demo.ts";
import { builtBy, DEMO_INFO, handleOf, ThoughtHabits } from "./handle.ts";
import type { FromPlugins, Missing, ModelHandle, ModelOptions, Models } from "./models.ts";
import { modelByKey, keyVariables } from "./keys.ts";
import { findLocalModel, type LocalModel } from "./local.ts";
import { loadPi, type PiModel } from "./pi.ts";
import { SeenLimits } from "./request-limits.ts";
import { isNear, ServerLimits, type ServerAddress } from "./server-limits.ts";
import type { ProviderAccess, ProviderSettings, ModelSettings } from "../types/run/model-provider.ts";
import type { ModelProviderContribution } from "../types/contribution.ts";
import { defined } from "../utils/defined.ts";
import { own } from "../utils/own.ts";

export type { Missing, ModelHandle, ModelOptions, Models } from "./models.ts";

export function createModels(options: ModelOptions, plugins: FromPlugins = {}): Models {
  const shared = { cooldowns: new Cooldowns(options.clock ?? systemClock), habits: new ThoughtHabits(), ...options };
  const made = new Map<string, Models>();
  const of = (agent: string): Models => {
    const found = made.get(agent);
    if (found) return found;
    const credentials = shared.ownCredentials?.(agent);
    const models = credentials ? modelsOf({ agent, credentials }) : all;
    made.set(agent, models);
    return models;
  };
  const modelsOf = (own?: OwnKeys): Models => {
    const catalogue = new Catalogue(shared, plugins, own);
    return {
      keys: catalogue.keys,
      find: (ref, profileId) => catalogue.find(ref, profileId),
      choose: () => catalogue.choose(),
      list: (which) => catalogue.list(which === "all"),
      profiles: (ref) => catalogue.profilesFor(ref),
      of,
    };
  };
  const all = modelsOf();
  return all;
}

class Catalogue {
  readonly keys: Keyring;
  readonly #options: ModelOptions;
  readonly #providers: ProviderTable;
  readonly #absenceOf: (provider: string) => string | undefined;
  readonly #cooldowns: Cooldowns;
  readonly #profiles: Profiles;
  readonly #limits: ServerLimits;
  readonly #seen = new SeenLimits();
  readonly #built = new Map<string, PiModel>();
  // Only a server that was found is remembered, because another may start later.
  #local: LocalModel | undefined;

  constructor(options: ModelOptions, { contributed = [], absenceOf }: FromPlugins, own?: OwnKeys) {
    const { env, credentials, log, clock = systemClock, auth = authConfig.parse({}) } = options;
    const accessesOf = (provider: string) => this.#accessesOf(provider);
    const table = new ProviderTable({ configured: options.providers, contributed, clock, accessesOf });
    this.#options = options;
    this.#absenceOf = absenceOf ?? (() => undefined);
    this.#providers = table;
    this.#cooldowns = options.cooldowns ?? new Cooldowns(clock);
    const usedAt = (name: string) => this.#cooldowns.usedAt(name);
    const variablesOf = (provider: string) => table.variablesOf(provider);
    const sources = { auth, providers: table.plain, env, variablesOf, credentials, own, clock, usedAt, log };
    this.#profiles = new Profiles(sources);
    this.#limits = new ServerLimits(clock, options.log, options.probeMs);
    const keys = createKeyring({
      profilesFor: (ref) => this.profilesFor(ref),
      cooldowns: this.#cooldowns,
      settings: auth.cooldowns,
    });
    this.keys = {
      ...keys,
      succeeded: (ref, profileId) => {
        this.#seen.succeeded(this.#providers.named(ref), profileId);
        keys.succeeded(ref, profileId);
      },
      failed: (ref, profileId, failure) => {
        this.#limits.failed(ref);
        this.#noteLimit(this.#providers.named(ref), profileId, failure);
        keys.failed(ref, profileId, failure);
      },
    };
  }

  /** Other conversations are cut to a named limit without a summary, until the operator sets it. */
  #noteLimit(ref: ModelRef, profileId: string, failure: FailureOfKey): void {
    if (!this.#seen.failed(ref, profileId, failure)) return;
    const { limitTokens = Infinity } = failure;
    const contextWindow = this.#built.get(modelName(ref))?.contextWindow ?? 0;
    if (limitTokens >= contextWindow) return;
    const fix = `set contextWindow of the model to ${limitTokens}`;
    this.#options.log?.warn("the provider takes fewer tokens in a request than the model's window has", {
      model: modelName(ref),
      contextWindow,
      limit: limitTokens,
      fix,
    });
  }

  async find(given: ModelRef, profileId: string | undefined): Promise<ModelHandle | Missing> {
    const ref = this.#providers.named(given);
    const built = await this.#build(ref);
    const pi = built && (await this.#limits.over(built, await this.#addressOf(built)));
    if (!pi) return { missing: this.#absence(ref.provider), because: "model_missing" };
    const found = await this.profilesFor(ref);
    const brought = this.#providers.contribution(ref.provider)?.methods;
    const { meter, windows, habits } = this.#options;
    const wanted = profileId === undefined ? this.#willing(ref, found) : found.filter(hasId(profileId));
    let refusal: Missing | undefined;
    for (const candidate of wanted) {
      const limits = this.#seen.of(ref, candidate.profile.id);
      const handle = await handleOf(candidate, pi, { meter, brought, windows, habits, limits });
      if (!("missing" in handle)) return handle;
      refusal ??= handle;
    }
    if (refusal) return refusal;
    if (profileId !== undefined) return { missing: `There is no usable key "${profileId}" for ${ref.provider}.` };
    return this.#missingKey(ref.provider);
  }

  #missingKey(provider: string): Missing {
    const told = this.#providers.contribution(provider)?.methods?.missingKey?.();
    return { missing: told ?? missingKey(provider, this.#providers.variablesOf(provider)) };
  }

  #absence(provider: string): string {
    return (
      this.#absenceOf(provider) ??
      `No provider named "${provider}" is known: add it to models.providers, or install the plugin that has it.`
    );
  }

  /**
   * The address to ask for the window of a model. Unset when the config has the window, or the server is not on this network.
   */
  async #addressOf({ id, provider, api, baseUrl }: PiModel): Promise<ServerAddress | undefined> {
    const settings = await this.#providers.settingsOf(provider);
    const own = settings?.models?.find((model) => model.id === id);
    const isGiven = (own?.contextWindow ?? settings?.contextWindow) !== undefined;
    if (isGiven || this.#options.probeLocal === false || api !== "openai-completions" || !isNear(baseUrl))
      return undefined;
    return { baseUrl, id, apiKey: revealed(settings?.apiKey) };
  }

  /** The profiles that may be asked now, then the profiles that are cooling down, by the end of their cooldown. */
  #willing(ref: ModelRef, found: readonly FoundProfile[]): readonly FoundProfile[] {
    const until = ({ coolsAs }: FoundProfile) => {
      const state = this.#cooldowns.peek(pairOf(ref, coolsAs));
      return state.kind === "cooling" ? state.until : 0;
    };
    return found.toSorted((a, b) => until(a) - until(b));
  }

  async profilesFor(given: ModelRef): Promise<readonly FoundProfile[]> {
    const ref = this.#providers.named(given);
    if (ref.provider === DEMO_MODEL.provider) return [keyless(DEMO_MODEL.provider, "demo")];
    const pi = await this.#build(ref);
    return pi ? this.#profiles.of(ref.provider, pi.baseUrl, await this.#providers.keyOf(ref.provider)) : [];
  }

  /** The keys that a provider can find its models with. A login is no such key. */
  async #accessesOf(provider: string): Promise<readonly ProviderAccess[]> {
    const found: ProviderAccess[] = [];
    for (const { profile, open } of await this.#profiles.of(provider, "")) {
      const { mode, id } = profile;
      if (mode !== "api_key" && mode !== "token") continue;
      const opened = await open(plainModel({ provider, id: "" }));
      if (!("missing" in opened)) found.push({ key: new Secret(opened.apiKey), mode, profile: id });
    }
    return found;
  }

  async #build(ref: ModelRef): Promise<PiModel | undefined> {
    if (ref.provider === DEMO_MODEL.provider) return DEMO_PI_MODEL;
    const name = modelName(ref);
    const found = this.#built.get(name) ?? (await this.#resolve(ref));
    // The answers of a provider's code about its models can change.
    const lasts = this.#providers.contribution(ref.provider)?.methods === undefined;
    if (found && lasts) this.#built.set(name, found);
    return found;
  }

  async #resolve(ref: ModelRef): Promise<PiModel | undefined> {
    const known = this.#hasCatalogue ? await fromCatalogue(ref) : undefined;
    const settings = (await this.#providers.settingsOf(ref.provider)) ?? (await this.#localSettings(ref));
    const methods = this.#providers.contribution(ref.provider)?.methods;
    return methods ? builtBy(methods, { ref, settings, known }) : buildPiModel(ref, settings, known);
  }

  async #localSettings(ref: ModelRef): Promise<ProviderSettings | undefined> {
    const found = await this.#findLocal();
    return found?.provider === ref.provider ? { baseUrl: found.baseUrl, api: "openai-completions" } : undefined;
  }

  async #findLocal(): Promise<LocalModel | undefined> {
    const { probeLocal, localServers, probeMs } = this.#options;
    if (probeLocal !== false) this.#local ??= await findLocalModel(localServers, probeMs);
    return this.#local;
  }

  get #hasCatalogue(): boolean {
    return this.#options.mode !== "replace";
  }

  async choose(): Promise<ModelRef> {
    const byConfig = firstConfigured(this.#options.providers);
    if (byConfig) return byConfig;
    const stored = await this.#profiles.storedProviders();
    const byKey = this.#hasCatalogue ? modelByKey(this.#options.env, stored) : undefined;
    return byKey ?? (await this.#contributedWithKey()) ?? (await this.#findLocal()) ?? DEMO_MODEL;
  }

  async #contributedWithKey(): Promise<ModelRef | undefined> {
    for (const provider of this.#providers.contributedIds) {
      const settings = await this.#providers.settingsOf(provider);
      const first = settings && firstConfigured({ [provider]: settings });
      if (first && (await this.#hasKey(provider, settings.baseUrl))) return first;
    }
    return undefined;
  }

  async #hasKey(provider: string, baseUrl = ""): Promise<boolean> {
    return (await this.#profiles.of(provider, baseUrl, await this.#providers.keyOf(provider))).length > 0;
  }

  /**
   * Configured models, models of contributed providers, the catalogue of every provider that has a key, and the demo.
   */
  async list(all: boolean): Promise<readonly (ModelInfo & { available: boolean })[]> {
    const settings = await this.#providers.all();
    const keyless = new Set<string>();
    for (const id of this.#providers.contributedIds)
      if (!Object.hasOwn(this.#options.providers, id) && !(await this.#hasKey(id, settings[id]?.baseUrl)))
        keyless.add(id);
    const configured = configuredModels(settings)
      .map((info) => ({ ...info, available: !keyless.has(info.provider) }))
      .filter(({ available }) => all || available);
    const known = (await Promise.all((await this.#catalogueProviders()).map((name) => this.#ofProvider(name)))).flat();
    const local = await this.#findLocal();
    const found = local ? [{ ...plainInfo(local, local.baseUrl), available: true }] : [];
    const mine = new Set(configured.map(modelName));
    const others = known.filter((info) => (all ? !mine.has(modelName(info)) : info.available));
    return [...configured, ...others, ...found, { ...DEMO_INFO, available: true }];
  }

  async #catalogueProviders(): Promise<readonly string[]> {
    return this.#hasCatalogue ? (await loadPi()).getProviders() : [];
  }

  async #ofProvider(name: string): Promise<readonly (ModelInfo & { available: boolean })[]> {
    const available = (await this.#profiles.of(name, "")).length > 0;
    return (await catalogueOf(name)).map((model) => ({ ...infoOf(model), available }));
  }
}

const revealed = (key: ProviderSettings["apiKey"]): string | undefined => (key instanceof Secret ? key.reveal() : key);

const hasId =
  (id: string) =>
  ({ profile }: FoundProfile): boolean =>
    profile.id === id;

function firstConfigured(providers: ModelOptions["providers"]): ModelRef | undefined {
  for (const [provider, settings] of Object.entries(providers)) {
    const first = settings.models?.[0];
    if (first) return { provider, id: first.id };
  }
  return undefined;
}

function missingKey(provider: string, [variable]: readonly string[]): string {
  const ways = [
    ...(variable === undefined ? [] : [`set ${variable}`]),
    `set models.providers.${provider}.apiKey`,
    `run: openclaw models auth add --provider ${provider}`,
  ];
  return `There is no key for "${provider}" that can be used: ${ways.join(", or ")}.`;
}

type Settings = Readonly<Record<string, ProviderSettings>>;

/** Milliseconds for which a provider's answer to `discover` counts, while the key that it was asked with is there. */
const FRESH_MS = 10 * 60_000;
/** The same for the answer that it cannot be used. */
const FRESH_FAILURE_MS = 30_000;

interface TableSources {
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
class ProviderTable {
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
