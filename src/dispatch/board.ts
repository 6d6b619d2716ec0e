import { RunLog } from "../harness/log.ts";
import type { RunStream } from "../types/events.ts";
import type { RunId, SessionKey } from "../types/ids.ts";
import type { InboxRow } from "../types/journal.ts";
import { Feed } from "../utils/feed.ts";
import type { DispatchPorts } from "./ports.ts";
import { factsFor, runIdOf } from "./turn.ts";
import { background } from "../utils/background.ts";

/** Ended runs of clients that can still be asked for (`agent.wait`). */
const KEPT = 50;

/** Every run that can be watched: queued, going on, or lately ended. */
export class RunBoard {
  readonly #streams = new Map<RunId, RunStream>();
  readonly #feed = new Feed<RunStream>();

  /** The log of a run that waits in its lane. */
  open(row: InboxRow, key: SessionKey, ports: Pick<DispatchPorts, "sessions" | "settings">): RunLog {
    const id = ports.sessions.peek(key)?.sessionId ?? "";
    const log = new RunLog(factsFor(row, { key, id, agentId: ports.settings().agentOf(key) }));
    this.add(log);
    return log;
  }

  /** A run of a chat is forgotten when it ends; one that a client may ask for stays a while. */
  add(stream: RunStream, keep = true): void {
    const { runId } = stream.facts;
    if (this.#streams.get(runId) === stream) return;
    this.#streams.set(runId, stream);
    this.#feed.publish(stream);
    background(
      "end of a run",
      stream.done.then(() => (keep ? this.#forgetOldest() : this.#streams.delete(runId))),
    );
  }

  /** The log that waits for a message's run, if a client opened one. */
  logOf(row: InboxRow): RunLog | undefined {
    const stream = row.message.options?.operator === true ? this.#streams.get(runIdOf(row)) : undefined;
    return stream instanceof RunLog ? stream : undefined;
  }

  find(runId: RunId): RunStream | undefined {
    return this.#streams.get(runId);
  }

  watch(signal: AbortSignal): AsyncIterable<RunStream> {
    return this.#feed.watch(signal);
  }

  #forgetOldest(): void {
    for (const [id, stream] of this.#streams) {
      if (this.#streams.size <= KEPT) return;
      if (stream instanceof RunLog && stream.ended) this.#streams.delete(id);
    }
  }
}
