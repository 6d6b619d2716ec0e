import { addCost } from "../../harness/log/run-stats.ts";
import { runId, type RunId } from "../../types/ids.ts";
import type { RunFacts, RunTrigger, SideCost } from "../../types/run/run.ts";
import { addUsage, emptyUsage } from "../../types/run/usage.ts";
import { KeyedQueue } from "../../utils/keyed-queue.ts";
import type { DispatchPorts } from "../ports.ts";
import { background } from "../../utils/background.ts";

/** The row that a cost belongs to. */
interface Row {
  readonly runId: RunId;
  readonly of: Pick<RunFacts, "sessionKey" | "sessionId" | "agentId">;
  readonly trigger: RunTrigger;
  readonly result: string;
  readonly durationMs: number;
}

/** The beginning of the ids of rows with the cost of a plugin. */
const PLUGIN_ROW = "plugin-";

/**
 * Records the cost of model calls that no run's receipt contains: in rows of the journal for these calls, and in the
 * session's counters.
 */
export class AuxiliaryUsage {
  readonly #ports: Pick<DispatchPorts, "storage" | "clock" | "log">;
  readonly #queue = new KeyedQueue();

  constructor(ports: Pick<DispatchPorts, "storage" | "clock" | "log">) {
    this.#ports = ports;
  }

  /**
   * Returns a function that records the cost of a run after its end: one row for each purpose. The function never
   * throws.
   */
  afterRun({ runId: id, ...of }: Pick<RunFacts, "runId"> & Row["of"]): (cost: SideCost) => void {
    return (cost) => {
      const name = cost.what === "compaction" ? "compact" : cost.what;
      const row = { runId: runId(`${id}-${name}`), of, trigger: cost.what, result: "replied", durationMs: 0 };
      background("record of a cost", this.record([cost], row), this.#ports.log);
    };
  }

  /**
   * Returns a function that records the cost of a plugin outside of runs: one row for each plugin, hour and session.
   * The session's counters do not grow, because they are for the cost of its conversation. The function never throws.
   */
  ofPlugin(
    plugin: string,
    { sessionKey, agentId }: Pick<RunFacts, "sessionKey" | "agentId">,
  ): (cost: SideCost) => void {
    const of = { sessionKey, sessionId: "", agentId };
    return (cost) => {
      const hour = new Date(this.#ports.clock.now()).toISOString().slice(0, 13);
      const row = { runId: runId(`${PLUGIN_ROW}${plugin}-${hour}-${sessionKey}`), of, trigger: cost.what };
      const written = this.record([cost], { ...row, result: "replied", durationMs: 0 });
      background("record of a cost", written, this.#ports.log);
    };
  }

  /** Opens the tally of a compaction that begins now. */
  open(id: RunId, of: Row["of"]): UsageTally {
    const { clock } = this.#ports;
    const begun = clock.now();
    return new UsageTally((costs, result) => {
      const durationMs = clock.now() - begun;
      return this.record(costs, { runId: id, of, trigger: "compaction", result, durationMs });
    });
  }

  /** Adds costs to the row. Without costs, nothing is written. Never rejects. */
  async record(costs: readonly SideCost[], row: Row): Promise<void> {
    if (costs.length === 0) return;
    try {
      await this.#queue.run(row.runId, () => this.#add(costs, row));
    } catch (error) {
      this.#ports.log.error("cost not recorded", { run: row.runId, error });
    }
  }

  async #add(costs: readonly SideCost[], { runId: id, of, trigger, result, durationMs }: Row): Promise<void> {
    const {
      storage: { journal },
      clock,
    } = this.#ports;
    const before = (await journal.runs.find(id))?.receipt;
    const beside = costs.reduce(addCost, before?.beside ?? []);
    const [first] = beside;
    if (!first) return;
    const receipt = {
      model: first.model,
      usage: beside.reduce((sum, { usage }) => addUsage(sum, usage), emptyUsage()),
      calls: beside.reduce((sum, { calls }) => sum + calls, 0),
      durationMs: (before?.durationMs ?? 0) + durationMs,
      trigger,
      beside,
    };
    await journal.runs.record({
      runId: id,
      sessionKey: of.sessionKey,
      agentId: of.agentId,
      at: clock.now(),
      receipt,
      result,
    });
    await this.#count(costs, of);
  }

  /** Adds costs to the session's counters, unless the session has begun a new conversation meanwhile. */
  async #count(costs: readonly SideCost[], { sessionKey, sessionId }: Row["of"]): Promise<void> {
    const {
      storage: { sessions },
    } = this.#ports;
    const entry = sessions.peek(sessionKey);
    if (entry?.sessionId !== sessionId) return;
    const { input, output } = costs.reduce((sum, { usage }) => addUsage(sum, usage), emptyUsage());
    await sessions.patch(sessionKey, {
      inputTokens: (entry.inputTokens ?? 0) + input,
      outputTokens: (entry.outputTokens ?? 0) + output,
    });
  }
}

/** Sums up the cost of one compaction and records it at the end. Later costs are added at once. */
export class UsageTally {
  readonly #write: (costs: readonly SideCost[], result: string) => Promise<void>;
  readonly #costs: SideCost[] = [];
  #result: string | undefined;

  constructor(write: (costs: readonly SideCost[], result: string) => Promise<void>) {
    this.#write = write;
  }

  add(cost: SideCost): void {
    if (this.#result === undefined) this.#costs.push(cost);
    else background("record of a cost", this.#write([cost], this.#result));
  }

  /** Records the sum of the costs. Never rejects. */
  async close(ended: "done" | "nothing" | "aborted" | undefined): Promise<void> {
    this.#result = RESULTS[ended ?? "nothing"];
    await this.#write(this.#costs, this.#result);
  }
}

const RESULTS = { done: "replied", aborted: "aborted", nothing: "failed:compaction_failure" } as const;
