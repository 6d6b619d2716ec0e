import { fields, nonEmpty, number, stringOr } from "./json.ts";
import type { PageFile } from "./files.ts";
import { readUsage } from "./protocol.ts";
import type { Usage } from "./protocol.ts";
import { readParts, resultText } from "./transcript.ts";
import type { Part, ToolPart } from "./transcript.ts";
import { gatewayText } from "../words/gateway-sentences.ts";
import { t } from "../words/words.ts";

/** A message that was written on this page, and its state. */
export interface Sent {
  readonly text: string;
  readonly files: readonly PageFile[];
  readonly thinking?: string | undefined;
  readonly state: "queued" | "sending" | "accepted" | "failed";
  /** Whether the message was sent at least once: the gateway may have it although there was no answer. */
  readonly tried?: boolean | undefined;
  readonly error?: string | undefined;
}

/** An answer, as events report it. */
export interface ExchangeReply {
  readonly parts: readonly Part[];
  readonly state: "none" | "running" | "final" | "aborted" | "error";
  readonly seq: number;
  /** The current activity of the run, as a text for people. */
  readonly phase?: string | undefined;
  readonly error?: string | undefined;
  /** The gateway's word for the kind of the error. */
  readonly failure?: string | undefined;
  readonly usage?: Usage | undefined;
}

/** A run, begun here or by another client, that is not yet in the transcript or not completely. */
export interface Exchange {
  readonly runId: string;
  readonly sessionKey: string;
  /** The last known transcript position when the run began. The run's messages come after it. */
  readonly anchor: number;
  readonly at: number;
  readonly sent?: Sent | undefined;
  readonly reply: ExchangeReply;
}

const COMPACTING = t("Summarising the conversation");
const PHASES: Readonly<Record<string, string>> = { queued: t("Queued"), compacting: COMPACTING };

/** The state of an answer before its first event. */
export const NO_REPLY_YET: ExchangeReply = { parts: [], state: "none", seq: -1 };

/** Whether the run has ended, for whatever reason. */
export function ended(reply: ExchangeReply): boolean {
  return reply.state === "final" || reply.state === "aborted" || reply.state === "error";
}

/** Applies one `chat` event to an answer. Late or repeated events change nothing. */
export function afterChat(reply: ExchangeReply, payload: unknown): ExchangeReply {
  const event = fields(payload);
  const seq = number(event["seq"], reply.seq + 1);
  if (seq <= reply.seq || ended(reply)) return reply;
  const whole = wholeText(event["message"]);
  switch (event["state"]) {
    case "status":
      return { ...reply, seq, state: "running", phase: PHASES[stringOr(event["phase"])] };
    case "delta":
      return {
        ...reply,
        seq,
        state: "running",
        phase: undefined,
        parts: appendDelta(reply.parts, stringOr(event["deltaText"]), whole),
      };
    case "final":
    case "aborted":
      return { ...withEnd(reply, event, whole), seq, state: event["state"] };
    case "error":
      return {
        ...withEnd(reply, event, gatewayText(whole)),
        seq,
        state: "error",
        error: gatewayText(stringOr(event["errorMessage"], t("The run failed."))),
        failure: nonEmpty(fields(event["errorDetail"])["failoverReason"]),
      };
    default:
      return reply;
  }
}

function withEnd(reply: ExchangeReply, event: Record<string, unknown>, whole: string): ExchangeReply {
  const usage = readUsage(event["usage"]) ?? readUsage(fields(event["message"])["usage"]) ?? reply.usage;
  return { ...reply, parts: withToolsEnded(appendDelta(reply.parts, "", whole)), usage, phase: undefined };
}

function withToolsEnded(parts: readonly Part[]): readonly Part[] {
  return parts.map((part): Part =>
    part.kind === "tool" && part.state === "running" ? { ...part, state: "done" } : part,
  );
}

function wholeText(message: unknown): string {
  const parts = readParts(fields(message)["content"] ?? fields(message)["text"]);
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/**
 * Adds text to the parts. `whole` may be the text of the run or that of the model's latest message. `delta` decides: when the
 * last text part and `delta` are equal to `whole`, `whole` is the text of the latest message.
 */
function appendDelta(parts: readonly Part[], delta: string, whole: string): readonly Part[] {
  const last = parts.at(-1);
  const open = last?.kind === "text" ? last.text : "";
  const before = last?.kind === "text" ? parts.slice(0, -1) : parts;
  const next = nextText(before, open, { delta, whole });
  return next.trim() === "" ? before : [...before, { kind: "text", text: next }];
}

function nextText(before: readonly Part[], open: string, more: { delta: string; whole: string }): string {
  if (more.whole === "") return open + more.delta;
  if (more.delta !== "" && open + more.delta === more.whole) return more.whole;
  const earlier = before.map((part) => (part.kind === "text" ? part.text : "")).join("");
  if (earlier === "" || !compact(more.whole).startsWith(compact(earlier))) return more.whole;
  return textAfter(more.whole, compact(earlier).length);
}

function compact(value: string): string {
  return value.replace(/\s+/g, "");
}

/** The text after the first `length` characters that are not white space. */
function textAfter(value: string, length: number): string {
  let seen = 0;
  let index = 0;
  for (; index < value.length && seen < length; index += 1) if (!/\s/.test(value.charAt(index))) seen += 1;
  return value.slice(index).trimStart();
}

/** Applies one `agent` event to an answer. The assistant stream is ignored, because `chat` events have its text. */
export function afterAgent(reply: ExchangeReply, payload: unknown): ExchangeReply {
  if (ended(reply)) return reply;
  const event = fields(payload);
  const data = fields(event["data"]);
  switch (event["stream"]) {
    case "lifecycle":
      return data["phase"] === "start" ? { ...reply, state: "running" } : reply;
    case "tool":
      return { ...reply, state: "running", phase: undefined, parts: afterTool(reply.parts, data) };
    case "thinking":
    case "reasoning":
      return { ...reply, state: "running", parts: afterThought(reply.parts, data) };
    case "usage":
      return { ...reply, usage: readUsage(data) ?? reply.usage };
    default:
      return { ...reply, phase: phaseAfter(reply.phase, event["stream"], data) };
  }
}

/** The current activity of the run, after an event that is neither text nor a tool. */
function phaseAfter(phase: string | undefined, stream: unknown, data: Record<string, unknown>): string | undefined {
  if (stream === "compaction") return data["phase"] === "start" ? COMPACTING : undefined;
  if (stream === "retry" || stream === "notice") return nonEmpty(data["message"]) ?? nonEmpty(data["text"]) ?? phase;
  return phase;
}

function afterTool(parts: readonly Part[], data: Record<string, unknown>): readonly Part[] {
  const id = stringOr(data["toolCallId"]);
  const known = parts.some((part) => part.kind === "tool" && part.id === id);
  const started: ToolPart = {
    kind: "tool",
    id,
    name: stringOr(data["name"], "tool"),
    args: data["args"],
    result: "",
    state: "running",
  };
  const all = known ? parts : [...parts, started];
  return all.map((part) => (part.kind === "tool" && part.id === id ? toolAfter(part, data) : part));
}

function toolAfter(part: ToolPart, data: Record<string, unknown>): ToolPart {
  const args = data["args"] ?? part.args;
  if (data["phase"] === "update") return { ...part, args, result: resultText(data["partialResult"] ?? data["result"]) };
  if (data["phase"] !== "result") return { ...part, args };
  return { ...part, args, result: resultText(data["result"]), state: data["isError"] === true ? "failed" : "done" };
}

function afterThought(parts: readonly Part[], data: Record<string, unknown>): readonly Part[] {
  const last = parts.at(-1);
  const open = last?.kind === "thinking" ? last.text : "";
  const before = last?.kind === "thinking" ? parts.slice(0, -1) : parts;
  const thought = nonEmpty(data["text"]) ?? open + stringOr(data["delta"]);
  return thought === "" ? before : [...before, { kind: "thinking", text: thought }];
}
