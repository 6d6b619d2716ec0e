import { isSkip, isUnseen, parseBlock } from "../../reply/plain-reply.ts";
import type { Directives } from "../../reply/directives.ts";
import type { ReplyTarget } from "../../types/chat/reply.ts";
import type { DeltaPace } from "../../types/run/events.ts";
import type { AnswerPorts, AnswerTarget } from "./answer-target.ts";
import type { AnswerSends } from "./answer-sends.ts";
import { lettersOf, type BlockFeed } from "./block-feed.ts";
import type { ResponsePrefix } from "./response-prefix.ts";
import type { SentTexts } from "./sent-texts.ts";
import { openFeed, shownAtTimes } from "./showing.ts";
import type { Clock } from "../../types/clock.ts";

/** The parts of an answer that its blocks share with the rest of the answer. */
interface AnswerParts {
  readonly sends: AnswerSends;
  readonly prefix: ResponsePrefix;
  readonly limit: ReplyLimit;
  /** Texts that the message tool sent. */
  readonly toolTexts: SentTexts;
  /** The directives of the message that the model writes now. */
  directives(): Directives;
}

/** The blocks of an answer, each sent when it is complete, while the model writes the next. */
export class AnswerBlocks implements WaitingBlocks {
  readonly #target: AnswerTarget;
  readonly #ports: AnswerPorts;
  readonly #parts: AnswerParts;
  readonly #feed: BlockFeed;
  /** The letters of each block that was planned before a restart. */
  readonly #earlier: readonly string[];
  /** Text that may turn out to be a thought. */
  #unsure = "";
  #count = 0;
  /** The message that the last block answers, as far as the model named one. */
  #named: ReplyTarget | undefined;

  constructor(target: AnswerTarget, ports: AnswerPorts, parts: AnswerParts) {
    this.#target = target;
    this.#ports = ports;
    this.#parts = parts;
    this.#earlier = parts.sends.plannedBlocks();
    this.#feed = openFeed(target, ports, this.#earlier);
  }

  /** The number of blocks that were sent. */
  get count(): number {
    return this.#count;
  }

  get pace(): DeltaPace {
    return shownAtTimes(this.#ports.clock, this.#feed);
  }

  /**
   * Adds text. Unsure text waits for the next sure text, or for the end of the text: a block that was sent cannot be
   * taken back.
   */
  async push(delta: string, isUnsure: boolean): Promise<void> {
    this.#unsure += delta;
    if (!isUnsure) await this.#sendAll(this.#feed.push(this.#takeUnsure()));
    await this.sendDue();
  }

  #takeUnsure(): string {
    const text = this.#unsure;
    this.#unsure = "";
    return text;
  }

  due(): number | undefined {
    return this.#feed.due();
  }

  sendDue(): Promise<void> {
    return this.#sendAll(this.#feed.tick());
  }

  /** Sends the rest. Called when the text has ended. */
  async flush(): Promise<void> {
    if (this.#unsure !== "") await this.#sendAll(this.#feed.push(this.#takeUnsure()));
    await this.#sendAll(this.#feed.flush());
  }

  /** Drops the unsent text. Called when the call that wrote the text broke off. */
  drop(): void {
    this.#unsure = "";
    this.#feed.drop();
  }

  /**
   * Whether every block that was sent before a restart is in this repeated text. Then the answer continues after the
   * text.
   */
  adopt(text: string): boolean {
    if (this.#earlier.length === 0 || lettersOf(text) !== this.#earlier.join("")) return false;
    this.#count = this.#earlier.length;
    return true;
  }

  async #sendAll(blocks: readonly string[]): Promise<void> {
    for (const block of blocks) await this.#send(block);
  }

  async #send(block: string): Promise<void> {
    const { sends, prefix, limit, toolTexts, directives } = this.#parts;
    const { text: said, silent } = parseBlock(block);
    const text = silent ? "" : limit.take(said);
    if (isUnseen(text) || isSkip(text)) return;
    const name = `block:${this.#count}`;
    if (toolTexts.repeats(text) && !sends.wasPlanned(name)) return;
    const isFirst = this.#count === 0;
    await sends.send(name, [{ kind: "text", markdown: isFirst ? prefix.before(text) : text }], {
      ...(isFirst && { editOf: earlierPreview(this.#target) }),
      replyTo: this.#quoted(directives(), isFirst),
      pauseMs: isFirst ? 0 : this.#pauseMs(),
      mayRepeat: isFirst && this.#target.earlier.previewId === "",
    });
    this.#count += 1;
  }

  /**
   * The message that a block answers visibly. The first block has one, and each block for which the model names another
   * message; every block has one where the settings say so.
   */
  #quoted(directives: Directives, isFirst: boolean): string | undefined {
    const { replyTo: target } = directives;
    const isNamed = target !== undefined && target !== this.#named;
    this.#named = target;
    const isQuoted = isFirst || isNamed || this.#target.style.replyToMode === "all";
    return isQuoted ? replyTo(this.#target, directives) : undefined;
  }

  #pauseMs(): number {
    const { pause } = this.#target.agent.streaming;
    return pause ? pause.minMs + Math.random() * (pause.maxMs - pause.minMs) : 0;
  }
}

/**
 * The id of the preview's message from before a restart, also when its channel was not yet connected as the answer
 * began.
 */
export function earlierPreview({ earlier: { previewId } }: Pick<AnswerTarget, "earlier">): string | undefined {
  return previewId === "" ? undefined : previewId;
}

/**
 * The id of the message that a reply answers visibly: the message that the model names, else the message of the turn
 * where the settings say so.
 */
export function replyTo(
  { style, message }: Pick<AnswerTarget, "style" | "message">,
  { replyTo: named }: Pick<Directives, "replyTo">,
): string | undefined {
  if (named?.kind === "id") return named.id;
  const isWanted = named?.kind === "current" || style.replyToMode !== "off";
  return isWanted && message.id !== "" ? message.id : undefined;
}

/**
 * The most UTF-16 units of one answer that a chat gets: some 25 full messages of Telegram, more than a person reads
 * there.
 */
const MOST_CHARS = 100_000;

/** Cuts an answer that is too long for its chat. The part that is left out stays in the transcript. */
export class ReplyLimit {
  #sent = 0;
  #leftOut = 0;

  /** The part of the next text that the chat still gets; empty when it gets nothing more. */
  take(text: string): string {
    const left = Math.max(0, MOST_CHARS - this.#sent);
    const taken = text.length <= left ? text : text.slice(0, left).toWellFormed();
    this.#sent += taken.length;
    this.#leftOut += text.length - taken.length;
    return taken;
  }

  /** The line for the chat about the part that is left out. Undefined when nothing was left out. */
  get note(): string | undefined {
    if (this.#leftOut === 0) return undefined;
    const left = this.#leftOut.toLocaleString("en");
    return `⚠️ This answer is too long for a chat: its last ${left} characters are left out here. Ask for them in parts.`;
  }
}

/** The part of an answer that waits for more text. */
export interface WaitingBlocks {
  /** The time at which the waiting text is due, in the clock's milliseconds; undefined when no text waits. */
  due(): number | undefined;
  /** Sends the waiting text when it is due. */
  sendDue(): Promise<void>;
}

/**
 * Sends waiting blocks when the model writes nothing for a while. Events and these sends never overlap: call `pause`
 * before an event is handled, and `resume` after it.
 */
export class IdleBlocks {
  readonly #clock: Clock;
  readonly #waiting: WaitingBlocks;
  #cancel: (() => void) | undefined;
  #sending: Promise<void> | undefined;

  constructor(clock: Clock, waiting: WaitingBlocks) {
    this.#clock = clock;
    this.#waiting = waiting;
  }

  /** Cancels the timer and waits for a send in progress. Rejects with that send's error. */
  async pause(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const sending = this.#sending;
    this.#sending = undefined;
    await sending;
  }

  resume(): void {
    const due = this.#waiting.due();
    if (due === undefined) return;
    this.#cancel = this.#clock.after(Math.max(0, due - this.#clock.now()), () => {
      this.#sending = this.#waiting.sendDue();
      // `pause` reports the error; until then it must not count as unhandled.
      this.#sending.catch(() => {});
    });
  }
}
