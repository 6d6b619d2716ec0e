import type { ModelHandle, Models } from "../../providers/catalog.ts";
import type { FailureOfKey } from "../../types/auth.ts";
import type { NotAsked } from "../../types/media/side-call.ts";
import { modelName, type ModelRef } from "../../types/run/model.ts";

/** Why a model gave no answer. */
export interface UnansweredCall extends NotAsked {
  /** Set when the model was asked and failed. */
  readonly failure?: FailureOfKey;
}

interface Asking<Said> {
  readonly models: Models;
  readonly signal: AbortSignal;
  ask(handle: ModelHandle): Promise<Said | UnansweredCall>;
}

/** Asks the models in turn, each with its keys. Rejects with the failures of all models when none answers. */
export async function askInTurn<Said extends object>(refs: readonly ModelRef[], asking: Asking<Said>): Promise<Said> {
  const failures: string[] = [];
  for (const ref of refs) {
    const said = await askWithKeys(ref, asking);
    if (!isFailed(said)) return said;
    asking.signal.throwIfAborted();
    failures.push(`${modelName(ref)}: ${said.why}`);
  }
  throw new Error(failures.length === 0 ? "No model is configured that could be asked." : failures.join("\n"));
}

const isFailed = (said: object): said is UnansweredCall => "why" in said;

/** Asks one model with its keys. A failed key is in its cooldown, so `find` gives the next key. */
async function askWithKeys<Said extends object>(
  ref: ModelRef,
  { models, ask }: Asking<Said>,
): Promise<Said | UnansweredCall> {
  const tried = new Set<string>();
  let last: UnansweredCall | undefined;
  for (;;) {
    const handle = await models.find(ref);
    if ("missing" in handle) return last ?? { why: handle.missing };
    if (tried.has(handle.profile.id)) return last ?? { why: "it gave no answer" };
    tried.add(handle.profile.id);
    const said = await ask(handle);
    if (!isFailed(said)) {
      models.keys.succeeded(handle.info, handle.profile.id);
      return said;
    }
    if (!said.failure) {
      models.keys.released(handle.info, handle.profile.id);
      return said;
    }
    models.keys.failed(handle.info, handle.profile.id, said.failure);
    last = said;
  }
}
