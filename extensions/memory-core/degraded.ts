import type { JobAnswer } from "./job.ts";

interface Looked extends Pick<JobAnswer, "state"> {
  readonly vectors?: JobAnswer["vectors"] | undefined;
  /** See `MemorySearchSettings`. */
  readonly vectorsProblem?: string | undefined;
}

/** Why a search may have found less than there is, in one sentence; undefined when nothing is missing. */
export function degradedIn({ state, vectors, vectorsProblem }: Looked): string | undefined {
  const misconfigured = vectorsProblem && `only words are compared: ${vectorsProblem}`;
  const all = [state.degraded, misconfigured, vectors && withoutVectors(vectors)];
  const reasons = all.filter((reason) => reason !== undefined);
  return reasons.length === 0 ? undefined : reasons.join("; ");
}

function withoutVectors({ failed, isComplete, pending, model }: NonNullable<JobAnswer["vectors"]>): string | undefined {
  if (failed !== undefined) return `only words are compared, because ${model} gave no vectors: ${failed}`;
  if (!isComplete) return `only words are compared until ${pending} parts of notes have vectors of ${model}`;
  return pending > 0 ? `${pending} parts of notes have no vector yet` : undefined;
}
