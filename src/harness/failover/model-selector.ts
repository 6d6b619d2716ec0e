import type { ModelHandle, Models } from "../../providers/catalog.ts";
import type { ProfileTurn, ProfileWish } from "../../types/auth.ts";
import type { ModelRef } from "../../types/run/model.ts";
import { modelName } from "../../types/run/model.ts";
import type { Failure, Skipped } from "../../types/run/run.ts";
import type { Chances, PolicyState } from "./policy.ts";

type Place = Pick<PolicyState, "candidate" | "profile">;

/** A model with a key, or why none can be asked. */
export type Selection = { readonly handle: ModelHandle; readonly place: Place } | { readonly failure: Failure };

interface Step {
  readonly ref: ModelRef;
  readonly turns: readonly ProfileTurn[];
}

interface Insisted {
  readonly candidate: number;
  readonly profileId: string;
}

/**
 * The models of a run with their keys, in the order in which they are tried. A key in its cooldown is skipped. When all
 * keys are in a cooldown, the run asks the key whose cooldown ends first: the user's message is worth one call.
 */
export class ModelSelector {
  readonly skipped: Skipped[] = [];
  readonly #candidates: readonly ModelRef[];
  readonly #models: Models;
  readonly #wish: ProfileWish;
  readonly #steps = new Map<number, Promise<Step>>();
  /** Keys whose probe this run holds, whether or not it asks them. */
  readonly #probes: { readonly ref: ModelRef; readonly profileId: string }[] = [];
  #insists: Insisted | undefined;
  #asked: { readonly ref: ModelRef; readonly profileId: string } | undefined;

  constructor(candidates: readonly ModelRef[], models: Models, wish: ProfileWish) {
    this.#candidates = candidates;
    this.#models = models;
    this.#wish = wish;
  }

  /** The model and key at this place, or the next one that may be asked. */
  async at(place: Place): Promise<Selection> {
    this.#releaseProbe();
    if (place.profile === MANY && this.#insists) return this.#again(this.#insists);
    let failure: Failure = { kind: "model_missing", message: "No model is configured." };
    for (let candidate = place.candidate; candidate < this.#candidates.length; candidate += 1) {
      const from = candidate === place.candidate ? place.profile : 0;
      const found = await this.#from(candidate, from);
      if ("handle" in found) return found;
      failure = found.failure;
    }
    return (await this.#insist(place)) ?? { failure };
  }

  /** The models and keys that the policy may still try from this place. */
  async chances(place: Place, { kind }: Failure): Promise<Chances> {
    const step = await this.#step(place.candidate);
    const { keys } = this.#models;
    const profiles = usable(step?.turns ?? []).length;
    return {
      candidates: this.#candidates.length,
      profiles,
      rotations: keys.rotations(kind),
      backoffMs: keys.backoffMs(kind),
    };
  }

  succeeded(): void {
    if (this.#asked) this.#models.keys.succeeded(this.#asked.ref, this.#asked.profileId);
  }

  failed(failure: Failure): void {
    if (this.#asked) this.#models.keys.failed(this.#asked.ref, this.#asked.profileId, failure);
  }

  /** Releases an unused probe so that another run can take it. */
  #releaseProbe(): void {
    if (this.#asked) this.#models.keys.released(this.#asked.ref, this.#asked.profileId);
    this.#asked = undefined;
  }

  /** Called when the run is over. */
  close(): void {
    this.#releaseProbe();
    for (const { ref, profileId } of this.#probes.splice(0)) this.#models.keys.released(ref, profileId);
  }

  async #from(candidate: number, from: number): Promise<Selection> {
    const step = await this.#step(candidate);
    if (!step) return { failure: { kind: "model_missing", message: "No model is configured." } };
    if (step.turns.length === 0) return this.#open(step.ref, { candidate, profile: 0 });
    const turns = usable(step.turns);
    let failure: Failure = { kind: "auth", message: cooldownText(step) };
    for (let profile = from; profile < turns.length; profile += 1) {
      const found = await this.#open(step.ref, { candidate, profile }, turns[profile]?.profile.id);
      if ("handle" in found) return found;
      failure = found.failure;
    }
    return { failure };
  }

  async #open(ref: ModelRef, place: Place, profileId?: string): Promise<Selection> {
    const handle = await this.#models.find(ref, profileId);
    if ("missing" in handle) {
      this.#skip({ model: ref, ...(profileId !== undefined && { profile: profileId }), why: handle.missing });
      return { failure: { kind: handle.because ?? "auth", message: handle.missing } };
    }
    this.#asked = { ref, profileId: handle.profile.id };
    return { handle, place };
  }

  /** The key whose cooldown ends first. Called when every key that is left is in a cooldown. */
  async #insist(place: Place): Promise<Selection | undefined> {
    if (this.#insists) return undefined;
    const resting = await this.#resting(place.candidate);
    const [first] = resting.toSorted((a, b) => a.until - b.until);
    if (!first) return undefined;
    this.#insists = first;
    return this.#again(first);
  }

  async #again({ candidate, profileId }: Insisted): Promise<Selection> {
    const ref = this.#candidates[candidate] ?? { provider: "none", id: "none" };
    return this.#open(ref, { candidate, profile: MANY }, profileId);
  }

  async #resting(from: number) {
    const found: { candidate: number; profileId: string; until: number }[] = [];
    for (let candidate = from; candidate < this.#candidates.length; candidate += 1) {
      for (const { profile, state } of (await this.#step(candidate))?.turns ?? [])
        if (state.kind === "cooling") found.push({ candidate, profileId: profile.id, until: state.until });
    }
    return found;
  }

  #step(candidate: number): Promise<Step> | undefined {
    const ref = this.#candidates[candidate];
    if (!ref) return undefined;
    const known = this.#steps.get(candidate);
    if (known) return known;
    const step = this.#models.keys.order(ref, this.#wish).then((turns) => this.#note({ ref, turns }));
    this.#steps.set(candidate, step);
    return step;
  }

  #note(step: Step): Step {
    for (const { profile, state } of step.turns) {
      if (state.kind === "probe") this.#probes.push({ ref: step.ref, profileId: profile.id });
      if (state.kind !== "cooling") continue;
      const until = new Date(state.until).toISOString();
      this.#skip({ model: step.ref, profile: profile.id, why: `cooldown until ${until} after ${state.because}` });
    }
    return step;
  }

  #skip(one: Skipped): void {
    this.skipped.push(one);
  }
}

/** A place after every key of a candidate. */
const MANY = 1000;

const usable = (turns: readonly ProfileTurn[]): readonly ProfileTurn[] =>
  turns.filter(({ state }) => state.kind !== "cooling");

const cooldownText = ({ ref }: Step): string => `Every key for ${modelName(ref)} has a cooldown after failures.`;
