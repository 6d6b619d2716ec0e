/** Most pending sockets or requests: of all peers, and of one. */
const MOST = 128;
const MOST_OF_PEER = 32;

interface Pending {
  readonly peer: string;
  evict(): void;
}

/**
 * Sockets before their handshake, or requests whose body is still arriving, oldest first. A new one is always admitted.
 * If its peer has too many, it evicts that peer's oldest; if all peers together have too many, the oldest of the peer
 * with the most. A client needs milliseconds, so silent sockets keep nobody out.
 */
export class PendingPeers {
  readonly #pending = new Set<Pending>();
  readonly #counts = new Map<string, number>();

  /** `evict` ends the socket. Call the returned function, once or more, when the socket is no longer pending. */
  admit(peer: string, evict: () => void): () => void {
    if ((this.#counts.get(peer) ?? 0) >= MOST_OF_PEER) this.#evictOldestOf(peer);
    else if (this.#pending.size >= MOST) this.#evictOldestOf(this.#busiest());
    const socket = { peer, evict };
    this.#pending.add(socket);
    this.#counts.set(peer, (this.#counts.get(peer) ?? 0) + 1);
    return () => this.#forget(socket);
  }

  #busiest(): string {
    const [first = ["", 0]] = [...this.#counts].toSorted(([, one], [, other]) => other - one);
    return first[0];
  }

  #evictOldestOf(peer: string): void {
    for (const socket of this.#pending) {
      if (socket.peer !== peer) continue;
      this.#forget(socket);
      return socket.evict();
    }
  }

  #forget(socket: Pending): void {
    if (!this.#pending.delete(socket)) return;
    const rest = (this.#counts.get(socket.peer) ?? 1) - 1;
    if (rest === 0) this.#counts.delete(socket.peer);
    else this.#counts.set(socket.peer, rest);
  }
}
