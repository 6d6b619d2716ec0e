import type { Compacted } from "./compact.ts";

type Uncompacted = Extract<Compacted, { kind: "nothing" }>;

/**
 * The results that are failures. With nothing to summarise, or when another model is to write the summary, no
 * compaction was tried.
 */
const FAILED: Readonly<Partial<Record<Uncompacted["because"], string>>> = {
  no_gain: "the conversation could not be compacted: its summary would not have been shorter",
  no_model: "the conversation could not be compacted: no model is available to write the summary",
  no_engine: "the conversation could not be compacted: its context engine is not available",
};

/** Why a compaction failed, for the operator; undefined when none was tried. */
export function failedBecause({ because, reason }: Uncompacted): string | undefined {
  if (reason !== undefined) return `the context engine compacted nothing: ${reason}`;
  return FAILED[because];
}
