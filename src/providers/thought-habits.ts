import { modelName } from "../types/run/model.ts";
import { forgetOldest } from "../utils/forget-oldest.ts";
import { catalogueOf } from "./build.ts";
import type { PiModel } from "./pi.ts";

/** Models that are remembered. */
const MOST = 200;
/** Parts of the names of open models that begin each answer in a thought without writing the tag that begins one. */
const THINKERS = /think|reason|deepseek|qwen-?3|glm-?[45]|minimax-?m|nemotron|(?<![a-z\d])(?:r1|qwq|z1)(?![a-z\d])/i;

/** How a model writes its thoughts, as far as that is known. */
export interface ThoughtHabit {
  /**
   * Whether the text of the model's next message may turn out to be a thought that only a tag ends: the model has
   * written such a thought, or it has written nothing yet and nobody separates its thoughts from its text.
   */
  readonly mayEndUnbegun: boolean;
  /** Called with each whole text of the model: whether a tag in it has ended a thought that none had begun. */
  saw(endedUnbegun: boolean): void;
}

/** The habits of the models that this process has asked. */
export class ThoughtHabits {
  readonly #known = new Map<string, ThoughtHabit>();

  async of(pi: PiModel): Promise<ThoughtHabit> {
    const name = modelName(pi);
    const known = this.#known.get(name);
    if (known) return known;
    const habit = new SeenHabit(isThinker(pi) && !(await isCatalogued(pi)));
    this.#known.set(name, habit);
    forgetOldest(this.#known, MOST);
    return habit;
  }
}

class SeenHabit implements ThoughtHabit {
  #isSuspect: boolean;
  #didSo = false;

  constructor(isSuspect: boolean) {
    this.#isSuspect = isSuspect;
  }

  get mayEndUnbegun(): boolean {
    return this.#didSo || this.#isSuspect;
  }

  saw(endedUnbegun: boolean): void {
    this.#didSo ||= endedUnbegun;
    this.#isSuspect = false;
  }
}

const isThinker = ({ api, id, reasoning }: Pick<PiModel, "api" | "id" | "reasoning">): boolean =>
  api === "openai-completions" && (reasoning || THINKERS.test(id));

/** A provider of the SDK's catalogue sends thoughts in a field of their own. Other servers may have no parser for them. */
const isCatalogued = async ({ provider, baseUrl }: Pick<PiModel, "provider" | "baseUrl">): Promise<boolean> =>
  (await catalogueOf(provider)).some((model) => model.baseUrl === baseUrl);
