import type { ContextEngineRuntimeContext, PromptCacheFacts } from "../../types/engine/context-engine.ts";
import type { ModelInfo, Usage } from "../../types/run/model.ts";
import { withSignal } from "../../plugins/api/with-signal.ts";
import type { EngineJob, EnginePorts } from "./options.ts";

/** The name of the harness that engines get. With it they use the host's token counts as their own. */
const EXECUTION_HOST = "openclaw-embedded";
export const RUNTIME_SETTINGS = { executionHost: { id: EXECUTION_HOST } };

/** The facts of a call in addition to the session. */
export interface EngineCallFacts {
  readonly model?: ModelInfo | undefined;
  readonly authProfile?: string | undefined;
  readonly tokenBudget?: number | undefined;
  readonly currentTokenCount?: number | undefined;
  readonly lastCallUsage?: Usage | undefined;
  readonly observation?: PromptCacheFacts["observation"];
  /** The reason of the call: `manual`, `overflow`, … */
  readonly trigger?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The call may take long. */
  readonly isDeferred?: boolean;
}

export function runtimeContext(
  { session }: Pick<EngineJob, "session">,
  { services, clock }: Pick<EnginePorts, "services" | "clock">,
  call: EngineCallFacts,
): ContextEngineRuntimeContext {
  const { model, authProfile, tokenBudget, currentTokenCount, lastCallUsage, trigger, signal } = call;
  const usage = lastCallUsage && usageFacts(lastCallUsage);
  const rewrite = services.rewriteTranscriptEntries;
  return {
    ...services.facts,
    cwd: session.workspace,
    workspaceDir: session.workspace,
    agentHarnessId: EXECUTION_HOST,
    sessionKey: session.sessionKey,
    agentId: session.agentId,
    ...(model && { provider: model.provider, model: model.id }),
    ...(authProfile !== undefined && { authProfileId: authProfile }),
    ...(tokenBudget !== undefined && { tokenBudget }),
    ...(currentTokenCount !== undefined && { currentTokenCount }),
    ...(trigger !== undefined && { trigger }),
    ...(call.isDeferred === true && { allowDeferredCompactionExecution: true }),
    ...(signal && { abortSignal: signal }),
    ...(usage && { usage, promptCache: cacheFacts(usage, call.observation, clock.now()) }),
    llm: {
      complete: (request) =>
        services.complete(signal ? { ...request, signal: withSignal(signal, request.signal) } : request),
    },
    ...(rewrite && { rewriteTranscriptEntries: rewrite }),
  };
}

type UsageFacts = NonNullable<PromptCacheFacts["lastCallUsage"]>;

function usageFacts({ input, output, cacheRead, cacheWrite, totalTokens }: Usage): UsageFacts {
  return { input, output, cacheRead, cacheWrite, total: totalTokens };
}

/** Milliseconds for which providers cache a prompt by default. */
const SHORT_RETENTION_MS = 5 * 60_000;

function cacheFacts(
  lastCallUsage: UsageFacts,
  observation: PromptCacheFacts["observation"],
  now: number,
): PromptCacheFacts {
  const seen = observation && { observation };
  if (lastCallUsage.cacheRead === 0 && lastCallUsage.cacheWrite === 0)
    return { retention: "none", lastCallUsage, ...seen };
  return {
    retention: "short",
    lastCallUsage,
    ...seen,
    lastCacheTouchAt: now,
    expiresAt: now + SHORT_RETENTION_MS,
  };
}
