import type { ChannelLimits, ChannelLink, NativeStream, StreamOptions, SendResult } from "../types/chat/channel.ts";
import type { Peer } from "../types/chat/message.ts";
import type { OutboundText } from "../types/chat/reply.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import type { OutboxDeps } from "./ports.ts";
import { renderText } from "./render.ts";

export interface StreamingDeps extends Pick<OutboxDeps, "clock" | "journal" | "links" | "log"> {
  readonly rate: RateLimiter;
  readonly limits: ChannelLimits;
  readonly to: Peer;
  readonly inboxId: number;
  readonly replyTo?: string | undefined;
  readonly recipient?: StreamOptions["recipient"];
  /** Whether the platform's own way to show it is used where there is one; yes when unset. */
  readonly isNative?: boolean | undefined;
  /** UTF-16 units that an earlier boot has shown at most; none when unset. */
  readonly shownBefore?: number | undefined;
}

/** How far ahead the length of what is shown is noted: not every edit needs a note of its own. */
const NOTED_AHEAD = 1.25;

/** Only one message is shown: characters of Markdown that are rendered for each character that it has room for. */
const SOURCE_PER_SHOWN = 8;

/** What stands in the chat of an answer that is being written: the platform's own sight of it, or a message that is edited. */
export class StreamingMessage {
  readonly #deps: StreamingDeps;
  #growth: NativeStream | undefined;
  /** Whether the platform was asked for its own way. */
  #isAsked = false;
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
    this.#isAsked = deps.isNative === false;
  }

  /** The message of an earlier boot. One without an id may stand in the chat: nothing is shown beside it. */
  adopt(messageId: string): void {
    this.#isAsked = true;
    if (messageId === "") this.#leave();
    else this.#messageId = messageId;
  }

  get messageId(): string | undefined {
    return this.#messageId;
  }

  /** Nothing more can be shown. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** A message may stand in the chat that cannot be edited. */
  get mayRemain(): boolean {
    return this.#mayRemain;
  }

  /** What is shown goes away by itself. */
  get fades(): boolean {
    return this.#growth?.isMessage === false && this.#body !== "";
  }

  /** Milliseconds after which `keepAlive` is due; undefined when it never is. */
  get keepAliveMs(): number | undefined {
    return this.#body === "" ? undefined : this.#growth?.keepAliveMs;
  }

  /** Shows the text so far, unless the pace of its chat allows that later. Undefined when there was nothing to do. */
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
    const result = (await this.#grow(link, { part, markdown, isWhole })) ?? this.#put(link, part);
    return this.#noted(await result, part);
  }

  /** What goes away by itself is not waited for once it has gone. */
  #isShorter({ plain }: OutboundText, link: ChannelLink): boolean {
    if (plain.length >= this.#least) return false;
    const growth = this.#growthOn(link);
    const hasGone = growth?.isMessage === false && this.#deps.clock.now() - this.#begunAt >= growth.keepAliveMs;
    return this.#body !== "" || !hasGone;
  }

  /** Before it is shown, so that the next boot never shows less. Without the note it may. */
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
    const result = this.#tooEarly() ?? (await this.#growth?.keepAlive());
    if (result?.kind === "refused") this.#growth = undefined;
    return result;
  }

  #tooEarly(): SendResult | undefined {
    const afterMs = this.#deps.rate.takeNow(this.#deps.to);
    return afterMs === 0 ? undefined : { kind: "retry", reason: "it is not its turn", afterMs };
  }

  /**
   * Lets a message that the platform shows as being written grow to its last word, so that the final has nothing to change.
   * Where the final would have to wait for that, it says the last word itself.
   */
  async complete(markdown: string): Promise<void> {
    if (!this.#deps.rate.isUnlimited(this.#deps.to)) return;
    if (this.#growth?.isMessage !== true || this.#messageId === undefined) return;
    const [part, next] = await renderText(markdown, this.#deps.limits);
    if (part && next === undefined && part.body !== this.#body) await this.#growth.show(part, markdown);
  }

  /** No final follows. */
  async end(): Promise<void> {
    await this.#growth?.end?.();
  }

  /** Undefined where a message is to be sent or edited. */
  async #grow(
    link: ChannelLink,
    { part, markdown, isWhole }: { part: OutboundText; markdown: string; isWhole: boolean },
  ): Promise<SendResult | undefined> {
    const growth = this.#growthOn(link);
    if (!growth) return undefined;
    // What is beyond one message comes with the final.
    const isTooLong = growth.isMessage && !isWhole;
    const isFirst = growth.isMessage && this.#messageId === undefined;
    const show = () => growth.show(part, markdown);
    const result = isTooLong ? undefined : await (isFirst ? this.#begin(show) : show());
    if (result && result.kind !== "refused") return result;
    this.#growth = undefined;
    return undefined;
  }

  #growthOn(link: ChannelLink): NativeStream | undefined {
    if (this.#isAsked) return this.#growth;
    this.#isAsked = true;
    const { to, inboxId, replyTo, recipient } = this.#deps;
    this.#growth = link.stream?.(to, {
      key: keyOf(inboxId),
      ...(replyTo !== undefined && { replyTo }),
      ...(recipient && { recipient }),
    });
    return this.#growth;
  }

  async #put(link: ChannelLink, part: OutboundText): Promise<SendResult | undefined> {
    const { to, inboxId, replyTo } = this.#deps;
    if (!link.edit) return undefined;
    if (this.#messageId !== undefined) return link.edit(to, this.#messageId, part);
    const idempotencyKey = keyOf(inboxId);
    return this.#begin(() =>
      link.send(to, part, { idempotencyKey, silent: true, ...(replyTo !== undefined && { replyTo }) }),
    );
  }

  /** The journal knows of the first message before the platform does, unless the platform says that there is none. */
  async #begin(send: () => Promise<SendResult>): Promise<SendResult> {
    const { journal, inboxId } = this.#deps;
    await this.#note("");
    const result = await this.#tried(send);
    if (result.kind === "refused" || result.kind === "retry") await journal.forgetPreview(inboxId);
    return result;
  }

  /** One that breaks may have shown its message before. */
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
    if (this.#messageId !== undefined || this.#growth?.isMessage === false) return result;
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

const keyOf = (inboxId: number): string => `preview:${inboxId}`;
