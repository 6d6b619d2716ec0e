const SOON_MS = 10_000;
const PAUSE_MS = 1000;

/**
 * Paces the new connections that a platform requests, as Slack and Discord do when they move a client to another
 * server. The first connection is opened at once; a connection that is requested within ten seconds of the request
 * before waits for a second, because the platform would otherwise be asked without pause.
 */
export class RequestedReconnects {
  #lastAt = -Infinity;

  /** Milliseconds to wait before opening the connection that is requested now. */
  pauseMs(): number {
    const isSoon = Date.now() - this.#lastAt < SOON_MS;
    this.#lastAt = Date.now();
    return isSoon ? PAUSE_MS : 0;
  }
}
