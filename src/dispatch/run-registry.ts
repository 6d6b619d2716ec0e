import { RunLog } from "../harness/log/run-log.ts";
import type { RunId, SessionKey } from "../types/ids.ts";
import type { InboxRow } from "../types/journal.ts";
import { Feed } from "../utils/feed.ts";
import type { DispatchPorts } from "./ports.ts";
import { factsFor, runIdOf } from "./turn-facts.ts";
import { background } from "../utils/background.ts";

/** The most ended runs of clients that are kept for `agent.wait`. */
const KEPT = 50;

/** The most runs that can be found by their messages. */
const NAMED = 1000;

/** The runs that clients can watch: queued, active, or recently ended. */
export class RunRegistry {
  readonly #streams = new Map<RunId, RunLog>();
  readonly #ended: RunLog[] = [];
  /** The runs by the transcript id of the message that each answers, the oldest first. */
  readonly #named = new Map<string, RunId>();
  readonly #feed = new Feed<RunLog>();

  /** Opens the log of a run that will wait in its lane. */
  open(row: InboxRow, key: SessionKey, ports: Pick<DispatchPorts, "storage" | "settings" | "kinds">): RunLog {
    const id = ports.storage.sessions.peek(key)?.sessionId ?? "";
    const session = { key, id, agentId: ports.settings().agentOf(key) };
    const log = new RunLog(factsFor(row, session, ports.kinds.of(row.message)));
    this.add(log);
    return log;
  }

  /**
   * Adds a run. The run of a chat is removed when it ends. `keep`: the run stays for a while, because a client may
   * request it.
   */
  add(stream: RunLog, keep = true): void {
    const { runId, turnId } = stream.facts;
    if (this.#streams.get(runId) === stream) return;
    this.#streams.set(runId, stream);
    if (turnId !== undefined) this.#name(turnId, runId);
    this.#feed.publish(stream);
    background(
      "end of a run",
      stream.done.then(() => (keep ? this.#keepEnd(stream) : this.#forget(stream))),
    );
  }

  /** Runs that have not ended, including those that wait in a lane. */
  running(): readonly { readonly stream: RunLog }[] {
    return [...this.#streams.values()].filter((stream) => !stream.ended).map((stream) => ({ stream }));
  }

  /** How many runs have begun and not ended. */
  get active(): number {
    return this.running().filter(({ stream }) => stream.seq > 0).length;
  }

  /** The log that waits for a message's run, if a client opened one. */
  logOf(row: InboxRow): RunLog | undefined {
    return row.message.options?.operator === true ? this.#streams.get(runIdOf(row)) : undefined;
  }

  find(runId: RunId): RunLog | undefined {
    return this.#streams.get(runId);
  }

  /** The run of a message, by the message's transcript id. Only the last runs are known, also after they ended. */
  runOf(turnId: string): RunId | undefined {
    return this.#named.get(turnId);
  }

  #name(turnId: string, runId: RunId): void {
    this.#named.delete(turnId);
    this.#named.set(turnId, runId);
    const [oldest] = this.#named.keys();
    if (this.#named.size > NAMED && oldest !== undefined) this.#named.delete(oldest);
  }

  /** The runs that are added from now on and that `fits` accepts at that time. */
  watch(signal: AbortSignal, fits?: (log: RunLog) => boolean): AsyncIterable<RunLog> {
    return this.#feed.watch(signal, fits);
  }

  /** Replaces the whole log by a condensed one. Its present watchers keep the whole log. */
  #keepEnd(stream: RunLog): void {
    if (this.#streams.get(stream.facts.runId) !== stream) return;
    const ended = stream.condensed();
    this.#streams.set(ended.facts.runId, ended);
    this.#ended.push(ended);
    const oldest = this.#ended.length > KEPT ? this.#ended.shift() : undefined;
    if (oldest) this.#forget(oldest);
  }

  /**
   * Removes a log. Another log may have the id of its run by now, because a run that waited for the disk begins again.
   */
  #forget(stream: RunLog): void {
    const { runId } = stream.facts;
    if (this.#streams.get(runId) === stream) this.#streams.delete(runId);
  }
}
