import type { RunEvent } from "../../types/run/events.ts";
import type { GatewayEvent } from "../../types/method.ts";
import type { FailureKind, RunFacts } from "../../types/run/run.ts";
import { toAgentEvent } from "./agent-events.ts";
import { approvalRequested, approvalResolved, approvalKind } from "./approval-events.ts";

/** State that the conversion of a run's next event depends on. Begins as `START`. */
export interface ViewState {
  readonly startedAt: number;
  /** The current message; after it ended, the last one with text. */
  readonly text: string;
  /** A message ended, so the next text replaces it. */
  readonly isNext: boolean;
  /** Texts that no model wrote, in order. */
  readonly answers: readonly string[];
  readonly questions: readonly string[];
}

export const START: ViewState = { startedAt: 0, text: "", isNext: false, answers: [], questions: [] };

/** The protocol's events for one run event, in order. `state` is the state before the event. */
export function toGatewayEvents(facts: RunFacts, event: RunEvent, state: ViewState): readonly GatewayEvent[] {
  const startedAt = event.type === "run_start" ? event.startedAt : state.startedAt;
  const events = [chatEvent(facts, event, state), approvalEvent(event), toAgentEvent(facts, event, startedAt)];
  return events.filter((item) => item !== undefined);
}

/** The state after the event. */
export function advance(state: ViewState, event: RunEvent): ViewState {
  switch (event.type) {
    case "run_start":
      return { ...state, startedAt: event.startedAt };
    case "message_start":
      return { ...state, isNext: state.text !== "" };
    case "text_delta":
      return { ...state, text: event.text, isNext: false };
    case "message_end":
      return event.text === "" ? state : { ...state, text: event.text };
    case "model_change":
      return { ...state, answers: [...state.answers, event.text] };
    case "notice":
      return event.because === "image" ? { ...state, answers: [...state.answers, event.text] } : state;
    case "answer":
      return event.because === "approval"
        ? { ...state, questions: [...state.questions, event.text] }
        : { ...state, answers: [...state.answers, event.text] };
    default:
      return state;
  }
}

function approvalEvent(event: RunEvent): GatewayEvent | undefined {
  if (event.type === "approval_request") return approvalRequested(event.approval);
  if (event.type !== "approval_end") return undefined;
  const { id, decision, by, ts } = event;
  return approvalResolved({ id, decision, ...(by !== undefined && { resolvedBy: by }), ts }, approvalKind(event));
}

function chatEvent(facts: RunFacts, event: RunEvent, state: ViewState): GatewayEvent | undefined {
  const body = chatBody(event, state);
  if (body === undefined) return undefined;
  const { runId, sessionKey, agentId } = facts;
  return {
    event: "chat",
    payload: { runId, sessionKey, agentId, seq: event.seq, ...body },
    delta: body.state === "delta",
    scope: "operator.read",
  };
}

type ChatBody = Readonly<Record<string, unknown>> & { readonly state: string };

function chatBody(event: RunEvent, state: ViewState): ChatBody | undefined {
  switch (event.type) {
    case "run_start":
      return { state: "status", phase: "preparing_context" };
    case "attempt_start":
      return { state: "status", phase: "starting_model" };
    case "text_delta":
      return deltaBody(event, state);
    case "run_end":
      return endBody(event, state);
    default:
      return undefined;
  }
}

function deltaBody(event: RunEvent & { type: "text_delta" }, state: ViewState): ChatBody {
  const addition = state.isNext || event.anew ? { deltaText: event.text, replace: true } : { deltaText: event.delta };
  return { state: "delta", ...addition, message: assistantMessage(event.text, event.ts) };
}

function endBody(event: RunEvent & { type: "run_end" }, state: ViewState): ChatBody {
  const { result } = event;
  const text = finalText(state);
  const message = text === "" ? {} : { message: assistantMessage(text, event.ts) };
  switch (result.kind) {
    case "replied":
      return { state: "final", stopReason: result.stop, ...message, usage: event.receipt.usage };
    case "aborted":
      return { state: "aborted", stopReason: result.by, ...message };
    case "failed": {
      const { kind } = result.failure;
      const errorMessage = state.answers.at(-1) ?? result.failure.message;
      return {
        state: "error",
        errorMessage,
        errorKind: errorKind(kind),
        errorDetail: detailOf(event, kind),
        ...message,
      };
    }
  }
}

/** Texts that no model wrote come first; a question about a command appears only if there is no other text. */
function finalText(state: ViewState): string {
  const parts = [...state.answers, state.text].filter((part) => part !== "");
  return (parts.length === 0 ? state.questions : parts).join("\n\n");
}

/** A message in the format that chat clients draw. */
function assistantMessage(text: string, timestamp: number) {
  return { role: "assistant", content: [{ type: "text", text }], timestamp };
}

/** Adds our own name of the failure and its model, since the protocol's `errorKind` has only five values. */
function detailOf({ receipt }: RunEvent & { type: "run_end" }, failoverReason: FailureKind) {
  const { provider, id } = receipt.model;
  return { failoverReason, ...(provider !== "" && { provider }), ...(id !== "" && { model: id }) };
}

function errorKind(kind: FailureKind): string {
  switch (kind) {
    case "refusal":
    case "timeout":
    case "rate_limit":
      return kind;
    case "context_overflow":
    case "compaction_failure":
      return "context_length";
    default:
      return "unknown";
  }
}
