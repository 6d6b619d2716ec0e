import { isSkip, isUnseen, parseBlock } from "../../reply/plain-reply.ts";
import type { Directives } from "../../reply/directives.ts";
import type { ReplyTarget } from "../../types/chat/reply.ts";
import type { DeltaPace } from "../../types/run/events.ts";
import type { AnswerPorts, AnswerTarget } from "./answer-target.ts";
import type { AnswerSends } from "./answer-sends.ts";
import { type BlockFeed, lettersOf } from "./block-feed.ts";
import type { WaitingBlocks } from "./idle-blocks.ts";
import { earlierPreview, replyTo } from "./places.ts";
import type { ReplyLimit } from "./reply-limit.ts";
import type { ResponsePrefix } from "./response-prefix.ts";
import type { SentTexts } from "./sent-texts.ts";
import { openFeed, shownAtTimes } from "./showing.ts";

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
