import type { OAuthCredentials, OAuthLoginCallbacks, OAuthProviderInterface } from "@mariozechner/pi-ai/oauth";
import type { Clock } from "../../types/clock.ts";
import { Secret } from "../../types/secret.ts";
import type { LoginCredential } from "./credential.ts";
import { ownerNames } from "./credential.ts";
import type { Credentials } from "./credentials.ts";
import type { PiModel } from "../pi.ts";

/** A login is renewed when less than this is left, so that no token expires during a call. */
const MARGIN_MS = 60_000;

/** Why there is no key: the provider refused the login, or its server was not reached. Contains no secret. */
export interface NoKey {
  readonly missing: string;
  readonly because: "auth" | "network";
}

/** Questions and messages for the person who logs in. */
export type ProviderLoginTalk = OAuthLoginCallbacks;

/** Providers that can be logged in to. */
export async function loginNames(): Promise<readonly string[]> {
  const { getOAuthProviders } = await import("@mariozechner/pi-ai/oauth");
  return getOAuthProviders().map(({ id }) => id);
}

/** The SDK's side of a login; undefined for a provider without one. */
export async function oauthProvider(provider: string): Promise<OAuthProviderInterface | undefined> {
  const { getOAuthProvider } = await import("@mariozechner/pi-ai/oauth");
  return getOAuthProvider(provider);
}

/**
 * The login, renewed when it is about to expire. Only one process at a time renews a profile; the others wait for its result.
 * The new token is written before anyone uses it, because the old refresh token is then invalid.
 */
export async function freshLogin(
  id: string,
  login: LoginCredential,
  { credentials, clock }: { readonly credentials: Credentials; readonly clock: Pick<Clock, "now"> },
): Promise<LoginCredential | NoKey> {
  const isFresh = (found: LoginCredential) => found.expires - MARGIN_MS > clock.now();
  if (isFresh(login)) return login;
  const sdk = await oauthProvider(login.provider);
  if (!sdk) return { missing: `Logins of "${login.provider}" cannot be renewed here.`, because: "auth" };
  return credentials.alone(id, async () => {
    const now = (await credentials.read()).profiles.get(id);
    if (now?.type !== "oauth") return gone(id);
    if (isFresh(now)) return now;
    // Checked before the renewal: on a full disk the new token would be lost, and the old one would already be invalid.
    await credentials.put(id, now);
    const renewed = await renew(id, now, sdk);
    if ("missing" in renewed) return renewed;
    const kept = await credentials.renew(id, now, renewed);
    return kept?.type === "oauth" ? kept : gone(id);
  });
}

const gone = (id: string): NoKey => ({ missing: `The login "${id}" is gone.`, because: "auth" });

async function renew(
  id: string,
  login: LoginCredential,
  sdk: OAuthProviderInterface,
): Promise<LoginCredential | NoKey> {
  try {
    return loginCredentialOf(login, await sdk.refreshToken(toSdk(login)));
  } catch (error) {
    return refusal(id, login.provider, error);
  }
}

/** The SDK's message contains the whole answer, with tokens. Only the status is read from it. */
function refusal(id: string, provider: string, error: unknown): NoKey {
  const text = error instanceof Error ? error.message : "";
  const status = /\b(?:status[=: ]+|failed: |^)?([45]\d\d)\b/.exec(text)?.[1];
  const again = `run: openclaw models auth login --provider ${provider}`;
  if (status?.startsWith("4") === true && status !== "429")
    return { missing: `The login "${id}" was not renewed (HTTP ${status}); ${again}.`, because: "auth" };
  const why = status === undefined ? "no usable answer" : `HTTP ${status}`;
  return { missing: `The login "${id}" could not be renewed just now (${why}).`, because: "network" };
}

const toSdk = ({ access, refresh, expires, more }: LoginCredential): OAuthCredentials => ({
  ...more,
  access: access.reveal(),
  refresh: refresh.reveal(),
  expires,
});

/** A login as the SDK gave it, with the name of whose it is kept. */
export function loginCredentialOf(
  whose: Pick<LoginCredential, "provider" | "email" | "displayName">,
  { access, refresh, expires, ...more }: OAuthCredentials,
): LoginCredential {
  return {
    type: "oauth",
    provider: whose.provider,
    ...ownerNames(whose),
    access: new Secret(access),
    refresh: new Secret(refresh),
    expires,
    more,
  };
}

/** The key of a login, and the model at the address that belongs to this login. */
export async function loginKey(login: LoginCredential, pi: PiModel): Promise<{ apiKey: string; pi: PiModel }> {
  const sdk = await oauthProvider(login.provider);
  if (!sdk) return { apiKey: login.access.reveal(), pi };
  const credentials = toSdk(login);
  const [moved = pi] = sdk.modifyModels?.([pi], credentials) ?? [];
  const apiKey = sdk.getApiKey(credentials);
  Secret.remember(apiKey);
  return { apiKey, pi: moved };
}
