import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/** Lines without a message that are tolerated between two starts. */
const MOST_STRAY_LINES = 200;
const WINDOW_MS = 10_000;
/** Messages in such a time that answer nothing. */
const MOST_UNASKED = 2000;

/** Counts the messages that a server sends without a request, so that a flood ends. */
export class Traffic {
  #stray = 0;
  #unasked = 0;
  #since = 0;
  #awaited = 0;

  /** Notes a request to the server: one more answer is no flood. */
  asked(): void {
    this.#awaited += 1;
  }

  /** Why the server must be ended; undefined while it keeps to the limits. `message` is undefined for a line that is none. */
  count(message: JSONRPCMessage | undefined, now: number): string | undefined {
    if (!message) {
      this.#stray += 1;
      return this.#stray > MOST_STRAY_LINES ? "it writes lines on its standard output that are no messages" : undefined;
    }
    if (!("method" in message) && this.#awaited > 0) {
      this.#awaited -= 1;
      return undefined;
    }
    if (now - this.#since > WINDOW_MS) {
      this.#since = now;
      this.#unasked = 0;
    }
    this.#unasked += 1;
    return this.#unasked > MOST_UNASKED ? "it floods the gateway with messages" : undefined;
  }
}
