import type { AssistantMessageEvent } from "@mariozechner/pi-ai";
import { systemClock, type Clock } from "../types/clock.ts";
import type { AssistantMessage } from "../types/run/model.ts";
import type { CallCost, CallOrigin } from "../types/run/model-meter.ts";
import { Secret } from "../types/secret.ts";
import { errorText } from "../utils/text/error-text.ts";
import { AFTER_FINISH_MS } from "./call/answer-end.ts";
import { streamEndingOf, isWindowFull, reasonIn, watchBedrock } from "./call/ending.ts";
import { callFactsOf, type CallFacts } from "./call/facts.ts";
import {
  emptyMessage,
  Growth,
  rawArgumentsIn,
  soFar,
  typedMessage,
  withTextDelta,
  withToolNames,
  withTornMarked,
} from "./message.ts";
import { addedByThinking, outputFor, estimatedTokens } from "./call/output.ts";
import { type AddedOptions, withPayload } from "./call/payload.ts";
import { Size } from "./call/size.ts";
import { CallSpending } from "./call/spending.ts";
import { Wire } from "./call/wire.ts";
import type { ModelHandle } from "./models.ts";
import { classifyFailure } from "./failure.ts";
import { type RefusalBody, pageTitle, readRefusal, readStreamRefusal } from "./failure/body.ts";
import { emptyStream, type PiContext, type PiStream, type PiStreamOptions, type PiModel } from "./pi.ts";
import { background } from "../utils/background.ts";

export type { CallFacts } from "./call/facts.ts";
export { isTorn } from "./message.ts";

export type CallOptions = PiStreamOptions & {
  /** Cause and principal of the call. */
  readonly origin: CallOrigin;
  /** Options that the SDK has no option for. Each is ignored where the API has no such option. */
  readonly added?: AddedOptions;
  /** Milliseconds without a byte after which the call fails. No limit when unset. */
  readonly idleMs?: number;
  /** Called once, just before the last event. Must not throw. */
  onFacts?(facts: CallFacts): void;
  /** Called once with the cost that the meter got. Not called when the call was not made. Must not throw. */
  onSettled?(cost: CallCost): void;
  readonly clock?: Clock;
};

/**
 * Asks a model once; the SDK never retries. Only here does the gateway open a model's stream: the meter reserves the cost
 * first, and the reservation is settled when the call ends, even if nobody reads its events to the end. Never throws and never
 * rejects: the last event is `done`, or `error` with the content so far. A call that the meter refuses is not made and fails
 * with the kind `budget`. An abort of `options.signal` ends the stream at once, and so does the silence limit. A stream that
 * stops without a reason is an error.
 */
export function callModel(handle: ModelHandle, context: PiContext, options: CallOptions): PiStream {
  const call = new Call(handle, options);
  background("model call", call.run(context));
  return call.out;
}

const CUT = "The stream ended without a finish reason.";
const FAILED = "fetch failed";
/** Events that are read before timers and sockets get their turn. */
const EVENTS_AT_ONCE = 64;
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** APIs for which the SDK asks up to four times, whatever its options say. */
const TRIES_AGAIN: ReadonlySet<string> = new Set(["openai-codex-responses"]);
/** Made once: an `AbortController` would make an error with a stack for each call. */
const ENDED = new DOMException("The call has ended.", "AbortError");
/** The SDK's text when the provider ended the stream with a reason that the SDK does not know. */
const NAMELESS = "An unknown error occurred";

type TextDelta = Extract<AssistantMessageEvent, { type: "text_delta" | "thinking_delta" }>;

class Call {
  readonly out = emptyStream();
  readonly #handle: ModelHandle;
  readonly #options: CallOptions;
  readonly #clock: Clock;
  readonly #wire: Wire;
  readonly #size: Size;
  readonly #spending: CallSpending;
  readonly #growth = new Growth();
  readonly #request = new AbortController();
  /** The names of the tools that the model was offered. */
  #tools: readonly string[] = [];
  #partial: AssistantMessage | undefined;
  #refusal: RefusalBody | undefined;
  #maxOutput: number | undefined;
  #isEnded = false;
  #held: TextDelta | undefined;
  #lastEventAt: number;
  #forgetTimer = () => {};
  /** The reason of a Bedrock answer that is complete, though its stream has not ended. */
  #stopped: AssistantMessage["stopReason"] | undefined;

  constructor(handle: ModelHandle, options: CallOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#wire = new Wire(this.#clock, { ...handle, api: handle.pi.api });
    this.#size = new Size(this.#wire);
    this.#spending = new CallSpending(handle, options.origin);
    this.#wire.onForeignRedirect = (host) =>
      this.#fail(`The provider sends the request on to ${host}; set baseUrl to that address if it is right.`);
    this.#wire.onBytes = () => this.#failIf(webPageOn(this.#wire) ?? this.#size.tooManyBytes);
    this.#lastEventAt = this.#clock.now();
  }

  async run(context: PiContext): Promise<void> {
    const { signal } = this.#options;
    if (signal?.aborted) return this.#abort();
    signal?.addEventListener("abort", this.#abort, { once: true });
    if (!(await this.#reserve(context))) return;
    this.#tools = context.tools?.map(({ name }) => name) ?? [];
    this.#watchSilence();
    if (TRIES_AGAIN.has(this.#handle.pi.api)) this.#wire.onRefusal = this.#refused;
    try {
      let taken = 0;
      for await (const event of this.#wire.watch(() => this.#ask(context))) {
        this.#take(event);
        taken += 1;
        // A provider that floods must not keep everything else waiting.
        if (taken % EVENTS_AT_ONCE === 0) await nextTurn();
      }
      this.#fail("The stream ended before its last event.");
    } catch (error) {
      this.#fail(errorText(error));
    }
  }

  async #reserve(context: PiContext): Promise<boolean> {
    const { pi } = this.#handle;
    const input = estimatedTokens(context);
    const maxOutput = outputFor(pi, input, this.#options.maxTokens);
    const added = addedByThinking(pi, this.#options.reasoning);
    this.#failIf(await this.#spending.reserve({ input, maxOutput, added }));
    this.#maxOutput = this.#spending.output ?? maxOutput;
    return !this.#isEnded;
  }

  #ask(context: PiContext): PiStream {
    const {
      idleMs: _idle,
      onFacts: _facts,
      onSettled: _settled,
      origin: _origin,
      clock: _clock,
      added = {},
      ...options
    } = this.#options;
    const { pi, apiKey, openStream } = this.#handle;
    const payload = withPayload(pi, context, added);
    return openStream(pi, payload.context, {
      ...options,
      ...payload.options,
      ...(this.#maxOutput !== undefined && { maxTokens: this.#maxOutput }),
      // How a stream ends can only be read from plain bytes.
      headers: { "accept-encoding": "identity", ...options.headers },
      apiKey,
      maxRetries: 0,
      // Traffic on a web socket cannot be watched.
      transport: "sse",
      signal: this.#request.signal,
    });
  }

  #take(given: AssistantMessageEvent): void {
    if (this.#isEnded) return;
    const event = withTextDelta(given);
    this.#lastEventAt = this.#clock.now();
    if (event.type === "done") return this.#judge(event.message);
    if (event.type === "error") return this.#failWith(event.error);
    if (event.type === "start" && event.partial.api === "bedrock-converse-stream") this.#watchEnd(event.partial);
    const tooLarge = this.#size.take(event);
    if (tooLarge !== undefined) return this.#fail(tooLarge);
    this.#growth.take(event, { raw: this.#rawArguments(event), isOdd: event !== given });
    this.#partial = event.partial;
    if (event.type === "text_delta" || event.type === "thinking_delta") return this.#hold(event);
    this.#release();
    this.out.push(event);
  }

  #watchEnd(message: AssistantMessage): void {
    const judge = (): void => {
      if (!this.#isEnded && this.#stopped !== undefined) this.#judge({ ...message, stopReason: this.#stopped });
    };
    watchBedrock(message, {
      stopped: (reason) => {
        if (this.#stopped !== undefined || reason === "error" || reason === "aborted") return;
        this.#stopped = reason;
        this.#clock.after(AFTER_FINISH_MS, judge);
      },
      counted: () => void setImmediate(judge),
    });
  }

  /** Deltas that were read at the same moment are passed on as one. */
  #hold(event: TextDelta): void {
    const held = this.#held;
    if (held?.type === event.type && held.contentIndex === event.contentIndex) {
      this.#held = { ...event, delta: held.delta + event.delta };
      return;
    }
    this.#release();
    this.#held = event;
    setImmediate(() => this.#release());
  }

  #release(): void {
    if (!this.#held) return;
    this.out.push(this.#held);
    this.#held = undefined;
  }

  /** Imitations of the Responses API send a call in one piece, whose text the SDK does not hand on. */
  #rawArguments(event: AssistantMessageEvent): string | undefined {
    if (event.type !== "toolcall_end" || !event.partial.api.endsWith("responses")) return undefined;
    return rawArgumentsIn(this.#wire.tail(), String(event.toolCall.id));
  }

  #judge(given: AssistantMessage): void {
    const message = this.#typed(given);
    const ending = streamEndingOf(message, { tail: this.#wire.tail(), isOpen: this.#growth.isOpen });
    this.#partial = message;
    const isHalf = ending === "whole" && message.stopReason === "stop" && !this.#growth.areWhole(message);
    if (ending === "cut" || isHalf) return this.#fail(this.#explain(CUT));
    if (typeof ending === "object") return this.#fail(`The provider refused: ${ending.refused}.`);
    if (isWindowFull(message, this.#handle.pi.contextWindow))
      return this.#fail("The context window was full before the model could answer.");
    const reason = ending === "length" ? "length" : stopOf(message);
    // Half a call must not be made, though the SDK would mend its arguments.
    const kept = reason === "length" ? soFar(message, this.#growth) : withTornMarked(message, this.#growth);
    this.#end({ type: "done", reason, message: { ...kept, stopReason: reason } });
  }

  #typed(message: AssistantMessage): AssistantMessage {
    return withToolNames(typedMessage(message, this.#growth), this.#tools);
  }

  #failWith(message: AssistantMessage): void {
    // A failure after an answer's finish takes nothing from the answer.
    if (this.#stopped !== undefined) return this.#judge({ ...message, stopReason: this.#stopped });
    this.#partial = message;
    const text = message.errorMessage ?? "";
    const reason = text === NAMELESS ? reasonIn(this.#wire.tail() ?? "") : undefined;
    this.#fail(reason === undefined ? this.#explain(text) : `The provider stopped with ${reason}.`);
  }

  /** The SDK says "Connection error." or "terminated"; the cause of the break is on the wire. */
  #explain(reported: string): string {
    const { broke } = this.#wire;
    this.#refusal = refusalOn(this.#wire);
    const text = reportedText(reported, this.#refusal, this.#handle.pi);
    const full = broke === undefined || text.includes(broke) ? text : `${text} (${broke})`;
    const isBroken =
      classifyFailure(full, this.#knownOf(full)).kind === "network" && (this.#partial?.content.length ?? 0) > 0;
    return isBroken ? `The connection broke before the answer was finished: ${full}` : full;
  }

  #knownOf(message: string): Pick<CallFacts, "kind" | "refusal" | "maxOutput"> {
    if (this.#spending.isRefused) return { kind: "budget" };
    const { status } = this.#wire;
    const kind = this.#handle.classify?.({
      model: this.#handle.pi.id,
      message,
      ...(status !== undefined && { status }),
    });
    return {
      ...(kind !== undefined && { kind }),
      ...(this.#refusal && { refusal: this.#refusal }),
      ...(this.#maxOutput !== undefined && { maxOutput: this.#maxOutput }),
    };
  }

  /**
   * Fails the call after `idleMs` without a byte. Comments that keep a connection alive count, though the SDK hides
   * them.
   */
  #watchSilence(): void {
    const { idleMs } = this.#options;
    if (idleMs === undefined || this.#isEnded) return;
    const left = this.#patience(idleMs);
    if (left > 0) this.#forgetTimer = this.#clock.after(left, () => this.#watchSilence());
    // After the process was blocked, bytes that came meanwhile are still unread.
    else setImmediate(() => (this.#patience(idleMs) > 0 ? this.#watchSilence() : this.#stall(idleMs)));
  }

  #patience(idleMs: number): number {
    return Math.max(this.#lastEventAt, this.#wire.lastByteAt) + idleMs - this.#clock.now();
  }

  #stall(idleMs: number): void {
    this.#fail(`The model timed out: it was silent for ${idleMs / 1000} s.`);
  }

  /** The first request was the only one: when to ask again is decided elsewhere. */
  readonly #refused = (): void => {
    const { status, broke } = this.#wire;
    this.#fail(this.#explain(broke === undefined ? `${status ?? ""} ${this.#wire.tail() ?? ""}`.trim() : FAILED));
  };

  readonly #abort = (): void => {
    this.#end({ type: "error", reason: "aborted", error: this.#failed("aborted", "Request was aborted") });
  };

  #failIf(text: string | undefined): void {
    if (text !== undefined) this.#fail(text);
  }

  #fail(text: string): void {
    if (!this.#isEnded) this.#end({ type: "error", reason: "error", error: this.#failed("error", text) });
  }

  #failed(stopReason: "error" | "aborted", text: string): AssistantMessage {
    const partial = this.#typed(this.#partial ?? emptyMessage(this.#handle.pi));
    return { ...soFar(partial, this.#growth), stopReason, errorMessage: Secret.mask(text) };
  }

  #end(event: Extract<AssistantMessageEvent, { type: "done" | "error" }>): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#release();
    this.#forgetTimer();
    this.#options.signal?.removeEventListener("abort", this.#abort);
    const failure = event.type === "error" ? event.error.errorMessage : undefined;
    const known = failure === undefined ? {} : this.#knownOf(failure);
    this.#options.onFacts?.({ ...callFactsOf(this.#wire, failure, this.#clock.now(), known.refusal), ...known });
    this.out.push(event);
    this.out.end();
    if (!this.#wire.isComplete) this.#request.abort(ENDED);
    const cost = this.#spending.settle(event.type === "done" ? event.message : event.error, this.#wire.status);
    if (cost) this.#options.onSettled?.(cost);
    this.#wire.release();
  }
}

/** Servers that name no reason ask for tools all the same. */
function stopOf({ stopReason, content }: AssistantMessage): "stop" | "length" | "toolUse" {
  if (stopReason === "length" || stopReason === "toolUse") return stopReason;
  return content.some((block) => block.type === "toolCall") ? "toolUse" : "stop";
}

/** The provider's error, from a refused answer or from the last event of one that began well. */
function refusalOn(wire: Wire): RefusalBody | undefined {
  const { status = 0 } = wire;
  const tail = Buffer.from(wire.tail() ?? "", "latin1").toString("utf8");
  return status >= 400 ? readRefusal(tail) : readStreamRefusal(tail);
}

/**
 * The error text for an answer that is a web page: a wrong address, or a network that asks for a login first. The rest of the
 * page is ignored. Undefined when it is no web page; a refusal may be one too.
 */
function webPageOn(wire: Wire): string | undefined {
  const { status = 0, pieces } = wire;
  if (status >= 400 || pieces > FIRST_PIECES || !MARKUP.test(wire.start())) return undefined;
  const title = pageTitle(Buffer.from(wire.tail() ?? "", "latin1").toString("utf8"));
  if (title === undefined) return undefined;
  const named = title === "" ? "" : ` ("${title.slice(0, 80)}")`;
  return `The provider's address answered with a web page${named}, not with a model's answer. Check baseUrl, and whether this network asks for a login.`;
}

/** How a page begins, after a mark of UTF-8 and white space. */
const MARKUP = /^(?:\u00EF\u00BB\u00BF)?\s*(?:<|$)/;
/** A web page is recognised in the first pieces. */
const FIRST_PIECES = 4;

/** The SDKs' texts for an empty body and for a body whose shape they do not know. */
const NO_BODY = /^(\d{3}) status code \(no body\)/;

/**
 * The failure in the provider's own words, with the status before it and the error's name after it, or else the SDK's text.
 * Each SDK can read one shape of body. It quotes others as JSON, or says that there was no body.
 */
function reportedText(text: string, refusal: RefusalBody | undefined, { provider, baseUrl }: PiModel): string {
  if (refusal !== undefined && refusal.message !== "") return inOwnWords(text, refusal);
  // Cerebras sends an empty body when a request is too long. An empty body of another provider means nothing.
  const isCerebras = `${provider} ${baseUrl}`.includes("cerebras");
  return isCerebras ? text : text.replace(NO_BODY, "$1 without a reason");
}

function inOwnWords(text: string, { message, names, status: inBody }: RefusalBody): string {
  // Google's SDK quotes the body, which contains the status.
  const status = /^(?:\w+ API error \()?([45]\d\d)\b/i.exec(text)?.[1] ?? (/^\s*[[{]/.test(text) ? inBody : undefined);
  const missing = names.filter((name) => name !== "error" && !message.includes(name));
  return [
    ...(status === undefined ? [] : [status]),
    message,
    ...(missing.length > 0 ? [`(${missing.join(", ")})`] : []),
  ].join(" ");
}
