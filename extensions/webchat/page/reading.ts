import type { Connection } from "./protocol/connection.ts";
import { fields, text } from "./protocol/json.ts";
import {
  readApprovals,
  readModels,
  readPairings,
  readSessions,
  readStatus,
  readTurnedAway,
} from "./protocol/protocol.ts";
import { isOpen } from "./state.ts";
import type { Store } from "./store.ts";
import { readTurns } from "./transcript.ts";

const PAGE = 200;
const MOST = 1000;

/** Reads from the gateway what the page shows. Reads of one kind never overlap: the last one asked for wins. */
export class Reading {
  readonly #store: Store;
  readonly #connection: Connection;
  #limit = PAGE;
  #pending: Promise<void> | undefined;
  #again = false;

  constructor(store: Store, connection: Connection) {
    this.#store = store;
    this.#connection = connection;
  }

  /** Everything, after a connection is made or events were missed. */
  async everything(): Promise<void> {
    const methods = this.#store.state().hello?.methods ?? [];
    if (methods.includes("sessions.subscribe")) await this.#connection.request("sessions.subscribe", {});
    await this.settled();
    await Promise.all([this.models(), this.status(), this.#ifOffered("exec.approval.list", () => this.approvals())]);
    await this.#ifOffered("pairing.list", () => this.pairings());
  }

  /** Which runs go on, then the transcript: in this order, what had ended by then is in the transcript. */
  async settled(): Promise<void> {
    await this.sessions(Date.now() + 1);
    await this.history();
  }

  async #ifOffered(method: string, read: () => Promise<void>): Promise<void> {
    if (this.#store.state().hello?.methods.includes(method) === true) await read();
  }

  /** The transcript of the open session. Asked for while it is being read, it is read once more. */
  history(): Promise<void> {
    if (this.#pending !== undefined) {
      this.#again = true;
      return this.#pending;
    }
    this.#pending = this.#readHistory();
    return this.#pending;
  }

  async #readHistory(): Promise<void> {
    try {
      do {
        this.#again = false;
        const { sessionKey } = this.#store.state();
        const answer = fields(await this.#connection.request("chat.history", { sessionKey, limit: this.#limit }));
        const hasMore = answer["hasMore"] === true && this.#limit < MOST;
        this.#store.dispatch({ type: "history", sessionKey, turns: readTurns(answer["messages"]), hasMore });
        this.#again ||= !isOpen(this.#store.state(), sessionKey);
      } while (this.#again);
    } finally {
      this.#pending = undefined;
    }
  }

  /** The transcript of a session that was just opened, from its end. */
  opened(): Promise<void> {
    this.#limit = PAGE;
    return this.history();
  }

  /** More of the transcript than before; at most a thousand messages. */
  earlier(): Promise<void> {
    this.#limit = Math.min(MOST, this.#limit + PAGE);
    return this.history();
  }

  /** The session list. With a moment, runs from before it that no session has any more are taken as ended. */
  async sessions(settleBefore?: number): Promise<void> {
    const answer = await this.#connection.request("sessions.list", { limit: 100 });
    const defaults = fields(fields(answer)["defaults"]);
    const defaultModel = { id: text(defaults["model"]), provider: text(defaults["modelProvider"]) };
    this.#store.dispatch({ type: "sessions", rows: readSessions(answer), defaultModel, settleBefore });
  }

  /** The models. */
  async models(): Promise<void> {
    this.#store.dispatch({ type: "models", models: readModels(await this.#connection.request("models.list", {})) });
  }

  /** What is wrong with the gateway, and which model answers. */
  async status(): Promise<void> {
    this.#store.dispatch({ type: "status", status: readStatus(await this.#connection.request("status", {})) });
  }

  /** The commands that wait for an answer. */
  async approvals(): Promise<void> {
    const answer = await this.#connection.request("exec.approval.list", {});
    this.#store.dispatch({ type: "approvals", approvals: readApprovals(answer) });
  }

  /** The strangers who ask to be let in. */
  async pairings(): Promise<void> {
    const answer = await this.#connection.request("pairing.list", {});
    this.#store.dispatch({ type: "pairings", pairings: readPairings(answer), turnedAway: readTurnedAway(answer) });
  }
}
