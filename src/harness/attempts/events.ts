import type { AgentEvent, AgentMessage } from "@mariozechner/pi-agent-core";
import { hasCalls, isBlank, isWhole, textOfAnswer } from "../../history/parts.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import { endsUnbegunThought, type TagStripper } from "../../reply/tags.ts";
import { callTopic } from "../../tools/call-topic.ts";
import { planIn } from "../../tools/session/plan.ts";
import type { ResultPart, RunEventBody } from "../../types/run/events.ts";
import type { AssistantMessage, ChatMessage } from "../../types/run/model.ts";
import { Secret } from "../../types/secret.ts";
import type { RunLog } from "../log/run-log.ts";
import type { EntryBody, SessionNote } from "../../types/session.ts";
import type { Conversation } from "../request.ts";
import type { Steering } from "../run/steering.ts";
import { hasTokens } from "../../types/run/usage.ts";
import { propertyOf } from "../../utils/own.ts";
import { askedIn } from "../asked-in.ts";
import { isWordless, stripperFor } from "../run/unanswered.ts";
import { isHandedOver } from "../tools/tools.ts";
import { MOST_SILENT_REST, withRest } from "../../types/run/turns.ts";

export interface TranslatorParts {
  readonly log: RunLog;
  readonly conversation: Conversation;
  readonly handle: ModelHandle;
  readonly steering: Steering;
  /** Text that watchers have seen of the answer that is continued; usually empty. */
  readonly carried: string;
  /** Whether the model begins its text in a thought, as far as its last messages show that; see `beganInThought`. */
  readonly beganInThought: boolean | undefined;
  /** Called when an answer or a tool's result is in the transcript. */
  progressed(): void;
}

/**
 * Turns the SDK's events into run events and transcript entries. The entry comes first, so that each event that a
 * watcher sees is on disk.
 */
export class EventTranslator {
  /** A write that failed; the attempt ends with it. */
  broken: unknown;
  readonly #log: RunLog;
  readonly #conversation: Conversation;
  readonly #handle: ModelHandle;
  readonly #steering: Steering;
  readonly #started = new Map<string, { readonly at: number; readonly meta: string | undefined }>();
  readonly #progressed: () => void;
  readonly #beganInThought: boolean | undefined;
  #message: MessageText;
  /** The first part of the answer that is continued. */
  #carried: string;
  #closed = false;

  constructor(parts: TranslatorParts) {
    this.#log = parts.log;
    this.#conversation = parts.conversation;
    this.#handle = parts.handle;
    this.#beganInThought = parts.beganInThought;
    this.#steering = parts.steering;
    this.#message = this.#newMessage("");
    this.#carried = parts.carried;
    this.#progressed = parts.progressed;
  }

  /** Ignores late events of a loop that was given up. */
  close(): void {
    this.#closed = true;
  }

  /** Takes an event. Never rejects, because the SDK would drop the message silently. */
  async take(event: AgentEvent): Promise<void> {
    if (this.#closed || this.broken !== undefined) return;
    try {
      await this.#translate(event);
    } catch (error) {
      this.broken = error;
    }
  }

  async #translate(event: AgentEvent): Promise<void> {
    switch (event.type) {
      case "message_start":
        return this.#begin(event.message);
      case "message_update":
        return this.#delta(event);
      case "message_end":
        return this.#end(event.message);
      case "tool_execution_start":
        return this.#toolStart(event);
      case "tool_execution_update":
        return this.#toolUpdate(event);
      case "tool_execution_end":
        return this.#toolEnd(event);
      case "agent_start":
      case "agent_end":
      case "turn_start":
      case "turn_end":
        return;
    }
  }

  #begin(message: AgentMessage): void {
    if (message.role !== "assistant") return;
    this.#message = this.#newMessage(this.#carried);
    if (this.#carried === "") this.#log.emit({ type: "message_start" });
    this.#carried = "";
  }

  #newMessage(carried: string): MessageText {
    const { info, habit } = this.#handle;
    return new MessageText({
      stripper: stripperFor(info, this.#beganInThought),
      carried,
      isUnsure: this.#beganInThought === undefined && habit?.mayEndUnbegun === true,
      emit: (delta) => this.#log.emit(delta),
    });
  }

  #delta(event: Extract<AgentEvent, { type: "message_update" }>): void {
    const inner = event.assistantMessageEvent;
    if (inner.type === "thinking_delta") this.#message.think(inner.delta);
    if (inner.type === "text_delta") this.#message.push(inner.delta);
  }

  async #end(message: AgentMessage): Promise<void> {
    if (message.role === "assistant") return this.#endAnswer(message);
    // The client brings the result with its next request.
    if (message.role === "toolResult" && isHandedOver(message)) return;
    const joined = this.#steering.turnOf(message);
    const id = joined?.entryId;
    await this.#conversation.append({ type: "message", message: plain(message) }, { durable: true, ...(id && { id }) });
    if (joined?.note) await this.#conversation.append(noteInstead(joined.note, joined.entryId), { durable: true });
    this.#steering.taken(message);
    this.#progressed();
    if (joined) this.#log.emit({ type: "notice", because: "steered", text: "A new message joined the run." });
  }

  async #endAnswer(message: AssistantMessage): Promise<void> {
    // A failed call without any text leaves no trace in the transcript; the run's end reports it.
    if (message.stopReason === "error" && textOfAnswer(message) === "") return this.#countFailed(message);
    // Thoughts alone leave no trace either: no later answer continues them.
    if (isThoughtOnly(message)) return this.#count(message);
    const text = this.#message.end(hasCalls(message));
    this.#noteHabit(message);
    const kept = this.#kept(message);
    const entryId = await this.#conversation.append({ type: "message", message: kept }, { durable: true });
    this.#log.emit({ type: "message_end", message: kept, text, entryId, ...askedIn(text) });
    this.#count(message);
    if (isProgress(message)) this.#progressed();
  }

  #noteHabit(message: AssistantMessage): void {
    const written = textOfAnswer(message);
    const endedUnbegun = endsUnbegunThought(written);
    if (endedUnbegun || (isWhole(message) && !isBlank(written))) this.#handle.habit?.saw(endedUnbegun);
  }

  #count({ usage }: AssistantMessage): void {
    const { provider, id } = this.#handle.info;
    this.#log.emit({ type: "usage", usage, model: { provider, id } });
  }

  /** A failed call may have cost tokens, as a refusal does. */
  #countFailed({ usage }: AssistantMessage): void {
    if (hasTokens(usage)) this.#log.spend(usage);
  }

  #kept(message: AssistantMessage): AssistantMessage {
    const { errorMessage } = message;
    if (errorMessage === undefined) return message;
    return { ...message, errorMessage: Secret.mask(errorMessage) };
  }

  #toolStart(event: Extract<AgentEvent, { type: "tool_execution_start" }>): void {
    const args = record(event.args);
    this.#started.set(event.toolCallId, { at: Date.now(), meta: callTopic(event.toolName, args) });
    this.#log.emit({ type: "tool_start", callId: event.toolCallId, name: event.toolName, args });
  }

  #toolUpdate(event: Extract<AgentEvent, { type: "tool_execution_update" }>): void {
    this.#log.emit({
      type: "tool_update",
      callId: event.toolCallId,
      name: event.toolName,
      partial: resultText(event.partialResult),
    });
  }

  #toolEnd(event: Extract<AgentEvent, { type: "tool_execution_end" }>): void {
    const { toolCallId: callId, toolName: name, isError } = event;
    const { at, meta } = this.#started.get(callId) ?? { at: Date.now(), meta: undefined };
    this.#started.delete(callId);
    const content = resultParts(event.result);
    const plan = isError ? undefined : planIn(name, event.result);
    if (plan) this.#log.emit({ type: "plan", callId, plan });
    this.#log.emit({
      type: "tool_end",
      callId,
      name,
      isError,
      text: content.map(partText).join("\n"),
      ...(content.some((part) => part.type === "image") && { content }),
      ...(meta !== undefined && { meta }),
      durationMs: Date.now() - at,
      ...(isElevated(event.result) && { elevated: true }),
    });
  }
}

/** The entry of a note in place of a text. Later runs, and a run that an earlier process began, see the note. */
const noteInstead = (note: SessionNote, insteadOf: string): EntryBody => ({
  type: "custom_message",
  ...note,
  display: false,
  details: { ...note.details, insteadOf },
});

/** Whether the details of a result say that a command ran outside the sandbox. */
const isElevated = (result: unknown): boolean => record(record(result)["details"])["elevated"] !== undefined;

/** Whether a message has only thoughts, written as text between tags. */
const isThoughtOnly = (message: AssistantMessage): boolean =>
  isWhole(message) && isWordless(message) && !isBlank(textOfAnswer(message));

/** Whether a message is progress: an answer without text or calls is none. */
const isProgress = (message: AssistantMessage): boolean => isWhole(message) && !isWordless(message);

/**
 * The SDK's message as the transcript has it. The shapes are the same, but for messages that only other programs make.
 */
function plain(message: AgentMessage): ChatMessage {
  if (message.role === "user" || message.role === "assistant" || message.role === "toolResult") return message;
  throw new Error(`the agent made a message of an unknown kind: ${message.role}`);
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

const resultText = (result: unknown): string => resultParts(result).map(partText).join("\n");

/**
 * The parts of a result: `runTool` has checked and bounded them, and the SDK makes the parts of calls that never began.
 */
function resultParts(result: unknown): readonly ResultPart[] {
  const content = propertyOf(result, "content");
  return Array.isArray(content) ? content.map(resultPart) : [];
}

function resultPart(part: unknown): ResultPart {
  const [text, data, mimeType] = ["text", "data", "mimeType"].map((name) => propertyOf(part, name));
  if (typeof data !== "string") return { type: "text", text: typeof text === "string" ? text : "" };
  const type = typeof mimeType === "string" ? mimeType : "application/octet-stream";
  return { type: "image", mimeType: type, bytes: Buffer.byteLength(data, "base64"), omitted: true };
}

const partText = (part: ResultPart): string => (part.type === "text" ? part.text : "[image]");

type Delta = Extract<RunEventBody, { type: "text_delta" | "thinking_delta" }>;

interface MessageTextParts {
  /** Removes the tags that the model writes. */
  readonly stripper: TagStripper;
  /** Text of the message that watchers have seen, of which the rest follows; usually empty. */
  readonly carried: string;
  /** Whether the text may turn out to be a thought that only a tag ends. */
  readonly isUnsure: boolean;
  emit(delta: Delta): void;
}

/** The text of one message of a model, and the events about the text while it is written. */
class MessageText {
  readonly #parts: MessageTextParts;
  #text: string;
  /** The beginning of a rest that may be nothing but the silent token; undefined where it is none. */
  #rest: string | undefined;
  #isUnsure: boolean;

  constructor(parts: MessageTextParts) {
    this.#parts = parts;
    this.#text = parts.carried;
    this.#rest = parts.carried === "" ? undefined : "";
    this.#isUnsure = parts.isUnsure;
  }

  push(delta: string): void {
    this.#take(this.#parts.stripper.push(delta));
  }

  /** Emits a thought. A model that writes its thoughts apart from its text writes none in the text. */
  think(delta: string): void {
    this.#isUnsure = false;
    this.#parts.emit({ type: "thinking_delta", delta });
  }

  /** Called when the message has ended, with calls or without. Returns the message's whole text. */
  end(calls: boolean): string {
    this.#isUnsure = false;
    this.#take(this.#parts.stripper.end(calls));
    const rest = this.#rest ?? "";
    this.#rest = undefined;
    if (withRest(this.#text, rest) !== this.#text) this.#show(rest);
    return this.#text;
  }

  /** Takes the text that the tags let through, after the thoughts between them. */
  #take(delta: string): void {
    const { stripper } = this.#parts;
    const thought = stripper.thinking();
    if (thought !== "") this.think(thought);
    if (stripper.begunAnew()) return this.#beginAnew(delta);
    if (this.#rest === undefined) return this.#show(delta);
    this.#rest += delta;
    if (this.#rest.length > MOST_SILENT_REST) this.#showRest(this.#rest);
  }

  #showRest(rest: string): void {
    this.#rest = undefined;
    this.#show(rest);
  }

  #show(delta: string): void {
    if (delta === "") return;
    this.#text += delta;
    const unsure = this.#isUnsure && { unsure: true as const };
    this.#parts.emit({ type: "text_delta", delta, text: this.#text, ...unsure });
  }

  #beginAnew(delta: string): void {
    this.#rest = undefined;
    this.#text = delta;
    this.#parts.emit({ type: "text_delta", delta, text: delta, anew: true });
  }
}
