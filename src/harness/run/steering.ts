import type { AgentMessage } from "@mariozechner/pi-agent-core";
import type { UserMessage } from "../../types/run/model.ts";
import type { UserTurn } from "../request.ts";
import { userMessage } from "./progress.ts";

interface Waiting {
  readonly turn: UserTurn;
  readonly settle: (taken: boolean) => void;
}

/** Turns that wait to be put between two model calls of a running agent. */
export class Steering {
  readonly #waiting: Waiting[] = [];
  readonly #given = new Map<AgentMessage, Waiting>();
  #closed = false;
  #push: ((message: AgentMessage) => void) | undefined;

  offer(turn: UserTurn): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    return new Promise((settle) => {
      this.#waiting.push({ turn, settle });
      this.#flush();
    });
  }

  /** Connects the agent of an attempt. Turns that the previous agent did not take are offered again. */
  connect(push: (message: AgentMessage) => void): void {
    this.#push = push;
    this.#waiting.unshift(...this.#given.values());
    this.#given.clear();
    this.#flush();
  }

  /** The turn of a steered message; undefined for any other message. */
  turnOf(message: AgentMessage): UserTurn | undefined {
    return this.#given.get(message)?.turn;
  }

  /** Called when the message is in the transcript. */
  taken(message: AgentMessage): void {
    this.#given.get(message)?.settle(true);
    this.#given.delete(message);
  }

  close(): void {
    this.#closed = true;
    for (const waiting of [...this.#given.values(), ...this.#waiting]) waiting.settle(false);
  }

  #flush(): void {
    if (!this.#push) return;
    for (const waiting of this.#waiting.splice(0)) {
      const message: UserMessage = { ...userMessage(waiting.turn), steered: true };
      this.#given.set(message, waiting);
      this.#push(message);
    }
  }
}
