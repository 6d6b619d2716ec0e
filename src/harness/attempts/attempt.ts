import type { Agent, AgentEvent, AgentMessage } from "@mariozechner/pi-agent-core";
import { canThink } from "../../history/can-think.ts";
import { callModel, type CallFacts } from "../../providers/call.ts";
import { classifyFailure } from "../../providers/failure.ts";
import { loadPi, type PiContext } from "../../providers/pi.ts";
import {
  type AssistantMessage,
  type ChatMessage,
  type ThinkLevel,
  modelName,
  type ModelRef,
} from "../../types/run/model.ts";
import { callOriginOf } from "../../types/run/model-meter.ts";
import type { Failure } from "../../types/run/run.ts";
import { resultCharsOf, windowOf } from "../context/budget.ts";
import { ModelContext, type AttemptOpening } from "../context/context.ts";
import { EventTranslator } from "./events.ts";
import type { LoopFound, LoopGuard } from "../tools/loops/guard.ts";
import { ToolLoopWatch } from "../tools/loops/watch.ts";
import { ModelHooks } from "./model-hooks.ts";
import type { Attempt, RunParts } from "../run/plan.ts";
import type { SentRequest } from "../failover/refused.ts";
import type { RunRequest } from "../request.ts";
import { toAgentTool } from "../tools/tools.ts";
import type { AnswerWish } from "../../types/chat/client-ask.ts";
import { defined } from "../../utils/defined.ts";
import { isFields } from "../../utils/fields.ts";
import { beganInThought, isUnanswered } from "../run/unanswered.ts";
import type { AgentSettings, ModelParams } from "../../types/settings.ts";
import { loadOnce } from "../../utils/share-calls.ts";

export type AttemptOutcome =
  | { readonly kind: "replied"; readonly stop: "stop" | "length" }
  | { readonly kind: "aborted" }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      /** The part of the answer that came before the failure. */
      readonly broken?: AssistantMessage | undefined;
      /** The request that failed; undefined when none was made. */
      readonly sent?: SentRequest | undefined;
      /** Set when the request was not sent, because the same request was refused before or this one cannot fit. */
      readonly isUnsent?: true;
    };

/** Milliseconds that the loop has after an abort: a run ends within a second, whatever a tool or a socket does. */
const ABORT_GRACE_MS = 900;
/** Milliseconds of silence after which a model has stalled. */
const IDLE_MS = 120_000;

/**
 * One pass through the model-and-tool loop. Failures are outcomes; throws only when the transcript cannot be written.
 */
export async function attempt(given: Attempt, asked: RunRequest, run: RunParts): Promise<AttemptOutcome> {
  const request = asked.toolsOn ? { ...asked, tools: asked.toolsOn(given.handle.info) } : asked;
  // The plan has the values as they are sent: two wishes may become the same request.
  const plan = { ...given, thinking: await thinkingOf(given), maxOutput: mostAnswered(given, request) };
  const context = new ModelContext(plan, request, run.context);
  const opening = await context.open();
  announce(plan, request, { run, opening });
  const facts: { last: CallFacts } = { last: {} };
  const loops = new ToolLoopWatch(run.guard, request.tools);
  const hooks = run.setting.hooks && new ModelHooks(run.setting.hooks, plan, request);
  const agent = await makeAgent(plan, request, { run, context, opening, facts, loops, hooks });
  context.follow(() => agent.state.messages.filter(isChat));
  const { log, steering } = run;
  const { handle } = plan;
  const translator = new EventTranslator({
    log,
    steering,
    handle,
    conversation: request.conversation,
    carried: plan.carried,
    beganInThought: beganInThought(opening.messages, handle.info),
    progressed: () => run.progressed(),
  });
  agent.subscribe(async (event: AgentEvent) => {
    const isLooping = loops.take(event);
    if (event.type === "message_end" && isAssistant(event.message)) hooks?.ended(event.message, facts.last);
    if (event.type === "tool_execution_end") noteRemoved(event.toolName, plan, request, run);
    await translator.take(event);
    // The loop must not continue when its events cannot be recorded, nor when it makes no progress.
    if (isLooping) translator.close();
    if (isLooping || translator.broken !== undefined) agent.abort();
  });
  steering.connect((message) => agent.steer(message));
  await drive(agent, plan.signal);
  hooks?.close();
  return outcomeOf(agent, { translator, plan, request, guard: run.guard, facts: facts.last, context });
}

/** Notes in the receipt why a tool that the model called was not offered to it. */
function noteRemoved(name: string, { handle }: Attempt, request: RunRequest, { log }: RunParts): void {
  if (request.tools.some((tool) => tool.name === name)) return;
  const removed = request.removed?.(name, handle.info);
  if (removed) log.account.removed(removed);
}

/** The model's level that is nearest to the requested level. */
async function thinkingOf({ handle, thinking }: Attempt): Promise<ThinkLevel> {
  if (!handle.info.reasoning) return "off";
  const { clampThinkingLevel } = await loadPi();
  return clampThinkingLevel(handle.pi, thinking);
}

interface Begin {
  readonly run: RunParts;
  readonly opening: AttemptOpening;
}

function announce(plan: Attempt, request: RunRequest, { run, opening }: Begin): void {
  const { thinking } = plan;
  const { info, profile } = plan.handle;
  run.log.emit({
    type: "attempt_start",
    number: plan.number,
    model: { provider: info.provider, id: info.id },
    profile: profile.id,
    thinking,
    window: windowOf(info, request.settings),
    messages: opening.messages.length,
    estimatedTokens: opening.estimatedTokens,
  });
}

interface Making extends Begin {
  readonly context: ModelContext;
  readonly facts: { last: CallFacts };
  readonly loops: ToolLoopWatch;
  readonly hooks: ModelHooks | undefined;
}

async function makeAgent(plan: Attempt, request: RunRequest, making: Making): Promise<Agent> {
  const { run, context, opening, facts, loops, hooks } = making;
  const { Agent } = await loadAgentSdk();
  const { handle } = plan;
  const setting = { ...run.setting, mostChars: resultCharsOf(handle.info, request.settings) };
  const handedOver = new Set(request.tools.flatMap((tool) => (tool.isClients ? [tool.name] : [])));
  return new Agent({
    initialState: {
      systemPrompt: opening.systemPrompt,
      model: handle.pi,
      thinkingLevel: plan.thinking,
      tools: request.tools.map((tool) => toAgentTool(tool, setting)),
      messages: opening.messages,
    },
    streamFn: (_model, shown, { reasoning, ...options } = {}) => {
      const asked = withSystem(shown, context.systemPrompt);
      hooks?.began(asked, opening.messages);
      return callModel(handle, asked, {
        ...options,
        // Anthropic refuses thinking while the last answer called tools without having thought.
        ...(reasoning && canThink(shown.messages, context.policy) && { reasoning }),
        ...answerOptions(plan, request),
        origin: callOriginOf(request.facts),
        idleMs: request.settings.idleTimeoutMs ?? IDLE_MS,
        onFacts: (seen) => (facts.last = seen),
      });
    },
    // The loop's messages are sent as the next run will send them: valid, and the same bytes for the provider's cache.
    transformContext: (messages) => context.send(messages.filter(isChat)),
    sessionId: request.facts.sessionId,
    beforeToolCall: async () => {
      const reason = loops.refusal();
      return reason === undefined ? undefined : { block: true, reason };
    },
    afterToolCall: async ({ assistantMessage, toolCall, result, isError }) => {
      loops.ran(toolCall.id);
      // The model is asked again when the client has made its calls.
      const ends = assistantMessage.content.some((part) => part.type === "toolCall" && handedOver.has(part.name));
      return { isError: isError || hasError(result.details), ...(ends && { terminate: true }) };
    },
  });
}

/** The parameters of the model's answers: as the client wishes, else as configured. */
function answerOptions({ handle, thinking, maxOutput }: Attempt, { settings, choice: { wish = {} } }: RunRequest) {
  const { temperature: configured, topP } = paramsFor(settings, handle.info);
  const wished = takesSampling(handle, thinking) ? samplingIn(wish) : {};
  const { temperature, ...sampling } = { ...defined({ temperature: configured, topP }), ...wished };
  const added = { ...sampling, ...defined({ calls: wish.calls }) };
  return {
    ...defined({ temperature, maxTokens: maxOutput }),
    ...(Object.keys(added).length > 0 && { added }),
  };
}

/** APIs of OpenAI's own models. */
const OPENAI_APIS: ReadonlySet<string> = new Set([
  "openai-responses",
  "azure-openai-responses",
  "openai-codex-responses",
]);

/**
 * Whether a model takes a client's wishes about sampling. Many clients send them with every request, and providers refuse
 * them for a model that thinks; OpenAI does for every model that can.
 */
const takesSampling = ({ info, pi }: Attempt["handle"], thinking: ThinkLevel): boolean =>
  !info.reasoning || (thinking === "off" && info.provider !== "openai" && !OPENAI_APIS.has(pi.api));

const samplingIn = ({ temperature, topP, stop, seed, frequencyPenalty, presencePenalty }: AnswerWish) =>
  defined({ temperature, topP, stop, seed, frequencyPenalty, presencePenalty });

function mostAnswered({ handle, maxOutput }: Attempt, { settings, choice: { wish } }: RunRequest): number | undefined {
  const wanted = wish?.maxTokens ?? paramsFor(settings, handle.info).maxTokens;
  return mostOutput(wanted, handle.info.maxTokens, maxOutput);
}

/**
 * The context with this system prompt, because an engine may add other text before it at each call; the same object
 * when the engine does not.
 */
const withSystem = (shown: PiContext, systemPrompt: string): PiContext =>
  (shown.systemPrompt ?? "") === systemPrompt ? shown : { ...shown, systemPrompt };

/** Runs the SDK's loop from the transcript's end; ends soon after an abort even when the loop does not. */
async function drive(agent: Agent, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const overdue = Promise.withResolvers<void>();
  let giveUp: NodeJS.Timeout | undefined;
  const abort = () => {
    agent.abort();
    giveUp = setTimeout(overdue.resolve, ABORT_GRACE_MS);
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([agent.continue(), overdue.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
    clearTimeout(giveUp);
  }
}

interface Ended {
  readonly translator: EventTranslator;
  readonly plan: Attempt;
  readonly request: RunRequest;
  readonly guard: LoopGuard;
  readonly facts: CallFacts;
  readonly context: ModelContext;
}

function outcomeOf(agent: Agent, { translator, plan, request, guard, facts, context }: Ended): AttemptOutcome {
  translator.close();
  if (plan.signal.aborted) return { kind: "aborted" };
  if (translator.broken !== undefined) throw asError(translator.broken);
  if (guard.stoppedBy !== undefined) return { kind: "failed", failure: loopFailure(guard.stoppedBy) };
  const { sent, unsent } = context;
  if (unsent) return { kind: "failed", failure: unsent, sent, isUnsent: true };
  const last = agent.state.messages.at(-1);
  const failed = (message: string, broken?: AssistantMessage): AttemptOutcome => ({
    kind: "failed",
    failure: classifyFailure(message, facts),
    broken,
    sent,
  });
  if (!isAssistant(last))
    return lastResults(agent.state.messages).some(endsTurn)
      ? { kind: "replied", stop: "stop" }
      : failed(agent.state.errorMessage ?? "");
  if (BROKEN.has(last.stopReason)) return failed(last.errorMessage ?? "", last);
  if (isUnanswered(agent.state.messages.filter(isChat), request))
    return last.stopReason === "length" ? { kind: "failed", failure: SPENT, broken: undefined, sent } : failed("");
  return { kind: "replied", stop: last.stopReason === "length" ? "length" : "stop" };
}

/** The failure of an answer whose tokens all went into thoughts. */
const SPENT: Failure = {
  kind: "unknown",
  message:
    "The model reached the limit of its answer before it wrote anything: raise maxTokens, or lower the thinking level.",
  notice:
    "The model thought until the limit of its answer and wrote nothing. Choose less thinking with /think, or ask for less at once.",
};

/** The stop reasons of an answer that is not whole. */
const BROKEN: ReadonlySet<string> = new Set(["error", "aborted"]);

const loopFailure = ({ detector, tool, count }: LoopFound): Failure => ({
  kind: "tool_loop",
  message: `${detector}: calls of ${tool} went on for more than ${count} steps without anything new.`,
});

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

function isAssistant(message: unknown): message is AssistantMessage {
  return typeof message === "object" && message !== null && "role" in message && message.role === "assistant";
}

const isChat = (message: AgentMessage): message is ChatMessage =>
  message.role === "user" || message.role === "assistant" || message.role === "toolResult";

/** The results after the last answer. The loop ends with them only when one of them ends the turn. */
const lastResults = (messages: readonly AgentMessage[]): readonly AgentMessage[] =>
  messages.slice(messages.findLastIndex(isAssistant) + 1);

/** Whether a message is the result of a tool that ends the turn. */
const endsTurn = (message: AgentMessage | undefined): boolean =>
  message !== undefined &&
  isChat(message) &&
  message.role === "toolResult" &&
  isFields(message.details) &&
  message.details["endsTurn"] === true;

function hasError(details: unknown): boolean {
  return typeof details === "object" && details !== null && "isError" in details && details.isError === true;
}

/**
 * The configured parameters of a model's answers. The agent's replace the defaults, and a model's replace the
 * parameters for all models.
 */
function paramsFor({ params = [] }: Pick<AgentSettings, "params">, ref: ModelRef): ModelParams {
  const names = new Set([modelName(ref), `${ref.provider}/*`]);
  const counting = params.filter(({ model }) => model === undefined || names.has(model));
  return Object.assign({}, ...counting.map(({ values }) => values));
}

/**
 * The most tokens of an answer: as the config has it, and no more than the model can write or a provider would accept.
 * Undefined when neither the config nor a provider gives a limit.
 */
function mostOutput(wanted: number | undefined, known: number, learned: number | undefined): number | undefined {
  const limits = [learned, wanted === undefined ? undefined : Math.min(wanted, known)];
  const given = limits.filter((limit) => limit !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

/**
 * The agent SDK. The SDK is loaded before the first run, which would otherwise wait for it, and kept: Node takes some
 * time to look up a module that it has loaded already.
 */
export const loadAgentSdk = loadOnce(() => import("@mariozechner/pi-agent-core"));
