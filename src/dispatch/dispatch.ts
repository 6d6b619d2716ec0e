import type { Compacted } from "../harness/compaction/compact.ts";
import { isDiskError } from "../store/disk.ts";
import type { CommandContribution } from "../types/contribution.ts";
import type { RunId, SessionKey } from "../types/ids.ts";
import type { InboxRow } from "../types/journal.ts";
import type { InboundMessage } from "../types/chat/message.ts";
import type { Session } from "../types/session.ts";
import { kindNameOf } from "../types/run/turn-kind.ts";
import { KeyedQueue } from "../utils/keyed-queue.ts";
import { Approvals } from "./approvals/approvals.ts";
import { refusalOf } from "./commands/access.ts";
import { commandIn, type AskedCommand } from "./commands/asked.ts";
import type { Commands } from "./commands/command.ts";
import { commandTable } from "./commands/table.ts";
import { Compactions } from "./maintenance/compactions.ts";
import { LateMessages } from "./admission/late.ts";
import { Lanes } from "./queue/lanes.ts";
import type { DispatchPorts, Verdict, QueuedTurn } from "./ports.ts";
import { Replies } from "./replies.ts";
import { RunRegistry } from "./clients/run-registry.ts";
import { Turns } from "./turn/turns.ts";
import { DISK_PROBE_INTERVAL_MS } from "../store/retry-while-disk-full.ts";
import { BROKEN } from "./words.ts";

/** Deciding about a message takes a few milliseconds, unless the disk is full. */
const DECIDE_MS = 1000;

/**
 * Entry point of the message pipeline: journal → acknowledge → admit → route → command or lane → turn → outcome. What
 * happens in a turn is listed in `turn/stages.ts`.
 */
export class Dispatch {
  readonly registry = new RunRegistry();
  readonly approvals: Approvals;
  readonly commands: Commands;
  readonly compactions: Compactions;
  readonly lanes: Lanes;
  readonly replies: Replies;
  readonly #ports: DispatchPorts;
  readonly #order = new KeyedQueue();
  readonly #deciding = new Map<number, Promise<void>>();
  readonly #late: LateMessages;

  /** `commands`: those beside the gateway's own. */
  constructor(ports: DispatchPorts, commands: readonly CommandContribution[] = []) {
    this.#ports = ports;
    this.commands = commandTable(commands);
    this.approvals = new Approvals(ports.journal.approvals, ports.clock, ports.log);
    this.replies = new Replies(ports);
    this.#late = new LateMessages(ports, this.replies);
    this.compactions = new Compactions({ ...ports, replies: this.replies });
    const { approvals, registry, replies, compactions } = this;
    const turns = new Turns({ ...ports, approvals, registry, replies, compactions });
    this.lanes = new Lanes(ports, turns);
  }

  /** Takes events of a channel. Resolves when they are durable; rejects when they could not be stored. */
  async receive(messages: readonly InboundMessage[]): Promise<void> {
    const accepted = await this.#ports.journal.inbox.accept(messages);
    for (const { row, isNew } of accepted) {
      if (isNew) this.admit(row).catch((error: unknown) => this.#ports.log.error("admission failed", { error }));
      else this.#logSeen(row);
    }
  }

  /** Decides about a stored message, in the order of its chat. Never rejects. */
  admit(row: InboxRow): Promise<void> {
    const { from } = row.message;
    const deciding = this.#order
      .run(`${from.channel}\n${from.account}\n${from.chat.id}`, () => this.#decideAtLast(row))
      .finally(() => this.#deciding.delete(row.id));
    this.#deciding.set(row.id, deciding);
    return deciding;
  }

  /** Resolves when it is no longer being decided about. */
  async decided(row: InboxRow): Promise<void> {
    await this.#deciding.get(row.id);
  }

  /** Waits for a disk that is full; any other failure is told. */
  async #decideAtLast(row: InboxRow): Promise<void> {
    for (;;) {
      try {
        return await this.#decide(row);
      } catch (error) {
        if (!isDiskError(error)) {
          this.#ports.log.error("message not decided", { inbox: row.id, error });
          return this.#giveUp(row);
        }
        await this.replies.diskFull([row], { error, isAdmitted: false });
        await new Promise<void>((resolve) => this.#ports.clock.after(DISK_PROBE_INTERVAL_MS, resolve));
      }
    }
  }

  /** Nobody is left without a word; when not even that can be written, the next start tries again. */
  async #giveUp(row: InboxRow): Promise<void> {
    try {
      await this.replies.refuse([row], this.registry.logOf(row), BROKEN);
    } catch (error) {
      this.#ports.log.error("message left without an outcome", { inbox: row.id, error });
    }
  }

  async #decide(row: InboxRow): Promise<void> {
    const { message } = row;
    const verdict: Verdict = message.options?.operator === true ? { kind: "pass" } : await this.#ports.gate(message);
    const key = this.#keyOf(row.message);
    this.#logVerdict(row, key, verdict);
    const kind = this.#ports.kinds.of(message);
    if (!this.#ports.kinds.isKnown(message)) return this.replies.turnAway(row, unknownKind(message), "drop");
    if (verdict.kind === "pair") return this.replies.pair(row);
    if (verdict.kind === "drop") return this.replies.turnAway(row, verdict.why, "drop");
    if (verdict.kind === "history") return this.#keep(row);
    if (this.#late.isLate(row)) return this.#late.take(row);
    const asked = kind.takesCommands ? commandIn(message.text, this.#ports.settings(), this.commands) : undefined;
    if (asked) return this.#command(row, key, asked);
    this.enter(key, { rows: [row], pending: this.#before(row) });
  }

  /** For the next turn of the chat. */
  async #keep(row: InboxRow): Promise<void> {
    await this.replies.turnAway(row, whyHeard(row.message), "history");
    this.#ports.groupHistory?.add(row);
  }

  /** What was said before a message, for the turn that it begins. */
  #before(row: InboxRow): QueuedTurn["pending"] {
    return this.#ports.groupHistory?.take(row) ?? [];
  }

  /** Into the session's lane. Operators get a log to watch from now on, and a run of their own. */
  enter(key: SessionKey, queued: QueuedTurn): void {
    const [row] = queued.rows;
    if (!row) return;
    const isOperator = row.message.options?.operator === true;
    const log = queued.log ?? (isOperator ? this.registry.open(row, key, this.#ports) : undefined);
    this.replies.acks.put(queued.rows);
    this.lanes.offer(key, { ...queued, ...(log && { log }) });
  }

  /** What becomes of a message at this moment; undefined when nothing here knows it. */
  standingOf(row: InboxRow): "running" | "waiting" | undefined {
    const isHeld = this.#deciding.has(row.id) || this.#late.has(row.id);
    return this.lanes.standingOf(row.id) ?? (isHeld ? "waiting" : undefined);
  }

  async #command(row: InboxRow, key: SessionKey, asked: AskedCommand): Promise<void> {
    const { command, args } = asked;
    const log = row.message.options?.operator === true ? this.registry.open(row, key, this.#ports) : undefined;
    const refused = refusalOf(asked, { message: row.message, key }, this.#ports.settings());
    if (refused !== undefined) return this.replies.command(row, key, { name: command.name, text: refused, log });
    const stopped = new AbortController();
    const context = {
      args,
      commands: this.commands,
      message: row.message,
      key,
      isOwner: this.#ports.settings().isOwner(row.message),
      ports: this.#ports,
      approvals: this.approvals,
      signal: stopped.signal,
      stop: () => this.lanes.stop(key),
      compact: (session: Session) => {
        const wishes = args === "" ? {} : { instructions: args };
        return this.compactions.ask(session, { signal: stopped.signal, message: row.message, ...wishes });
      },
    };
    if (command.at === "once") {
      const answer = await command.run(context);
      if ("text" in answer) await this.replies.command(row, key, { name: command.name, text: answer.text, log });
      return;
    }
    let answer: Awaited<ReturnType<typeof command.run>> | undefined;
    const work = async () => {
      // After a full disk this work is done again, but the command itself has already run.
      answer ??= await this.#inSession(key, (session) => command.run(context, session));
      if ("text" in answer) return this.replies.command(row, key, { name: command.name, text: answer.text, log });
      this.replies.acks.put([row]);
      this.lanes.enterFirst(key, { rows: [row], pending: this.#before(row), text: answer.turn, ...(log && { log }) });
    };
    const abort = () => stopped.abort();
    this.lanes.occupy(key, { kind: "work", rows: [row], work, abort, ...(log && { log }) }, command.at);
  }

  async #inSession<T>(key: SessionKey, work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#ports.sessions.acquire(key);
    return work(session).finally(() => session.release());
  }

  /** Decides about what came in, then lets runs end within `ms`. What is left goes on after the next start. */
  async close(ms: number): Promise<void> {
    this.approvals.close();
    this.compactions.close();
    const late = Promise.withResolvers<void>();
    const cancel = this.#ports.clock.after(DECIDE_MS, late.resolve);
    await Promise.race([this.#order.idle(), late.promise]);
    cancel();
    this.#late.close();
    await this.lanes.close(ms);
    await this.replies.settle();
  }

  /** Compacts a conversation when it is its turn in the lane. Rejects when the transcript cannot be written. */
  compact(key: SessionKey): Promise<Compacted> {
    const stopped = new AbortController();
    return new Promise((resolve, reject) => {
      const work = async () => {
        const session = await this.#ports.sessions.acquire(key);
        const asked = { signal: stopped.signal };
        await this.compactions
          .ask(session, asked)
          .then(resolve, reject)
          .finally(() => session.release());
      };
      stopped.signal.addEventListener("abort", () => resolve({ kind: "aborted" }), { once: true });
      this.lanes.occupy(key, { kind: "work", rows: [], work, abort: () => stopped.abort() }, "lane");
    });
  }

  /** Ends what runs in a session. */
  stop(key: SessionKey, only?: RunId): Promise<readonly RunId[]> {
    return this.lanes.stop(key, only);
  }

  #keyOf(message: InboundMessage): SessionKey {
    return message.options?.sessionKey ?? this.#ports.settings().keyFor(message);
  }

  #logSeen(row: InboxRow): void {
    const session = row.sessionKey ?? this.#keyOf(row.message);
    const fields = { run: row.runId, session, inbox: row.id, event: row.message.eventKey };
    this.#ports.log.info("dropped", { ...fields, why: "seen before" });
  }

  #logVerdict(row: InboxRow, session: SessionKey, verdict: Verdict): void {
    const { from, sender } = row.message;
    const fields = { session, inbox: row.id, channel: from.channel, chat: from.chat.id, sender: sender.id };
    if (verdict.kind === "pass") this.#ports.log.info("received", fields);
    else this.#ports.log.info("dropped", { ...fields, why: verdict.kind === "drop" ? verdict.why : verdict.kind });
  }
}

/** Kept for the next answer, and why that is all. */
const whyHeard = ({ event }: InboundMessage): string =>
  event === "reaction" ? "heard, not answered" : "not mentioned";

const unknownKind = ({ options }: InboundMessage): string =>
  `this gateway knows no turn of the kind "${kindNameOf(options)}"`;
