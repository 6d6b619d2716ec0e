import type { ModelRef } from "../../types/run/model.ts";
import { isSameModel, modelName } from "../../types/run/model.ts";
import type { FailureKind } from "../../types/run/run.ts";
import type { Conversation } from "../request.ts";

export interface ModelChange {
  readonly from: ModelRef;
  readonly to: ModelRef;
  /** One line for a person. */
  readonly text: string;
}

/** Follows which model answers in the conversation, and notes each change in the transcript. */
export class ModelWatch {
  readonly #conversation: Conversation;
  readonly #askedBefore: ModelRef | undefined;
  /** Who answered before this run. */
  #before: ModelRef | undefined;
  #now: ModelRef | undefined;
  /** Why each model of this run did not answer, by its name. */
  readonly #failures = new Map<string, FailureKind>();

  /** `askedBefore`: the first candidate of the previous run. */
  constructor(conversation: Conversation, askedBefore: ModelRef | undefined) {
    this.#conversation = conversation;
    this.#askedBefore = askedBefore;
  }

  /** A model is about to be asked; `last` is the one whose answer is the newest that it is shown. Throws when the transcript cannot be written. */
  async asks(model: ModelRef, last: ModelRef | undefined): Promise<void> {
    if (!this.#now) this.#before = last;
    const had = this.#now ?? last;
    this.#now = model;
    if (!had || isSameModel(had, model)) return;
    await this.#conversation.append({ type: "model_change", provider: model.provider, modelId: model.id });
  }

  failed(model: ModelRef, kind: FailureKind): void {
    this.#failures.set(modelName(model), kind);
  }

  /**
   * The notice for the user: another model answered than the requested one, or the requested one is back. Undefined while
   * nothing changes, and for the user's own choice.
   */
  change(candidates: readonly ModelRef[]): ModelChange | undefined {
    const [wanted, ...others] = candidates;
    const to = this.#now;
    if (!wanted || !to) return undefined;
    const before = this.#before;
    if (before && isSameModel(before, to)) return undefined;
    if (!isSameModel(to, wanted))
      return { from: wanted, to, text: standInText(wanted, to, this.#failures.get(modelName(wanted))) };
    if (!before || (this.#askedBefore && isSameModel(this.#askedBefore, before))) return undefined;
    const cameBack = others.some((other) => isSameModel(other, before));
    return cameBack ? { from: before, to, text: `↩️ Answered by ${modelName(to)} again.` } : undefined;
  }
}

const WHY: Readonly<Partial<Record<FailureKind, string>>> = {
  auth: "its key was refused",
  billing: "its account is out of credit",
  budget: "the budget does not allow it",
  rate_limit: "it is asked too often",
  overloaded: "it is overloaded",
  loading: "its server is still loading it",
  timeout: "it took too long",
  network: "it could not be reached",
  cut_off: "it broke off",
  model_missing: "it does not exist",
};

/** `because` is unset when the wanted model was not asked at all. */
function standInText(wanted: ModelRef, to: ModelRef, because: FailureKind | undefined): string {
  const why = because === undefined ? "it has a cooldown after failures" : (WHY[because] ?? "it failed");
  return `↪️ Answered by ${modelName(to)} in place of ${modelName(wanted)}: ${why}.`;
}
