import type { SessionKey } from "../types/ids.ts";
import type { GatewayEvent } from "../types/method.ts";
import type { Connection } from "./connection.ts";
import { encodeEvent } from "./deltas.ts";
import { hasScope } from "./scopes.ts";

/** Every connection that has shaken hands. */
export class Hub {
  readonly #connections = new Map<string, Connection>();
  readonly #muted = new Set<string>();

  get size(): number {
    return this.#connections.size;
  }

  add(connection: Connection): void {
    this.#connections.set(connection.id, connection);
  }

  remove(connection: Connection): void {
    this.#connections.delete(connection.id);
    this.#muted.delete(connection.id);
  }

  list(): readonly Connection[] {
    return [...this.#connections.values()];
  }

  /** Whether `sessions.changed` goes to this connection; it does until told otherwise. */
  followSessions(connId: string, follows: boolean): void {
    if (follows) this.#muted.delete(connId);
    else this.#muted.add(connId);
  }

  /** Tells the followers of the session list that a row is not what it was. */
  tellSession(sessionKey: SessionKey, reason: "patch" | "reset" | "delete" | "run" | "compact", ts: number): void {
    this.publish({ event: "sessions.changed", payload: { sessionKey, reason, ts }, scope: "operator.read" });
  }

  publish(event: GatewayEvent): void {
    if (this.#connections.size === 0) return;
    const encoded = encodeEvent(event);
    for (const connection of this.#connections.values()) {
      if (this.#wants(connection, event)) connection.publish(encoded);
    }
  }

  #wants(connection: Connection, event: GatewayEvent): boolean {
    if (event.event === "sessions.changed" && this.#muted.has(connection.id)) return false;
    if (event.scope === undefined) return true;
    return connection.caller !== undefined && hasScope(connection.caller.scopes, event.scope);
  }
}
