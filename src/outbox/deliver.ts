import type { ChannelLimits } from "../types/channel.ts";
import type { OutboxRow } from "../types/journal.ts";
import type { Peer } from "../types/message.ts";
import type { OutboundPart, ReplyBlock, ReplyButton } from "../types/reply.ts";
import { KeyedQueue } from "../utils/keyed-queue.ts";
import type { OutboxDeps } from "./ports.ts";
import { Preview } from "./preview.ts";
import { labelled, renderBlock } from "./render.ts";
import { sendRow, type SendPorts } from "./send.ts";

/** One logical reply. Its key names it for ever: delivering it again sends nothing twice. */
export interface Reply {
  readonly replyKey: string;
  readonly inboxId?: number;
  readonly to: Peer;
  readonly blocks: readonly ReplyBlock[];
  readonly replyTo?: string;
  readonly buttons?: readonly ReplyButton[];
  /** A preview whose text the first chunk replaces. */
  readonly editOf?: string;
  /** An earlier send of the same words may have arrived. */
  readonly isRepeat?: boolean;
}

/** After this long an unsent reply is no answer any more: it is kept as failed and told to the operator. */
const STALE_MS = 6 * 60 * 60 * 1000;

/** Every reply leaves through here, once, in its chat's order. */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #chats = new KeyedQueue();
  readonly #stop = new AbortController();

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Resolves when the reply is durable; it is sent in the background. Nothing to say plans nothing. */
  async deliver(reply: Reply): Promise<readonly OutboxRow[]> {
    const parts = await this.#render(reply);
    if (parts.length === 0) return [];
    const { replyKey, inboxId, to, replyTo, buttons, editOf } = reply;
    const rows = await this.#deps.journal.plan({
      replyKey,
      to,
      parts,
      ...(inboxId !== undefined && { inboxId }),
      ...(replyTo !== undefined && { replyTo }),
      ...(buttons && { buttons }),
      ...(editOf !== undefined && { editOf }),
    });
    for (const row of rows) if (row.state === "planned") this.#enqueue(row);
    return rows;
  }

  /** A message that shows a reply while it grows. */
  preview(to: Peer, inboxId: number, replyTo?: string): Preview | undefined {
    const limits = this.#deps.links.limits(to);
    if (!limits || !this.#deps.links.link(to)?.edit) return undefined;
    return new Preview({ ...this.#deps, queue: this.#chats, chat: chatKey(to), limits, to, inboxId, replyTo });
  }

  /** After a start: what was not sent goes out now; what may have arrived goes out once more, labelled. */
  async recover(): Promise<number> {
    const rows = await this.#deps.journal.open();
    for (const row of rows) await this.#recoverRow(row);
    return rows.length;
  }

  async #recoverRow(row: OutboxRow): Promise<void> {
    if (this.#deps.clock.now() - row.createdAt > STALE_MS) {
      await this.#deps.journal.mark(row.id, { state: "failed", error: "older than 6 hours when it could be sent" });
      this.#deps.log.error("reply not sent: too old", { reply: row.replyKey, channel: row.to.channel });
      return;
    }
    const mayHaveArrived = row.state === "sending" || row.state === "unknown";
    this.#enqueue(mayHaveArrived && row.editOf === undefined ? { ...row, body: labelled(row.body) } : row);
  }

  /** Resolves when nothing waits, or after `ms`. What is left is sent after the next start. */
  async close(ms: number): Promise<void> {
    const timeout = new Promise<void>((resolve) => this.#deps.clock.after(ms, resolve));
    await Promise.race([this.#chats.idle(), timeout]);
    this.#stop.abort();
  }

  #enqueue(row: OutboxRow): void {
    const ports: SendPorts = { ...this.#deps, signal: this.#stop.signal };
    void this.#chats.run(chatKey(row.to), async () => {
      try {
        await sendRow(row, ports);
      } catch (error) {
        // The journal could not be written (disk full): the row keeps its state and goes out after the next start.
        this.#deps.log.error("reply left unsent", { reply: row.replyKey, error });
      }
    });
  }

  async #render(reply: Reply): Promise<readonly OutboundPart[]> {
    const limits = this.#deps.links.limits(reply.to) ?? PLAIN_LIMITS;
    const parts = (await Promise.all(reply.blocks.map((block) => renderBlock(block, limits)))).flat();
    return reply.isRepeat === true ? parts.map((part, index) => (index === 0 ? labelled(part) : part)) : parts;
  }
}

/** For a channel that is configured but has never been up. */
const PLAIN_LIMITS: ChannelLimits = { text: 2000, format: "plain", media: 0 };

export const chatKey = (to: Peer): string => `${to.channel}\n${to.account}\n${to.chat.id}`;
