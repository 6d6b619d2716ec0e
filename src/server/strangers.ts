import { isLoopback, networkOf } from "./auth.ts";

/** Sockets that have not said yet who they are, of all and of one network. This machine's programs share an address. */
const MAX_STRANGERS = 128;
const MAX_OF_NETWORK = 16;

/** Counts the sockets that have not shaken hands, so that nobody's idle ones keep everybody else out. */
export class Strangers {
  readonly #networks = new Map<string, number>();
  #all = 0;

  /** What to call when the socket is known or closed, any number of times; undefined when there are too many. */
  admit(address: string): (() => void) | undefined {
    const network = networkOf(address);
    const own = this.#networks.get(network) ?? 0;
    const isTooMany = !isLoopback(address) && own >= MAX_OF_NETWORK;
    if (isTooMany || this.#all >= MAX_STRANGERS) return undefined;
    this.#count(network, 1);
    let isCounted = true;
    return () => {
      if (isCounted) this.#count(network, -1);
      isCounted = false;
    };
  }

  #count(network: string, change: 1 | -1): void {
    this.#all += change;
    const own = (this.#networks.get(network) ?? 0) + change;
    if (own === 0) this.#networks.delete(network);
    else this.#networks.set(network, own);
  }
}
