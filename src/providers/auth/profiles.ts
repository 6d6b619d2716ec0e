import { hash } from "node:crypto";
import type { AuthMode, AuthProfile } from "../../types/auth.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { Secret } from "../../types/secret.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { AuthConfig } from "../config.ts";
import { AWS_PROVIDER, envKey, hasAwsCredentials } from "../keys.ts";
import type { PiModel } from "../pi.ts";
import type { ProviderSettings } from "../../types/run/model-provider.ts";
import { type Credential, expiryOf, fitsMode, isOver, ownerNames } from "./credential.ts";
import type { Credentials, StoredKeys } from "./credentials.ts";
import { NO_KEYS } from "./credentials.ts";
import { freshLogin, loginKey, type NoKey } from "./renew.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";
import { own } from "../../utils/own.ts";
import type { Env } from "../../utils/env.ts";

/** A key that can be sent, and the model with the address at which the key is valid. */
export interface KeyedModel {
  readonly apiKey: string;
  readonly pi: PiModel;
}

/** A profile that exists, and the function that gets its key. */
export interface FoundProfile {
  readonly profile: AuthProfile;
  /** Epoch milliseconds. Unset when the key does not expire by itself. */
  readonly expires?: number;
  /** A mark of the secret: another secret has another mark. It does not reveal the secret. */
  readonly mark: string;
  /**
   * The name of the key's cooldowns: the profile's id, with the agent's for a key of its own, since two agents may use
   * one id.
   */
  readonly coolsAs: string;
  /** Opens the key for a model. Never throws: a login that cannot be renewed is a case. */
  open(pi: PiModel): Promise<KeyedModel | NoKey>;
}

/** Keys that only one agent uses. */
export interface OwnKeys {
  readonly agent: string;
  readonly credentials: Credentials;
}

export interface ProfileSources {
  readonly auth: AuthConfig;
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly env: Env;
  /** The environment variables that may hold a provider's key. */
  readonly variablesOf: (provider: string) => readonly string[];
  readonly credentials: Credentials | undefined;
  /** The keys of one agent, which come before the keys of `credentials`. */
  readonly own?: OwnKeys | undefined;
  readonly clock: Pick<Clock, "now">;
  /** When a profile was last asked, by the name of its cooldowns; epoch milliseconds. */
  readonly usedAt: (coolsAs: string) => number;
  readonly log?: Log | undefined;
}

/** The SDK refuses an empty key, also for servers that need none. */
const NO_SECRET = "none";
/** Logins come before tokens, and tokens before keys: monthly plans before payment by use. */
const RANKS: Readonly<Record<Credential["type"], number>> = { oauth: 0, token: 1, api_key: 2 };

/** A file of keys. */
interface Store {
  readonly credentials: Credentials;
  /** Set when only this agent uses the keys. */
  readonly agent?: string;
}

/** A stored key, and the file that has the key. */
interface Stored {
  readonly id: string;
  readonly credential: Credential;
  readonly store: Store;
}

/** All keys of all providers: keys of the files, the config and the environment. No method throws. */
export class Profiles {
  readonly #from: ProfileSources;
  /** The nearest first. */
  readonly #stores: readonly Store[];
  readonly #problems = new Map<string, string>();

  constructor(from: ProfileSources) {
    const { credentials, own } = from;
    this.#from = from;
    this.#stores = [...(own ? [own] : []), ...(credentials ? [{ credentials }] : [])];
  }

  /**
   * The profiles of a provider in the order in which they are tried. `baseUrl`: a server on this machine needs no key.
   * `brought`: the key that the provider's plugin has.
   */
  async of(provider: string, baseUrl: string, brought?: ProviderSettings["apiKey"]): Promise<readonly FoundProfile[]> {
    const stored = await this.#stored(provider);
    const others = [this.#ofAws(provider), this.#ofConfig(provider), this.#ofEnv(provider)];
    const usual = [...stored, ...others.filter((found) => found !== undefined)];
    const last = brought === undefined ? undefined : keyed(`${provider}:plugin`, provider, brought);
    const all = last === undefined || usual.some(({ mark }) => mark === last.mark) ? usual : [...usual, last];
    if (all.length > 0 || !isOnThisMachine(baseUrl)) return all;
    return [plain({ id: `${provider}:none`, provider, mode: "none" }, NO_SECRET)];
  }

  /** Providers that have a stored profile. */
  async storedProviders(): Promise<ReadonlySet<string>> {
    const found = await Promise.all(this.#stores.map(async (store) => (await this.#keysIn(store)).profiles));
    const usable = found.flatMap((profiles) => [...profiles].filter((entry) => this.#isUsable(...entry)));
    return new Set(usable.map(([, { provider }]) => provider));
  }

  /**
   * Stored profiles, the nearest file's first. Of two with one id the nearer one counts. `auth.order` does not apply to
   * an agent's own keys.
   */
  async #stored(provider: string): Promise<readonly FoundProfile[]> {
    const found: Stored[] = [];
    for (const store of this.#stores)
      for (const one of await this.#storedIn(store, provider))
        if (!found.some(({ id }) => id === one.id)) found.push(one);
    return found.map((one) => this.#found(one));
  }

  async #storedIn(store: Store, provider: string): Promise<readonly Stored[]> {
    const { profiles, order } = await this.#keysIn(store);
    const mine = [...profiles].flatMap(([id, credential]) =>
      credential.provider === provider && this.#isUsable(id, credential) ? [{ id, credential, store }] : [],
    );
    const ofConfig = store.agent === undefined ? own(this.#from.auth.order, provider) : undefined;
    const given = ofConfig ?? own(order, provider);
    return given
      ? given.flatMap((id) => mine.filter((one) => one.id === id))
      : mine.toSorted((a, b) => this.#compare(a, b));
  }

  #compare(one: Stored, other: Stored): number {
    const usedAt = (stored: Stored) => this.#from.usedAt(coolsAs(stored));
    return RANKS[one.credential.type] - RANKS[other.credential.type] || usedAt(one) - usedAt(other);
  }

  #isUsable(id: string, credential: Credential): boolean {
    const declared = own(this.#from.auth.profiles, id);
    if (declared && (declared.provider !== credential.provider || !fitsMode(credential, declared.mode))) return false;
    return !isOver(credential, this.#from.clock.now());
  }

  #found(stored: Stored): FoundProfile {
    const { id, credential } = stored;
    const expires = expiryOf(credential);
    return {
      profile: {
        id,
        provider: credential.provider,
        mode: credential.type,
        ...ownerNames(credential),
        ...ownerNames(own(this.#from.auth.profiles, id) ?? {}),
      },
      ...(expires !== undefined && { expires }),
      mark: markOf(secretOf(credential)),
      coolsAs: coolsAs(stored),
      open: (pi) => this.#open(stored, pi),
    };
  }

  async #open({ id, credential, store: { credentials } }: Stored, pi: PiModel): Promise<KeyedModel | NoKey> {
    if (credential.type === "api_key") return { apiKey: credential.key.reveal(), pi };
    if (credential.type === "token") return { apiKey: credential.token.reveal(), pi };
    const { clock, log } = this.#from;
    try {
      const login = await freshLogin(id, credential, { credentials, clock });
      return "missing" in login ? login : await loginKey(login, pi);
    } catch (error) {
      log?.warn("a login was not renewed", { profile: id, error });
      return { missing: `The login "${id}" could not be renewed: its file cannot be written.`, because: "auth" };
    }
  }

  #ofConfig(provider: string): FoundProfile | undefined {
    const key = own(this.#from.providers, provider)?.apiKey;
    return key === undefined ? undefined : keyed(`${provider}:config`, provider, key);
  }

  #ofEnv(provider: string): FoundProfile | undefined {
    const found = envKey(provider, this.#from.env, this.#from.variablesOf(provider));
    if (!found) return undefined;
    const mode: AuthMode = found.variable.endsWith("_TOKEN") ? "token" : "api_key";
    return plain({ id: `${provider}:env`, provider, mode }, found.key);
  }

  /** AWS finds its own credentials. Whether it can: from the environment, or because the config says so. */
  #ofAws(provider: string): FoundProfile | undefined {
    const declared = Object.entries(this.#from.auth.profiles).find(
      ([, entry]) => entry.provider === provider && entry.mode === "aws-sdk",
    );
    if (!declared && !(provider === AWS_PROVIDER && hasAwsCredentials(this.#from.env))) return undefined;
    return plain({ id: declared?.[0] ?? `${provider}:env`, provider, mode: "aws-sdk" }, NO_SECRET);
  }

  /** A file that cannot be read is logged once and counts as empty: other keys still work, and doctor explains how to mend it. */
  async #keysIn({ credentials }: Store): Promise<StoredKeys> {
    try {
      const keys = await credentials.read();
      this.#problems.delete(credentials.path);
      return keys;
    } catch (error) {
      const message = errorText(error);
      if (this.#problems.get(credentials.path) !== message)
        this.#from.log?.warn("the stored keys cannot be used", { error });
      this.#problems.set(credentials.path, message);
      return NO_KEYS;
    }
  }
}

const coolsAs = ({ id, store: { agent } }: Stored): string => (agent === undefined ? id : `${agent}/${id}`);

/** The marks of the last secrets: each turn asks for the marks of its provider. */
const MOST_MARKS = 64;
const marks = new BoundedMap<string, string>(MOST_MARKS);

const markOf = (secret: string): string => marks.of(secret, () => hash("sha256", secret).slice(0, 12));

/** The secret that identifies a login: the token that renews it. */
function secretOf(credential: Credential): string {
  if (credential.type === "api_key") return credential.key.reveal();
  return (credential.type === "token" ? credential.token : credential.refresh).reveal();
}

function plain(profile: AuthProfile, apiKey: string): FoundProfile {
  Secret.remember(apiKey);
  return { profile, mark: markOf(apiKey), coolsAs: profile.id, open: async (pi) => ({ apiKey, pi }) };
}

const keyed = (id: string, provider: string, key: Secret | string): FoundProfile =>
  plain({ id, provider, mode: "api_key" }, key instanceof Secret ? key.reveal() : key);

/** A key that is not stored, such as the demo's. */
export const keyless = (provider: string, apiKey: string): FoundProfile =>
  plain({ id: `${provider}:none`, provider, mode: "none" }, apiKey);

export const isOnThisMachine = (baseUrl: string): boolean => /^https?:\/\/(127\.|localhost\b|\[::1\])/.test(baseUrl);
