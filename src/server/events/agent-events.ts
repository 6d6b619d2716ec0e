import type { CompactionEvent, RunEvent } from "../../types/run/events.ts";
import type { RunFacts } from "../../types/run/run.ts";
import type { GatewayEvent } from "../../types/method.ts";

interface AgentData {
  readonly stream: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The `agent` event of one run event; undefined when there is none. Its `seq` is the run event's. */
export function toAgentEvent(facts: RunFacts, event: RunEvent, startedAt: number): GatewayEvent | undefined {
  const agent = agentData(event, startedAt);
  if (agent === undefined) return undefined;
  const { runId, sessionKey, sessionId, agentId, trigger } = facts;
  const { seq, ts } = event;
  const isHeartbeat = trigger === "heartbeat";
  return {
    event: "agent",
    payload: { runId, sessionKey, sessionId, agentId, ...agent, seq, ts, isHeartbeat },
    delta: event.type === "text_delta" || event.type === "tool_update",
    scope: "operator.read",
  };
}

/** The `stream` and the `data` of that event. */
export function agentData(event: RunEvent, startedAt: number): AgentData | undefined {
  switch (event.type) {
    case "run_start":
      return { stream: "lifecycle", data: { phase: "start", startedAt: event.startedAt } };
    case "run_end":
      return { stream: "lifecycle", data: endData(event, startedAt) };
    case "text_delta":
      return { stream: "assistant", data: { text: event.text, delta: event.delta } };
    case "message_end":
      return event.media && { stream: "assistant", data: { text: event.text, delta: "", mediaUrls: event.media } };
    case "tool_start":
    case "tool_update":
    case "tool_end":
      return { stream: "tool", data: toolData(event) };
    default:
      return sideData(event);
  }
}

function sideData(event: RunEvent): AgentData | undefined {
  switch (event.type) {
    case "thinking_delta":
      return { stream: "thinking", data: { delta: event.delta } };
    case "usage":
      return { stream: "usage", data: { usage: event.usage, provider: event.model.provider, model: event.model.id } };
    case "retry":
      return { stream: "retry", data: { because: event.because, remedy: event.remedy, message: event.message } };
    case "compaction":
      return { stream: "compaction", data: compactionData(event) };
    case "plan":
      return { stream: "plan", data: { phase: "update", toolCallId: event.callId, ...event.plan } };
    case "notice":
      return { stream: "notice", data: { text: event.text, because: event.because } };
    case "model_change":
      return { stream: "notice", data: { text: event.text, because: "fallback", from: event.from, to: event.to } };
    default:
      return undefined;
  }
}

const compactionData = (event: CompactionEvent): Record<string, unknown> =>
  event.phase === "start" ? { phase: "start" } : { phase: "end", willRetry: event.willRetry };

type ToolEvent = Extract<RunEvent, { type: "tool_start" | "tool_update" | "tool_end" }>;

function toolData(event: ToolEvent): Record<string, unknown> {
  const head = { name: event.name, toolCallId: event.callId };
  switch (event.type) {
    case "tool_start":
      return { phase: "start", ...head, args: event.args };
    case "tool_update":
      return { phase: "update", ...head, partialResult: event.partial };
    case "tool_end":
      return { phase: "result", ...head, ...metaOf(event), isError: event.isError, ...resultOf(event) };
  }
}

const metaOf = ({ meta }: ToolEvent & { type: "tool_end" }) => (meta === undefined ? {} : { meta });

const resultOf = ({ text, content, durationMs }: ToolEvent & { type: "tool_end" }) => ({
  result: { content: content ?? [{ type: "text", text }] },
  durationMs,
});

function endData(event: RunEvent & { type: "run_end" }, startedAt: number): Record<string, unknown> {
  const { result, endedAt } = event;
  if (result.kind === "failed") {
    const { message: error, kind: errorKind } = result.failure;
    return { phase: "error", startedAt, endedAt, error, errorKind };
  }
  return { phase: "end", startedAt, endedAt, ...(result.kind === "aborted" ? { aborted: true } : {}) };
}
