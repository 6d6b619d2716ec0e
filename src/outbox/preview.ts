import type { SendResult } from "../types/chat/channel.ts";
import type { KeyedQueue } from "../utils/keyed-queue.ts";
import { StreamingMessage, type StreamingDeps } from "./streaming-message.ts";
import type { OutboxDeps } from "./ports.ts";

/** How one answer is shown while it is streamed. */
export type PreviewOptions = Pick<StreamingDeps, "replyTo" | "recipient" | "isNative" | "shownBefore">;

/** The message that a preview answers. */
export type Answered = Pick<StreamingDeps, "inboxId" | "eventKey">;

interface PreviewDeps extends OutboxDeps, StreamingDeps {
  readonly queue: KeyedQueue;
  readonly chat: string;
}

/** Milliseconds before a preview is shown at all: a quick answer needs none. */
const FIRST_AFTER_MS = 800;
const EDIT_EVERY_MS = 1000;
/** Milliseconds before the next check while another reply is being sent to the chat. */
const CHECK_AGAIN_MS = 100;
/** Characters; a shorter text is not worth a message. */
const LEAST_TEXT = 20;

/**
 * Shows a reply while it is streamed, as fast as the platform allows: as one message that the final reply edits, or natively as
 * something that disappears before the final reply. A preview is never a second reply, and its text only becomes longer: when a
 * model begins again, also after a restart, nothing is shown until it has written more. Failures are left to the final reply.
 */
export class Preview {
  readonly #deps: PreviewDeps;
  readonly #message: StreamingMessage;
  #shown = "";
  /** Makes the newest text, if it has not been shown yet. */
  #wanted: (() => string) | undefined;
  #nextAt: number;
  #busy: Promise<void> | undefined;
  #closed = false;
  #cancelKeepAlive: () => void = () => undefined;
  #cancelShow: () => void = () => undefined;

  constructor(deps: PreviewDeps) {
    this.#deps = deps;
    this.#message = new StreamingMessage(deps);
    this.#nextAt = deps.clock.now() + FIRST_AFTER_MS;
  }

  /** Continues a preview from before a restart. One without an id may be in the chat, so nothing further is shown. */
  adopt(messageId: string): void {
    this.#message.adopt(messageId);
  }

  /** True when a preview may remain in the chat that cannot be edited. The final reply is then labelled as a possible repeat. */
  get mayRemain(): boolean {
    return this.#message.mayRemain;
  }

  /** The text that people see now, but that disappears when no final reply follows. */
  get fading(): string | undefined {
    return this.#message.fades ? this.#shown : undefined;
  }

  /** Shows the newest text as soon as it is time. A function is called only then, however often `update` was called. */
  update(markdown: string | (() => string)): void {
    this.#wanted = typeof markdown === "string" ? () => markdown : markdown;
    this.#showWhenDue();
  }

  /** Shows the wanted text now or later, so that the last text is shown even when the model pauses. */
  #showWhenDue(): void {
    this.#cancelShow();
    const make = this.#wanted;
    if (this.#closed || this.#busy || this.#message.isOver || !make) return;
    const now = this.#deps.clock.now();
    if (now < this.#nextAt || !this.#isFree) {
      const ms = now < this.#nextAt ? this.#nextAt - now : CHECK_AGAIN_MS;
      this.#cancelShow = this.#deps.clock.after(ms, () => this.#showWhenDue());
      return;
    }
    this.#wanted = undefined;
    const markdown = make();
    if (markdown.length < LEAST_TEXT || markdown === this.#shown) {
      this.#nextAt = now + CHECK_AGAIN_MS;
      return;
    }
    const before = this.#shown;
    this.#shown = markdown;
    this.#nextAt = now + Math.max(EDIT_EVERY_MS, this.#deps.limits.editEveryMs ?? 0);
    this.#run(async () => {
      const result = await this.#message.show(markdown);
      if (result?.kind === "sent") return result;
      this.#shown = before;
      // The model may pause now, so this text must be shown later.
      if (result?.kind === "retry") this.#wanted ??= make;
      return result;
    });
  }

  /** False while a reply waits for its platform: the final reply would have to wait for the preview. */
  get #isFree(): boolean {
    const { queue, chat } = this.#deps;
    return !this.#closed && !this.#message.isOver && !this.#busy && !queue.isBusy(chat);
  }

  #run(show: () => Promise<SendResult | undefined>): void {
    this.#cancelKeepAlive();
    this.#busy = this.#deps.queue
      .run(this.#deps.chat, async () => this.#obey(await show()))
      .catch((error: unknown) => this.#deps.log.warn("preview not shown", { error }))
      .finally(() => {
        this.#busy = undefined;
        this.#scheduleKeepAlive();
        this.#showWhenDue();
      });
  }

  #obey(result: SendResult | undefined): void {
    if (result?.kind !== "retry" || result.afterMs === undefined) return;
    this.#nextAt = this.#deps.clock.now() + result.afterMs;
    // The final reply waits as well, instead of being refused.
    if (result.rateLimited === true) this.#deps.rate.refused(this.#deps.to, result.afterMs);
  }

  #scheduleKeepAlive(): void {
    const ms = this.#message.keepAliveMs;
    if (ms !== undefined && !this.#closed) this.#keepAliveIn(ms);
  }

  #keepAliveIn(ms: number): void {
    this.#cancelKeepAlive = this.#deps.clock.after(ms, () => {
      if (!this.#isFree) return;
      const waitMs = this.#deps.rate.waitMs(this.#deps.to);
      if (waitMs > 0) this.#keepAliveIn(waitMs);
      else this.#run(() => this.#message.keepAlive());
    });
  }

  /** Removes the preview, where the platform can do that, because its text is already elsewhere in the chat. Never rejects. */
  async discard(): Promise<void> {
    const messageId = await this.finish();
    if (messageId === undefined) return;
    const { links, to, queue, chat, log } = this.#deps;
    const result = await queue
      .run(chat, async () => links.link(to)?.remove?.(to, messageId))
      .catch((error: unknown) => ({ kind: "unknown", reason: String(error) }) as const);
    if (result?.kind !== "sent") log.warn("preview left in the chat", { channel: to.channel, message: messageId });
  }

  /** Ends updates without a final reply: the preview stays as it is. The platform is informed in the background. Never rejects. */
  async leave(): Promise<void> {
    await this.finish();
    const { queue, chat, log } = this.#deps;
    void queue
      .run(chat, () => this.#message.end())
      .catch((error: unknown) => log.warn("stream of a preview not ended", { error }));
  }

  /** Ends updates. Returns the message that the final reply edits. `final` is the text of that reply. */
  async finish(final?: string): Promise<string | undefined> {
    this.#closed = true;
    this.#cancelKeepAlive();
    this.#cancelShow();
    await this.#busy;
    const { queue, chat, log } = this.#deps;
    if (final !== undefined && !queue.isBusy(chat)) {
      await queue
        .run(chat, () => this.#message.complete(final))
        .catch((error: unknown) => log.warn("preview not shown to its end", { error }));
    }
    return this.#message.messageId;
  }
}
