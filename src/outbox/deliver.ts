import { BY_OPERATOR } from "../store/database/counts.ts";
import type { ChannelLimits } from "../types/chat/channel.ts";
import type { SessionKey } from "../types/ids.ts";
import type { OutboxRow, PlannedReply, PlannedRow, OutboxJournal } from "../types/journal.ts";
import type { Peer } from "../types/chat/message.ts";
import type { OutboundPart, ReplyBlock } from "../types/chat/reply.ts";
import { KeyedQueue } from "../utils/keyed-queue.ts";
import { composeReply } from "./compose.ts";
import { gapKey, gapsOf } from "./gaps.ts";
import type { OutboxDeps } from "./ports.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { pause } from "../utils/pause.ts";
import { type Answered, Preview, type PreviewOptions } from "./preview.ts";
import { labelled, renderText } from "./render.ts";
import { hookedBlocks, mayChangeReplies } from "./send-hooks.ts";
import { sendRow, type SendPorts } from "./send.ts";
import { background } from "../utils/background.ts";
import { retryWhileDiskFull } from "../store/retry-while-disk-full.ts";

/** A logical reply. Its key is permanent: delivering the same key again sends nothing twice. */
export interface Reply extends Omit<PlannedReply, "parts"> {
  readonly blocks: readonly ReplyBlock[];
}

/** How the first send of a reply goes. Not kept over a restart. */
export interface SendHints {
  /** Milliseconds to wait before the first message, once it is its turn. */
  readonly pauseMs?: number;
  /** The session for plugins, and for the log when no claimed message has it. */
  readonly session?: SessionKey;
}

/** Sends every reply, once and in the order of its chat. */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #rate: RateLimiter;
  readonly #chats = new KeyedQueue();
  readonly #stop = new AbortController();
  /** Rows that are being sent: planning a reply again must not send it again. Aborting one ends its tries. */
  readonly #underway = new Map<number, AbortController>();
  /** Chats that are about to be informed about gaps. */
  readonly #reporting = new Set<string>();

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
    this.#rate = new RateLimiter(deps.clock, deps.pacing);
  }

  /** Resolves when the reply is durable; it is sent in the background. Nothing to say plans nothing. */
  async deliver(reply: Reply, hints: SendHints = {}): Promise<readonly OutboxRow[]> {
    const { blocks, ...planned } = reply;
    const left = await hookedBlocks(blocks, { ...planned, session: hints.session }, this.#deps);
    const parts = await this.#render(planned, left);
    if (parts.length === 0) return [];
    if (this.#maySendNow(planned.to, hints)) return this.#planAndSend({ ...planned, parts }, hints);
    const rows = await this.#deps.journal.plan({ ...planned, parts });
    for (const row of rows) if (row.state === "planned") this.#enqueue(row, hints);
    return rows;
  }

  /** Whether nothing delays the next message of the chat. Then it has its turn. */
  #maySendNow(to: Peer, { pauseMs = 0 }: SendHints): boolean {
    if (pauseMs > 0 || this.#stop.signal.aborted || this.#chats.isBusy(chatKey(to))) return false;
    return this.#deps.links.link(to) !== undefined && this.#rate.takeNow(to) === 0;
  }

  /** Plans a reply and begins to send it in one write: with two writes it would wait for the disk once more. */
  #planAndSend(reply: PlannedReply, hints: SendHints): Promise<readonly OutboxRow[]> {
    const planning = Promise.withResolvers<readonly OutboxRow[]>();
    const sending = this.#chats.run(chatKey(reply.to), async () => {
      try {
        const rows = await this.#deps.journal.plan(reply, "now");
        const sends = rows.flatMap((row) => (row.isBegun || row.state === "planned" ? this.#sendOf(row, hints) : []));
        planning.resolve(rows);
        for (const send of sends) await send();
      } catch (error) {
        planning.reject(error);
      }
    });
    background("send of a reply", sending, this.#deps.log);
    return planning.promise;
  }

  /** The most bytes of one file; 0 where the chat takes none. Undefined while that is unknown. */
  mostFileBytes(to: Peer): number | undefined {
    return this.#deps.links.limits(to)?.media;
  }

  /** Whether a text fits into one message of the chat. True while its limits are unknown. */
  async isOneMessage(markdown: string, to: Peer): Promise<boolean> {
    const limits = this.#deps.links.limits(to);
    return limits === undefined || (await renderText(markdown, limits)).length <= 1;
  }

  /**
   * Opens a preview of a reply that is being streamed. Undefined where the platform cannot edit, or is not connected, or where
   * plugins may change the reply.
   */
  preview(to: Peer, answered: Answered, options: PreviewOptions = {}): Preview | undefined {
    const limits = mayChangeReplies(this.#deps) ? undefined : this.#deps.links.limits(to);
    if (!limits || !this.#deps.links.link(to)?.edit) return undefined;
    return new Preview({
      ...this.#deps,
      ...options,
      ...answered,
      rate: this.#rate,
      queue: this.#chats,
      chat: chatKey(to),
      limits,
      to,
    });
  }

  /**
   * Called after a start: sends unsent replies. If a reply may have arrived, the platform is asked, or the reply is
   * sent once more with a label.
   */
  async recover(): Promise<number> {
    const rows = await this.#deps.journal.open();
    const broken = rows.filter(({ id, state }) => state === "sending" && !this.#underway.has(id));
    const noting = Promise.all(broken.map((row) => this.#noteBroken(row)));
    for (const row of rows) this.#enqueue(row.state === "sending" ? { ...row, state: "unknown" } : row);
    for (const { to } of await this.#deps.journal.unreportedGaps()) this.#reportGaps(to);
    await noting;
    return rows.length;
  }

  /** Marks a row as unknown before anything else, so that giving it up without a try knows it as well. */
  async #noteBroken({ id, replyKey }: OutboxRow): Promise<void> {
    const { journal, log } = this.#deps;
    try {
      await journal.mark(id, { state: "unknown", error: "the gateway ended while it was being sent" });
    } catch (error) {
      log.error("reply with unknown outcome not recorded", { reply: replyKey, error });
    }
  }

  /** True while a row waits to be sent or to be tried again. */
  isUnderway(id: number): boolean {
    return this.#underway.has(id);
  }

  /** Sends a row that was reset to `planned`. Does nothing while it is being sent. */
  retry(row: OutboxRow): void {
    this.#enqueue(row);
  }

  /** Gives up a row for an operator. A send that succeeds at this moment counts as sent. Rejects when the journal cannot be written. */
  async drop(id: number): Promise<void> {
    this.#underway.get(id)?.abort();
    await this.#deps.journal.mark(id, DROPPED);
  }

  /** Resolves when nothing waits, or after `ms`. The next start sends the rest. */
  async close(ms: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(ms, late.resolve);
    await Promise.race([this.#chats.idle(), late.promise]);
    cancel();
    this.#stop.abort();
  }

  #enqueue(row: OutboxRow, hints: SendHints = {}): void {
    for (const send of this.#sendOf(row, hints)) {
      background("send of a reply", this.#chats.run(chatKey(row.to), send), this.#deps.log);
    }
  }

  /** The send of a row that counts as underway from now on; none while it is underway already. It never rejects. */
  #sendOf(row: PlannedRow, hints: SendHints): readonly (() => Promise<void>)[] {
    if (this.#underway.has(row.id)) return [];
    const dropped = new AbortController();
    this.#underway.set(row.id, dropped);
    const ports = this.#portsFor(row, hints.session, dropped.signal);
    const pauseMs = row.part === 0 ? (hints.pauseMs ?? 0) : 0;
    const send = async (): Promise<void> => {
      try {
        if (pauseMs > 0) await pause(pauseMs, ports);
        await sendRow(row, ports);
        // A try that was already running has recorded its own result.
        if (dropped.signal.aborted) await this.#deps.journal.mark(row.id, DROPPED);
      } catch (error) {
        // The journal could not be written: the row keeps its state, and the next start sends it.
        ports.log.error("reply left unsent", { reply: row.replyKey, error });
      } finally {
        this.#underway.delete(row.id);
      }
    };
    return [send];
  }

  #portsFor(row: OutboxRow, session: SessionKey | undefined, dropped: AbortSignal): SendPorts {
    const signal = AbortSignal.any([this.#stop.signal, dropped]);
    const log = this.#deps.log.with({ run: row.runId, session: row.sessionKey ?? session });
    const journal = patientJournal({ ...this.#deps, log }, signal);
    return { ...this.#deps, rate: this.#rate, log, journal, signal, gap: (to) => this.#reportGaps(to) };
  }

  /** Informs a chat about gaps, in one line for all of them, after every row that waits for the chat now. */
  #reportGaps(to: Peer): void {
    const chat = chatKey(to);
    if (!this.#deps.gapText || this.#reporting.has(chat)) return;
    this.#reporting.add(chat);
    const reporting = this.#chats.run(chat, async () => {
      this.#reporting.delete(chat);
      if (this.#stop.signal.aborted) return;
      await this.#planGapLine(to).catch((error: unknown) =>
        this.#deps.log.error("chat not informed about a gap", { channel: to.channel, error }),
      );
    });
    background("line about a gap", reporting, this.#deps.log);
  }

  async #planGapLine(to: Peer): Promise<void> {
    const { journal, gapText } = this.#deps;
    const rows = (await journal.unreportedGaps()).filter((row) => chatKey(row.to) === chatKey(to));
    const [first] = rows;
    if (!first || !gapText) return;
    const blocks = [{ kind: "notice", markdown: gapText(gapsOf(rows)), because: "error" }] as const;
    await this.deliver({ replyKey: gapKey(first), to: first.to, blocks, reportsGapsOf: rows.map(({ id }) => id) });
  }

  async #render(reply: Omit<PlannedReply, "parts">, blocks: readonly ReplyBlock[]): Promise<readonly OutboundPart[]> {
    const limits = this.#deps.links.limits(reply.to) ?? PLAIN_LIMITS;
    const parts = await composeReply(blocks, limits, {
      hasPreview: reply.editOf !== undefined,
      hasButtons: reply.buttons !== undefined,
      report: (why) => this.#deps.log.warn("text sent as it was written", { reply: reply.replyKey, why }),
    });
    const isLabelled = reply.isRepeat === true && this.#deps.labelsRepeats?.() !== false;
    return isLabelled ? parts.map((part, index) => (index === 0 ? labelled(part) : part)) : parts;
  }
}

const DROPPED = { state: "failed", error: BY_OPERATOR, isGivenUp: true } as const;

/** Limits of a channel that is configured but has never been up. */
const PLAIN_LIMITS: ChannelLimits = { text: 2000, format: "plain", media: 0 };

const chatKey = (to: Peer): string => `${to.channel}\n${to.account}\n${to.chat.id}`;

/**
 * The outbox journal, with `mark` retried while the disk is full: a sent message that is not recorded would be sent again.
 * `mark` rejects with the disk's error once the signal has aborted.
 */
function patientJournal(deps: OutboxDeps, signal: AbortSignal): OutboxJournal {
  const { journal, clock, onDiskError } = deps;
  return {
    ...journal,
    mark(id, change) {
      const log = deps.log.with({ row: id });
      return retryWhileDiskFull("reply", () => journal.mark(id, change), {
        clock,
        log,
        signal,
        ...(onDiskError && { onDiskError }),
      });
    },
  };
}
