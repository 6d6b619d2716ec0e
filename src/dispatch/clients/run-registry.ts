import { RunLog } from "../../harness/log/log.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { RunId, SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import { Feed } from "../../utils/feed.ts";
import type { DispatchPorts } from "../ports.ts";
import { factsFor, runIdOf } from "../turn/ids.ts";
import { background } from "../../utils/background.ts";

/** Ended runs of clients that can still be asked for (`agent.wait`). */
const KEPT = 50;

/** Every run that can be watched: queued, going on, or lately ended. */
export class RunRegistry {
  readonly #streams = new Map<RunId, RunLog>();
  readonly #ended: RunLog[] = [];
  readonly #feed = new Feed<RunStream>();

  /** The log of a run that waits in its lane. */
  open(row: InboxRow, key: SessionKey, ports: Pick<DispatchPorts, "sessions" | "settings" | "kinds">): RunLog {
    const id = ports.sessions.peek(key)?.sessionId ?? "";
    const session = { key, id, agentId: ports.settings().agentOf(key) };
    const log = new RunLog(factsFor(row, session, ports.kinds.of(row.message)));
    this.add(log);
    return log;
  }

  /** A run of a chat is forgotten when it ends; one that a client may ask for stays a while. */
  add(stream: RunLog, keep = true): void {
    const { runId } = stream.facts;
    if (this.#streams.get(runId) === stream) return;
    this.#streams.set(runId, stream);
    this.#feed.publish(stream);
    background(
      "end of a run",
      stream.done.then(() => (keep ? this.#keepEnd(stream) : this.#forget(stream))),
    );
  }

  /** Runs that have not ended. A run that waits in its lane is among them. */
  running(): readonly { readonly stream: RunLog }[] {
    return [...this.#streams.values()].filter((stream) => !stream.ended).map((stream) => ({ stream }));
  }

  /** The log that waits for a message's run, if a client opened one. */
  logOf(row: InboxRow): RunLog | undefined {
    return row.message.options?.operator === true ? this.#streams.get(runIdOf(row)) : undefined;
  }

  find(runId: RunId): RunStream | undefined {
    return this.#streams.get(runId);
  }

  watch(signal: AbortSignal): AsyncIterable<RunStream> {
    return this.#feed.watch(signal);
  }

  /** In place of the whole log: those who watch it still have it. */
  #keepEnd(stream: RunLog): void {
    if (this.#streams.get(stream.facts.runId) !== stream) return;
    const ended = stream.condensed();
    this.#streams.set(ended.facts.runId, ended);
    this.#ended.push(ended);
    const oldest = this.#ended.length > KEPT ? this.#ended.shift() : undefined;
    if (oldest) this.#forget(oldest);
  }

  /** Another run may have its name by now: one that had to wait for the disk begins again. */
  #forget(stream: RunLog): void {
    const { runId } = stream.facts;
    if (this.#streams.get(runId) === stream) this.#streams.delete(runId);
  }
}
