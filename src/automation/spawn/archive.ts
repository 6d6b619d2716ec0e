import type { SessionKey } from "../../types/ids.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { sessionsOfMessages } from "../sessions-in-use.ts";
import type { SpawnPorts } from "./ports.ts";

/** Milliseconds between two looks for conversations that are due for the archive. */
const LOOK_MS = 60_000;

type ArchivePorts = Pick<SpawnPorts, "sessions" | "inbox" | "engine" | "clock" | "afterRuns" | "log">;

/** Archives the conversations of subagents when they are due and nobody waits for them; after a restart too. */
export class SubagentArchive {
  readonly #ports: ArchivePorts;
  readonly #due = new Map<SessionKey, number>();
  #cancel: (() => void) | undefined;
  #isClosed = false;
  #looking: Promise<void> = Promise.resolve();

  constructor(ports: ArchivePorts) {
    this.#ports = ports;
  }

  /** Starts with the conversations that earlier processes left. */
  start(): void {
    for (const { key, entry } of this.#ports.sessions.list())
      if (entry.archiveAt !== undefined) this.#due.set(key, entry.archiveAt);
    this.#next();
  }

  /** Called when a subagent was started. */
  add(key: SessionKey): void {
    const at = this.#ports.sessions.peek(key)?.archiveAt;
    if (at === undefined) return;
    this.#due.set(key, at);
    this.#next();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    await this.#looking;
  }

  /** Sets the timer for the next look, unless no conversation has a time. */
  #next(): void {
    if (this.#isClosed || this.#cancel || this.#due.size === 0) return;
    this.#cancel = this.#ports.clock.after(LOOK_MS, () => {
      this.#cancel = undefined;
      this.#looking = this.#look().finally(() => this.#next());
    });
  }

  async #look(): Promise<void> {
    const now = this.#ports.clock.now();
    const due = [...this.#due].filter(([, at]) => at <= now).map(([key]) => key);
    if (due.length === 0) return;
    try {
      const busy = sessionsOfMessages(await this.#ports.inbox.open());
      for (const key of due) if (!busy.has(key) && !this.#isClosed) await this.#archive(key);
    } catch (error) {
      this.#ports.log.warn("conversations of subagents not archived", { error: errorText(error) });
    }
  }

  async #archive(key: SessionKey): Promise<void> {
    const { sessions, engine, afterRuns, log } = this.#ports;
    this.#due.delete(key);
    if (!sessions.peek(key)) return;
    await afterRuns(key, () => sessions.remove(key));
    await engine.ended({ childSessionKey: key, reason: "swept" });
    log.info("conversation of a subagent archived", { session: key });
  }
}
