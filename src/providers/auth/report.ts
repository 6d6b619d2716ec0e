import type { AuthMode } from "../../types/auth.ts";
import type { AuthConfig } from "../config.ts";
import { type Credential, expiryOf, fitsMode, ownerNames } from "./credential.ts";
import type { StoredKeys } from "./credentials.ts";
import type { FoundProfile } from "./profiles.ts";
import type { Cooldowns, SavedCooldowns } from "./cooldowns.ts";
import { own } from "../../utils/own.ts";

/** A key as people see it, without its secret. Times in epoch milliseconds. */
export interface ProfileReport {
  readonly id: string;
  readonly provider: string;
  readonly mode: AuthMode;
  /** `expired` and `unusable` keys are never tried. */
  readonly status: "ok" | "expiring" | "expired" | "unusable";
  /** Why the profile is not `ok`. */
  readonly note?: string;
  readonly email?: string;
  readonly displayName?: string;
  readonly expiresAt?: number;
  /** Models at which the key is cooling down. */
  readonly rests: readonly { readonly model: string; readonly until: number; readonly because: string }[];
}

/** A token that expires within a day is reported. */
const SOON_MS = 24 * 3_600_000;

interface Facts {
  readonly stored: StoredKeys;
  readonly auth: AuthConfig;
  readonly rests: Pick<Cooldowns, "snapshot">;
  readonly now: number;
}

/** All keys of a provider: first the keys that are tried, in their order, then the others, each with the reason. */
export function reportProfiles(
  provider: string,
  usable: readonly Pick<FoundProfile, "profile" | "expires" | "coolsAs">[],
  facts: Facts,
): readonly ProfileReport[] {
  const saved = facts.rests.snapshot().rests;
  const tried = usable.map(({ profile, expires, coolsAs }) => ({
    ...profile,
    ...ageOf(profile.mode === "token" ? expires : undefined, facts.now),
    ...(expires !== undefined && { expiresAt: expires }),
    rests: restsOf(coolsAs, saved, facts.now),
  }));
  const ids = new Set(tried.map(({ id }) => id));
  const left = [...facts.stored.profiles].filter(([id, key]) => key.provider === provider && !ids.has(id));
  return [...tried, ...left.map(([id, credential]) => leftOut(id, credential, facts))];
}

function ageOf(expires: number | undefined, now: number): Pick<ProfileReport, "status" | "note"> {
  if (expires === undefined || expires - now > SOON_MS) return { status: "ok" };
  return { status: "expiring", note: "ends within a day" };
}

const restsOf = (name: string, rests: SavedCooldowns["rests"], now: number): ProfileReport["rests"] =>
  rests
    .filter(({ profile, until }) => profile === name && until > now)
    .map(({ provider, model, until, reason }) => ({ model: `${provider}/${model}`, until, because: reason }));

function leftOut(id: string, credential: Credential, facts: Facts): ProfileReport {
  const { provider, type } = credential;
  const expiresAt = expiryOf(credential);
  return {
    id,
    provider,
    mode: type,
    ...whyNot(id, credential, facts),
    ...ownerNames(credential),
    ...(expiresAt !== undefined && { expiresAt }),
    rests: [],
  };
}

function whyNot(
  id: string,
  credential: Credential,
  { auth, stored, now }: Omit<Facts, "rests">,
): Pick<ProfileReport, "status" | "note"> {
  const expires = expiryOf(credential);
  if (credential.type === "token" && expires !== undefined && expires <= now)
    return { status: "expired", note: "its time is over" };
  const declared = own(auth.profiles, id);
  if (declared && (declared.provider !== credential.provider || !fitsMode(credential, declared.mode)))
    return { status: "unusable", note: `auth.profiles says ${declared.provider}, ${declared.mode}` };
  const isOrdered = (own(auth.order, credential.provider) ?? own(stored.order, credential.provider)) !== undefined;
  return { status: "unusable", note: isOrdered ? "not in the order" : "nobody knows its provider" };
}
