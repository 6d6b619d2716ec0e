import type { AuthProfile, Keyring } from "../types/auth.ts";
import { systemClock, type Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import type { ModelInfo, ModelRef } from "../types/run/model.ts";
import { modelName } from "../types/run/model.ts";
import { type ModelMeter, UNMETERED } from "../types/run/model-meter.ts";
import type { FailureKind } from "../types/run/run.ts";
import { Secret } from "../types/secret.ts";
import type { Credentials } from "./auth/credentials.ts";
import { createKeyring, pairOf } from "./auth/keyring.ts";
import { keyless, Profiles, type Found } from "./auth/profiles.ts";
import { Cooldowns } from "./auth/cooldowns.ts";
import {
  buildPiModel,
  catalogueOf,
  configuredModels,
  DEMO_PI_MODEL,
  fromCatalogue,
  infoOf,
  plainInfo,
} from "./build.ts";
import { authConfig, type AuthConfig } from "./config.ts";
import { DEMO_MODEL, demoStream } from "./demo.ts";
import { modelByKey, variablesOf } from "./keys.ts";
import { findLocalModel, type LocalModel } from "./local.ts";
import { loadPi, type PiModel, type StreamModel } from "./pi.ts";
import { isNear, ServerLimits, type ServerAddress } from "./server-limits.ts";
import type { ModelProviderContribution } from "../types/contribution.ts";
import type { ProviderSettings } from "../types/run/model-provider.ts";
import { own } from "../utils/own.ts";

/** A model that can be called. */
export interface ModelHandle {
  readonly info: ModelInfo;
  readonly pi: PiModel;
  /** The profile of the key. */
  readonly profile: AuthProfile;
  readonly apiKey: string;
  /** Only `callModel` may use this, because every call goes through the meter. */
  readonly openStream: StreamModel;
  readonly meter: ModelMeter;
}

/** Why a model cannot be called, in a person's words. `because` is `auth` when unset. */
export interface Missing {
  readonly missing: string;
  readonly because?: FailureKind;
}

export interface Models {
  /**
   * The model with the key of that profile. Without an id: with the first key that may be asked now, or else the one whose
   * cooldown ends first. A login that is about to expire is renewed first.
   */
  find(ref: ModelRef, profileId?: string): Promise<ModelHandle | Missing>;
  /** The model when the config names none: by the available keys, then a local server, then the demo. */
  choose(): Promise<ModelRef>;
  /** The models that can be used; with `all` the whole catalogue. */
  list(which?: "usable" | "all"): Promise<readonly (ModelInfo & { available: boolean })[]>;
  /** The profiles of a model's provider. Claims no probe. */
  profiles(ref: ModelRef): Promise<readonly Pick<Found, "profile" | "expires">[]>;
  readonly keys: Keyring;
}

export interface ModelOptions {
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  /** `replace`: only the models that `providers` name exist, without the SDK's catalogue. */
  readonly mode?: "merge" | "replace";
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Servers on this machine are asked only when no other model is available. Tests switch it off. */
  readonly probeLocal?: boolean;
  /** The usual ports when unset. */
  readonly localServers?: readonly { provider: string; baseUrl: string }[];
  /** Milliseconds in which nearby servers must answer. When unset, 300 for their models and 1000 for a model's limits. */
  readonly probeMs?: number;
  readonly auth?: AuthConfig;
  /** When unset, only keys of the config and the environment are used. */
  readonly credentials?: Credentials;
  /** Survives a change of the config. Kept in memory when unset. */
  readonly cooldowns?: Cooldowns;
  readonly clock?: Pick<Clock, "now">;
  readonly log?: Log;
  /** Asked before every call of these models. Allows all calls when unset. */
  readonly meter?: ModelMeter;
}

type Contributed = readonly ModelProviderContribution[];

/** `contributed`: providers of extensions and plugins. `options.providers` takes precedence, key by key. */
export function createModels(options: ModelOptions, contributed: Contributed = []): Models {
  const catalogue = new Catalogue(options, contributed);
  return {
    keys: catalogue.keys,
    find: (ref, profileId) => catalogue.find(ref, profileId),
    choose: () => catalogue.choose(),
    list: (which) => catalogue.list(which === "all"),
    profiles: (ref) => catalogue.profilesFor(ref),
  };
}

class Catalogue {
  readonly keys: Keyring;
  readonly #options: ModelOptions;
  readonly #providers: ModelOptions["providers"];
  readonly #contributed: Contributed;
  readonly #cooldowns: Cooldowns;
  readonly #profiles: Profiles;
  readonly #limits: ServerLimits;
  readonly #built = new Map<string, PiModel>();
  // Only a server that was found is remembered, because another may start later.
  #local: LocalModel | undefined;

  constructor(options: ModelOptions, contributed: Contributed) {
    const { env, credentials, log, clock = systemClock, auth = authConfig.parse({}) } = options;
    const providers = withContributed(options, contributed);
    this.#options = options;
    this.#contributed = contributed;
    this.#providers = providers;
    this.#cooldowns = options.cooldowns ?? new Cooldowns(clock);
    const usedAt = (id: string) => this.#cooldowns.usedAt(id);
    this.#profiles = new Profiles({ auth, providers, env, credentials, clock, usedAt, log });
    this.#limits = new ServerLimits(clock, options.log, options.probeMs);
    const keys = createKeyring({
      profilesFor: (ref) => this.profilesFor(ref),
      cooldowns: this.#cooldowns,
      settings: auth.cooldowns,
    });
    this.keys = {
      ...keys,
      failed: (ref, profileId, failure) => {
        this.#limits.failed(ref, failure);
        keys.failed(ref, profileId, failure);
      },
    };
  }

  async find(ref: ModelRef, profileId: string | undefined): Promise<ModelHandle | Missing> {
    const built = await this.#build(ref);
    const pi = built && (await this.#limits.over(built, this.#addressOf(built)));
    if (!pi) return { missing: `No provider named "${ref.provider}" is known.`, because: "model_missing" };
    const found = await this.profilesFor(ref);
    const wanted = profileId === undefined ? this.#willing(ref, found) : found.filter(hasId(profileId));
    let refusal: Missing | undefined;
    for (const candidate of wanted) {
      const handle = await handleOf(candidate, pi, this.#options.meter);
      if (!("missing" in handle)) return handle;
      refusal ??= handle;
    }
    if (refusal) return refusal;
    if (profileId !== undefined) return { missing: `There is no usable key "${profileId}" for ${ref.provider}.` };
    return { missing: missingKey(ref.provider) };
  }

  /**
   * The address to ask for the window of a model. Unset when the config has the window, or the server is not on this network.
   */
  #addressOf({ id, provider, api, baseUrl }: PiModel): ServerAddress | undefined {
    const settings = this.#providers[provider];
    const own = settings?.models?.find((model) => model.id === id);
    const isGiven = (own?.contextWindow ?? settings?.contextWindow) !== undefined;
    if (isGiven || this.#options.probeLocal === false || api !== "openai-completions" || !isNear(baseUrl))
      return undefined;
    return { baseUrl, id, apiKey: revealed(settings?.apiKey) };
  }

  /** The profiles that may be asked now, then those that are cooling down, by the end of their cooldown. */
  #willing(ref: ModelRef, found: readonly Found[]): readonly Found[] {
    const until = ({ profile }: Found) => {
      const state = this.#cooldowns.peek(pairOf(ref, profile.id));
      return state.kind === "cooling" ? state.until : 0;
    };
    return found.toSorted((a, b) => until(a) - until(b));
  }

  async profilesFor(ref: ModelRef): Promise<readonly Found[]> {
    if (ref.provider === DEMO_MODEL.provider) return [keyless(DEMO_MODEL.provider, "demo")];
    const pi = await this.#build(ref);
    return pi ? this.#profiles.of(ref.provider, pi.baseUrl) : [];
  }

  async #build(ref: ModelRef): Promise<PiModel | undefined> {
    if (ref.provider === DEMO_MODEL.provider) return DEMO_PI_MODEL;
    const name = modelName(ref);
    const found = this.#built.get(name) ?? (await this.#resolve(ref));
    if (found) this.#built.set(name, found);
    return found;
  }

  async #resolve(ref: ModelRef): Promise<PiModel | undefined> {
    const settings = own(this.#providers, ref.provider) ?? (await this.#localSettings(ref));
    return buildPiModel(ref, settings, this.#hasCatalogue ? await fromCatalogue(ref) : undefined);
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
    const byPlugin = this.#contributedWithKey();
    return byKey ?? (byPlugin && firstConfigured(byPlugin)) ?? (await this.#findLocal()) ?? DEMO_MODEL;
  }

  #contributedWithKey(): ModelOptions["providers"] {
    const ids = this.#contributed.map(({ id }) => id);
    return Object.fromEntries(
      Object.entries(this.#providers).filter(([id, { apiKey }]) => ids.includes(id) && apiKey !== undefined),
    );
  }

  /** Configured models, the catalogue of every provider that has a key, and the demo. */
  async list(all: boolean): Promise<readonly (ModelInfo & { available: boolean })[]> {
    const configured = configuredModels(this.#providers).map((info) => ({ ...info, available: true }));
    const known = (await Promise.all((await this.#catalogueProviders()).map((name) => this.#ofProvider(name)))).flat();
    const local = await this.#findLocal();
    const found = local ? [{ ...plainInfo(local, local.baseUrl), available: true }] : [];
    const own = new Set(configured.map(modelName));
    const others = known.filter((info) => (all ? !own.has(modelName(info)) : info.available));
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

const DEMO_INFO: ModelInfo = { ...infoOf(DEMO_PI_MODEL), demo: true };

const revealed = (key: ProviderSettings["apiKey"]): string | undefined => (key instanceof Secret ? key.reveal() : key);

const hasId =
  (id: string) =>
  ({ profile }: Found): boolean =>
    profile.id === id;

async function handleOf({ profile, open }: Found, built: PiModel, meter = UNMETERED): Promise<ModelHandle | Missing> {
  const opened = await open(built);
  if ("missing" in opened) return opened;
  const { apiKey, pi } = opened;
  const sdk = await loadPi();
  const isDemo = built === DEMO_PI_MODEL;
  const info = isDemo ? DEMO_INFO : infoOf(pi);
  return { info, pi, profile, apiKey, meter, openStream: isDemo ? demoStream(sdk) : sdk.streamSimple };
}

/** All providers that are configured or contributed; a contributed one takes its key from its environment variables. */
function withContributed({ providers, env }: ModelOptions, contributed: Contributed): ModelOptions["providers"] {
  const added = contributed.map(({ id, keyVariables, settings }) => {
    const key = keyVariables.map((name) => env[name]).find((value) => value !== undefined && value !== "");
    return [id, { ...settings, ...(key !== undefined && { apiKey: new Secret(key) }), ...own(providers, id) }] as const;
  });
  return { ...providers, ...Object.fromEntries(added) };
}

function firstConfigured(providers: ModelOptions["providers"]): ModelRef | undefined {
  for (const [provider, settings] of Object.entries(providers)) {
    const first = settings.models?.[0];
    if (first) return { provider, id: first.id };
  }
  return undefined;
}

function missingKey(provider: string): string {
  const [variable] = variablesOf(provider);
  const ways = [
    ...(variable === undefined ? [] : [`set ${variable}`]),
    `set models.providers.${provider}.apiKey`,
    `run: openclaw models auth add --provider ${provider}`,
  ];
  return `There is no key for "${provider}" that can be used: ${ways.join(", or ")}.`;
}
