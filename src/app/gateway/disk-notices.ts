import { OpenClawError } from "../../types/errors.ts";
import type { ChannelLink } from "../../types/channel.ts";
import type { Log } from "../../types/log.ts";
import type { InboundMessage, Peer } from "../../types/message.ts";

const AGAIN_AFTER_MS = 10 * 60 * 1000;
const TEXT =
  "⚠️ The disk of this gateway is full, so I cannot answer right now. Your message is not lost: I answer it as soon as there is room.";

/** Tells the writers that their messages wait, when the journal cannot take them. Past the outbox: it needs the same disk. */
export class DiskNotices {
  readonly #link: (to: Peer) => ChannelLink | undefined;
  readonly #log: Log;
  readonly #told = new Map<string, number>();

  constructor(link: (to: Peer) => ChannelLink | undefined, log: Log) {
    this.#link = link;
    this.#log = log;
  }

  async tell(messages: readonly InboundMessage[], error: unknown): Promise<void> {
    if (!(error instanceof OpenClawError) || !error.code.startsWith("DISK_")) return;
    this.#log.error("messages wait for the disk", { count: messages.length, error });
    for (const { from } of messages) await this.#tellChat(from);
  }

  /** Direct chats only, each once in ten minutes. */
  async #tellChat(to: Peer): Promise<void> {
    const name = `${to.channel}\n${to.account}\n${to.chat.id}`;
    const now = Date.now();
    if (to.chat.kind !== "direct" || now - (this.#told.get(name) ?? 0) < AGAIN_AFTER_MS) return;
    this.#told.set(name, now);
    const part = { kind: "text", body: TEXT, format: "plain", plain: TEXT } as const;
    await this.#link(to)?.send(to, part, { idempotencyKey: `disk:${now}` });
  }
}
