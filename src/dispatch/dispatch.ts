import type { Run } from "../harness/run.ts";
import type { RunLog } from "../harness/log/run-log.ts";
import type { Compacted } from "../harness/compaction/compact.ts";
import type { InboundMessage } from "../types/chat/message.ts";
import type { RunId, SessionKey } from "../types/ids.ts";
import type { InboxRow } from "../types/journal.ts";
import { KeyedQueue } from "../utils/keyed-queue.ts";
import { within } from "../utils/within.ts";
import { forSeveral } from "./admission/broadcast.ts";
import { type PluginClaim, claimOf, mayBeClaimed } from "./admission/claims.ts";
import { LateMessages } from "./admission/late.ts";
import { isReceivedWatched, noteEvent, notifyReceived, unknownKind, verdictOn } from "./admission/verdicts.ts";
import { Approvals } from "./approvals/approvals.ts";
import { COMMAND_IN_EDIT } from "./notices/chat-texts.ts";
import { RunRegistry } from "./run-registry.ts";
import { type TypedCommand, isStopWord } from "./commands/parse-command.ts";
import { mayHoldCommands } from "./directives/access.ts";
import type { Commands } from "./commands/kit/command.ts";
import { commandOf, commandWork } from "./commands/run-command.ts";
import { commandTable, type AddedCommands } from "./commands/table.ts";
import { Compactions } from "./maintenance/compactions.ts";
import type { DispatchPorts, Verdict } from "./ports.ts";
import type { QueuedTurn } from "./queue/lane-task.ts";
import { Lanes, type StopHow } from "./queue/lanes.ts";
import { Replies } from "./notices/replies.ts";
import { Turns } from "./turns.ts";
import { isDiskError } from "../store/disk.ts";
import { DISK_PROBE_INTERVAL_MS } from "../store/retry-while-disk-full.ts";
import type { Clock } from "../types/clock.ts";

/**
 * The longest wait for decisions when the gateway stops, in milliseconds. A decision takes a few milliseconds, unless
 * the disk is full.
 */
const DECIDE_MS = 1000;

/**
 * Entry point of the message pipeline. The life of a message, top to bottom:
 *
 * 1. `receive`: the journal has the message. When the message is on the disk, the adapter may acknowledge it. The
 *    decision does not wait for the disk: whatever it writes comes later in the same file, so nothing of it can be
 *    there without the message.
 * 2. `admit`: the messages of one chat are decided in their order.
 * 3. `#decide`: the message is refused, kept as history or as a system event, or let in, as a command or for a turn.
 * 4. `enter`: the message waits in the lane of its session (`queue/lanes.ts`).
 * 5. The lane runs the turn: see `turn-stages.ts`.
 */
export class Dispatch {
  readonly registry = new RunRegistry();
  readonly approvals: Approvals;
  readonly commands: Commands;
  readonly compactions: Compactions;
  readonly lanes: Lanes<Run>;
  readonly replies: Replies;
  readonly #ports: DispatchPorts;
  /** Decisions in the order of each chat, and the works of plugins and commands that run beside them. */
  readonly #order = new KeyedQueue();
  /** Messages that are being decided, by the ids of their rows. */
  readonly #deciding = new Map<number, Promise<void>>();
  /** Messages that a plugin or a command is answering, or may answer, by the ids of their rows. */
  readonly #answering = new Map<number, Promise<void>>();
  readonly #late: LateMessages;

  /** `commands` are added to the gateway's own commands. */
  constructor(ports: DispatchPorts, commands: AddedCommands = { commands: [], revision: 0 }) {
    this.#ports = ports;
    this.commands = commandTable(commands);
    this.approvals = new Approvals(ports.storage.allowances, ports.storage.journal.values, ports.clock, ports.log);
    this.replies = new Replies(ports);
    this.#late = new LateMessages(ports, this.replies);
    this.compactions = new Compactions({ ...ports, replies: this.replies });
    const { approvals, registry, replies, compactions } = this;
    const turns = new Turns({ ...ports, shared: { approvals, registry, replies, compactions } });
    this.lanes = new Lanes(ports, turns);
  }

  /** Accepts messages of a channel, and begins to decide them. Resolves when they are durable; rejects when they could not be stored. */
  async receive(messages: readonly InboundMessage[]): Promise<void> {
    const { inbox } = this.#ports.storage.journal;
    const accepted = await inbox.acceptAhead(messages);
    const stored = inbox.synced();
    for (const { row, isNew, faults } of accepted) {
      if (faults) this.#logFaults(row, faults);
      if (!isNew) this.#logSeen(row);
      else if (!row.outcome) this.#admitSoon(row);
    }
    await stored;
  }

  /**
   * Stores messages of a channel while the gateway stops: the next start decides them. Resolves when they are durable;
   * rejects when they could not be stored.
   */
  async keep(messages: readonly InboundMessage[]): Promise<void> {
    const { inbox } = this.#ports.storage.journal;
    await inbox.acceptAhead(messages);
    await inbox.synced();
  }

  #admitSoon(row: InboxRow): void {
    this.admit(row).catch((error: unknown) => this.#ports.log.error("admission failed", { error }));
  }

  /** Decides about a stored message, after the earlier messages of its chat. Never rejects. */
  admit(row: InboxRow): Promise<void> {
    const { from } = row.message;
    const deciding = this.#order
      .run(`${from.channel}\n${from.account}\n${from.chat.id}`, () => this.#whenPossible(row, () => this.#decide(row)))
      .finally(() => this.#deciding.delete(row.id));
    this.#deciding.set(row.id, deciding);
    return deciding;
  }

  /** Repeats work about a message while the disk is full. The sender is informed about any other failure. */
  #whenPossible(row: InboxRow, work: () => Promise<void>): Promise<void> {
    return whenPossible(work, {
      clock: this.#ports.clock,
      onDiskFull: (error) => this.replies.diskFull([row], { error, isAdmitted: false }),
      onFailure: (error) => {
        this.#ports.log.error("message not decided", { inbox: row.id, error });
        return this.#giveUp(row);
      },
    });
  }

  async #decide(row: InboxRow): Promise<void> {
    const { message } = row;
    const verdict = await verdictOn(message, this.#ports);
    const key = this.#keyOf(message);
    this.#logVerdict(row, key, verdict);
    if (!this.#ports.kinds.isKnown(message)) return this.replies.turnAway(row, unknownKind(message), "drop");
    if (verdict.kind !== "pass") return this.#turnAway(row, key, verdict);
    if (this.#late.isLate(row)) return this.#late.take(row);
    const asked = commandOf(message, key, this.commands, this.#ports) ?? this.#plainStop(message, key);
    if (asked && message.isEdit) return this.replies.turnAway(row, "a command in an edit", "drop", COMMAND_IN_EDIT);
    if (await this.#isForSeveral(row, asked?.command.name)) return;
    await this.#tellPlugins(message, key);
    if (!asked) return this.#enterUnlessClaimed(row, key);
    const said = { row, key, log: this.#openLog(row, key), history: () => this.#historyBefore(row) };
    // The work is repeated when the disk was full; the command itself runs once.
    const work = commandWork(asked, said, this, this.#ports);
    if (asked.command.at === "apart") return this.#startApart(row, work, `command\n${row.id}`);
    // The command does not run before an earlier message that a plugin still looks at.
    const claims = claimsOf(message);
    if (asked.command.at !== "at_once" && this.#order.isBusy(claims)) return this.#startApart(row, work, claims);
    return this.#whenPossible(row, work);
  }

  /** The command `/stop`, where the agent works and a person says to stop in a word; else undefined. */
  #plainStop(message: InboundMessage, key: SessionKey): TypedCommand | undefined {
    const { textCommands } = this.#ports.settings();
    if (!textCommands || !isStopWord(message.text) || !mayHoldCommands(message, this.#ports)) return undefined;
    const isWorking = this.lanes.isBusy(key) || this.#subagentsOf(key).length > 0;
    const command = isWorking ? this.commands.find("stop") : undefined;
    return command && { command, args: "" };
  }

  async #turnAway(row: InboxRow, key: SessionKey, verdict: Exclude<Verdict, { kind: "pass" }>): Promise<void> {
    if (verdict.kind === "pair") return this.replies.pair(row);
    if (verdict.kind === "history") return this.#keepAsHistory(row);
    if (verdict.kind === "event") return this.#keepAsEvent(row, key);
    return this.replies.turnAway(row, verdict.why, "drop", verdict.notice);
  }

  /** Whether several agents answer the chat. Then each of them has got a copy of the message. */
  async #isForSeveral(row: InboxRow, command: string | undefined): Promise<boolean> {
    const copies = await forSeveral(row, { command, history: () => this.#historyBefore(row) }, this.#ports);
    for (const copy of copies ?? []) this.#admitSoon(copy);
    return copies !== undefined;
  }

  /**
   * Calls the hook for received messages. An act of a plugin cannot be undone, so the message must be on the disk
   * before.
   */
  async #tellPlugins(message: InboundMessage, key: SessionKey): Promise<void> {
    const {
      storage: { journal },
      kinds,
    } = this.#ports;
    if (isReceivedWatched(this.#ports) || mayBeClaimed(message, this.#ports)) await journal.inbox.synced();
    if (!kinds.of(message).actsFor) notifyReceived(message, key, this.#ports);
  }

  /** A message that no plugin answers becomes part of a turn. Commands such as `/stop` do not wait for plugins. */
  #enterUnlessClaimed(row: InboxRow, key: SessionKey): void {
    const { message } = row;
    const enter = () => this.enter(key, { rows: [row], pending: this.#historyBefore(row) });
    const claims = claimsOf(message);
    if (!mayBeClaimed(message, this.#ports) && !this.#order.isBusy(claims)) return enter();
    let claim: PluginClaim | undefined;
    const work = async () => {
      claim ??= await claimOf(message, key, this.#ports);
      if (!claim) return enter();
      const { owner: plugin, text } = claim;
      this.#ports.log.info("message taken by a plugin", { session: key, inbox: row.id, plugin, answered: text !== "" });
      await this.replies.claimed(row, key, { ...claim, log: this.#openLog(row, key) });
    };
    this.#startApart(row, work, claims);
  }

  /**
   * Starts work of a plugin or a command that later messages of the chat, such as `/stop`, do not wait for. Works of
   * one `queue` keep their order.
   */
  #startApart(row: InboxRow, work: () => Promise<void>, queue: string): void {
    const answering = this.#order
      .run(queue, () => this.#whenPossible(row, work))
      .finally(() => this.#answering.delete(row.id));
    this.#answering.set(row.id, answering);
  }

  /** Keeps a message as context for the next turn of the chat. */
  async #keepAsHistory(row: InboxRow): Promise<void> {
    await this.replies.turnAway(row, "not mentioned", "history");
    this.#ports.chats.groupHistory.add(row);
  }

  /** Notes an event for the next turn of the session, before the row ends, so that a crash in between loses nothing. */
  async #keepAsEvent(row: InboxRow, key: SessionKey): Promise<void> {
    await noteEvent(row.message, key, this.#ports);
    await this.replies.turnAway(row, "heard, not answered", "drop");
  }

  /** Takes the lines of the chat before a message, for the turn that the message begins. */
  #historyBefore(row: InboxRow): QueuedTurn["pending"] {
    return row.message.options?.pending ?? this.#ports.chats.groupHistory.take(row);
  }

  /**
   * Puts messages into the lane of their session. An operator's message gets a log that clients can watch from now on.
   */
  enter(key: SessionKey, queued: QueuedTurn): void {
    const [row] = queued.rows;
    if (!row) return;
    const log = queued.log ?? this.#openLog(row, key);
    this.replies.acks.put(queued.rows);
    this.lanes.offer(key, { ...queued, ...(log && { log }) });
  }

  #openLog(row: InboxRow, key: SessionKey): RunLog | undefined {
    const isWatched = isFromOperator(row) && this.#ports.kinds.of(row.message).queue !== "joins";
    return isWatched ? this.registry.open(row, key, this.#ports) : undefined;
  }

  /**
   * Informs the sender that the message failed. When even this notice cannot be written, the next start tries again.
   */
  async #giveUp(row: InboxRow): Promise<void> {
    try {
      await this.replies.refuse([row], this.registry.logOf(row));
    } catch (error) {
      this.#ports.log.error("message left without an outcome", { inbox: row.id, error });
    }
  }

  /** Resolves when the message is decided. */
  async decided(row: InboxRow): Promise<void> {
    await this.#deciding.get(row.id);
  }

  /** The state of a message in this process. Undefined when no part of the process has the message. */
  stateOf(row: InboxRow): "running" | "waiting" | undefined {
    const isHeld = this.#deciding.has(row.id) || this.#answering.has(row.id) || this.#late.has(row.id);
    return this.lanes.stateOf(row.id) ?? (isHeld ? "waiting" : undefined);
  }

  /**
   * Ends the runs of a session, or only one run, begun or waiting, and the subagents that work for the session. With
   * `by`, a message whose sender may not end the turns of owners, these turns and all subagents stay. Returns the runs
   * that ended; runs of subagents only where no run of the session ended.
   */
  async stop(key: SessionKey, { only, by }: StopHow = {}): Promise<readonly RunId[]> {
    const isCurrent = only === undefined || this.lanes.runs().some(({ stream }) => stream.facts.runId === only);
    const below = isCurrent && !by ? this.#subagentsOf(key) : [];
    const ended = await this.lanes.stop(key, { ...(only !== undefined && { only }), ...(by && { by }) });
    const endedBelow = await Promise.all(below.map((child) => this.stop(child)));
    return ended.length > 0 ? ended : endedBelow.flat();
  }

  /** The sessions of a session's subagents whose runs are waiting or active. */
  #subagentsOf(key: SessionKey): readonly SessionKey[] {
    const {
      storage: { sessions },
    } = this.#ports;
    const keys = this.registry.running().map(({ stream }) => stream.facts.sessionKey);
    return [...new Set(keys)].filter((child) => child !== key && sessions.peek(child)?.spawnedBy === key);
  }

  /**
   * Ends the runs of a session, and does the work when its lane is free. Rejects when the work rejects, and when
   * somebody stops the work before it begins.
   */
  async afterRuns<T>(key: SessionKey, work: () => Promise<T>): Promise<T> {
    await this.stop(key);
    return new Promise<T>((resolve, reject) => {
      const abort = () => reject(new Error("the work was stopped before it began"));
      const begin = () => this.#whenStored(work).then(resolve, reject);
      this.lanes.occupy(key, { kind: "work", rows: [], work: begin, abort }, "lane");
    });
  }

  /** Compacts a conversation when its lane is free. Rejects when the transcript cannot be written. */
  compact(key: SessionKey): Promise<Compacted> {
    const stopped = new AbortController();
    const { signal } = stopped;
    return new Promise((resolve, reject) => {
      const compact = async () => {
        const session = await this.#ports.storage.sessions.acquire(key);
        return this.compactions.compact(session, { signal }).finally(() => session.release());
      };
      const work = () => this.#whenStored(compact).then(resolve, reject);
      signal.addEventListener("abort", () => resolve({ kind: "aborted" }), { once: true });
      this.lanes.occupy(key, { kind: "work", rows: [], work, abort: () => stopped.abort() }, "lane");
    });
  }

  /** Does work that changes a transcript, when the outcomes of its turns are on the disk. */
  async #whenStored<T>(work: () => Promise<T>): Promise<T> {
    await this.#ports.storage.journal.inbox.synced();
    return work();
  }

  /**
   * Decides the messages that have arrived, then lets runs end within `ms` milliseconds. The next start continues the
   * rest.
   */
  async close(ms: number): Promise<void> {
    this.approvals.close();
    this.compactions.close();
    await within(this.#order.idle(), DECIDE_MS, this.#ports.clock);
    this.#late.close();
    await this.lanes.close(ms);
    await this.replies.notes.settle();
  }

  #keyOf(message: InboundMessage): SessionKey {
    return message.options?.sessionKey ?? this.#ports.settings().keyFor(message);
  }

  /** Logs that an adapter offered a message whose fields have wrong types. */
  #logFaults({ id, message: { from, eventKey }, outcome }: InboxRow, faults: readonly string[]): void {
    const became = outcome ? "set aside: openclaw inbox show" : "accepted without them";
    const { channel, account } = from;
    const fields = { channel, account, inbox: id, event: eventKey, faults: faults.slice(0, 3).join("; "), became };
    this.#ports.log.warn("a message of a wrong shape", fields);
  }

  #logSeen(row: InboxRow): void {
    if (row.message.unreadable) return;
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

/** The queue of the messages of a chat that plugins are asked about. */
const claimsOf = ({ from }: InboundMessage): string => `claims\n${from.channel}\n${from.account}\n${from.chat.id}`;

const isFromOperator = ({ message }: InboxRow): boolean => message.options?.operator === true;

interface Ends {
  readonly clock: Clock;
  /** Called after each try that the full disk ended. */
  onDiskFull(error: unknown): Promise<void>;
  /** Called for any other failure; the work is not repeated. */
  onFailure(error: unknown): Promise<void>;
}

/** Repeats work while the disk is full. */
async function whenPossible(work: () => Promise<void>, { clock, onDiskFull, onFailure }: Ends): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isDiskError(error)) return onFailure(error);
      await onDiskFull(error);
      await new Promise<void>((resolve) => clock.after(DISK_PROBE_INTERVAL_MS, resolve));
    }
  }
}
