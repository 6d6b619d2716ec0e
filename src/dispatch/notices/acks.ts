import type { SendResult } from "../../types/chat/channel.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { within } from "../../utils/within.ts";
import type { ChatPorts, DispatchPorts } from "../ports.ts";
import type { DispatchSettings } from "../settings.ts";

interface AckPorts extends Pick<DispatchPorts, "clock" | "log"> {
  readonly chats: Pick<ChatPorts, "link" | "isConnecting">;
  settings(): Pick<DispatchSettings, "reaction">;
}

/** The most calls for one change of a reaction, which is only a courtesy. */
const MOST_TRIES = 3;
const RETRY_MS = 1000;

interface Ack {
  readonly message: InboundMessage;
  readonly removeAfter: boolean;
  wanted: string | undefined;
  shown: string | undefined;
  isBusy: boolean;
}

/** Reactions that show senders that their messages were accepted, until a message has its outcome. */
export class Acks {
  readonly #ports: AckPorts;
  readonly #acks = new Map<number, Ack>();
  readonly #underway = new Set<Promise<void>>();

  constructor(ports: AckPorts) {
    this.#ports = ports;
  }

  /** Called when rows enter a lane. Never throws. */
  put(rows: readonly InboxRow[]): void {
    for (const { id, message } of rows) {
      if (this.#acks.has(id) || message.options?.operator === true) continue;
      const ack = this.#ports.settings().reaction(message);
      if (!ack) continue;
      const { emoji: wanted, removeAfter } = ack;
      this.#want(id, { message, removeAfter, wanted, shown: undefined, isBusy: false });
    }
  }

  /** Called when rows have their outcome. Never throws. */
  end(rows: readonly InboxRow[]): void {
    for (const { id } of rows) {
      const ack = this.#acks.get(id);
      this.#acks.delete(id);
      if (ack?.removeAfter !== true) continue;
      ack.wanted = undefined;
      if (!ack.isBusy) this.#start(ack);
    }
  }

  /** Resolves when every reaction is set or given up, or after `ms` milliseconds. */
  async settle(ms: number): Promise<void> {
    await within(Promise.all(this.#underway), ms, this.#ports.clock);
  }

  #want(id: number, ack: Ack): void {
    this.#acks.set(id, ack);
    this.#start(ack);
  }

  #start(ack: Ack): void {
    const reached = this.#reach(ack).finally(() => this.#underway.delete(reached));
    this.#underway.add(reached);
  }

  /** One call after the other, so that the last wanted reaction stays. */
  async #reach(ack: Ack): Promise<void> {
    ack.isBusy = true;
    let tries = 0;
    for (let wanted = ack.wanted; wanted !== ack.shown; wanted = ack.wanted) {
      const result = await this.#set(ack.message, wanted);
      tries += 1;
      if (result?.kind !== "retry") {
        ack.shown = wanted;
        tries = 0;
      } else if (wanted !== ack.wanted) tries = 0;
      else if (tries < MOST_TRIES) await this.#wait(result.afterMs ?? RETRY_MS);
      else break;
    }
    ack.isBusy = false;
  }

  /**
   * Sets a reaction. Adapters promise not to throw; an adapter that does must not crash the gateway over a reaction.
   */
  async #set(message: InboundMessage, emoji: string | undefined): Promise<SendResult | undefined> {
    const { from, id } = message;
    const { log } = this.#ports;
    try {
      const link = this.#ports.chats.link(from);
      if (!link && this.#ports.chats.isConnecting(from)) return { kind: "retry", reason: "not connected" };
      const result = await link?.react?.(from, id, emoji);
      if (result?.kind === "refused") log.warn("reaction refused", { channel: from.channel, why: result.reason });
      return result;
    } catch (error) {
      log.warn("reaction not shown", { channel: from.channel, error });
      return undefined;
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#ports.clock.after(ms, resolve));
  }
}

/**
 * Lets adapters end the waiting state of menu commands and pressed buttons that get no answer of their own. `reason` is
 * for their senders alone. Never throws.
 */
export function leaveUnanswered(
  rows: readonly InboxRow[],
  { chats: { link }, log }: Pick<AckPorts, "chats" | "log">,
  reason?: string,
): void {
  for (const { id, message } of rows) {
    if (message.event !== "command" && message.event !== "button") continue;
    link(message.from)
      ?.clearPending?.(message, reason)
      .catch((error: unknown) => log.warn("the adapter still shows a message as queued", { inbox: id, error }));
  }
}
