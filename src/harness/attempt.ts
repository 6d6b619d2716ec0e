import type { Agent, AgentEvent } from "@mariozechner/pi-agent-core";
import { assemble, type Assembled } from "../history/assemble.ts";
import { canThink } from "../history/can-think.ts";
import { classifyFailure, withoutKey } from "../providers/failure.ts";
import type { ModelHandle } from "../providers/catalog.ts";
import { policyFor } from "../providers/quirks.ts";
import type { AssistantMessage, ThinkLevel } from "../types/model.ts";
import type { Failure } from "../types/run.ts";
import { fixedTokens, roomIn, windowOf } from "./budget.ts";
import { EventTranslator } from "./events.ts";
import type { RunLog } from "./log.ts";
import type { RunRequest } from "./request.ts";
import type { Steering } from "./steering.ts";
import { toAgentTool, type ToolSetting } from "./tools.ts";

/** What one attempt works with. */
export interface Attempt {
  readonly number: number;
  readonly handle: ModelHandle;
  readonly thinking: ThinkLevel;
  /** Part of the model's window that history may take: 1, and less after an overflow. */
  readonly share: number;
  readonly images: boolean;
  readonly signal: AbortSignal;
}

/** What all attempts of one run share. */
export interface RunParts {
  readonly log: RunLog;
  readonly setting: ToolSetting;
  readonly steering: Steering;
  /** Told what a model is about to be shown. */
  shown(what: Shown): void;
}

/** How full a model's window is before it is asked. */
export interface Shown {
  readonly handle: ModelHandle;
  /** Estimated, with all that stands around the conversation. */
  readonly tokens: number;
  /** The last entry of it. */
  readonly lastId: string | undefined;
  /** Older turns did not fit. */
  readonly isCut: boolean;
}

export type AttemptOutcome =
  | { readonly kind: "replied"; readonly stop: "stop" | "length" }
  | { readonly kind: "aborted" }
  | { readonly kind: "failed"; readonly failure: Failure };

/** After an abort a run ends within a second, whatever a tool or a socket does. */
const ABORT_GRACE_MS = 900;

/** One pass through the model-and-tool loop. What goes wrong is its outcome; throws only when the transcript cannot be written. */
export async function attempt(plan: Attempt, request: RunRequest, run: RunParts): Promise<AttemptOutcome> {
  const { log, steering } = run;
  const { Agent } = await import("@mariozechner/pi-agent-core");
  const { handle, signal } = plan;
  const systemPrompt = await request.systemPrompt(handle.info);
  const history = await historyFor(plan, request, run, systemPrompt);
  log.emit({
    type: "attempt_start",
    number: plan.number,
    model: { provider: handle.info.provider, id: handle.info.id },
    thinking: plan.thinking,
    window: windowOf(handle.info, request.settings),
    messages: history.messages.length,
    estimatedTokens: history.estimatedTokens,
  });
  const agent = new Agent({
    initialState: {
      systemPrompt,
      model: handle.pi,
      thinkingLevel: handle.info.reasoning && canThink(history.messages, policyFor(handle.pi)) ? plan.thinking : "off",
      tools: request.tools.map((tool) => toAgentTool(tool, run.setting)),
      messages: history.messages,
    },
    streamFn: (model, context, options) =>
      handle.stream(model, context, { ...options, apiKey: handle.apiKey, maxRetries: 0 }),
    sessionId: request.facts.sessionId,
    afterToolCall: async ({ result }) => ({ isError: hasError(result.details) }),
  });
  const translator = new EventTranslator(log, request.conversation, handle, steering);
  agent.subscribe(async (event: AgentEvent) => {
    await translator.take(event);
    // What cannot be written down must not go on being done.
    if (translator.broken !== undefined) agent.abort();
  });
  steering.connect((message) => agent.steer(message));
  await drive(agent, signal);
  return outcomeOf(agent, translator, plan);
}

/** What of the conversation fits. */
async function historyFor(
  plan: Attempt,
  request: RunRequest,
  { log, shown }: RunParts,
  systemPrompt: string,
): Promise<Assembled> {
  const { handle } = plan;
  const fixed = fixedTokens(systemPrompt, request.tools.length);
  const window = await request.conversation.window(historyBudget(plan, request, fixed));
  shown({
    handle,
    tokens: window.estimatedTokens + fixed,
    lastId: window.messages.at(-1)?.entryId,
    isCut: window.older,
  });
  const policy = policyFor(handle.pi);
  const history = assemble(window, {
    ...policy,
    images: plan.images && policy.images,
    earlierTurns: request.settings.dmHistoryLimit,
  });
  if (history.trimmed)
    log.emit({
      type: "notice",
      because: "window",
      text: "Older turns do not fit the model's window and were left out.",
    });
  return history;
}

function historyBudget({ handle, share }: Attempt, { settings }: RunRequest, fixed: number): number {
  const free = roomIn(windowOf(handle.info, settings), settings) - fixed;
  return Math.max(1000, Math.floor(free * share));
}

/** Runs the SDK's loop from the transcript's end; ends soon after an abort even when the loop does not. */
async function drive(agent: Agent, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const stubborn = Promise.withResolvers<void>();
  let giveUp: NodeJS.Timeout | undefined;
  const abort = () => {
    agent.abort();
    giveUp = setTimeout(stubborn.resolve, ABORT_GRACE_MS);
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([agent.continue(), stubborn.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
    clearTimeout(giveUp);
  }
}

function outcomeOf(agent: Agent, translator: EventTranslator, { handle, signal }: Attempt): AttemptOutcome {
  translator.close();
  if (signal.aborted) return { kind: "aborted" };
  if (translator.broken !== undefined) throw asError(translator.broken);
  const last = agent.state.messages.at(-1);
  if (!isAssistant(last)) return failed(agent.state.errorMessage ?? "", handle);
  if (last.stopReason === "error" || last.stopReason === "aborted") return failed(last.errorMessage ?? "", handle);
  return { kind: "replied", stop: last.stopReason === "length" ? "length" : "stop" };
}

const failed = (message: string, { apiKey }: ModelHandle): AttemptOutcome => ({
  kind: "failed",
  failure: classifyFailure(withoutKey(message, apiKey)),
});

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

function isAssistant(message: unknown): message is AssistantMessage {
  return typeof message === "object" && message !== null && "role" in message && message.role === "assistant";
}

function hasError(details: unknown): boolean {
  return typeof details === "object" && details !== null && "isError" in details && details.isError === true;
}
