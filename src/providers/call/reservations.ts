import type { CallCost, ModelMeter, PlannedCall, Reservation } from "../../types/run/model-meter.ts";
import type { Usage } from "../../types/run/model.ts";
import { emptyUsage } from "../../types/run/usage.ts";

type Settle = (cost: CallCost) => void;

/** The open reservations of a gateway, so that calls which are running when it stops are settled. */
export class Reservations implements ModelMeter {
  readonly #meter: ModelMeter;
  readonly #open = new Map<Settle, PlannedCall>();
  #isClosed = false;

  constructor(meter: ModelMeter) {
    this.#meter = meter;
  }

  async reserve(call: PlannedCall): Promise<Reservation> {
    if (this.#isClosed) return { kind: "refused", reason: "The gateway is stopping." };
    const answer = await this.#meter.reserve(call);
    if (answer.kind === "refused") return answer;
    const settle = (cost: CallCost) => {
      if (this.#open.delete(settle)) answer.settle(cost);
    };
    this.#open.set(settle, call);
    if (!this.#isClosed) return { ...answer, settle };
    settle({ outcome: "aborted", usage: emptyUsage(), isEstimate: false });
    return { kind: "refused", reason: "The gateway is stopping." };
  }

  /** Settles the running calls with the tokens of their requests. Afterwards every call is refused. */
  close(): void {
    this.#isClosed = true;
    for (const [settle, call] of this.#open) settle({ outcome: "aborted", usage: requestOf(call), isEstimate: true });
  }
}

function requestOf({ estimatedInputTokens: input, most: { price } }: PlannedCall): Usage {
  const usage = emptyUsage();
  const cost = input * (price?.input ?? 0);
  return { ...usage, input, totalTokens: input, cost: { ...usage.cost, input: cost, total: cost } };
}
