import type { SendResult, ChannelLimits, ChannelLink, NativeStream, StreamOptions } from "../types/chat/channel.ts";
import type { KeyedQueue } from "../utils/keyed-queue.ts";
import type { OutboxDeps } from "./ports.ts";
import type { Peer } from "../types/chat/message.ts";
import type { OutboundText } from "../types/chat/reply.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { renderText } from "./render.ts";

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

interface StreamingDeps extends Pick<OutboxDeps, "clock" | "journal" | "links" | "log"> {
  readonly rate: RateLimiter;
  readonly limits: ChannelLimits;
  readonly to: Peer;
  readonly inboxId: number;
  /** `eventKey` of the message that is answered. */
  readonly eventKey: string;
  readonly replyTo?: string | undefined;
  readonly recipient?: StreamOptions["recipient"];
  /** Whether the platform streams natively where it can. True when unset. */
  readonly isNative?: boolean | undefined;
  /** The most UTF-16 units that were shown before a restart; none when unset. */
  readonly shownBefore?: number | undefined;
}

/** The noted length is this much larger than the shown one, so that not every edit needs its own note. */
const NOTED_AHEAD = 1.25;

/** Characters of Markdown that are rendered for each character of the message's limit, since only one message is shown. */
const SOURCE_PER_SHOWN = 8;

/** An unfinished answer in the chat: a native stream of the platform, or a message that is edited. */
class StreamingMessage {
  readonly #deps: StreamingDeps;
  #native: NativeStream | undefined;
  /** Whether the native stream was requested, or is not wanted. */
  #isDecided = false;
  #body = "";
  #messageId: string | undefined;
  #isOver = false;
  #mayRemain = false;
  /** UTF-16 units: a text with fewer is not shown. */
  #least: number;
  #notedLength: number;
  readonly #begunAt: number;

  constructor(deps: StreamingDeps) {
    this.#deps = deps;
    this.#least = deps.shownBefore ?? 0;
    this.#notedLength = this.#least;
    this.#begunAt = deps.clock.now();
    this.#isDecided = deps.isNative === false;
  }

  /** Continues the message from before a restart. One without an id may be in the chat, so nothing further is shown. */
  adopt(messageId: string): void {
    this.#isDecided = true;
    if (messageId === "") this.#leave();
    else this.#messageId = messageId;
  }

  get messageId(): string | undefined {
    return this.#messageId;
  }

  /** True when nothing more can be shown. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** True when a message may remain in the chat that cannot be edited. */
  get mayRemain(): boolean {
    return this.#mayRemain;
  }

  /** True when the shown text disappears by itself. */
  get fades(): boolean {
    return this.#native?.isMessage === false && this.#body !== "";
  }

  /** Milliseconds after which `keepAlive` is due; undefined when it never is. */
  get keepAliveMs(): number | undefined {
    return this.#body === "" ? undefined : this.#native?.keepAliveMs;
  }

  /** Shows the newest text, unless the chat's rate limit delays it. Undefined when there was nothing to do. */
  async show(markdown: string): Promise<SendResult | undefined> {
    const { limits, links, to } = this.#deps;
    const most = limits.text * SOURCE_PER_SHOWN;
    const [part, next] = await renderText(markdown.slice(0, most), limits);
    const link = links.link(to);
    if (!link || !part || part.body === this.#body || this.#isShorter(part, link)) return undefined;
    const later = this.#tooEarly();
    if (later) return later;
    await this.#noteLength(part.plain.length);
    const isWhole = next === undefined && markdown.length <= most;
    const result = (await this.#stream(link, { part, markdown, isWhole })) ?? this.#put(link, part);
    return this.#noted(await result, part);
  }

  /** A shorter text is never shown, unless the longer one has disappeared by itself. */
  #isShorter({ plain }: OutboundText, link: ChannelLink): boolean {
    if (plain.length >= this.#least) return false;
    const native = this.#nativeOn(link);
    const hasGone = native?.isMessage === false && this.#deps.clock.now() - this.#begunAt >= native.keepAliveMs;
    return this.#body !== "" || !hasGone;
  }

  /** Noted before the text is shown, so that the next start never shows less. If this fails, it may. */
  async #noteLength(characters: number): Promise<void> {
    if (characters <= this.#notedLength) return;
    this.#notedLength = Math.ceil(characters * NOTED_AHEAD);
    const { journal, inboxId, log } = this.#deps;
    await journal.notePreviewLength(inboxId, this.#notedLength).catch((error: unknown) => {
      log.warn("the length of a preview not noted", { error });
    });
  }

  /** Called when nothing new came for `keepAliveMs`. */
  async keepAlive(): Promise<SendResult | undefined> {
    const result = this.#tooEarly() ?? (await this.#native?.keepAlive());
    if (result?.kind === "refused") this.#native = undefined;
    return result;
  }

  #tooEarly(): SendResult | undefined {
    const afterMs = this.#deps.rate.takeNow(this.#deps.to);
    return afterMs === 0 ? undefined : { kind: "retry", reason: "rate limit of the chat", afterMs };
  }

  /**
   * Streams the whole text to a native message, so that the final reply has nothing to change. Skipped when the final reply
   * would have to wait for that.
   */
  async complete(markdown: string): Promise<void> {
    if (!this.#deps.rate.isUnlimited(this.#deps.to)) return;
    if (this.#native?.isMessage !== true || this.#messageId === undefined) return;
    const [part, next] = await renderText(markdown, this.#deps.limits);
    if (part && next === undefined && part.body !== this.#body) await this.#native.show(part, markdown);
  }

  /** Ends the native stream when no final reply follows. */
  async end(): Promise<void> {
    await this.#native?.end?.();
  }

  /** Streams natively. Undefined when a message must be sent or edited instead. */
  async #stream(
    link: ChannelLink,
    { part, markdown, isWhole }: { part: OutboundText; markdown: string; isWhole: boolean },
  ): Promise<SendResult | undefined> {
    const native = this.#nativeOn(link);
    if (!native) return undefined;
    // Text beyond one message comes with the final reply.
    const isTooLong = native.isMessage && !isWhole;
    const isFirst = native.isMessage && this.#messageId === undefined;
    const show = () => native.show(part, markdown);
    const result = isTooLong ? undefined : await (isFirst ? this.#begin(show) : show());
    if (result && result.kind !== "refused") return result;
    this.#native = undefined;
    return undefined;
  }

  #nativeOn(link: ChannelLink): NativeStream | undefined {
    if (this.#isDecided) return this.#native;
    this.#isDecided = true;
    const { to, replyTo, eventKey: answers, recipient } = this.#deps;
    this.#native = link.stream?.(to, {
      key: this.#key,
      ...(replyTo !== undefined && { replyTo }),
      answers,
      ...(recipient && { recipient }),
    });
    return this.#native;
  }

  async #put(link: ChannelLink, part: OutboundText): Promise<SendResult | undefined> {
    const { to, replyTo, eventKey: answers } = this.#deps;
    if (!link.edit) return undefined;
    if (this.#messageId !== undefined) return link.edit(to, this.#messageId, part);
    const idempotencyKey = this.#key;
    return this.#begin(() =>
      link.send(to, part, {
        idempotencyKey,
        silent: true,
        ...(replyTo !== undefined && { replyTo }),
        answers,
      }),
    );
  }

  get #key(): string {
    const { journal, to, eventKey } = this.#deps;
    return journal.previewKey(to, eventKey);
  }

  /** The journal notes the first message before the platform gets it, and forgets it when the platform did not take it. */
  async #begin(send: () => Promise<SendResult>): Promise<SendResult> {
    const { journal, inboxId } = this.#deps;
    await this.#note("");
    const result = await this.#tried(send);
    if (result.kind === "refused" || result.kind === "retry") await journal.forgetPreview(inboxId);
    return result;
  }

  /** An adapter that throws may have sent the message before. */
  async #tried(send: () => Promise<SendResult>): Promise<SendResult> {
    const { log, to } = this.#deps;
    try {
      return await send();
    } catch (error) {
      log.warn("preview not shown", { channel: to.channel, error });
      return { kind: "unknown", reason: `the adapter broke: ${String(error)}` };
    }
  }

  async #noted(result: SendResult | undefined, part: OutboundText): Promise<SendResult | undefined> {
    if (result?.kind === "sent") {
      this.#body = part.body;
      this.#least = part.plain.length;
    }
    if (this.#messageId !== undefined || this.#native?.isMessage === false) return result;
    if (result?.kind === "sent") {
      this.#messageId = result.messageId;
      await this.#note(result.messageId);
    }
    if (result?.kind === "unknown") this.#leave();
    if (result?.kind === "refused") this.#isOver = true;
    return result;
  }

  async #note(messageId: string): Promise<void> {
    await this.#deps.journal.notePreview(this.#deps.inboxId, this.#deps.to, messageId);
  }

  #leave(): void {
    this.#mayRemain = true;
    this.#isOver = true;
  }
}
