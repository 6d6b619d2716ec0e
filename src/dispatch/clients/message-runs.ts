import type { RunLog } from "../../harness/log/run-log.ts";
import type { RunId } from "../../types/ids.ts";
import type { InboxRow, RowChange } from "../../types/journal.ts";
import type { MessageKey, MessageRun } from "../../types/run/message-run.ts";
import { AsyncQueue } from "../../utils/async-queue.ts";
import { background } from "../../utils/background.ts";
import type { Dispatch } from "../dispatch.ts";
import type { DispatchPorts } from "../ports.ts";
import { runIdOf, turnIdOf } from "../turn-facts.ts";
import { plainStream } from "./plain-stream.ts";

/** Milliseconds between two checks whether a message without an outcome is still being worked on. */
const LOOK_MS = 60_000;

type FollowPorts = Pick<DispatchPorts, "clock" | "storage" | "log">;
type FollowDispatch = Pick<Dispatch, "registry" | "stateOf">;

interface Wish {
  readonly key: MessageKey;
  /** Resolves when the message is in the journal. When the promise rejects, there are no runs. */
  readonly stored: Promise<unknown>;
  readonly signal: AbortSignal;
}

/**
 * The runs of a message as clients see them; more than one when a run begins again after a full disk. The search begins
 * at once, so that a run which begins before `stored` resolves is found too. The iteration ends when the message has
 * its outcome or nobody works on it any more, and when the signal aborts.
 */
export function runsOf(wish: Wish, dispatch: FollowDispatch, ports: FollowPorts): AsyncIterable<MessageRun> {
  const search = new RunSearch(wish, dispatch, ports);
  background("the search for the run of a message", search.begin(), ports.log);
  return search.found;
}

/** News about a message. `end`: no later news can be the message's run. */
type News = RunLog | RowChange | "time" | "end";

const isRun = (news: News): news is RunLog => typeof news === "object" && "facts" in news;

class RunSearch {
  readonly found = new AsyncQueue<MessageRun>();
  readonly #wish: Wish;
  readonly #dispatch: FollowDispatch;
  readonly #ports: FollowPorts;
  readonly #news = new AsyncQueue<News>();
  #last: RunLog | undefined;
  /** The run that the message begins, once it is in the journal. */
  #own: RunId | undefined;
  /** The run that has the message. */
  #claimed: RunId | undefined;

  constructor(wish: Wish, dispatch: FollowDispatch, ports: FollowPorts) {
    this.#wish = wish;
    this.#dispatch = dispatch;
    this.#ports = ports;
  }

  async begin(): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#wish.signal, over.signal]);
    const streams = this.#dispatch.registry.watch(signal, ({ facts }) => this.#mayBeItsRun(facts.runId));
    try {
      const isStored = await this.#wish.stored.then(
        () => true,
        () => false,
      );
      const row = isStored ? await this.#find() : undefined;
      if (row) await this.#search(row, streams, signal);
    } finally {
      over.abort();
      this.found.end();
    }
  }

  async #search(first: InboxRow, streams: AsyncIterable<RunLog>, signal: AbortSignal): Promise<void> {
    this.#pass(streams);
    // The claim is noted at once, because the message's run begins, and may end, before the row is read again.
    const told = ({ runId }: RowChange) => (this.#claimed = runId ?? this.#claimed);
    this.#pass(this.#ports.storage.journal.inbox.changes(first.id, signal, told));
    const stopLooking = this.#lookRegularly();
    try {
      // The row may have changed before its changes were watched.
      let row = (await this.#find()) ?? first;
      this.#claimed ??= row.runId;
      this.#own = runIdOf(row);
      this.#news.push({});
      for await (const news of this.#news) {
        if (news === "end") return;
        if (isRun(news) && !this.#mayBeItsRun(news.facts.runId)) continue;
        row = await this.#after(news, row);
        if (signal.aborted) return;
        // The message's run may be among the news that has come meanwhile.
        if (row.state === "done" || (news === "time" && this.#dispatch.stateOf(row) === undefined))
          this.#news.push("end");
      }
    } finally {
      stopLooking();
    }
  }

  /** Offers the run that this news makes known. Returns the row as it is now. */
  async #after(news: News, known: InboxRow): Promise<InboxRow> {
    const run = isRun(news) ? news : undefined;
    const row = run && known.runId === run.facts.runId ? known : ((await this.#find()) ?? known);
    if (!this.#wish.signal.aborted) this.#offer(row, run ?? (row.runId && this.#dispatch.registry.find(row.runId)));
    return row;
  }

  /**
   * Whether a run may be the message's run. Many messages may be followed, and many runs begin: the runs of other
   * messages are no news. Before another run takes the message in, the message's row changes.
   */
  #mayBeItsRun(id: RunId): boolean {
    return this.#own === undefined || id === this.#own || id === this.#claimed;
  }

  #pass(source: AsyncIterable<News>): void {
    const pass = async () => {
      for await (const news of source) this.#news.push(news);
      this.#news.end();
    };
    background("the news of a message", pass(), this.#ports.log);
  }

  #lookRegularly(): () => void {
    let cancel = (): void => undefined;
    const again = () => {
      cancel = this.#ports.clock.after(LOOK_MS, () => {
        this.#news.push("time");
        again();
      });
    };
    again();
    return () => cancel();
  }

  #offer(row: InboxRow, log: RunLog | undefined): void {
    if (!log || log.facts.runId !== row.runId || log === this.#last) return;
    // The log that is kept of an ended run is no new run.
    if (this.#last && log.ended) return;
    this.#last = log;
    this.found.push({ stream: plainStream(log), from: hasJoined(row) ? log.seq + 1 : 1 });
  }

  #find(): Promise<InboxRow | undefined> {
    const { channel, account, eventKey } = this.#wish.key;
    return this.#ports.storage.journal.inbox.find(channel, account, eventKey);
  }
}

/**
 * Whether the message was put into a run that had begun: then the message has a turn of its own, and the run of another
 * turn.
 */
function hasJoined({ runId, turnId, ...message }: InboxRow): boolean {
  return turnId === turnIdOf(message) && runId !== runIdOf(message);
}

/**
 * Ends the run of a message, or a message that waits for its run, as `/stop` does. A message that is not known yet is
 * not ended.
 */
export async function stopMessage(
  { channel, account, eventKey }: MessageKey,
  dispatch: Dispatch,
  {
    storage: {
      journal: { inbox },
    },
  }: Pick<DispatchPorts, "storage">,
): Promise<void> {
  const find = () => inbox.find(channel, account, eventKey);
  const stored = await find();
  if (!stored) return;
  await dispatch.decided(stored);
  const row = (await find()) ?? stored;
  const { runId, sessionKey } = row;
  if (runId !== undefined && sessionKey !== undefined && (await dispatch.stop(sessionKey, { only: runId })).length > 0)
    return;
  if (row.state === "done" || dispatch.lanes.stateOf(row.id) === undefined) return;
  // The message ends first, so that its turn leaves it out, whatever other messages the turn has.
  await inbox.finish([row.id], { kind: "aborted" });
  await dispatch.lanes.drop(row.id);
}
