import type { ChannelLink } from "../../../types/chat/channel.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import type { InboundMessage, Peer } from "../../../types/chat/message.ts";
import { background } from "../../../utils/background.ts";
import { forgetOldest } from "../../../utils/forget-oldest.ts";
import { isDiskError, probeDisk, removeLeftProbes } from "../../../store/disk.ts";
import { DiskState } from "./disk-state.ts";

const AGAIN_AFTER_MS = 10 * 60 * 1000;
/** Most chats whose time of the last notice is kept. */
const MOST_CHATS = 1000;
const FULL =
  "⚠️ The disk of this gateway is full, so I cannot answer right now. Your message is not lost: I answer it as soon as there is space again.";
const BROKEN =
  "⚠️ The disk of this gateway cannot be written, so I cannot answer right now. I answer your message as soon as that works again.";

export interface DiskNoticePorts {
  readonly log: Log;
  readonly clock: Pick<Clock, "now">;
  readonly disk: DiskState;
  link(to: Peer): ChannelLink | undefined;
}

/**
 * Informs senders that their messages wait while the disk is full. The notice goes directly to the platform, because
 * the outbox needs the same disk.
 */
export class DiskNotices {
  readonly #ports: DiskNoticePorts;
  readonly #noticedAt = new Map<string, number>();

  constructor(ports: DiskNoticePorts) {
    this.#ports = ports;
  }

  /** State of the disk: whether messages wait for it at all. */
  get disk(): DiskState {
    return this.#ports.disk;
  }

  /**
   * Informs the senders of messages that the journal could not store. These are not admitted yet, so only direct chats
   * get a notice. Never rejects.
   */
  async refused(messages: readonly InboundMessage[], error: unknown): Promise<void> {
    await this.#tell(
      messages.filter(({ from }) => from.chat.kind === "direct"),
      error,
    );
  }

  /** Informs the chats of admitted messages whose turn waits. Never rejects. */
  waiting(messages: readonly InboundMessage[], error: unknown): Promise<void> {
    return this.#tell(messages, error);
  }

  async #tell(messages: readonly InboundMessage[], error: unknown): Promise<void> {
    if (!isDiskError(error)) return;
    this.#ports.disk.refused(error);
    this.#ports.log.error("messages wait for the disk", { count: messages.length, error });
    const text = error.code === "DISK_FULL" ? FULL : BROKEN;
    await Promise.all(messages.map(({ from }) => this.#tellChat(from, text)));
  }

  /** Informs a chat at most once in ten minutes. A chat whose notice fails still gets its answer later. */
  async #tellChat(to: Peer, text: string): Promise<void> {
    const name = `${to.channel}\n${to.account}\n${to.chat.id}\n${to.thread ?? ""}`;
    const now = this.#ports.clock.now();
    if (now - (this.#noticedAt.get(name) ?? -Infinity) < AGAIN_AFTER_MS) return;
    this.#noticedAt.delete(name);
    this.#noticedAt.set(name, now);
    forgetOldest(this.#noticedAt, MOST_CHATS);
    const part = { kind: "text", body: text, format: "plain", plain: text } as const;
    try {
      await this.#ports.link(to)?.send(to, part, { idempotencyKey: `disk:${now}` });
    } catch (error) {
      this.#ports.log.warn("notice of the disk not sent", { channel: to.channel, chat: to.chat.id, error });
    }
  }
}

/** Opens the notices for the disk of a state directory, and removes probe files that earlier processes left there. */
export function openDiskNotices(stateDir: string, ports: Omit<DiskNoticePorts, "disk">): DiskNotices {
  background("removal of left probes of the disk", removeLeftProbes(stateDir), ports.log);
  const disk = new DiskState({ ...ports, probe: () => probeDisk(stateDir) });
  return new DiskNotices({ ...ports, disk });
}
