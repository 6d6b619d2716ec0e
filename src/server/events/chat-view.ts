import type { GatewayEvent } from "../../types/method.ts";
import type { RunEvent } from "../../types/run/events.ts";
import type { RunFacts } from "../../types/run/run.ts";
import { advance, START, toGatewayEvents } from "./chat-events.ts";

/** Converts the events of one run, and keeps the state for it. */
export class ChatView {
  #facts: RunFacts;
  #state = START;

  constructor(facts: RunFacts) {
    this.#facts = facts;
  }

  /** The present message, as far as clients have it. */
  get text(): string {
    return this.#state.isNext ? "" : this.#state.text;
  }

  show(event: RunEvent): readonly GatewayEvent[] {
    // A queued run knows its session's id only when it starts.
    if (event.type === "run_start") this.#facts = event.facts;
    const events = toGatewayEvents(this.#facts, event, this.#state);
    this.#state = advance(this.#state, event);
    return events;
  }
}
