import { z } from "zod";
import type { ProfileState } from "../../types/auth.ts";
import type { Clock } from "../../types/clock.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { FailureKind } from "../../types/run/run.ts";
import {
  isCooldownKind,
  cooldownLength,
  COOLDOWN_KINDS,
  type CooldownKind,
  type CooldownSettings,
} from "./cooldown-length.ts";

const HOUR = 3_600_000;
/** Milliseconds that a probe may take before another run may claim the next one: longer than nearly every first answer takes. */
const PROBE_LEASE_MS = 120_000;

/** A key at a model. A limit of one model says nothing about another. */
export interface ProfileModel {
  readonly profile: string;
  readonly model: ModelRef;
}

const cooldownShape = z.object({
  profile: z.string(),
  provider: z.string(),
  model: z.string(),
  reason: z.enum(COOLDOWN_KINDS),
  failures: z.int().min(1),
  from: z.number(),
  until: z.number(),
  forgetAt: z.number(),
});
type SavedCooldown = z.output<typeof cooldownShape>;

/** The state that survives a restart. Epoch milliseconds. */
export const savedShape = z.object({
  version: z.literal(1),
  used: z.record(z.string(), z.number()),
  rests: z.array(cooldownShape),
  /** Mark of the secret, by profile. */
  marks: z.record(z.string(), z.string()).optional(),
});
export type SavedCooldowns = z.output<typeof savedShape>;

/**
 * Keys that their providers refuse now, each with its model, as sentences for the operator. Only refusals that nothing
 * but a new key or money ends.
 */
export const refusedKeys = (saved: SavedCooldowns | undefined, now: number): readonly string[] =>
  (saved?.rests ?? [])
    .filter(({ reason, until }) => OF_THE_KEY.has(reason) && until > now)
    .map(
      ({ profile, provider, model, reason }) =>
        `The key "${profile}" was refused for ${provider}/${model} (${reason}); see openclaw models status --probe`,
    );

/** State of a key at a model. */
interface KeyState extends ProfileModel {
  cooldowns: SavedCooldown[];
  /** Epoch milliseconds until which a run may take for its probe. */
  lease?: number | undefined;
}

/**
 * The keys that are cooling down at models, and why. Cooldowns are kept by profile, model and reason, also for failures
 * that seem to concern the whole key: a plan that lacks one model, or a credit limit per model, gives the same error
 * text, and a call would be needed to learn the difference.
 */
export class Cooldowns {
  readonly #clock: Pick<Clock, "now">;
  readonly #states = new Map<string, KeyState>();
  readonly #used = new Map<string, number>();
  readonly #marks = new Map<string, string>();
  /** Called after each change. */
  onChange: () => void = () => undefined;

  constructor(clock: Pick<Clock, "now">, saved?: SavedCooldowns) {
    this.#clock = clock;
    for (const [id, at] of Object.entries(saved?.used ?? {})) this.#used.set(id, at);
    for (const [id, mark] of Object.entries(saved?.marks ?? {})) this.#marks.set(id, mark);
    for (const cooldown of saved?.rests ?? [])
      this.#open({
        profile: cooldown.profile,
        model: { provider: cooldown.provider, id: cooldown.model },
      }).cooldowns.push(cooldown);
  }

  /** The state of a key at a model, without claiming a probe. It is `probe` when the cooldown is over and no run has claimed one. */
  peek(pair: ProfileModel): ProfileState {
    const state = this.#states.get(nameOf(pair));
    return state ? this.#stateOf(state) : READY;
  }

  /** The state for a run that is about to ask. After `probe`, the key is cooling down for all other runs until this one reports. */
  claim(pair: ProfileModel): ProfileState {
    const state = this.peek(pair);
    if (state.kind === "probe") this.#open(pair).lease = this.#clock.now() + PROBE_LEASE_MS;
    return state;
  }

  succeeded(pair: ProfileModel): void {
    this.#states.delete(nameOf(pair));
    this.#use(pair.profile);
  }

  /** Records a failed call. One during a cooldown counts as a part of the failure that began it, so concurrent runs lengthen nothing. */
  failed(pair: ProfileModel, failure: { kind: FailureKind; retryAfterMs?: number }, settings: CooldownSettings): void {
    this.#use(pair.profile);
    const { kind, retryAfterMs } = failure;
    if (!isCooldownKind(kind)) return this.released(pair);
    const state = this.#open(pair);
    this.#settle(state);
    const before = state.cooldowns.find((cooldown) => cooldown.reason === kind);
    const isSame = before !== undefined && before.until > this.#clock.now();
    const failures = (before?.failures ?? 0) + (isSame ? 0 : 1);
    const cooldown = this.#cooldown(pair, { kind, failures, retryAfterMs }, settings);
    state.cooldowns = [
      ...state.cooldowns.filter((other) => other !== before),
      isSame ? longer(before, cooldown) : cooldown,
    ];
    state.lease = undefined;
    this.onChange();
  }

  #cooldown(
    { profile, model }: ProfileModel,
    { kind, failures, retryAfterMs }: { kind: CooldownKind; failures: number; retryAfterMs?: number | undefined },
    settings: CooldownSettings,
  ): SavedCooldown {
    const from = this.#clock.now();
    const until = from + cooldownLength({ kind, failures, provider: model.provider, retryAfterMs }, settings);
    const forgetAt = until + settings.failureWindowHours * HOUR;
    return { profile, provider: model.provider, model: model.id, reason: kind, failures, from, until, forgetAt };
  }

  /** Records the mark of a profile's secret. When the secret has changed, the failures of the old one are forgotten. */
  hasSecret(profile: string, mark: string): void {
    const before = this.#marks.get(profile);
    if (before === mark) return;
    this.#marks.set(profile, mark);
    if (before === undefined) return;
    for (const state of this.#states.values())
      if (state.profile === profile) state.cooldowns = state.cooldowns.filter(({ reason }) => !OF_THE_KEY.has(reason));
    this.onChange();
  }

  released(pair: ProfileModel): void {
    const state = this.#states.get(nameOf(pair));
    if (state) state.lease = undefined;
  }

  /** When a profile was last asked, epoch milliseconds; 0 for never. */
  usedAt(profile: string): number {
    return this.#used.get(profile) ?? 0;
  }

  snapshot(): SavedCooldowns {
    const states = [...this.#states.values()];
    for (const state of states) this.#settle(state);
    return {
      version: 1,
      used: Object.fromEntries(this.#used),
      rests: states.flatMap((state) => state.cooldowns),
      marks: Object.fromEntries(this.#marks),
    };
  }

  #use(profile: string): void {
    this.#used.set(profile, this.#clock.now());
    this.onChange();
  }

  #open(pair: ProfileModel): KeyState {
    const name = nameOf(pair);
    const found = this.#states.get(name) ?? { ...pair, cooldowns: [] };
    this.#states.set(name, found);
    return found;
  }

  #stateOf(state: KeyState): ProfileState {
    this.#settle(state);
    const now = this.#clock.now();
    const last = state.cooldowns.toSorted((a, b) => b.until - a.until)[0];
    if (!last) {
      this.#states.delete(nameOf(state));
      return READY;
    }
    if (last.until > now) return { kind: "cooling", until: last.until, because: last.reason };
    if (state.lease !== undefined && state.lease > now)
      return { kind: "cooling", until: state.lease, because: last.reason };
    return { kind: "probe" };
  }

  /**
   * Removes old cooldowns, and moves cooldowns that begin in the future to now, so that a clock that was set back
   * lengthens none.
   */
  #settle(state: KeyState): void {
    const now = this.#clock.now();
    state.cooldowns = state.cooldowns
      .filter((cooldown) => cooldown.forgetAt > now)
      .map((cooldown) => notAhead(cooldown, now));
    if (state.lease !== undefined && state.lease > now + PROBE_LEASE_MS) state.lease = now + PROBE_LEASE_MS;
  }
}

/** Reasons that end when the profile gets another secret. */
const OF_THE_KEY: ReadonlySet<CooldownKind> = new Set<CooldownKind>(["auth", "billing"]);

const READY: ProfileState = { kind: "ready" };

const nameOf = ({ profile, model }: ProfileModel): string => JSON.stringify([profile, model.provider, model.id]);

const longer = (one: SavedCooldown, other: SavedCooldown): SavedCooldown => (other.until > one.until ? other : one);

function notAhead(cooldown: SavedCooldown, now: number): SavedCooldown {
  const ahead = cooldown.from - now;
  if (ahead <= 0) return cooldown;
  return { ...cooldown, from: now, until: cooldown.until - ahead, forgetAt: cooldown.forgetAt - ahead };
}
