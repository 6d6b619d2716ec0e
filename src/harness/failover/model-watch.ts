import type { ModelRef } from "../../types/run/model.ts";
import { isSameModel, modelName } from "../../types/run/model.ts";
import type { FailureKind, Skipped } from "../../types/run/run.ts";
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
  /** The model that answered before this run. */
  #before: ModelRef | undefined;
  #now: ModelRef | undefined;
  /** Why each model of this run did not answer, by the model's name. */
  readonly #failures = new Map<string, FailureKind>();

  /** `askedBefore`: the first candidate of the previous run. */
  constructor(conversation: Conversation, askedBefore: ModelRef | undefined) {
    this.#conversation = conversation;
    this.#askedBefore = askedBefore;
  }

  /**
   * Called when a model is about to be asked. `last`: the model whose answer is the newest that the asked model is
   * shown. Rejects when the transcript cannot be written.
   */
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
   * The notice for the user: another model answered than the requested one, or the requested one is back. Undefined
   * while nothing changes, and for the user's own choice. `skipped`: the models that were not asked, and why.
   */
  change(candidates: readonly ModelRef[], skipped: readonly Skipped[]): ModelChange | undefined {
    const [wanted, ...others] = candidates;
    const to = this.#now;
    if (!wanted || !to) return undefined;
    return isSameModel(to, wanted) ? this.#return(to, others) : this.#standIn(wanted, to, skipped);
  }

  #return(to: ModelRef, others: readonly ModelRef[]): ModelChange | undefined {
    const before = this.#before;
    if (!before || isSameModel(before, to)) return undefined;
    if (this.#askedBefore && isSameModel(this.#askedBefore, before)) return undefined;
    const cameBack = others.some((other) => isSameModel(other, before));
    return cameBack ? { from: before, to, text: `↩️ Answered by ${modelName(to)} again.` } : undefined;
  }

  #standIn(wanted: ModelRef, to: ModelRef, skipped: readonly Skipped[]): ModelChange | undefined {
    // The model that answers all other messages is a stand-in too for one that was chosen just now.
    const isNewlyWanted = this.#askedBefore !== undefined && !isSameModel(this.#askedBefore, wanted);
    if (this.#before && isSameModel(this.#before, to) && !isNewlyWanted) return undefined;
    const failure = this.#failures.get(modelName(wanted));
    const why = failure === undefined ? whyNotAsked(wanted, skipped) : (WHY[failure] ?? "it failed");
    return { from: wanted, to, text: `↪️ Answered by ${modelName(to)} in place of ${modelName(wanted)}: ${why}.` };
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

function whyNotAsked(wanted: ModelRef, skipped: readonly Skipped[]): string {
  const isResting = skipped.some(({ model, why }) => isSameModel(model, wanted) && why.startsWith("cooldown "));
  return isResting ? "it has a cooldown after failures" : "it is not set up here";
}
