import { isInterrupted } from "../../history/parts.ts";
import { estimateInRequest } from "../../sessions/transcript/tokens.ts";
import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { Log } from "../../types/log.ts";
import type { ChatMessage, ToolResultMessage } from "../../types/run/model.ts";
import type { SessionWindow } from "../../types/session.ts";
import { asJson } from "../../utils/text/as-json.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import type { Conversation, RunDeps, RunRequest } from "../request.ts";
import { boundHooks } from "./hooks.ts";
import { WrappedConversation } from "./wrapped-conversation.ts";

/** The request with a conversation that plugins may change; the same request where there are no plugins. */
export function writtenByHooks(request: RunRequest, deps: Pick<RunDeps, "hooks" | "log">): RunRequest {
  const hooks = boundHooks(request, deps);
  return hooks ? { ...request, conversation: new HookedConversation(request.conversation, hooks, deps.log) } : request;
}

type Append = Parameters<Conversation["append"]>;

/**
 * A conversation whose messages pass through `tool_result_persist` and `before_message_write` before they are written.
 * The run under way sees the messages as they were; later turns, and a run that is continued after a restart, see the
 * messages as they are written.
 */
class HookedConversation extends WrappedConversation {
  readonly #hooks: BoundHooks;
  readonly #log: Log;
  /** The messages of this run that hooks changed, as they were, by their entries. */
  readonly #asTheyWere = new Map<string, ChatMessage>();

  constructor(inner: Conversation, hooks: BoundHooks, log: Log) {
    super(inner);
    this.#hooks = hooks;
    this.#log = log;
  }

  override async window(maxTokens: number): Promise<SessionWindow> {
    const window = await super.window(maxTokens);
    if (this.#asTheyWere.size === 0) return window;
    let { estimatedTokens } = window;
    const messages = window.messages.map((row) => {
      const message = this.#asTheyWere.get(row.entryId);
      if (!message) return row;
      estimatedTokens += estimateInRequest(message) - estimateInRequest(row.message);
      return { ...row, message };
    });
    return { ...window, messages, estimatedTokens };
  }

  override async append(...[body, options]: Append): Promise<string> {
    if (body.type !== "message") return super.append(body, options);
    const message = this.#written(body.message);
    const id = await super.append({ ...body, message }, options);
    if (message !== body.message) this.#asTheyWere.set(id, body.message);
    return id;
  }

  #written(message: ChatMessage): ChatMessage {
    const result = message.role === "toolResult" ? this.#persisted(message) : message;
    const { runner, context } = this.#hooks;
    const { sessionKey, agentId } = context;
    if (!runner.has("before_message_write") || sessionKey === undefined || agentId === undefined) return result;
    let kept: ChatMessage = result;
    const call = { name: "before_message_write" as const, event: { message: kept, sessionKey, agentId }, context };
    runner.chainNow(call, (event, answer, owner) => {
      if (isFields(answer) && answer["block"] === true) {
        kept = withoutContent(kept, owner);
        return undefined;
      }
      kept = this.#changed(kept, answer, owner);
      return { ...event, message: kept };
    });
    return kept;
  }

  #persisted(result: ToolResultMessage): ToolResultMessage {
    const { runner, context } = this.#hooks;
    if (!runner.has("tool_result_persist")) return result;
    let kept = result;
    const { toolName, toolCallId } = result;
    const event = { toolName, toolCallId, message: result, isSynthetic: isInterrupted(result) };
    runner.chainNow({ name: "tool_result_persist", event, context }, (before, answer, owner) => {
      const changed = this.#changed(kept, answer, owner);
      if (changed.role === "toolResult") kept = changed;
      return { ...before, message: kept };
    });
    return kept;
  }

  /**
   * The message with the content of a hook's answer, and of a tool's result whether it is an error. Ids and names stay,
   * since other entries refer to them.
   */
  #changed(message: ChatMessage, answer: unknown, owner: string): ChatMessage {
    const given = isFields(answer) ? asJson(answer["message"]) : undefined;
    if (given === undefined) return message;
    const changed = isFields(given) ? withContent(message, given) : undefined;
    if (!changed) this.#log.warn("a message of a hook is ignored: it has no content of the message's kind", { owner });
    return !changed || JSON.stringify(changed) === JSON.stringify(message) ? message : changed;
  }
}

function withContent(message: ChatMessage, { content, isError, details }: Fields): ChatMessage | undefined {
  if (message.role === "toolResult") {
    if (!isContent(content, isToolContent)) return undefined;
    const flag = typeof isError === "boolean" && { isError };
    return { ...message, content, ...flag, ...(details !== undefined && { details }) };
  }
  if (message.role === "assistant") return isContent(content, isAnswerContent) ? { ...message, content } : undefined;
  if (typeof content === "string") return { ...message, content };
  return isContent(content, isToolContent) ? { ...message, content } : undefined;
}

const isContent = <T>(content: unknown, isPart: (part: unknown) => part is T): content is T[] =>
  Array.isArray(content) && content.every(isPart);

type ToolContent = ToolResultMessage["content"][number];
type AnswerContent = Extract<ChatMessage, { role: "assistant" }>["content"][number];

const hasTexts = (part: Readonly<Record<string, unknown>>, ...names: readonly string[]): boolean =>
  names.every((name) => typeof part[name] === "string");

const isToolContent = (part: unknown): part is ToolContent =>
  isFields(part) &&
  ((part["type"] === "text" && hasTexts(part, "text")) ||
    (part["type"] === "image" && hasTexts(part, "data", "mimeType")));

const isAnswerContent = (part: unknown): part is AnswerContent =>
  isFields(part) &&
  ((part["type"] === "text" && hasTexts(part, "text")) ||
    (part["type"] === "thinking" && hasTexts(part, "thinking")) ||
    (part["type"] === "toolCall" && hasTexts(part, "id", "name") && isFields(part["arguments"])));

/**
 * The message with a note as its content. The entry stays, because the turn is continued from it after a restart. The
 * calls of an answer stay with their names.
 */
function withoutContent(message: ChatMessage, owner: string): ChatMessage {
  const note = { type: "text" as const, text: `[The plugin ${owner} did not let this message be kept.]` };
  if (message.role !== "assistant") return { ...message, content: [note] };
  const calls = message.content.flatMap((part) => (part.type === "toolCall" ? [{ ...part, arguments: {} }] : []));
  return { ...message, content: [note, ...calls] };
}
