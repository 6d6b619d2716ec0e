/** Sockets that have not said yet who they are, or requests whose body is still coming: of all, and of one peer. */
const MOST = 128;
const MOST_OF_PEER = 32;

interface Socket {
  readonly peer: string;
  evict(): void;
}

/**
 * The sockets that have not shaken hands, oldest first. A new one always comes in: where there are too many of its peer, or
 * of all, the oldest one of the peer that has the most gives way. A client shakes hands within milliseconds, so that silent
 * sockets keep nobody out.
 */
export class Strangers {
  readonly #sockets = new Set<Socket>();
  readonly #counts = new Map<string, number>();

  /** `evict` ends the socket. Returns what to call when the socket is known or closed, any number of times. */
  admit(peer: string, evict: () => void): () => void {
    if ((this.#counts.get(peer) ?? 0) >= MOST_OF_PEER) this.#evictOldestOf(peer);
    else if (this.#sockets.size >= MOST) this.#evictOldestOf(this.#busiest());
    const socket = { peer, evict };
    this.#sockets.add(socket);
    this.#counts.set(peer, (this.#counts.get(peer) ?? 0) + 1);
    return () => this.#forget(socket);
  }

  #busiest(): string {
    const [first = ["", 0]] = [...this.#counts].toSorted(([, one], [, other]) => other - one);
    return first[0];
  }

  #evictOldestOf(peer: string): void {
    for (const socket of this.#sockets) {
      if (socket.peer !== peer) continue;
      this.#forget(socket);
      return socket.evict();
    }
  }

  #forget(socket: Socket): void {
    if (!this.#sockets.delete(socket)) return;
    const rest = (this.#counts.get(socket.peer) ?? 1) - 1;
    if (rest === 0) this.#counts.delete(socket.peer);
    else this.#counts.set(socket.peer, rest);
  }
}
