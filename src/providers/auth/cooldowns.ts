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
/** Milliseconds that a probe may take before another run may try: longer than nearly every first answer. */
export const PROBE_LEASE_MS = 120_000;

/** A key at a model. A limit of one model says nothing about another. */
export interface ProfileModel {
  readonly profile: string;
  readonly model: ModelRef;
}

const restShape = z.object({
  profile: z.string(),
  provider: z.string(),
  model: z.string(),
  reason: z.enum(COOLDOWN_KINDS),
  failures: z.int().min(1),
  from: z.number(),
  until: z.number(),
  forgetAt: z.number(),
});
type SavedCooldown = z.output<typeof restShape>;

/** The state that survives a restart. Epoch milliseconds. */
export const savedShape = z.object({
  version: z.literal(1),
  used: z.record(z.string(), z.number()),
  rests: z.array(restShape),
  /** By profile, a mark of the secret that it had. */
  marks: z.record(z.string(), z.string()).optional(),
});
export type SavedCooldowns = z.output<typeof savedShape>;

interface Seat extends ProfileModel {
  rests: SavedCooldown[];
  /** Epoch milliseconds until which a probe is out. */
  lease?: number | undefined;
}

/**
 * Which keys are cooling down at which models, and why. Kept by (profile, model, reason), also for failures that concern the key as a
 * whole: a plan without one model, or one credit limit per model, answers with the same text, and finding out costs a call.
 */
export class Cooldowns {
  readonly #clock: Pick<Clock, "now">;
  readonly #seats = new Map<string, Seat>();
  readonly #used = new Map<string, number>();
  readonly #marks = new Map<string, string>();
  /** Called after each change. */
  onChange: () => void = () => undefined;

  constructor(clock: Pick<Clock, "now">, saved?: SavedCooldowns) {
    this.#clock = clock;
    for (const [id, at] of Object.entries(saved?.used ?? {})) this.#used.set(id, at);
    for (const [id, mark] of Object.entries(saved?.marks ?? {})) this.#marks.set(id, mark);
    for (const rest of saved?.rests ?? [])
      this.#seat({ profile: rest.profile, model: { provider: rest.provider, id: rest.model } }).rests.push(rest);
  }

  /** The state without claiming a probe: after the cooldown, a probe that no run has claimed yet. */
  look(spot: ProfileModel): ProfileState {
    const seat = this.#seats.get(nameOf(spot));
    return seat ? this.#stateOf(seat) : READY;
  }

  /** The same for a run that is about to ask: when it gets `probe`, everybody else sees the key resting until it reports. */
  claim(spot: ProfileModel): ProfileState {
    const state = this.look(spot);
    if (state.kind === "probe") this.#seat(spot).lease = this.#clock.now() + PROBE_LEASE_MS;
    return state;
  }

  succeeded(spot: ProfileModel): void {
    this.#seats.delete(nameOf(spot));
    this.#use(spot.profile);
  }

  /** A failure during a cooldown belongs to the incident that began it: concurrent runs do not lengthen it. */
  failed(spot: ProfileModel, failure: { kind: FailureKind; retryAfterMs?: number }, settings: CooldownSettings): void {
    this.#use(spot.profile);
    const { kind, retryAfterMs } = failure;
    if (!isCooldownKind(kind)) return this.released(spot);
    const seat = this.#seat(spot);
    this.#settle(seat);
    const before = seat.rests.find((rest) => rest.reason === kind);
    const isSame = before !== undefined && before.until > this.#clock.now();
    const failures = (before?.failures ?? 0) + (isSame ? 0 : 1);
    const rest = this.#rest(spot, { kind, failures, retryAfterMs }, settings);
    seat.rests = [...seat.rests.filter((other) => other !== before), isSame ? longer(before, rest) : rest];
    seat.lease = undefined;
    this.onChange();
  }

  #rest(
    { profile, model }: ProfileModel,
    { kind, failures, retryAfterMs }: { kind: CooldownKind; failures: number; retryAfterMs?: number | undefined },
    settings: CooldownSettings,
  ): SavedCooldown {
    const from = this.#clock.now();
    const until = from + cooldownLength({ kind, failures, provider: model.provider, retryAfterMs }, settings);
    const forgetAt = until + settings.failureWindowHours * HOUR;
    return { profile, provider: model.provider, model: model.id, reason: kind, failures, from, until, forgetAt };
  }

  /** Another secret under the same name is another key: the failures of the old one are forgotten. */
  hasSecret(profile: string, mark: string): void {
    const before = this.#marks.get(profile);
    if (before === mark) return;
    this.#marks.set(profile, mark);
    if (before === undefined) return;
    for (const seat of this.#seats.values())
      if (seat.profile === profile) seat.rests = seat.rests.filter(({ reason }) => !OF_THE_KEY.has(reason));
    this.onChange();
  }

  released(spot: ProfileModel): void {
    const seat = this.#seats.get(nameOf(spot));
    if (seat) seat.lease = undefined;
  }

  /** When a profile was last asked, epoch milliseconds; 0 for never. */
  usedAt(profile: string): number {
    return this.#used.get(profile) ?? 0;
  }

  snapshot(): SavedCooldowns {
    const seats = [...this.#seats.values()];
    for (const seat of seats) this.#settle(seat);
    return {
      version: 1,
      used: Object.fromEntries(this.#used),
      rests: seats.flatMap((seat) => seat.rests),
      marks: Object.fromEntries(this.#marks),
    };
  }

  #use(profile: string): void {
    this.#used.set(profile, this.#clock.now());
    this.onChange();
  }

  #seat(spot: ProfileModel): Seat {
    const name = nameOf(spot);
    const found = this.#seats.get(name) ?? { ...spot, rests: [] };
    this.#seats.set(name, found);
    return found;
  }

  #stateOf(seat: Seat): ProfileState {
    this.#settle(seat);
    const now = this.#clock.now();
    const last = seat.rests.toSorted((a, b) => b.until - a.until)[0];
    if (!last) {
      this.#seats.delete(nameOf(seat));
      return READY;
    }
    if (last.until > now) return { kind: "cooling", until: last.until, because: last.reason };
    if (seat.lease !== undefined && seat.lease > now)
      return { kind: "cooling", until: seat.lease, because: last.reason };
    return { kind: "probe" };
  }

  /** Forgets old cooldowns and moves those that begin in the future: a clock that was set back lengthens no cooldown. */
  #settle(seat: Seat): void {
    const now = this.#clock.now();
    seat.rests = seat.rests.filter((rest) => rest.forgetAt > now).map((rest) => notAhead(rest, now));
    if (seat.lease !== undefined && seat.lease > now + PROBE_LEASE_MS) seat.lease = now + PROBE_LEASE_MS;
  }
}

/** Reasons that another secret does away with. */
const OF_THE_KEY: ReadonlySet<CooldownKind> = new Set<CooldownKind>(["auth", "billing"]);

const READY: ProfileState = { kind: "ready" };

const nameOf = ({ profile, model }: ProfileModel): string => JSON.stringify([profile, model.provider, model.id]);

const longer = (one: SavedCooldown, other: SavedCooldown): SavedCooldown => (other.until > one.until ? other : one);

function notAhead(rest: SavedCooldown, now: number): SavedCooldown {
  const ahead = rest.from - now;
  if (ahead <= 0) return rest;
  return { ...rest, from: now, until: rest.until - ahead, forgetAt: rest.forgetAt - ahead };
}
