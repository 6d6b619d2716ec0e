import type { RunId, SessionKey } from "../../types/ids.ts";
import type { GatewayEvent, Scope } from "../../types/method.ts";
import type { TranscriptUpdate } from "../../types/session.ts";
import type { ClientConnection } from "./connection.ts";
import { encodeEvent } from "../deltas.ts";
import type { ServerPorts } from "../options.ts";
import { hasScope } from "./scopes.ts";
import { eventOutward } from "./event-keys.ts";
import { eventFor } from "./plugin-questions.ts";

/** Most sessions whose messages one connection may follow. */
export const MOST_FOLLOWED = 200;

/** All connections that finished the handshake; publishes events to them. */
export class Hub {
  readonly #keys: ServerPorts["keys"];
  /** Told of each event, also while nobody is connected. */
  readonly #also: (event: GatewayEvent) => void;
  readonly #connections = new Map<string, ClientConnection>();
  readonly #muted = new Set<string>();
  /** Connections that follow all sessions. */
  readonly #listening = new Set<string>();
  /** Sessions whose messages a connection follows. */
  readonly #followed = new Map<string, Set<SessionKey>>();
  readonly #joins = new Set<() => void>();

  /** The present message of each run that is active, as far as clients have it. */
  readonly runTexts = new Map<RunId, string>();

  constructor(keys: ServerPorts["keys"], also: (event: GatewayEvent) => void = () => undefined) {
    this.#keys = keys;
    this.#also = also;
  }

  get size(): number {
    return this.#connections.size;
  }

  add(connection: ClientConnection): void {
    this.#connections.set(connection.id, connection);
    for (const told of this.#joins) told();
  }

  /** Calls `told` whenever a connection was added, until the returned function is called. */
  onJoin(told: () => void): () => void {
    this.#joins.add(told);
    return () => void this.#joins.delete(told);
  }

  remove(connection: ClientConnection): void {
    this.#connections.delete(connection.id);
    this.#muted.delete(connection.id);
    this.#listening.delete(connection.id);
    this.#followed.delete(connection.id);
  }

  list(): readonly ClientConnection[] {
    return [...this.#connections.values()];
  }

  /** How many connections have a scope. */
  count(scope: Scope): number {
    return this.list().filter(({ caller }) => caller !== undefined && hasScope(caller.scopes, scope)).length;
  }

  /**
   * Sets whether a connection gets `sessions.changed`, which it does by default, and `session.message` of every session, which it
   * does not.
   */
  followSessions(connId: string, follows: boolean): void {
    if (!this.#connections.has(connId)) return;
    if (follows) this.#muted.delete(connId);
    else this.#muted.add(connId);
    if (follows) this.#listening.add(connId);
    else this.#listening.delete(connId);
  }

  /** Sets whether a connection gets `session.message` of a session. False when it already follows the most it may. */
  followMessages(connId: string, key: SessionKey, follows: boolean): boolean {
    if (!this.#connections.has(connId)) return true;
    const keys = this.#followed.get(connId) ?? new Set();
    this.#followed.set(connId, keys);
    if (follows && keys.size >= MOST_FOLLOWED && !keys.has(key)) return false;
    if (follows) keys.add(key);
    else keys.delete(key);
    return true;
  }

  /** Whether anybody follows the messages of a session. */
  isFollowed(key: SessionKey): boolean {
    return this.#followersOf(key).length > 0;
  }

  /** Publishes to the followers of a session that its transcript was written. `written`: what they are told of the entry. */
  announceTranscript({ key, file, entryId }: TranscriptUpdate, ts: number, written: object): void {
    const message = entryId === undefined ? {} : { messageId: entryId };
    const payload = { sessionKey: key, sessionFile: file, ...message, ...written, ts };
    const encoded = encodeEvent(eventOutward({ event: "session.message", payload }, this.#keys));
    for (const connection of this.#followersOf(key)) connection.publish(encoded);
  }

  #followersOf(key: SessionKey): readonly ClientConnection[] {
    return this.list().filter(({ id }) => this.#listening.has(id) || this.#followed.get(id)?.has(key) === true);
  }

  /** Publishes to the followers of the session list that a row changed. */
  announceSession(
    sessionKey: SessionKey,
    reason:
      | "create"
      | "patch"
      | "reset"
      | "delete"
      | "run"
      | "compact"
      | "rewind"
      | "branch-switch"
      | "fork"
      | "notice",
    ts: number,
  ): void {
    this.publish({ event: "sessions.changed", payload: { sessionKey, reason, ts }, scope: "operator.read" });
  }

  publish(event: GatewayEvent): void {
    this.#also(event);
    if (this.#connections.size === 0) return;
    const outward = eventOutward(event, this.#keys);
    const encoded = encodeEvent(outward);
    for (const connection of this.#connections.values()) {
      if (!this.#wants(connection, event)) continue;
      const own = eventFor(outward, connection.caller?.client.id);
      connection.publish(own === outward ? encoded : encodeEvent(own));
    }
  }

  #wants(connection: ClientConnection, event: GatewayEvent): boolean {
    if (event.event === "sessions.changed" && this.#muted.has(connection.id)) return false;
    if (event.scope === undefined) return true;
    return connection.caller !== undefined && hasScope(connection.caller.scopes, event.scope);
  }
}
