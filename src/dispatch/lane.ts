import type { Run } from "../harness/run.ts";
import type { RunId } from "../types/ids.ts";
import type { InboxRow } from "../types/journal.ts";
import type { DispatchSettings, Waiting } from "./ports.ts";
import { overCap } from "./queue-modes.ts";

/** Something that needs the session to itself. */
export type LaneTask =
  | { readonly kind: "turn"; readonly waiting: Waiting; readonly merge: boolean }
  | { readonly kind: "work"; readonly rows: readonly InboxRow[]; work(): Promise<void> };

/** What waits and runs for one session. */
export class Lane {
  /** The run under way, once it has begun. */
  run: Run | undefined;
  busy = false;
  readonly #tasks: LaneTask[] = [];

  get waiting(): number {
    return this.#tasks.length;
  }

  push(task: LaneTask): void {
    this.#tasks.push(task);
  }

  /** Before everything that waits: the new conversation begins with it. */
  pushFirst(task: LaneTask): void {
    this.#tasks.unshift(task);
  }

  /** Empties the lane. */
  clear(): readonly LaneTask[] {
    return this.#tasks.splice(0);
  }

  /** The run's id when it has begun. */
  get runId(): RunId | undefined {
    return this.run?.stream.facts.runId;
  }

  /** The next task; turns that may be merged and stand together come as one. */
  take(): LaneTask | undefined {
    const first = this.#tasks.shift();
    if (first?.kind !== "turn" || !first.merge) return first;
    const rows = [...first.waiting.rows];
    const pending = [...first.waiting.pending];
    for (let next = this.#tasks[0]; next?.kind === "turn" && next.merge; next = this.#tasks[0]) {
      this.#tasks.shift();
      rows.push(...next.waiting.rows);
      pending.push(...next.waiting.pending);
    }
    return { ...first, waiting: { ...first.waiting, rows, pending } };
  }

  /** The messages that are over the cap, taken out of the lane. */
  shed(queue: DispatchSettings["queue"]): readonly LaneTask[] {
    const over = overCap(this.#tasks.length, queue.cap);
    if (over === 0 || queue.drop === "summarize") return [];
    return queue.drop === "old" ? this.#tasks.splice(0, over) : this.#tasks.splice(-over, over);
  }
}
