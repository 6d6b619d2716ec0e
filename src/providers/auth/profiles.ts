import { hash } from "node:crypto";
import type { AuthMode, AuthProfile } from "../../types/auth.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { Secret } from "../../types/secret.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { AuthConfig } from "../config.ts";
import { AWS_PROVIDER, envKey, hasAwsCredentials, type Env } from "../keys.ts";
import type { PiModel } from "../pi.ts";
import type { ProviderSettings } from "../../types/run/model-provider.ts";
import { type Credential, expiryOf, fitsMode, isOver, namesOf } from "./credential.ts";
import type { Credentials, StoredKeys } from "./credentials.ts";
import { NO_KEYS } from "./credentials.ts";
import { freshLogin, loginKey, type NoKey } from "./renew.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";
import { own } from "../../utils/own.ts";

/** A key that can be sent, and the model with the address at which the key is valid. */
export interface KeyedModel {
  readonly apiKey: string;
  readonly pi: PiModel;
}

/** A profile that exists, and the function that gets its key. */
export interface Found {
  readonly profile: AuthProfile;
  /** Epoch milliseconds. Unset when it does not expire by itself. */
  readonly expires?: number;
  /** A mark of the secret: another secret has another mark. It does not reveal the secret. */
  readonly mark: string;
  /** Never throws: a login that cannot be renewed is a case. */
  open(pi: PiModel): Promise<KeyedModel | NoKey>;
}

export interface ProfileSources {
  readonly auth: AuthConfig;
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly env: Env;
  /** The environment variables that may hold a provider's key. */
  readonly variablesOf: (provider: string) => readonly string[];
  readonly credentials: Credentials | undefined;
  readonly clock: Pick<Clock, "now">;
  /** When a profile was last asked, epoch milliseconds. */
  readonly usedAt: (profile: string) => number;
  readonly log?: Log | undefined;
}

/** The SDK refuses an empty key, also for servers that need none. */
const NO_SECRET = "none";
/** Logins come before tokens, and tokens before keys: monthly plans before payment by use. */
const RANKS: Readonly<Record<Credential["type"], number>> = { oauth: 0, token: 1, api_key: 2 };

/** All keys of all providers: those of the file, the config and the environment. No method throws. */
export class Profiles {
  readonly #from: ProfileSources;
  #lastProblem: unknown;

  constructor(from: ProfileSources) {
    this.#from = from;
  }

  /**
   * The profiles of a provider in the order in which they are tried. `baseUrl`: a server on this machine needs no key. `brought`:
   * the key that the provider's plugin has.
   */
  async of(provider: string, baseUrl: string, brought?: ProviderSettings["apiKey"]): Promise<readonly Found[]> {
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
    const { profiles } = await this.#keys();
    const usable = [...profiles].filter(([id, credential]) => this.#isUsable(id, credential));
    return new Set(usable.map(([, { provider }]) => provider));
  }

  async #stored(provider: string): Promise<readonly Found[]> {
    const { profiles, order } = await this.#keys();
    const mine = [...profiles].filter(
      ([id, credential]) => credential.provider === provider && this.#isUsable(id, credential),
    );
    const given = own(this.#from.auth.order, provider) ?? own(order, provider);
    if (given) return given.flatMap((id) => mine.filter(([own]) => own === id)).map((entry) => this.#found(...entry));
    return mine.toSorted((a, b) => this.#compare(a, b)).map((entry) => this.#found(...entry));
  }

  #compare([id, one]: [string, Credential], [otherId, other]: [string, Credential]): number {
    return RANKS[one.type] - RANKS[other.type] || this.#from.usedAt(id) - this.#from.usedAt(otherId);
  }

  #isUsable(id: string, credential: Credential): boolean {
    const declared = own(this.#from.auth.profiles, id);
    if (declared && (declared.provider !== credential.provider || !fitsMode(credential, declared.mode))) return false;
    return !isOver(credential, this.#from.clock.now());
  }

  #found(id: string, credential: Credential): Found {
    const expires = expiryOf(credential);
    return {
      profile: {
        id,
        provider: credential.provider,
        mode: credential.type,
        ...namesOf(credential),
        ...namesOf(own(this.#from.auth.profiles, id) ?? {}),
      },
      ...(expires !== undefined && { expires }),
      mark: markOf(secretOf(credential)),
      open: (pi) => this.#open(id, credential, pi),
    };
  }

  async #open(id: string, credential: Credential, pi: PiModel): Promise<KeyedModel | NoKey> {
    if (credential.type === "api_key") return { apiKey: credential.key.reveal(), pi };
    if (credential.type === "token") return { apiKey: credential.token.reveal(), pi };
    const { credentials, clock, log } = this.#from;
    if (!credentials) return { missing: `The login "${id}" has no file.`, because: "auth" };
    try {
      const login = await freshLogin(id, credential, { credentials, clock });
      return "missing" in login ? login : await loginKey(login, pi);
    } catch (error) {
      log?.warn("a login was not renewed", { profile: id, error });
      return { missing: `The login "${id}" could not be renewed: its file cannot be written.`, because: "auth" };
    }
  }

  #ofConfig(provider: string): Found | undefined {
    const key = own(this.#from.providers, provider)?.apiKey;
    return key === undefined ? undefined : keyed(`${provider}:config`, provider, key);
  }

  #ofEnv(provider: string): Found | undefined {
    const found = envKey(provider, this.#from.env, this.#from.variablesOf(provider));
    if (!found) return undefined;
    const mode: AuthMode = found.variable.endsWith("_TOKEN") ? "token" : "api_key";
    return plain({ id: `${provider}:env`, provider, mode }, found.key);
  }

  /** AWS finds its own credentials. Whether it can: from the environment, or because the config says so. */
  #ofAws(provider: string): Found | undefined {
    const declared = Object.entries(this.#from.auth.profiles).find(
      ([, entry]) => entry.provider === provider && entry.mode === "aws-sdk",
    );
    if (!declared && !(provider === AWS_PROVIDER && hasAwsCredentials(this.#from.env))) return undefined;
    return plain({ id: declared?.[0] ?? `${provider}:env`, provider, mode: "aws-sdk" }, NO_SECRET);
  }

  /** A file that cannot be read is logged once and counts as empty: other keys still work, and doctor explains how to mend it. */
  async #keys(): Promise<StoredKeys> {
    const { credentials, log } = this.#from;
    try {
      const keys = await credentials?.read();
      this.#lastProblem = undefined;
      return keys ?? NO_KEYS;
    } catch (error) {
      const message = errorText(error);
      if (this.#lastProblem !== message) log?.warn("the stored keys cannot be used", { error });
      this.#lastProblem = message;
      return NO_KEYS;
    }
  }
}

/** The marks of the last secrets: each turn asks for those of its provider. */
const MOST_MARKS = 64;
const marks = new BoundedMap<string, string>(MOST_MARKS);

function markOf(secret: string): string {
  const mark = marks.get(secret) ?? hash("sha256", secret).slice(0, 12);
  marks.set(secret, mark);
  return mark;
}

/** What identifies a login: the token that renews it. */
function secretOf(credential: Credential): string {
  if (credential.type === "api_key") return credential.key.reveal();
  return (credential.type === "token" ? credential.token : credential.refresh).reveal();
}

function plain(profile: AuthProfile, apiKey: string): Found {
  Secret.remember(apiKey);
  return { profile, mark: markOf(apiKey), open: async (pi) => ({ apiKey, pi }) };
}

const keyed = (id: string, provider: string, key: Secret | string): Found =>
  plain({ id, provider, mode: "api_key" }, key instanceof Secret ? key.reveal() : key);

/** A key that is not stored, such as the demo's. */
export const keyless = (provider: string, apiKey: string): Found =>
  plain({ id: `${provider}:none`, provider, mode: "none" }, apiKey);

export const isOnThisMachine = (baseUrl: string): boolean => /^https?:\/\/(127\.|localhost\b|\[::1\])/.test(baseUrl);
