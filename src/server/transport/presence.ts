import { hostname } from "node:os";
import type { ClientConnection } from "./connection.ts";
import type { ConnectParams } from "./handshake.ts";

/** Where a client runs. */
interface ClientPlace {
  readonly host?: string;
  readonly ip?: string;
  readonly platform: string;
  readonly deviceFamily?: string;
  readonly deviceId?: string;
  readonly instanceId?: string;
}

/** A row of `system-presence`, in the protocol's names. */
export interface PresenceRow extends ClientPlace {
  readonly version: string;
  readonly mode: string;
  readonly reason: "self" | "connect";
  readonly text: string;
  readonly ts: number;
  readonly onlineSince: number;
  readonly roles?: readonly string[];
  readonly scopes?: readonly string[];
}

/** The gateway and its connected clients, as `system-presence` lists them. */
export class Presence {
  readonly #rows = new Map<string, PresenceRow>();
  readonly #self: PresenceRow;
  #version = 1;

  constructor(version: string, now: number) {
    const host = hostname() || "localhost";
    this.#self = {
      host,
      version,
      platform: process.platform,
      mode: "gateway",
      reason: "self",
      text: `Gateway: ${host}`,
      ts: now,
      onlineSince: now,
    };
  }

  /** Increases with each change. */
  get version(): number {
    return this.#version;
  }

  join(connection: ClientConnection, params: ConnectParams, address: string): void {
    const { client } = params;
    const name = client.displayName ?? client.id;
    this.#version += 1;
    this.#rows.set(connection.id, {
      host: name,
      ip: address,
      version: client.version,
      platform: client.platform,
      mode: client.mode,
      reason: "connect",
      text: `${name} (${client.mode})`,
      ts: connection.since,
      onlineSince: connection.since,
      roles: ["operator"],
      scopes: [...(connection.caller?.scopes ?? [])],
      ...(client.instanceId === undefined ? {} : { instanceId: client.instanceId }),
      ...(client.deviceFamily === undefined ? {} : { deviceFamily: client.deviceFamily }),
      ...(connection.caller?.deviceId === undefined ? {} : { deviceId: connection.caller.deviceId }),
    });
  }

  leave(connection: ClientConnection): void {
    this.#version += 1;
    this.#rows.delete(connection.id);
  }

  list(): readonly PresenceRow[] {
    return [this.#self, ...this.#rows.values()];
  }
}
