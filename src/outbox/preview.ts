import type { ChannelLimits } from "../types/channel.ts";
import type { Peer } from "../types/message.ts";
import type { KeyedQueue } from "../utils/keyed-queue.ts";
import type { Pace } from "./pace.ts";
import type { OutboxDeps } from "./ports.ts";
import { renderText } from "./render.ts";

interface PreviewDeps extends OutboxDeps {
  readonly pace: Pace;
  readonly queue: KeyedQueue;
  readonly chat: string;
  readonly limits: ChannelLimits;
  readonly to: Peer;
  readonly inboxId: number;
  readonly replyTo: string | undefined;
}

/** Milliseconds before a growing reply is shown at all: a quick answer needs no preview. */
const FIRST_AFTER_MS = 800;
const EDIT_EVERY_MS = 1000;
/** Characters; less is not worth a message. */
const LEAST_TEXT = 20;

/**
 * Shows a reply while it grows: one message, sent once, edited at the platform's pace. The final is an edit of it, so a
 * preview is never a second reply. What goes wrong here is left to the final.
 */
export class Preview {
  readonly #deps: PreviewDeps;
  readonly #startedAt: number;
  #shown = "";
  #nextAt: number;
  #busy: Promise<void> | undefined;
  #messageId: string | undefined;
  #closed = false;
  #mayStand = false;

  constructor(deps: PreviewDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
    this.#nextAt = this.#startedAt + FIRST_AFTER_MS;
  }

  /** Goes on with a preview of an earlier boot. One without an id may stand in the chat: nothing is shown beside it. */
  adopt(messageId: string): void {
    if (messageId === "") this.#leave();
    else this.#messageId = messageId;
  }

  /** A preview may stand in the chat that cannot be edited: the final then says that it may repeat. */
  get mayStand(): boolean {
    return this.#mayStand;
  }

  #leave(): void {
    this.#mayStand = true;
    this.#closed = true;
  }

  /** Shows the text so far when it is time; otherwise a later call will. */
  update(markdown: string): void {
    const now = this.#deps.clock.now();
    if (this.#closed || this.#busy || now < this.#nextAt || markdown.length < LEAST_TEXT || markdown === this.#shown)
      return;
    // Behind a reply that waits for its platform the final would wait for the preview.
    if (this.#deps.queue.isBusy(this.#deps.chat)) return;
    this.#shown = markdown;
    this.#nextAt = now + Math.max(EDIT_EVERY_MS, this.#deps.limits.editEveryMs ?? 0);
    this.#busy = this.#deps.queue
      .run(this.#deps.chat, () => this.#show(markdown))
      .catch((error: unknown) => this.#deps.log.warn("preview not shown", { error }))
      .finally(() => {
        this.#busy = undefined;
      });
  }

  async #show(markdown: string): Promise<void> {
    const { links, to } = this.#deps;
    const link = links.link(to);
    const [part] = await renderText(markdown, this.#deps.limits);
    if (!link?.edit || !part) return;
    const result = this.#messageId === undefined ? await this.#begin(part) : await link.edit(to, this.#messageId, part);
    if (result?.kind !== "retry" || result.afterMs === undefined) return;
    this.#nextAt = this.#deps.clock.now() + result.afterMs;
    // The final waits as well, instead of being refused.
    if (result.rateLimited === true) this.#deps.pace.limited(to, result.afterMs);
  }

  async #begin(part: Awaited<ReturnType<typeof renderText>>[number]) {
    const { links, to, replyTo, inboxId, journal } = this.#deps;
    await journal.notePreview(inboxId, to, "");
    const result = await links.link(to)?.send(to, part, {
      idempotencyKey: `preview:${inboxId}`,
      silent: true,
      ...(replyTo !== undefined && { replyTo }),
    });
    if (result?.kind === "sent") {
      this.#messageId = result.messageId;
      await journal.notePreview(inboxId, to, result.messageId);
    }
    if (result?.kind === "unknown") this.#leave();
    if (result?.kind === "refused") this.#closed = true;
    return result;
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

  /** No more updates; gives the message to edit into the final. */
  async finish(): Promise<string | undefined> {
    this.#closed = true;
    await this.#busy;
    return this.#messageId;
  }
}
