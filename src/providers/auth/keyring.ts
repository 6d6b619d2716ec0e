import type { Keyring, ProfileTurn, ProfileWish } from "../../types/auth.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { CooldownSettings } from "./cooldown-length.ts";
import type { FoundProfile } from "./profiles.ts";
import type { Cooldowns, ProfileModel } from "./cooldowns.ts";

export interface KeyringSources {
  /** Profiles for a model in their default order; never rejects. */
  readonly profilesFor: (ref: ModelRef) => Promise<readonly FoundProfile[]>;
  readonly cooldowns: Cooldowns;
  readonly settings: CooldownSettings;
}

/**
 * Sorts keys: first the keys that may be asked, with the session's last one in front when it is ready; then the keys
 * that are cooling down, by the end of their cooldown. A pin applies only to keys of its own provider.
 */
export function createKeyring({ profilesFor, cooldowns, settings }: KeyringSources): Keyring {
  // Names of cooldowns by profile, from the last call of `order`.
  const names = new Map<string, string>();
  const pair = (ref: ModelRef, id: string) => pairOf(ref, names.get(id) ?? id);
  return {
    async order(ref, wish) {
      const found = await profilesFor(ref);
      const mine = allowed(found, ref, wish);
      for (const { profile, mark, coolsAs } of mine) {
        cooldowns.hasSecret(coolsAs, mark);
        names.set(profile.id, coolsAs);
      }
      const turns = mine.map(({ profile, coolsAs }): ProfileTurn => ({
        profile,
        state: cooldowns.claim(pairOf(ref, coolsAs)),
      }));
      return sorted(turns, wish.last);
    },
    rotations: (kind) => {
      if (kind === "overloaded") return settings.overloadedProfileRotations;
      return kind === "rate_limit" ? settings.rateLimitedProfileRotations : undefined;
    },
    backoffMs: (kind) => (kind === "overloaded" ? settings.overloadedBackoffMs : undefined),
    succeeded: (ref, id) => cooldowns.succeeded(pair(ref, id)),
    failed: (ref, id, failure) => cooldowns.failed(pair(ref, id), failure, settings),
    released: (ref, id) => cooldowns.released(pair(ref, id)),
  };
}

export const pairOf = (model: ModelRef, profile: string): ProfileModel => ({ profile, model });

function allowed(found: readonly FoundProfile[], ref: ModelRef, { pinned }: ProfileWish): readonly FoundProfile[] {
  if (pinned === undefined) return found;
  const own = found.filter(({ profile }) => profile.id === pinned);
  // When the pinned key is gone, no other key replaces it: the user must notice it and not pay with another key.
  return own.length > 0 || pinned.startsWith(`${ref.provider}:`) ? own : found;
}

function sorted(turns: readonly ProfileTurn[], last: string | undefined): readonly ProfileTurn[] {
  const open = turns.filter(({ state }) => state.kind !== "cooling");
  const first = open.filter(({ profile, state }) => profile.id === last && state.kind === "ready");
  const others = open.filter((turn) => !first.includes(turn));
  const resting = turns.filter(({ state }) => state.kind === "cooling");
  return [...first, ...others, ...resting.toSorted((a, b) => untilOf(a) - untilOf(b))];
}

const untilOf = ({ state }: ProfileTurn): number => (state.kind === "cooling" ? state.until : 0);
