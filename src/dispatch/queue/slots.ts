import type { InboundMessage } from "../../types/chat/message.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import { Slots } from "../../utils/keyed-queue.ts";

/** Runs of automations that are active at once. They are rarely urgent, and a hundred heartbeats may be due in one minute. */
const MOST_AUTOMATIONS = 4;

/** The most runs that are active at once. */
export interface SlotLimits {
  /** Of turns that people wait for. */
  people(): number;
  /** Of subagents, at each depth. */
  subagents(): number;
}

/** The slots of runs: one group for people, one for automations and one for the subagents of each depth. No group delays another. */
export class RunSlots {
  readonly #people: Slots;
  readonly #automations = new Slots(() => MOST_AUTOMATIONS);
  readonly #subagents = new Map<number, Slots>();
  readonly #limits: SlotLimits;

  constructor(limits: SlotLimits) {
    this.#people = new Slots(() => limits.people());
    this.#limits = limits;
  }

  get people(): Pick<Slots, "use"> {
    return this.#people;
  }

  /** The slots of a turn. */
  of(kind: TurnKind, message: Pick<InboundMessage, "options">): Pick<Slots, "use"> {
    const depth = kind.depth?.(message) ?? 0;
    if (depth === 0) return kind.slots === "automation" ? this.#automations : this.#people;
    const slots = this.#subagents.get(depth) ?? new Slots(() => this.#limits.subagents());
    this.#subagents.set(depth, slots);
    return slots;
  }
}
