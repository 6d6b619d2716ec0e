import type { Compacted } from "./compact.ts";

type Uncompacted = Extract<Compacted, { kind: "nothing" }>;

/** Only these are failures: where there is nothing to sum up, or another model is to do it, none was tried. */
const FAILED: Readonly<Partial<Record<Uncompacted["because"], string>>> = {
  no_gain: "the conversation could not be compacted: its summary would not have been shorter",
  no_model: "the conversation could not be compacted: no model is there to write the summary",
  no_engine: "the conversation could not be compacted: its context engine is not there",
};

/** Why a compaction failed, for the operator; undefined when there was none to fail. */
export function failedBecause({ because, reason }: Uncompacted): string | undefined {
  if (reason !== undefined) return `the context engine compacted nothing: ${reason}`;
  return FAILED[because];
}
