import { z } from "zod";
import type { AuthMode } from "../../types/auth.ts";
import { Secret } from "../../types/secret.ts";

interface Owner {
  readonly provider: string;
  readonly email?: string;
  readonly displayName?: string;
}

/** A secret of the credentials file. `expires` in epoch milliseconds. */
export type Credential = Owner &
  (
    | { readonly type: "api_key"; readonly key: Secret }
    | { readonly type: "token"; readonly token: Secret; readonly expires?: number }
    | {
        readonly type: "oauth";
        readonly access: Secret;
        readonly refresh: Secret;
        readonly expires: number;
        /** Further fields of the login, such as an account id. The next renewal needs these fields. */
        readonly more: Readonly<Record<string, unknown>>;
      }
  );

export type LoginCredential = Extract<Credential, { type: "oauth" }>;

const owner = {
  provider: z.string().min(1),
  email: z.string().optional(),
  displayName: z.string().optional(),
};
const text = z.string().min(1);

const shape = z.discriminatedUnion("type", [
  z.looseObject({ ...owner, type: z.literal("api_key"), key: text }),
  z.looseObject({ ...owner, type: z.literal("token"), token: text, expires: z.number().optional() }),
  z.looseObject({ ...owner, type: z.literal("oauth"), access: text, refresh: text, expires: z.number() }),
]);

/** Reads a profile of the file. Undefined when it cannot be used. */
export function readCredential(value: unknown): Credential | undefined {
  const found = shape.safeParse(value).data;
  if (!found) return undefined;
  const { provider } = found;
  const whose = { provider, ...ownerNames(found) };
  if (found.type === "api_key") return { ...whose, type: "api_key", key: new Secret(found.key) };
  if (found.type === "token") {
    const { token, expires } = found;
    return { ...whose, type: "token", token: new Secret(token), ...(expires !== undefined && { expires }) };
  }
  const { type, access, refresh, expires, provider: _p, email: _e, displayName: _d, ...more } = found;
  return { ...whose, type, access: new Secret(access), refresh: new Secret(refresh), expires, more };
}

/** Writes a profile for the file. Besides the model call, only this reveals the secret. */
export function writeCredential(credential: Credential): Record<string, unknown> {
  const { provider, type } = credential;
  const head = { type, provider, ...ownerNames(credential) };
  if (credential.type === "api_key") return { ...head, key: credential.key.reveal() };
  if (credential.type === "token") {
    const { token, expires } = credential;
    return { ...head, token: token.reveal(), ...(expires !== undefined && { expires }) };
  }
  const { access, refresh, expires, more } = credential;
  return { ...more, ...head, access: access.reveal(), refresh: refresh.reveal(), expires };
}

/** The person of the login, if known. */
export function ownerNames(owner: { readonly email?: string | undefined; readonly displayName?: string | undefined }) {
  const { email, displayName } = owner;
  return { ...(email !== undefined && { email }), ...(displayName !== undefined && { displayName }) };
}

/** When the secret expires, epoch milliseconds. Undefined when it does not expire without a person's doing. */
export const expiryOf = (credential: Credential): number | undefined =>
  credential.type === "api_key" ? undefined : credential.expires;

/** Whether a token has expired. A login is renewed, so it never has. */
export const isOver = (credential: Credential, now: number): boolean =>
  credential.type === "token" && credential.expires !== undefined && credential.expires <= now;

/** The modes of the config that fit each kind of secret. People call a pasted setup token by either name. */
export const fitsMode = (credential: Credential, mode: AuthMode): boolean =>
  mode === credential.type || (credential.type !== "api_key" && (mode === "oauth" || mode === "token"));
