import type { Outbox } from "../../outbox/deliver.ts";
import { partText } from "../../outbox/render.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { ReplyBlock } from "../../types/chat/reply.ts";
import type { AnswerTarget } from "./answer-target.ts";
import { lettersOf } from "./block-feed.ts";
import type { ResponsePrefix } from "./response-prefix.ts";

export interface SendHow {
  readonly editOf?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly pauseMs?: number;
}

type Answered = Pick<AnswerTarget, "inboxId" | "message" | "style" | "earlier" | "session">;

/**
 * Sends the replies of one answer. Each reply has a name, so that a reply planned before a restart is recognised and
 * not sent twice.
 */
export class AnswerSends {
  readonly #answered: Answered;
  readonly #outbox: Outbox;
  readonly #prefix: ResponsePrefix;
  /** A part of the reply keys; empty until the answer differs from the answer that was planned before a restart. */
  #series = "";

  constructor(answered: Answered, outbox: Outbox, prefix: ResponsePrefix) {
    this.#answered = answered;
    this.#outbox = outbox;
    this.#prefix = prefix;
  }

  wasPlanned(name: string): boolean {
    return this.#series === "" && this.#planned(name).length > 0;
  }

  /** The letters of each block that was planned before a restart, in order. */
  plannedBlocks(): readonly string[] {
    const known: string[] = [];
    for (let own = this.#planned("block:0"); own.length > 0; own = this.#planned(`block:${known.length}`))
      known.push(lettersOf(known.length === 0 ? this.#prefix.without(textIn(own)) : textIn(own)));
    return known;
  }

  /**
   * Sends a reply. Where the answer differs from the planned answer, a new series begins, labelled as a possible
   * repeat.
   */
  async send(
    name: string,
    blocks: readonly ReplyBlock[],
    { editOf, replyTo, pauseMs = 0, mayRepeat }: SendHow & { readonly mayRepeat: boolean },
  ): Promise<void> {
    const { inboxId, message, style, earlier, session } = this.#answered;
    const wanted = blocks.map((block) => (block.kind === "media" ? "" : block.markdown)).join("");
    const isKnown = name !== "reply" && this.wasPlanned(name);
    if (isKnown && this.#areSame(name, textIn(this.#planned(name)), wanted)) return;
    if (isKnown) this.#series = `:again${earlier.rows.length}`;
    await this.#outbox.deliver(
      {
        replyKey: `in:${inboxId}${this.#series}:${name}`,
        inboxId,
        answers: message.eventKey,
        to: message.from,
        blocks,
        isRepeat: isKnown || mayRepeat,
        ...(editOf !== undefined && { editOf }),
        ...(replyTo !== undefined && { replyTo }),
        quoteAll: style.replyToMode === "all",
      },
      { pauseMs, ...(session !== undefined && { session }) },
    );
  }

  #planned(name: string): readonly OutboxRow[] {
    const { inboxId, earlier } = this.#answered;
    return earlier.rows.filter((row) => row.replyKey === `in:${inboxId}:${name}`);
  }

  /** Compares the letters. The prefix of the first block may name another model. */
  #areSame(name: string, ...texts: readonly [string, string]): boolean {
    const [before, now] = texts.map((text) => lettersOf(name === "block:0" ? this.#prefix.without(text) : text));
    return before === now;
  }
}

const textIn = (rows: readonly OutboxRow[]): string => rows.map(({ body }) => partText(body)).join("");
