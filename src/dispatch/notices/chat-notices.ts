import type { MediaItem, Peer } from "../../types/chat/message.ts";
import type { NoticeCause, ReplyBlock } from "../../types/chat/reply.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { DispatchPorts } from "../ports.ts";
import type { RunLog } from "../../harness/log/run-log.ts";
import type { RunResult } from "../../types/run/run.ts";

/** A line of the gateway itself, and the reply key under which it is sent once. */
export interface ChatNotice {
  readonly key: string;
  readonly text: string;
  readonly because: NoticeCause;
}

/** Sends lines of the gateway itself to chats, through the outbox. */
export class ChatNotices {
  readonly #ports: Pick<DispatchPorts, "chats" | "settings">;

  constructor(ports: Pick<DispatchPorts, "chats" | "settings">) {
    this.#ports = ports;
  }

  /** Answers a message. */
  async answer(
    row: InboxRow,
    { text, because, key, file }: Omit<ChatNotice, "key"> & { readonly key?: string; readonly file?: MediaItem },
  ): Promise<void> {
    const notice: ReplyBlock = { kind: "notice", markdown: text, because };
    const reply = {
      replyKey: key ?? `in:${row.id}:${because}`,
      inboxId: row.id,
      answers: row.message.eventKey,
      to: row.message.options?.deliverTo ?? row.message.from,
      blocks: file ? [notice, { kind: "media" as const, media: file }] : [notice],
    };
    await this.#ports.chats.outbox.deliver(reply, { session: this.sessionOf(row) });
  }

  /** Sends a line that answers no message. */
  async send(to: Peer, { key, text, because }: ChatNotice): Promise<void> {
    await this.#ports.chats.outbox.deliver({
      replyKey: key,
      to,
      blocks: [{ kind: "notice", markdown: text, because }],
    });
  }

  /** The session that a message belongs to. */
  sessionOf({ message }: InboxRow): SessionKey {
    return message.options?.sessionKey ?? this.#ports.settings().keyFor(message);
  }
}

/** Ends the log of a message that got no run, with a text of the gateway as its answer. */
export function endLogWithText(log: RunLog, text: string, because: NoticeCause, now: number): void {
  log.emit({ type: "run_start", facts: log.facts, startedAt: now });
  log.emit({ type: "answer", text, because });
  endLog(log, { kind: "replied", stop: "stop" }, now);
}

/** Ends the log of a message that got no run. */
export function endLog(log: RunLog, result: RunResult, now: number): void {
  const receipt = { model: { provider: "openclaw", id: "gateway" }, ...log.cost, durationMs: 0 };
  log.emit({ type: "run_end", result, receipt, endedAt: now });
}
