import type { RunEventBody } from "../../types/run/events.ts";

/** What a run is waiting for. `person`: for the answer to a question. `none`: for nothing outside the gateway. */
export type RunWait = "person" | "tool" | "model" | "compaction" | "none";

/** What a run is waiting for, by its events so far. */
export class RunActivity {
  readonly #calls = new Map<string, string>();
  readonly #questions = new Set<string>();
  #isAsking = false;
  #isCompacting = false;

  note(event: RunEventBody): void {
    switch (event.type) {
      case "attempt_start":
      case "message_start":
        this.#isAsking = true;
        break;
      case "message_end":
        this.#isAsking = false;
        break;
      case "tool_start":
        this.#calls.set(event.callId, event.name);
        break;
      case "tool_end":
        this.#calls.delete(event.callId);
        if (this.#calls.size === 0) this.#isAsking = true;
        break;
      case "approval_request":
        this.#questions.add(event.approval.id);
        break;
      case "approval_end":
        this.#questions.delete(event.id);
        break;
      case "compaction":
        this.#isCompacting = event.phase === "start";
        break;
      case "run_end":
        this.#isAsking = false;
        this.#isCompacting = false;
        this.#calls.clear();
        break;
      default:
    }
  }

  get waitsFor(): RunWait {
    if (this.#questions.size > 0) return "person";
    if (this.#calls.size > 0) return "tool";
    if (this.#isCompacting) return "compaction";
    return this.#isAsking ? "model" : "none";
  }

  /** The tools that are running. */
  get tools(): readonly string[] {
    return [...this.#calls.values()];
  }
}
