import { setImmediate } from "node:timers/promises";
import { WebSocketShard, WebSocketShardDestroyRecovery, WebSocketShardStatus } from "@discordjs/ws";
import type { IContextFetchingStrategy, WebSocketShardDestroyOptions } from "@discordjs/ws";
import type { GatewayReceivePayload } from "discord-api-types/v10";
import { WebSocket } from "ws";

/** Closes a connection and keeps its session, unlike 1000 and 1001. */
export const CLOSE_AND_KEEP = 4200;
const NORMAL = 1000;
const CLOSE_WITHIN_MS = 1000;

/** Why the library ended a connection. Discord has ended the session when `recover` is `Reconnect`, unless the network failed. */
export type ShardEnd = Pick<WebSocketShardDestroyOptions, "code" | "reason" | "recover">;

/**
 * The library's shard, for one connection. Where the library would connect again after half a second, this one ends: when to
 * connect again, and with which session, is decided by `Session`. docs/decisions/0014-discord-gateway-library.md
 */
export class Shard extends WebSocketShard {
  readonly #ended = Promise.withResolvers<ShardEnd>();
  /** Resolves when the socket is closed; never rejects. */
  readonly ended = this.#ended.promise;
  #isEnding = false;

  /** Payloads for which `check` gives null are skipped. */
  constructor(
    context: IContextFetchingStrategy,
    id: number,
    check: (payload: unknown) => GatewayReceivePayload | null,
  ) {
    super(context, id);
    // The library reads fields of a frame without a look at their types, in a promise that nobody catches.
    const unpack: (data: unknown, isBinary: boolean) => Promise<unknown> = this["unpackMessage"].bind(this);
    this["unpackMessage"] = async (data: unknown, isBinary: boolean) => {
      const payload = await unpack(data, isBinary);
      // A HELLO that is read after the end would start a heartbeat on a closed connection.
      return this.#isEnding ? null : check(payload);
    };
  }

  /** The library calls this whatever ends the connection, sometimes twice. Never rejects. */
  override async destroy({ code, reason, recover }: WebSocketShardDestroyOptions = {}): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    // `connect` opens its socket a moment after it has returned.
    if (this.status === WebSocketShardStatus.Idle) await setImmediate();
    const release = closeSoon(this["connection"]);
    const closeCode = recover === WebSocketShardDestroyRecovery.Reconnect ? NORMAL : CLOSE_AND_KEEP;
    try {
      await super.destroy({ code: code ?? closeCode, ...(reason !== undefined && { reason }) });
    } finally {
      release();
      this.#ended.resolve({
        ...(code !== undefined && { code }),
        ...(reason !== undefined && { reason }),
        ...(recover !== undefined && { recover }),
      });
    }
  }
}

/**
 * The library leaves a socket that is still connecting open and without a listener for its error, which would end the process;
 * and it waits half a minute for a peer that is gone. Gives back what clears the timer.
 */
function closeSoon(socket: unknown): () => void {
  if (!(socket instanceof WebSocket)) return () => undefined;
  socket.on("error", () => undefined);
  if (socket.readyState === WebSocket.CONNECTING) socket.terminate();
  const timer = setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS);
  return () => clearTimeout(timer);
}
