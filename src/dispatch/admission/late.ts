import type { InboxRow } from "../../types/journal.ts";
import type { DispatchPorts } from "../ports.ts";
import type { Replies } from "../notices/replies.ts";
import { endStale } from "./stale.ts";

/**
 * Milliseconds without a further message before a chat is informed: after an outage a platform delivers many in a row.
 */
const GATHER_MS = 3000;

type LatePorts = Pick<DispatchPorts, "clock" | "log" | "settings">;

interface Gathered {
  readonly rows: InboxRow[];
  cancel(): void;
}

/**
 * Gathers messages that their platform delivered too late, so that their chat is informed about all of them in one
 * line.
 */
export class LateMessages {
  readonly #ports: LatePorts;
  readonly #replies: Replies;
  readonly #chats = new Map<string, Gathered>();

  constructor(ports: LatePorts, replies: Replies) {
    this.#ports = ports;
    this.#replies = replies;
  }

  /**
   * Whether a message is too old to be answered. A message that an operator runs again, or a pressed button, never is.
   */
  isLate({ message, againOf }: InboxRow): boolean {
    const { staleAfterMs } = this.#ports.settings();
    if (staleAfterMs === undefined || againOf !== undefined || message.options?.operator === true) return false;
    if (message.sentAt === undefined || message.event === "button") return false;
    return this.#ports.clock.now() - message.sentAt > staleAfterMs;
  }

  /**
   * Ends the message soon, with the others of its chat. Until then the message has no outcome, so a restart decides it
   * again.
   */
  take(row: InboxRow): void {
    const { from } = row.message;
    const chat = [from.channel, from.account, from.chat.id, from.thread ?? ""].join("\n");
    const before = this.#chats.get(chat);
    before?.cancel();
    const rows = [...(before?.rows ?? []), row];
    const cancel = this.#ports.clock.after(GATHER_MS, () => {
      this.#chats.delete(chat);
      void endStale(rows, this.#replies, this.#ports).catch((error: unknown) =>
        // The journal has the messages: the next start tries again.
        this.#ports.log.error("late messages left without an outcome", { inbox: rows.map(({ id }) => id), error }),
      );
    });
    this.#chats.set(chat, { rows, cancel });
  }

  has(inboxId: number): boolean {
    return [...this.#chats.values()].some(({ rows }) => rows.some(({ id }) => id === inboxId));
  }

  /** Cancels the timers. The next start ends the gathered messages. */
  close(): void {
    for (const { cancel } of this.#chats.values()) cancel();
    this.#chats.clear();
  }
}
