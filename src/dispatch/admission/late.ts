import type { InboxRow } from "../../types/journal.ts";
import type { DispatchPorts } from "../ports.ts";
import type { Replies } from "../replies.ts";
import { endStale } from "./stale.ts";

/** Milliseconds without another one before a chat is told: after an outage a platform delivers them in a row. */
const GATHER_MS = 3000;

interface Gathered {
  readonly rows: InboxRow[];
  cancel(): void;
}

/** Messages that their platform held for too long, gathered so that their chat hears of all of them in one line. */
export class LateMessages {
  readonly #ports: DispatchPorts;
  readonly #replies: Replies;
  readonly #chats = new Map<string, Gathered>();

  constructor(ports: DispatchPorts, replies: Replies) {
    this.#ports = ports;
    this.#replies = replies;
  }

  /** Whether it was written too long ago to be answered. What an operator has run again never was, nor a press of a button. */
  isLate({ message, againOf }: InboxRow): boolean {
    const { staleAfterMs } = this.#ports.settings();
    if (staleAfterMs === undefined || againOf !== undefined || message.options?.operator === true) return false;
    if (message.sentAt === undefined || message.event === "button") return false;
    return this.#ports.clock.now() - message.sentAt > staleAfterMs;
  }

  /** Ends it with the others of its chat, in a moment. Until then it has no outcome: a new start looks at it again. */
  take(row: InboxRow): void {
    const { from } = row.message;
    const chat = [from.channel, from.account, from.chat.id, from.thread ?? ""].join("\n");
    const before = this.#chats.get(chat);
    before?.cancel();
    const rows = [...(before?.rows ?? []), row];
    const cancel = this.#ports.clock.after(GATHER_MS, () => {
      this.#chats.delete(chat);
      void endStale(rows, this.#replies, this.#ports).catch((error: unknown) =>
        // The journal has them: the next start tries again.
        this.#ports.log.error("late messages left without an outcome", { inbox: rows.map(({ id }) => id), error }),
      );
    });
    this.#chats.set(chat, { rows, cancel });
  }

  has(inboxId: number): boolean {
    return [...this.#chats.values()].some(({ rows }) => rows.some(({ id }) => id === inboxId));
  }

  /** What was gathered waits for the next start. */
  close(): void {
    for (const { cancel } of this.#chats.values()) cancel();
    this.#chats.clear();
  }
}
