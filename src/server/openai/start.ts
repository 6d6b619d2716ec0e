import { randomUUID } from "node:crypto";
import { z } from "zod";
import { agentId, runId, type AgentId } from "../../types/ids.ts";
import type { RunStream } from "../../types/run/events.ts";
import { buildKey } from "../../sessions/keys.ts";
import { storeAttachments } from "../methods/attachments.ts";
import { background } from "../../utils/background.ts";
import type { Catalog, ServerPorts } from "../options.ts";
import { findRun } from "../events/runs.ts";
import type { CompletionRequest, ApiMessage, Content, CompletionToolCall } from "./request.ts";
import type { AssistantMessage, ChatMessage, ImageContent, TextContent } from "../../types/run/model.ts";
import { emptyUsage } from "../../types/run/usage.ts";

export type StartPorts = Pick<ServerPorts, "chat" | "media" | "keys" | "catalog" | "clock">;

/**
 * Begins the run that answers a request: a stateless one, or a turn of the session that `user` names. The run is aborted
 * with the signal. Undefined when the signal aborts before the run begins.
 */
export async function startCompletion(
  request: CompletionRequest,
  agent: AgentId,
  ports: StartPorts,
  signal: AbortSignal,
): Promise<RunStream | undefined> {
  if (request.user) return startInSession({ ...request, user: request.user }, agent, ports, signal);
  const seed = seedFrom(request.messages, ports.clock.now());
  return ports.chat.oneShot({ agentId: agent, ...seed, idempotencyKey: `openai-${randomUUID()}`, signal });
}

async function startInSession(
  request: CompletionRequest & { readonly user: string },
  agent: AgentId,
  ports: StartPorts,
  signal: AbortSignal,
): Promise<RunStream | undefined> {
  const text = `openai:${request.user.replaceAll("%", "%25").replaceAll(":", "%3A")}`;
  const sessionKey = ports.keys.inner(buildKey({ kind: "other", agentId: agent, text }, ports.catalog.defaultAgent));
  const content = request.messages.at(-1)?.content ?? "";
  const images = Array.isArray(content)
    ? content.flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []))
    : [];
  const media = await storeAttachments(
    images.map((url) => ({ type: "image", content: url })),
    ports.media,
  );
  const id = runId(`openai-${randomUUID()}`);
  // The client has disconnected. If the abort fails, nobody waits for the result, and the run ends at its own time limit.
  const abort = () => background("abort after a client left", ports.chat.abort(sessionKey, id));
  signal.addEventListener("abort", abort, { once: true });
  const sent = await ports.chat.send({ sessionKey, text: textOf(content), media, idempotencyKey: id });
  // The client may have left while its images were stored, before there was a run.
  if (signal.aborted) abort();
  const stream = await findRun(ports.chat, sent.runId, signal);
  // Work after the answer, such as a compaction, continues when the client disconnects.
  if (stream) {
    background(
      "release of a client's abort",
      stream.done.then(() => signal.removeEventListener("abort", abort)),
    );
  }
  return stream;
}

/** Undefined when the gateway has no such agent. */
export function findAgent(asked: string | undefined, { agents, defaultAgent }: Catalog): AgentId | undefined {
  if (asked === undefined) return defaultAgent;
  const wanted = agentId(asked);
  return agents().some(({ id }) => id === wanted) ? wanted : undefined;
}

/** The messages with which a stateless run begins. */
interface Seed {
  readonly system?: string;
  readonly messages: readonly ChatMessage[];
}

/** The request's messages as a transcript; system and developer messages become one system text. */
function seedFrom(messages: readonly ApiMessage[], now: number): Seed {
  const rules = messages.filter((item) => item.role === "system" || item.role === "developer");
  const system = rules.map((item) => textOf(item.content ?? "")).join("\n\n");
  const toolNames = new Map(
    messages.flatMap((item) => (item.role === "assistant" ? (item.tool_calls ?? []) : [])).map(nameById),
  );
  const turns = messages.flatMap((item) => toMessage(item, toolNames, now));
  return system === "" ? { messages: turns } : { system, messages: turns };
}

const nameById = (call: CompletionToolCall): [string, string] => [call.id, call.function.name];

function toMessage(item: ApiMessage, toolNames: ReadonlyMap<string, string>, timestamp: number): ChatMessage[] {
  switch (item.role) {
    case "user":
      return [{ role: "user", content: contentOf(item.content), timestamp }];
    case "assistant":
      return [assistant(textOf(item.content ?? ""), item.tool_calls ?? [], timestamp)];
    case "tool": {
      const toolName = toolNames.get(item.tool_call_id) ?? "unknown";
      const result = [{ type: "text" as const, text: textOf(item.content) }];
      return [
        { role: "toolResult", toolCallId: item.tool_call_id, toolName, content: result, isError: false, timestamp },
      ];
    }
    case "system":
    case "developer":
      return [];
  }
}

function assistant(text: string, calls: readonly CompletionToolCall[], timestamp: number): AssistantMessage {
  const said = text === "" ? [] : [{ type: "text" as const, text }];
  const toolCalls = calls.map((call) => ({
    type: "toolCall" as const,
    id: call.id,
    name: call.function.name,
    arguments: argumentsOf(call.function.arguments),
  }));
  const stopReason = calls.length === 0 ? "stop" : "toolUse";
  const origin = { api: "openai-completions", provider: "openclaw", model: "openclaw" };
  return {
    role: "assistant",
    content: [...said, ...toolCalls],
    ...origin,
    usage: emptyUsage(),
    stopReason,
    timestamp,
  };
}

const jsonObject = z.record(z.string(), z.unknown());

function argumentsOf(text: string): Record<string, unknown> {
  try {
    return jsonObject.safeParse(JSON.parse(text)).data ?? {};
  } catch {
    // Broken arguments of a model are kept as text.
    return { raw: text };
  }
}

function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function contentOf(content: Content): string | (TextContent | ImageContent)[] {
  if (typeof content === "string") return content;
  return content.map((part) =>
    part.type === "text" ? { type: "text", text: part.text } : imageOf(part.image_url.url),
  );
}

/** A data URL as an image; `parseCompletion` refuses all other URLs. */
function imageOf(url: string): ImageContent {
  const comma = url.indexOf(",");
  return { type: "image", data: url.slice(comma + 1), mimeType: url.slice(5, url.indexOf(";")) };
}
