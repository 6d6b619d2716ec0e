import type { RunLog } from "../../harness/log/run-log.ts";
import { fileLine } from "../../sessions/shown/notice.ts";
import type { SessionKey, RunId } from "../../types/ids.ts";
import type { InboxRow, Outcome, Refusal } from "../../types/journal.ts";
import type { RunResult } from "../../types/run/run.ts";
import type { MediaItem } from "../../types/chat/message.ts";
import { BROKEN, NOT_LET_IN, PAIRING_WAITS, pairingText } from "./chat-texts.ts";
import { ChatNotices, endLog, endLogWithText } from "./chat-notices.ts";
import type { DispatchPorts } from "../ports.ts";
import { Acks, leaveUnanswered } from "./acks.ts";
import { runIdOf, turnIdOf } from "../turn-facts.ts";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import { passMark } from "../../sessions/pass-mark.ts";
import type { Session, SessionNote } from "../../types/session.ts";
import { abandonTurn } from "./unanswered-turns.ts";

type ReplyPorts = Pick<DispatchPorts, "clock" | "chats" | "storage" | "kinds" | "log" | "disk" | "settings">;

/** A file of the media store. */
export interface StoredMediaItem extends MediaItem {
  readonly name: string;
  readonly source: Extract<MediaItem["source"], { at: "store" }>;
}

/** The answer to a command, with a file of the media store. */
interface GivenAnswer {
  readonly text: string;
  readonly file?: StoredMediaItem;
}

/** Ends messages that get no run: gives each its outcome, and its chat, client or transcript the gateway's own text. */
export class Replies {
  readonly acks: Acks;
  readonly notices: ChatNotices;
  readonly notes: TranscriptNotes;
  readonly #ports: ReplyPorts;

  constructor(ports: ReplyPorts) {
    this.#ports = ports;
    this.acks = new Acks(ports);
    this.notices = new ChatNotices(ports);
    this.notes = new TranscriptNotes(ports);
  }

  /** Ends a stranger's message, and sends a pairing code where one is due. */
  pair(row: InboxRow): Promise<void> {
    return offerPairing(row, { ...this.#ports, notices: this.notices });
  }

  /** Ends a message that is not let in. Its sender gets no answer but the notice, if any. */
  async turnAway(row: InboxRow, why: string, refused: Refusal, notice?: string): Promise<void> {
    if (notice !== undefined) await this.notices.answer(row, { text: notice, because: "error" });
    await this.#finish([row], { kind: "dropped", why }, refused);
    if (notice === undefined) leaveUnanswered([row], this.#ports, NOT_LET_IN);
  }

  /** Answers a command. Without a text nothing is sent. */
  async command(
    row: InboxRow,
    key: SessionKey,
    { name, log, ...answer }: GivenAnswer & { readonly name: string; readonly log: RunLog | undefined },
  ): Promise<void> {
    const { text } = answer;
    if (log) this.#answerClient(log, key, { ...answer, said: row.message.text });
    else if (text !== "") await this.notices.answer(row, { ...answer, because: "command" });
    await this.#finish([row], { kind: "command", name });
    if (!log && text === "") leaveUnanswered([row], this.#ports);
  }

  /** Answers a message that a plugin took. Without a text nobody is answered. */
  async claimed(
    row: InboxRow,
    key: SessionKey,
    { owner, text, log }: { readonly owner: string; readonly text: string; readonly log: RunLog | undefined },
  ): Promise<void> {
    if (text !== "") return this.command(row, key, { name: `plugin:${owner}`, text, log });
    this.endLog(log, { kind: "replied", stop: "stop" });
    await this.#finish([row], { kind: "dropped", why: `the plugin ${owner} took it and gave no answer` });
    leaveUnanswered([row], this.#ports);
  }

  /**
   * Informs the senders of accepted messages, once, that the messages get no run. `text` says that something failed
   * when unset; `why` is for the journal.
   */
  async refuse(rows: readonly InboxRow[], log: RunLog | undefined, text = BROKEN, why = text): Promise<void> {
    const [first] = rows;
    if (!first) return;
    for (const row of rows) this.notes.abandonTurn(row);
    if (log) endLogWithText(log, text, "error", this.#ports.clock.now());
    else if (this.#ports.kinds.of(first.message).refusals === "shown")
      await this.notices.answer(first, { text, because: "error" });
    await this.#ports.storage.journal.inbox.finishTurn(
      rows.map((row) => row.id),
      { kind: "failed", why },
    );
    this.acks.end(rows);
    leaveUnanswered(rows.slice(1), this.#ports);
  }

  /** Ends the log of messages that get no run, if a client watches it. */
  endLog(log: RunLog | undefined, result: RunResult): void {
    if (log) endLog(log, result, this.#ports.clock.now());
  }

  /** Ends messages that somebody stopped before they got a run. The command answers whoever stopped them. */
  async drop(rows: readonly InboxRow[], log: RunLog | undefined): Promise<void> {
    this.endLog(log, { kind: "aborted", by: "user" });
    await this.#finish(rows, { kind: "aborted" });
    this.acks.end(rows);
    leaveUnanswered(rows, this.#ports);
  }

  /** Ends messages that became too old during an outage, and informs their chat in one line. */
  async leaveStale(rows: readonly InboxRow[], text: string, why: string): Promise<void> {
    const [first] = rows;
    if (!first) return;
    const { message } = first;
    for (const row of rows) this.notes.abandonTurn(row);
    const { refusals, name } = this.#ports.kinds.of(message);
    if (refusals === "logged") this.#ports.log.info("turn not run", { inbox: first.id, turn: name, why });
    else if (message.options?.operator === true && message.options.deliverTo === undefined)
      this.notes.notice(this.notices.sessionOf(first), { text, said: message.text, runId: runIdOf(first) });
    else await this.notices.answer(first, { text, because: "error", key: staleKey(first.id) });
    await this.#finish(rows, { kind: "dropped", why });
    leaveUnanswered(rows.slice(1), this.#ports);
  }

  /** Informs chats that their messages wait for the disk. Operator clients see that their run was interrupted. */
  async diskFull(rows: readonly InboxRow[], why: { error: unknown; isAdmitted: boolean }): Promise<void> {
    const messages = rows
      .map((row) => row.message)
      .filter((message) => message.options?.operator !== true && this.#ports.kinds.of(message).refusals === "shown");
    await this.#ports.disk.onDiskFull(messages, why);
  }

  /**
   * Answers a client that watches the run. For the web the transcript is the delivery, so the answer is noted there
   * too.
   */
  #answerClient(log: RunLog, key: SessionKey, { file, ...answer }: GivenAnswer & { readonly said: string }): void {
    const text = file ? `${answer.text}\n\n${fileLine(file.name, file.source.id)}` : answer.text;
    endLogWithText(log, text, "command", this.#ports.clock.now());
    this.notes.notice(key, { ...answer, ...(file && { media: [file] }), runId: log.facts.runId });
  }

  #finish(rows: readonly InboxRow[], outcome: Outcome, refused?: Refusal): Promise<void> {
    const ids = rows.map((row) => row.id);
    return this.#ports.storage.journal.inbox.finish(ids, outcome, refused);
  }
}

/** The reply key of the line about stale messages of a chat. `inboxId`: the first of these messages. */
export const staleKey = (inboxId: number): string => `in:${inboxId}:stale`;

type PairingPorts = Pick<DispatchPorts, "storage" | "chats" | "log"> & { readonly notices: ChatNotices };

/**
 * Ends a stranger's message and sends a pairing code, once per code. While three codes are pending, other strangers get
 * no code until one of the three ends or is ten minutes old.
 */
async function offerPairing(row: InboxRow, ports: PairingPorts): Promise<void> {
  const { from, sender } = row.message;
  const asked = await ports.storage.journal.pairing.request({
    channel: from.channel,
    account: from.account,
    senderId: sender.id,
    ...(sender.name !== undefined && { name: sender.name }),
  });
  if (asked.kind === "new") ports.chats.onPairing(asked.request);
  const isDue = isReplyDue(asked, row);
  if (isDue) {
    const text = pairingText(asked.request.code, from.channel);
    await ports.notices.answer(row, { text, because: "pairing" });
  }
  // The operator would not learn about this stranger otherwise.
  const level = asked.kind === "full" ? "warn" : "info";
  ports.log[level]("pairing", {
    session: ports.notices.sessionOf(row),
    inbox: row.id,
    channel: from.channel,
    sender: sender.id,
    state: asked.kind,
  });
  await ports.storage.journal.inbox.finish([row.id], { kind: "dropped", why: `pairing (${asked.kind})` }, "pair");
  if (!isDue) leaveUnanswered([row], ports, PAIRING_WAITS);
}

type Asked = Awaited<ReturnType<DispatchPorts["storage"]["journal"]["pairing"]["request"]>>;

/**
 * Whether the message gets the code. The process may have ended between the request for the code and its reply: then
 * the reply is still due, and the outbox sends it once even if it was planned.
 */
function isReplyDue(asked: Asked, { acceptedAt }: InboxRow): asked is Exclude<Asked, { kind: "full" }> {
  if (asked.kind === "again") return acceptedAt !== undefined && asked.request.createdAt >= acceptedAt;
  return asked.kind === "new";
}

type NotePorts = Pick<DispatchPorts, "storage" | "kinds" | "log">;

/** The answer to a command, and its files. */
interface NoteData {
  readonly text: string;
  readonly said: string;
  readonly runId: RunId;
  readonly media?: readonly MediaItem[];
}

/**
 * Writes into the transcripts of sessions that a run may hold. Each call returns at once; the note is written as soon
 * as the session is free, and a failure is logged.
 */
class TranscriptNotes {
  readonly #ports: NotePorts;
  readonly #pending = new Set<Promise<void>>();

  constructor(ports: NotePorts) {
    this.#ports = ports;
  }

  /** Adds a text that people see and the model does not see, such as the answer to a command. */
  notice(key: SessionKey, data: NoteData): void {
    this.#write(key, async (session) => void (await session.append({ type: "custom", customType: NOTICE_TYPE, data })));
  }

  /** Adds a text that people see and the model does not see, and that answers nothing. */
  line(key: SessionKey, text: string): void {
    const data = { text };
    this.#write(key, async (session) => void (await session.append({ type: "custom", customType: NOTICE_TYPE, data })));
  }

  /** Adds a text that the model sees: a message that another conversation sent to this session's chat. */
  sentFromOther(key: SessionKey, note: SessionNote): void {
    this.#write(key, async (session) => {
      await session.append({ type: "custom_message", ...note, display: false });
    });
  }

  /**
   * Adds a text as `sentFromOther` does, from a conversation that may have read untrusted content: the mark of that
   * conversation is passed on to this session.
   */
  sentFrom(from: SessionKey, key: SessionKey, note: SessionNote): void {
    this.#write(key, async (session) => {
      await session.append({ type: "custom_message", ...note, display: false });
      await passMark(from, key, this.#ports.storage.sessions);
    });
  }

  /** Removes a turn that is given up from the conversation, unless the transcript always keeps turns of its kind. */
  abandonTurn({ message, sessionKey: key, ...row }: InboxRow): void {
    const { transcript, name } = this.#ports.kinds.of(message);
    if (key === undefined || transcript === "always") return;
    const id = turnIdOf({ message, sessionKey: key, ...row });
    this.#write(key, (session) => abandonTurn(session, id, this.#ports.log, `${name} not run`));
  }

  /** Resolves when all notes are written. Never rejects. */
  async settle(): Promise<void> {
    await Promise.all(this.#pending);
  }

  #write(key: SessionKey, write: (session: Session) => Promise<void>): void {
    const pending = this.#withSession(key, write)
      .catch((error: unknown) => this.#ports.log.warn("notice not kept", { session: key, error }))
      .finally(() => this.#pending.delete(pending));
    this.#pending.add(pending);
  }

  async #withSession(key: SessionKey, write: (session: Session) => Promise<void>): Promise<void> {
    const session = await this.#ports.storage.sessions.acquire(key);
    await write(session).finally(() => session.release());
  }
}
