import type { CallCost, ModelMeter, PlannedCall, Reservation } from "../../types/run/model-meter.ts";
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
    if (!this.#isClosed) return { kind: "allowed", settle };
    settle({ outcome: "aborted", usage: emptyUsage(), isEstimate: false });
    return { kind: "refused", reason: "The gateway is stopping." };
  }

  /** Settles the running calls with the tokens of their requests. Afterwards every call is refused. */
  close(): void {
    this.#isClosed = true;
    for (const [settle, { estimatedInputTokens: input }] of this.#open)
      settle({
        outcome: "aborted",
        usage: { ...emptyUsage(), input, totalTokens: input },
        isEstimate: true,
      });
  }
}
