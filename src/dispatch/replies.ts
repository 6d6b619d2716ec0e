import type { RunLog } from "../harness/log/log.ts";
import { NOTICE_TYPE } from "../sessions/transcript/history.ts";
import type { RunId, SessionKey } from "../types/ids.ts";
import type { InboxRow, Outcome, OutboxRow, Refusal } from "../types/journal.ts";
import type { Peer } from "../types/chat/message.ts";
import type { ReplyButton, NoticeCause } from "../types/chat/reply.ts";
import type { RunResult } from "../types/run/run.ts";
import type { Session } from "../types/session.ts";
import { Acks } from "./signals/acks.ts";
import { abandonTurn } from "./recovery/unanswered-turns.ts";
import type { DispatchPorts } from "./ports.ts";
import { runIdOf, turnIdOf } from "./turn/ids.ts";
import { leaveUnanswered } from "./signals/unanswered.ts";
import { pairingText } from "./chat-texts.ts";

/** How often, and after how many milliseconds each, the end of a question checks whether its message has been sent. */
const QUESTION_CHECKS = 20;
const QUESTION_CHECK_MS = 500;

interface Question {
  readonly key: string;
  readonly text: string;
  readonly buttons: readonly ReplyButton[];
}

/** The messages of the gateway itself: answers to commands, pairing codes, errors. They give messages their outcome. */
export class Replies {
  readonly acks: Acks;
  readonly #ports: DispatchPorts;
  readonly #notes = new Set<Promise<void>>();

  constructor(ports: DispatchPorts) {
    this.#ports = ports;
    this.acks = new Acks(ports);
  }

  /**
   * Sends a stranger a pairing code, once per code. While three codes are pending, others get none until one of them ends or
   * is ten minutes old.
   */
  async pair(row: InboxRow): Promise<void> {
    const { from, sender } = row.message;
    const asked = await this.#ports.journal.pairing.request({
      channel: from.channel,
      account: from.account,
      senderId: sender.id,
      ...(sender.name !== undefined && { name: sender.name }),
    });
    if (asked.kind === "new") this.#ports.onPairing?.(asked.request);
    if (isReplyDue(asked, row)) await this.#toChat(row, pairingText(asked.request.code, from.channel), "pairing");
    // The operator would not learn about this stranger otherwise.
    const level = asked.kind === "full" ? "warn" : "info";
    this.#ports.log[level]("pairing", {
      session: this.#keyOf(row),
      inbox: row.id,
      channel: from.channel,
      sender: sender.id,
      state: asked.kind,
    });
    await this.#finish(row, { kind: "dropped", why: `pairing (${asked.kind})` }, "pair");
    if (asked.kind !== "new") leaveUnanswered([row], this.#ports);
  }

  /** Ends a message that is not let in. Its sender gets no answer. */
  async turnAway(row: InboxRow, why: string, refused: Refusal): Promise<void> {
    await this.#finish(row, { kind: "dropped", why }, refused);
    leaveUnanswered([row], this.#ports);
  }

  /** Answers a command. */
  async command(
    row: InboxRow,
    key: SessionKey,
    answer: { name: string; text: string; log: RunLog | undefined },
  ): Promise<void> {
    if (answer.log) await this.#toOperator(answer.log, key, answer.text, row.message.text);
    else await this.#toChat(row, answer.text, "command");
    await this.#finish(row, { kind: "command", name: answer.name });
  }

  /** Informs the senders of accepted messages, once, that these get no run. `why` is for the journal. */
  async refuse(rows: readonly InboxRow[], log: RunLog | undefined, text: string, why = text): Promise<void> {
    const [first] = rows;
    if (!first) return;
    for (const row of rows) this.#abandon(row);
    if (log) endWith(log, text, "error", this.#ports.clock.now());
    else if (this.#ports.kinds.of(first.message).refusals === "told") await this.#toChat(first, text, "error");
    await this.#ports.journal.inbox.finishTurn(
      rows.map((row) => row.id),
      { kind: "failed", why },
    );
    this.acks.end(rows);
  }

  /** Ends the log of messages that get no run, if a client watches it. */
  endLog(log: RunLog | undefined, result: RunResult): void {
    if (log) endLog(log, result, this.#ports.clock.now());
  }

  /** Ends messages that somebody stopped before they got a run. The command answers whoever stopped them. */
  async drop(rows: readonly InboxRow[], log: RunLog | undefined): Promise<void> {
    if (log) endLog(log, { kind: "aborted", by: "user" }, this.#ports.clock.now());
    await this.#ports.journal.inbox.finish(
      rows.map((row) => row.id),
      { kind: "aborted" },
    );
    this.acks.end(rows);
    leaveUnanswered(rows, this.#ports);
  }

  /** Ends messages that became too old during an outage, and informs their chat in one line. */
  async leaveStale(rows: readonly InboxRow[], text: string, why: string): Promise<void> {
    const [first] = rows;
    if (!first) return;
    const { message } = first;
    for (const row of rows) this.#abandon(row);
    const { refusals, name } = this.#ports.kinds.of(message);
    if (refusals === "logged") this.#ports.log.info("turn not run", { inbox: first.id, turn: name, why });
    else if (message.options?.operator === true && message.options.deliverTo === undefined)
      await this.note(this.#keyOf(first), { text, said: message.text, runId: runIdOf(first) });
    else await this.#toChat(first, text, "error", staleKey(first.id));
    await this.#ports.journal.inbox.finish(
      rows.map((row) => row.id),
      { kind: "dropped", why },
    );
  }

  /** Informs chats that their messages wait for the disk. Operator clients see that their run was interrupted. */
  async diskFull(rows: readonly InboxRow[], why: { error: unknown; isAdmitted: boolean }): Promise<void> {
    const messages = rows
      .map((row) => row.message)
      .filter((message) => message.options?.operator !== true && this.#ports.kinds.of(message).refusals === "told");
    await this.#ports.onDiskFull?.(messages, why);
  }

  /** Sends a line to a chat that answers no message. */
  async tell(to: Peer, notice: { key: string; text: string; because: NoticeCause }): Promise<void> {
    const blocks = [{ kind: "notice", markdown: notice.text, because: notice.because }] as const;
    await this.#ports.outbox.deliver({ replyKey: notice.key, to, blocks });
  }

  /** Sends a question with buttons that answers no message. */
  async ask(to: Peer, { key, text, buttons }: Question): Promise<readonly OutboxRow[]> {
    return this.#ports.outbox.deliver({
      replyKey: key,
      to,
      blocks: [{ kind: "notice", markdown: text, because: "approval" }],
      buttons,
    });
  }

  /** Replaces a question and its buttons with its answer. Where a platform cannot edit, the question stays. */
  async answered(to: Peer, { answer, ...question }: Question & { readonly answer: string }): Promise<void> {
    if (!this.#ports.link(to)?.edit) return;
    for (let check = 0; check < QUESTION_CHECKS; check += 1) {
      // Delivering the same key again sends nothing. It returns the rows.
      const [row] = await this.ask(to, question);
      const isOver = row === undefined || row.state === "failed";
      if (isOver || row.messageId !== undefined) return isOver ? undefined : this.#replace(row, answer, question.key);
      await new Promise<void>((resolve) => this.#ports.clock.after(QUESTION_CHECK_MS, resolve));
    }
  }

  async #replace({ to, messageId }: OutboxRow, answer: string, key: string): Promise<void> {
    if (messageId === undefined) return;
    const blocks = [{ kind: "notice", markdown: answer, because: "approval" }] as const;
    await this.#ports.outbox.deliver({ replyKey: `${key}:end`, to, blocks, editOf: messageId });
  }

  /** The transcript keeps it for people, not for the model: for the web the transcript is the delivery. */
  async #toOperator(log: RunLog, key: SessionKey, text: string, said: string): Promise<void> {
    endWith(log, text, "command", this.#ports.clock.now());
    await this.note(key, { text, said, runId: log.facts.runId });
  }

  /** Writes a note into a transcript. Resolves at once; the note is written as soon as the session is free. */
  async note(key: SessionKey, data: { text: string; said: string; runId: RunId }): Promise<void> {
    this.#later(key, async (session) => void (await session.append({ type: "custom", customType: NOTICE_TYPE, data })));
  }

  /** Notes in a chat's transcript what another conversation sent to that chat. */
  noteInOther(key: SessionKey, entry: { readonly customType: string; readonly content: string }): void {
    this.#later(key, async (session) => {
      await session.append({ type: "custom_message", ...entry, display: false });
    });
  }

  /** Removes a turn that is given up from the conversation, unless the transcript always keeps its kind. */
  #abandon({ message, sessionKey: key, ...row }: InboxRow): void {
    const { transcript, name } = this.#ports.kinds.of(message);
    if (key === undefined || transcript === "always") return;
    const id = turnIdOf({ message, sessionKey: key, ...row });
    this.#later(key, (session) => abandonTurn(session, id, this.#ports.log, `${name} not run`));
  }

  /** Writes as soon as the session is free. */
  #later(key: SessionKey, work: (session: Session) => Promise<void>): void {
    const write = async () => {
      const session = await this.#ports.sessions.acquire(key);
      await work(session).finally(() => session.release());
    };
    const writing = write()
      .catch((error: unknown) => this.#ports.log.warn("notice not kept", { session: key, error }))
      .finally(() => this.#notes.delete(writing));
    this.#notes.add(writing);
  }

  /** Resolves when all pending notes are written. */
  async settle(): Promise<void> {
    await Promise.all(this.#notes);
  }

  async #toChat(
    row: InboxRow,
    text: string,
    because: NoticeCause,
    replyKey = `in:${row.id}:${because}`,
  ): Promise<void> {
    const reply = {
      replyKey,
      inboxId: row.id,
      to: row.message.options?.deliverTo ?? row.message.from,
      blocks: [{ kind: "notice", markdown: text, because }],
    } as const;
    await this.#ports.outbox.deliver(reply, { session: this.#keyOf(row) });
  }

  #keyOf({ message }: InboxRow): SessionKey {
    return message.options?.sessionKey ?? this.#ports.settings().keyFor(message);
  }

  #finish(row: InboxRow, outcome: Outcome, refused?: Refusal): Promise<void> {
    return this.#ports.journal.inbox.finish([row.id], outcome, refused);
  }
}

type Asked = Awaited<ReturnType<DispatchPorts["journal"]["pairing"]["request"]>>;

/** A kill may come between the code for a message and its reply. That reply is due; delivered twice it is still one reply. */
function isReplyDue(asked: Asked, { acceptedAt }: InboxRow): asked is Exclude<Asked, { kind: "full" }> {
  if (asked.kind === "again") return acceptedAt !== undefined && asked.request.createdAt >= acceptedAt;
  return asked.kind === "new";
}

/** The reply key of the line about stale messages of a chat, the first of which is this one. */
export const staleKey = (inboxId: number): string => `in:${inboxId}:stale`;

function endWith(log: RunLog, text: string, because: NoticeCause, now: number): void {
  log.emit({ type: "run_start", facts: log.facts, startedAt: now });
  log.emit({ type: "answer", text, because });
  endLog(log, { kind: "replied", stop: "stop" }, now);
}

/** Ends the log of a message that got no run. */
export function endLog(log: RunLog, result: RunResult, now: number): void {
  const receipt = { model: { provider: "openclaw", id: "gateway" }, ...log.cost, durationMs: 0 };
  log.emit({ type: "run_end", result, receipt, endedAt: now });
}
