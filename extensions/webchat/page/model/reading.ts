import { readCommands } from "./commands.ts";
import { readAgents } from "./agents.ts";
import type { PageConnection } from "./connection.ts";
import { readPairings, readSessions, readStatus } from "./protocol.ts";
import { readWaiting } from "./waiting.ts";
import { isOpen } from "./state.ts";
import type { Store } from "./store.ts";
import { idOf, NOTHING_READ, withNewest, withOlder } from "./transcript.ts";

/** Messages that are shown at first, and that are read with each wish for more; of these, the newest are read before the others. */
const PAGE = 200;
const NEWEST = 40;
/** The most that the gateway gives at once. */
const MOST_AT_ONCE = 1000;
/** Sessions that are read at first, and with each wish for more. */
const SESSIONS = 100;

/** Reads the data of the page from the gateway. Reads of the transcript never overlap. */
export class Reading {
  readonly #store: Store;
  readonly #connection: PageConnection;
  /** What was read of the open session's transcript, and how many messages of it are wanted. */
  #read = NOTHING_READ;
  #wanted = PAGE;
  /** Whether messages of the open session have other versions; unknown until the gateway says it. */
  #hasVersions: boolean | undefined;
  #pending: Promise<void> | undefined;
  #isStale = false;
  readonly #listReads: { now?: Promise<void> | undefined; next?: Promise<void> | undefined } = {};
  #waitingReads = 0;
  #mostSessions = SESSIONS;

  constructor(store: Store, connection: PageConnection) {
    this.#store = store;
    this.#connection = connection;
  }

  /** Reads everything, after the page connected or missed events. */
  async everything(): Promise<void> {
    const isNew = this.#store.state().exchanges.length === 0;
    const subscribed = this.#ifOffered("sessions.subscribe", () => this.#subscribe());
    // Nothing waits for another answer before the first view.
    await Promise.all([subscribed, isNew ? Promise.all([this.sessions(), this.history()]) : this.settled()]);
    await this.waiting();
    await Promise.all([this.models(), this.config(), this.#ifOffered("exec.approval.list", () => this.approvals())]);
    await this.people();
  }

  async #subscribe(): Promise<void> {
    await this.#connection.request("sessions.subscribe", {});
  }

  /** Reads the active runs, then the transcript. In this order the transcript has every run that is no longer active. */
  async settled(): Promise<void> {
    await this.sessions(Date.now() + 1);
    await this.history();
  }

  async #ifOffered(method: string, read: () => Promise<void>): Promise<void> {
    if (this.#store.state().hello?.methods.includes(method) === true) await read();
  }

  /** Reads the transcript of the open session. A call during a read causes a second read. */
  history(): Promise<void> {
    if (this.#pending !== undefined) {
      this.#isStale = true;
      return this.#pending;
    }
    this.#pending = this.#readHistory();
    return this.#pending;
  }

  async #readHistory(): Promise<void> {
    try {
      do {
        this.#isStale = false;
        const { sessionKey } = this.#store.state();
        const isFirst = this.#read.messages.length === 0;
        const newest = await this.#connection.request("chat.history", { sessionKey, limit: NEWEST });
        this.#read = withNewest(this.#read, newest);
        if (isFirst && this.#lacksSome()) this.#showRead(sessionKey);
        while (this.#lacksSome()) await this.#readOlder(sessionKey);
        this.#showRead(sessionKey);
        await this.#versions(sessionKey);
        if (isOpen(this.#store.state(), sessionKey)) continue;
        this.#read = NOTHING_READ;
        this.#hasVersions = undefined;
        this.#isStale = true;
      } while (this.#isStale);
    } finally {
      this.#pending = undefined;
    }
  }

  #lacksSome(): boolean {
    return this.#read.hasMore && this.#read.messages.length < this.#wanted;
  }

  #showRead(sessionKey: string): void {
    const { turns, hasMore } = this.#read;
    this.#store.dispatch({ type: "history", sessionKey, turns, hasMore });
  }

  /** Reads the versions of messages where there may be some: the gateway reads the whole conversation for them. */
  async #versions(sessionKey: string): Promise<void> {
    if (this.#hasVersions === false) return;
    await this.#ifOffered("sessions.branches.versions", async () => {
      const { branches, versions } = await this.#connection.request("sessions.branches.versions", { sessionKey });
      this.#hasVersions = branches > 1;
      this.#store.dispatch({ type: "versions", sessionKey, versions });
    });
  }

  /** Reads the transcript of the open session after it was continued at another place. */
  branched(): Promise<void> {
    this.#hasVersions = undefined;
    return this.history();
  }

  async #readOlder(sessionKey: string): Promise<void> {
    const { messages } = this.#read;
    const limit = Math.min(MOST_AT_ONCE, this.#wanted - messages.length);
    const older = await this.#connection.request("chat.history", { sessionKey, limit, offset: messages.length });
    this.#read = withOlder(this.#read, older);
  }

  /** Reads the transcript of a session that was just opened, from its end. */
  async opened(): Promise<void> {
    this.#wanted = PAGE;
    this.#hasVersions = undefined;
    this.#read = NOTHING_READ;
    await Promise.all([this.history(), this.waiting()]);
  }

  /** Reads earlier messages of the transcript, at least as many as `more`. */
  earlier(more = PAGE): Promise<void> {
    this.#wanted = Math.max(this.#wanted, this.#read.messages.length) + more;
    return this.history();
  }

  /** Reads the transcript back to a message, if it has that. */
  async backTo(messageId: string): Promise<void> {
    while (this.#read.hasMore && !this.#read.messages.some((message) => idOf(message) === messageId))
      await this.earlier(MOST_AT_ONCE);
  }

  /** Reads the session list. With a time (milliseconds since 1970), runs from before it that are in no row have ended. */
  async sessions(settleBefore?: number): Promise<void> {
    const answer = await this.#connection.request("sessions.list", { limit: this.#mostSessions });
    const { model, modelProvider } = answer.defaults ?? {};
    const defaultModel = { id: model ?? "", provider: modelProvider ?? "" };
    const hasMore = answer.hasMore === true;
    this.#store.dispatch({ type: "sessions", rows: readSessions(answer), hasMore, defaultModel, settleBefore });
  }

  /** Reads the session list after a change. Changes that come while a list is read are in the one read after it. */
  sessionsChanged(): Promise<void> {
    const { now, next } = this.#listReads;
    if (now === undefined) {
      const read = this.sessions().finally(() => (this.#listReads.now = undefined));
      this.#listReads.now = read;
      return read;
    }
    const again = (): Promise<void> => {
      this.#listReads.next = undefined;
      return this.sessionsChanged();
    };
    // Whoever asked for the read before learns of its failure.
    this.#listReads.next = next ?? now.then(again, again);
    return this.#listReads.next;
  }

  /** Reads older sessions too. */
  moreSessions(): Promise<void> {
    this.#mostSessions += SESSIONS;
    return this.sessions();
  }

  /** Reads what waits in the open session, if the gateway shows it. Of two reads, the later one counts. */
  async waiting(): Promise<void> {
    await this.#ifOffered("sessions.queue", async () => {
      const { sessionKey } = this.#store.state();
      const read = (this.#waitingReads += 1);
      const messages = readWaiting(await this.#connection.request("sessions.queue", { key: sessionKey }));
      if (read === this.#waitingReads) this.#store.dispatch({ type: "waiting", sessionKey, messages });
    });
  }

  /** Reads the models. */
  async models(): Promise<void> {
    const { models } = await this.#connection.request("models.list", {});
    this.#store.dispatch({ type: "models", models });
  }

  /** Reads what depends on the config: problems, the model that answers, owners and commands. */
  async config(): Promise<void> {
    await this.status();
    await this.#ifOffered("owners.list", () => this.#owners());
    await this.#ifOffered("agents.list", () => this.#agents());
    await this.#ifOffered("commands.list", () => this.#commands());
  }

  /** Reads what a change of the config may have changed. */
  async configChanged(): Promise<void> {
    await this.config();
    await this.models();
    await this.sessions();
  }

  async #agents(): Promise<void> {
    const agents = readAgents(await this.#connection.request("agents.list", {}));
    this.#store.dispatch({ type: "catalog", change: { agents } });
  }

  async #commands(): Promise<void> {
    const answer = await this.#connection.request("commands.list", {});
    this.#store.dispatch({ type: "catalog", change: { commands: readCommands(answer) } });
  }

  /** Reads the gateway's problems and the model that answers. */
  async status(): Promise<void> {
    this.#store.dispatch({ type: "status", status: readStatus(await this.#connection.request("status", {})) });
  }

  /** Reads the commands that wait for approval. */
  async approvals(): Promise<void> {
    const [commands, questions] = await Promise.all([
      this.#connection.request("exec.approval.list", {}),
      this.#connection.request("plugin.approval.list", {}),
    ]);
    this.#store.dispatch({ type: "approvals", approvals: [...commands, ...questions] });
  }

  /** Reads the strangers who wait for pairing, and the owners. */
  async people(): Promise<void> {
    await this.#ifOffered("pairing.list", () => this.#pairings());
    await this.#ifOffered("owners.list", () => this.#owners());
  }

  async #pairings(): Promise<void> {
    const answer = await this.#connection.request("pairing.list", {});
    this.#store.dispatch({
      type: "pairings",
      pairings: readPairings(answer),
      turnedAway: answer.turnedAway?.length ?? 0,
    });
  }

  async #owners(): Promise<void> {
    const { owners } = await this.#connection.request("owners.list", {});
    this.#store.dispatch({ type: "owners", owners: owners.map(({ entry }) => entry) });
  }
}
