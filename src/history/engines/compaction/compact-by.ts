import type { CompactParams, ContextEngine } from "../../../types/engine/context-engine.ts";
import type { EngineCompacted, EngineCompaction } from "../../../types/engine/engine-turn.ts";
import { isFields } from "../../../utils/fields.ts";
import { unmetBy } from "../open-engine.ts";
import type { EngineCallFacts } from "../runtime-context.ts";

type Setting = Pick<
  CompactParams,
  "sessionId" | "sessionKey" | "sessionFile" | "runtimeContext" | "runtimeSettings" | "abortSignal"
>;

/** The word of the engines' interface for each reason. */
const ASKED: Readonly<Record<EngineCompaction["why"], Partial<CompactParams> & { readonly trigger: string }>> = {
  asked: { trigger: "manual", force: true, forceReason: "manual", compactionTarget: "threshold" },
  overflow: { trigger: "overflow", force: true, compactionTarget: "budget" },
};

/** Lets an engine compact. Rejects as the engine does. An answer that cannot be used counts as `nothing`. */
export async function compactBy(
  engine: ContextEngine,
  job: EngineCompaction,
  settingOf: (facts: EngineCallFacts) => Setting,
): Promise<EngineCompacted> {
  const unmet = job.why === "asked" ? unmetBy(engine.info.hostRequirements?.["manual-compact"]) : undefined;
  if (unmet !== undefined) return { kind: "nothing", reason: unmet };
  const { trigger, ...asked } = ASKED[job.why];
  const { tokenBudget, currentTokenCount, instructions, model, authProfile } = job;
  const setting = settingOf({ trigger, tokenBudget, currentTokenCount, model, authProfile });
  const { runtimeContext, ...session } = setting;
  const answer: unknown = await engine.compact({
    ...session,
    ...asked,
    tokenBudget,
    ...(currentTokenCount !== undefined && { currentTokenCount }),
    ...(instructions !== undefined && { customInstructions: instructions }),
    runtimeContext: {
      ...runtimeContext,
      ...(asked.forceReason && { forceReason: asked.forceReason }),
      ...(job.why === "asked" && { manualCompaction: true }),
    },
  });
  return readCompacted(answer);
}

function readCompacted(answer: unknown): EngineCompacted {
  if (!isFields(answer)) return { kind: "nothing", reason: "the engine's answer is no object" };
  const { ok, compacted, reason, result } = answer;
  const why = typeof reason === "string" && reason !== "" ? reason : "the engine gave no reason";
  if (ok !== true || compacted !== true) return { kind: "nothing", reason: why };
  const { tokensBefore, tokensAfter } = isFields(result) ? result : {};
  const before = countOf(tokensBefore);
  const after = countOf(tokensAfter);
  if (before !== undefined && after !== undefined && after >= before)
    return { kind: "nothing", reason: "the conversation is not smaller than before" };
  return {
    kind: "done",
    ...(before !== undefined && { tokensBefore: before }),
    ...(after !== undefined && { tokensAfter: after }),
  };
}

const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
