import type { SendResult } from "../types/chat/channel.ts";
import type { KeyedQueue } from "../utils/keyed-queue.ts";
import { StreamingMessage, type StreamingDeps } from "./streaming-message.ts";
import type { OutboxDeps } from "./ports.ts";

/** How one answer is shown while it is written. */
export type PreviewOptions = Pick<StreamingDeps, "replyTo" | "recipient" | "isNative" | "shownBefore">;

interface PreviewDeps extends OutboxDeps, StreamingDeps {
  readonly queue: KeyedQueue;
  readonly chat: string;
}

/** Milliseconds before a growing reply is shown at all: a quick answer needs no preview. */
const FIRST_AFTER_MS = 800;
const EDIT_EVERY_MS = 1000;
/** While the chat waits for something else to be sent. */
const LOOK_AGAIN_MS = 100;
/** Characters; less is not worth a message. */
const LEAST_TEXT = 20;

/**
 * Shows a reply while it grows, at the platform's rate: as one message, of which the final is an edit, or as something that
 * goes away before the final. A preview is never a second reply, and what it shows becomes longer, never shorter: a model that
 * begins again, in this boot or after a restart, is not seen before it has said more. What goes wrong here is left to the final.
 */
export class Preview {
  readonly #deps: PreviewDeps;
  readonly #growing: StreamingMessage;
  #shown = "";
  /** Makes the text so far, when there is one that was not looked at. */
  #wanted: (() => string) | undefined;
  #nextAt: number;
  #busy: Promise<void> | undefined;
  #closed = false;
  #noRest: () => void = () => undefined;
  #noLook: () => void = () => undefined;

  constructor(deps: PreviewDeps) {
    this.#deps = deps;
    this.#growing = new StreamingMessage(deps);
    this.#nextAt = deps.clock.now() + FIRST_AFTER_MS;
  }

  /** Goes on with a preview of an earlier boot. One without an id may stand in the chat: nothing is shown beside it. */
  adopt(messageId: string): void {
    this.#growing.adopt(messageId);
  }

  /** A preview may stand in the chat that cannot be edited: the final then says that it may repeat. */
  get mayRemain(): boolean {
    return this.#growing.mayRemain;
  }

  /** What people read now and do not find any more when no final follows. */
  get fading(): string | undefined {
    return this.#growing.fades ? this.#shown : undefined;
  }

  /** Shows the text so far, now or as soon as it is time. A function is called only then, however many updates came before. */
  update(markdown: string | (() => string)): void {
    this.#wanted = typeof markdown === "string" ? () => markdown : markdown;
    this.#look();
  }

  /** A model that falls silent must not leave its last words unseen. */
  #look(): void {
    this.#noLook();
    const make = this.#wanted;
    if (this.#closed || this.#busy || this.#growing.isOver || !make) return;
    const now = this.#deps.clock.now();
    if (now < this.#nextAt || !this.#isFree) {
      const ms = now < this.#nextAt ? this.#nextAt - now : LOOK_AGAIN_MS;
      this.#noLook = this.#deps.clock.after(ms, () => this.#look());
      return;
    }
    this.#wanted = undefined;
    const markdown = make();
    if (markdown.length < LEAST_TEXT || markdown === this.#shown) {
      this.#nextAt = now + LOOK_AGAIN_MS;
      return;
    }
    const before = this.#shown;
    this.#shown = markdown;
    this.#nextAt = now + Math.max(EDIT_EVERY_MS, this.#deps.limits.editEveryMs ?? 0);
    this.#run(async () => {
      const result = await this.#growing.show(markdown);
      if (result?.kind === "sent") return result;
      this.#shown = before;
      // Whoever falls silent now must not leave it unseen.
      if (result?.kind === "retry") this.#wanted ??= make;
      return result;
    });
  }

  /** Behind a reply that waits for its platform the final would wait for the preview. */
  get #isFree(): boolean {
    const { queue, chat } = this.#deps;
    return !this.#closed && !this.#growing.isOver && !this.#busy && !queue.isBusy(chat);
  }

  #run(show: () => Promise<SendResult | undefined>): void {
    this.#noRest();
    this.#busy = this.#deps.queue
      .run(this.#deps.chat, async () => this.#obey(await show()))
      .catch((error: unknown) => this.#deps.log.warn("preview not shown", { error }))
      .finally(() => {
        this.#busy = undefined;
        this.#restLater();
        this.#look();
      });
  }

  #obey(result: SendResult | undefined): void {
    if (result?.kind !== "retry" || result.afterMs === undefined) return;
    this.#nextAt = this.#deps.clock.now() + result.afterMs;
    // The final waits as well, instead of being refused.
    if (result.rateLimited === true) this.#deps.rate.refused(this.#deps.to, result.afterMs);
  }

  #restLater(): void {
    const ms = this.#growing.keepAliveMs;
    if (ms !== undefined && !this.#closed) this.#restIn(ms);
  }

  #restIn(ms: number): void {
    this.#noRest = this.#deps.clock.after(ms, () => {
      if (!this.#isFree) return;
      const waitMs = this.#deps.rate.waitMs(this.#deps.to);
      if (waitMs > 0) this.#restIn(waitMs);
      else this.#run(() => this.#growing.keepAlive());
    });
  }

  /** What it shows stands elsewhere in the chat already: it goes away, where the platform can do that. Never rejects. */
  async discard(): Promise<void> {
    const messageId = await this.finish();
    if (messageId === undefined) return;
    const { links, to, queue, chat, log } = this.#deps;
    const result = await queue
      .run(chat, async () => links.link(to)?.remove?.(to, messageId))
      .catch((error: unknown) => ({ kind: "unknown", reason: String(error) }) as const);
    if (result?.kind !== "sent") log.warn("preview left in the chat", { channel: to.channel, message: messageId });
  }

  /** No more updates, and no final: what it shows stays as it is. The platform is told in the background. Never rejects. */
  async leave(): Promise<void> {
    await this.finish();
    const { queue, chat, log } = this.#deps;
    void queue
      .run(chat, () => this.#growing.end())
      .catch((error: unknown) => log.warn("preview left growing", { error }));
  }

  /** No more updates; gives the message to edit into the final. `final` is what it will say. */
  async finish(final?: string): Promise<string | undefined> {
    this.#closed = true;
    this.#noRest();
    this.#noLook();
    await this.#busy;
    const { queue, chat, log } = this.#deps;
    if (final !== undefined && !queue.isBusy(chat)) {
      await queue
        .run(chat, () => this.#growing.complete(final))
        .catch((error: unknown) => log.warn("preview not shown to its end", { error }));
    }
    return this.#growing.messageId;
  }
}
