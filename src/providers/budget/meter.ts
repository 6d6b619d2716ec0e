import { retryWhileDiskFull } from "../../store/retry-while-disk-full.ts";
import { systemClock, type Clock } from "../../types/clock.ts";
import type { RunId } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { CallCost, ModelMeter, PlannedCall, Reservation, WorstCase } from "../../types/run/model-meter.ts";
import type { HoldRequest, SpendAccount, SpendLedger } from "../../types/spend/ledger.ts";
import { background } from "../../utils/background.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";
import { capsFor, hasCaps } from "./caps.ts";
import type { BudgetsConfig } from "./config.ts";
import { daysAt } from "./days.ts";
import { amountOf, type CapRefusal, decideCall, capRefusalText } from "./texts.ts";
import type { Usage } from "../../types/run/model.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";

/** A call that was refused, with the limit that did it. */
export interface CapRefusedCall extends CapRefusal {
  readonly call: PlannedCall;
  readonly account: SpendAccount;
  /** Text for an owner. */
  readonly text: string;
}

export interface BudgetPorts {
  readonly ledger: SpendLedger;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** As the config is now. */
  config(): BudgetsConfig;
}

interface MeterPorts extends BudgetPorts {
  /** Called for each call that is refused. Must not throw. */
  onRefused(refused: CapRefusedCall): void;
}

/** Runs of which the last refusal is remembered. */
const MOST_RUNS = 1000;

type Held = Awaited<ReturnType<SpendLedger["hold"]>>;

/**
 * Holds the worst case of every model call in the ledger, and settles it. Without limits in the config nothing waits for the ledger: the
 * hold is written with whatever else the journal writes at that moment.
 */
export class BudgetMeter implements ModelMeter {
  readonly #ports: MeterPorts;
  readonly #ratios = new InputRatios();
  readonly #refused = new Map<RunId, CapRefusedCall>();
  readonly #writes = new Set<Promise<void>>();
  /** Ends the tries of writes that wait for a full disk. */
  #waiting = new AbortController();

  constructor(ports: MeterPorts) {
    this.#ports = ports;
  }

  async reserve(planned: PlannedCall): Promise<Reservation> {
    const config = this.#ports.config();
    const call = { ...planned, most: this.#ratios.worstOf(planned) };
    const request = this.#requestFor(call, config);
    if (!hasCaps(config)) return this.#allowed(call, this.#uncapped(request, call));
    const held = await this.#capped(request, call, config);
    if ("refusal" in held) return this.#refuse(call, held);
    if (call.runId !== undefined) this.#refused.delete(call.runId);
    const { output } = held;
    const allowed = this.#allowed(call, Promise.resolve(held.id));
    return output < call.most.outputTokens ? { ...allowed, outputTokens: output } : allowed;
  }

  /** The last refused call of a run; undefined when its last call was allowed. */
  refusedIn(runId: RunId): CapRefusedCall | undefined {
    return this.#refused.get(runId);
  }

  /** Resolves when every settlement is written, or cannot be written because the disk is full. */
  async flushed(): Promise<void> {
    this.#waiting.abort();
    while (this.#writes.size > 0) await Promise.all(this.#writes);
    this.#waiting = new AbortController();
  }

  #onceOnDisk<T>(what: string, write: () => Promise<T>): Promise<T> {
    return retryWhileDiskFull(what, write, {
      clock: systemClock,
      log: this.#ports.log,
      signal: this.#waiting.signal,
    });
  }

  #requestFor(call: PlannedCall, { timezone }: BudgetsConfig): HoldRequest {
    const { cause, model, profileId, agentId, sessionKey, runId, plugin, most } = call;
    const at = this.#ports.clock.now();
    const { day } = daysAt(at, timezone);
    return { cause, model, profileId, agentId, sessionKey, runId, plugin, isPriced: most.price !== undefined, at, day };
  }

  /** Undefined when the hold could not be written: the call is made all the same, because nothing limits it. */
  async #uncapped(request: HoldRequest, { most }: PlannedCall): Promise<number | undefined> {
    try {
      const hold = amountOf(most, most.outputTokens);
      const held: Held = await this.#onceOnDisk("cost of a call", () =>
        this.#ports.ledger.hold(request, () => ({ hold })),
      );
      return "id" in held ? held.id : undefined;
    } catch (error) {
      this.#ports.log.error("cost of a call not held", { error });
      return undefined;
    }
  }

  async #capped(request: HoldRequest, { most }: PlannedCall, config: BudgetsConfig) {
    const days = daysAt(request.at, config.timezone);
    let output = 0;
    const hold = () =>
      this.#ports.ledger.hold<CapRefusal>(request, (account, balanceOf) => {
        const decision = decideCall(most, capsFor(config, account, days), balanceOf);
        if ("hold" in decision) output = decision.hold.output;
        return decision;
      });
    return { ...(await this.#onceOnDisk("cost of a call", hold)), output };
  }

  #refuse(call: PlannedCall, { refusal, account }: { refusal: CapRefusal; account: SpendAccount }): Reservation {
    const { model, most } = call;
    const text = capRefusalText(refusal, `${model.provider}/${model.id}`, amountOf(most, most.outputTokens));
    const refused = { ...refusal, call, account, text };
    if (call.runId !== undefined) {
      this.#refused.set(call.runId, refused);
      forgetOldest(this.#refused, MOST_RUNS);
    }
    this.#ports.onRefused(refused);
    return { kind: "refused", reason: text };
  }

  #allowed(call: PlannedCall, held: Promise<number | undefined>): Extract<Reservation, { kind: "allowed" }> {
    let isSettled = false;
    return {
      kind: "allowed",
      settle: (cost) => {
        if (!isSettled && cost.outcome === "answered" && !cost.isEstimate) this.#ratios.note(call, cost.usage);
        isSettled = true;
        const written = this.#settle(held, cost).finally(() => this.#writes.delete(written));
        this.#writes.add(written);
        background("settlement of a model call", written, this.#ports.log);
      },
    };
  }

  /**
   * Settles a hold. Never rejects. A hold that cannot be settled before the gateway stops stays held, and is resolved
   * at the next start.
   */
  async #settle(held: Promise<number | undefined>, { usage, isEstimate }: CallCost): Promise<void> {
    const { ledger, clock, log } = this.#ports;
    try {
      const id = await held;
      const at = clock.now();
      if (id !== undefined)
        await this.#onceOnDisk("cost of a call", () => ledger.settle(id, { usage, isEstimate, at }));
    } catch (error) {
      log.error("cost of a call not settled", { error });
    }
  }
}

/** Conversations of which the last request is remembered. */
const MOST_KEPT = 1000;
/** Estimates are held with a fifth more in any case. */
const USUAL_RATIO = 1.2;
/** The new part of a request may have more tokens than its estimate, too. */
const MORE = 1.05;
/** Largest ratio that counts: a provider with a larger one would keep every further call from being made. */
const MOST_RATIO = 8;

/**
 * Ratio of counted to estimated tokens in the last request of a conversation. Estimates know no tokenizer: text that is
 * no usual language has several times as many tokens, and the next request of the conversation begins with the same
 * text.
 */
class InputRatios {
  readonly #ratios = new BoundedMap<string, number>(MOST_KEPT);

  /** The worst case of a call, by the provider's earlier counts. */
  worstOf(call: PlannedCall): WorstCase {
    const ratio = this.#ratios.get(nameOf(call)) ?? 0;
    if (ratio <= USUAL_RATIO) return call.most;
    const inputTokens = Math.ceil(call.estimatedInputTokens * ratio * MORE);
    return inputTokens > call.most.inputTokens ? { ...call.most, inputTokens } : call.most;
  }

  /** Called with the provider's counts. */
  note(call: PlannedCall, { input, cacheRead, cacheWrite }: Usage): void {
    if (call.estimatedInputTokens <= 0) return;
    const ratio = (input + cacheRead + cacheWrite) / call.estimatedInputTokens;
    this.#ratios.set(nameOf(call), Math.min(ratio, MOST_RATIO));
  }
}

const nameOf = ({ sessionKey, plugin, model: { provider, id } }: PlannedCall): string =>
  [provider, id, sessionKey, plugin].join(" ");
