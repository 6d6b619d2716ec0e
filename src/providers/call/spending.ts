import type { AssistantMessage } from "../../types/run/model.ts";
import type { CallCost, CallOrigin, Reservation } from "../../types/run/model-meter.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { ModelHandle } from "../models.ts";
import { costOf, plannedCall, type Sizes } from "./cost.ts";

type Allowed = Extract<Reservation, { kind: "allowed" }>;

/** The cost of one call: reserved before the call is made, and settled exactly once after it. */
export class CallSpending {
  /** Whether the meter refused the call. */
  isRefused = false;
  /** The most tokens that may be requested of the answer, where the meter allows fewer than were wanted. */
  output: number | undefined;
  readonly #handle: ModelHandle;
  readonly #origin: CallOrigin;
  #reservation: Allowed | undefined;
  /** Estimated tokens of the request. */
  #input = 0;
  #isEnded = false;

  constructor(handle: ModelHandle, origin: CallOrigin) {
    this.#handle = handle;
    this.#origin = origin;
  }

  /** Reserves the cost. Returns the reason why the call must not be made, or undefined. Never rejects. */
  async reserve(sizes: Sizes): Promise<string | undefined> {
    this.#input = sizes.input;
    try {
      const planned = plannedCall(this.#handle, this.#origin, sizes);
      const answer = await this.#handle.meter.reserve(planned);
      if (answer.kind === "allowed" && answer.outputTokens !== undefined)
        this.output = Math.max(1, answer.outputTokens - sizes.added);
      return this.#take(answer);
    } catch (error) {
      return `The cost of the call could not be reserved: ${errorText(error)}`;
    }
  }

  #take(answer: Reservation): string | undefined {
    this.isRefused = answer.kind === "refused";
    if (answer.kind === "refused") return `The budget does not allow this call: ${answer.reason}`;
    if (!this.#isEnded) this.#reservation = answer;
    // The call was stopped meanwhile and is not made.
    else answer.settle({ outcome: "aborted", usage: emptyUsage(), isEstimate: false });
    return undefined;
  }

  /** Called at the end of the call. Returns its cost; undefined when it was not made, and on a second call. */
  settle(message: AssistantMessage, status: number | undefined): CallCost | undefined {
    this.#isEnded = true;
    const reservation = this.#reservation;
    if (!reservation) return undefined;
    this.#reservation = undefined;
    const isAccepted = status === undefined ? message.content.length > 0 : status < 400;
    const cost = costOf(this.#handle, { message, input: this.#input, isAccepted });
    reservation.settle(cost);
    return cost;
  }
}
