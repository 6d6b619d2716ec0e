import { estimateAll } from "../../sessions/transcript/tokens.ts";
import type { ContextEngine } from "../../types/engine/context-engine.ts";
import { LEGACY } from "./open-engine.ts";
import type { RuntimeCompact } from "./compaction/compaction-desk.ts";

/** What `BuiltInTurn` does in runs, in the shape of an engine: for whoever wants one under this name. */
export function legacyEngine(compact: RuntimeCompact): ContextEngine {
  return {
    info: { id: LEGACY, name: "Built in", ownsCompaction: false },
    ingest: async () => ({ ingested: false }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: estimateAll(messages) }),
    afterTurn: async () => undefined,
    compact,
  };
}
