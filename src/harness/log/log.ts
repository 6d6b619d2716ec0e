import type { CompactionEvent, DeltaPace, RunEvent, RunEventBody, RunStream } from "../../types/run/events.ts";
import type { Usage } from "../../types/run/model.ts";
import type { RunFacts, RunResult, SideCost } from "../../types/run/run.ts";
import { RunStats } from "./run-stats.ts";
import { EventList } from "./event-list.ts";
import { Watcher } from "./watcher.ts";
import { RunSummary, type RunEnd } from "./run-end.ts";
import { background } from "../../utils/background.ts";
import { addUsage, emptyUsage } from "../../types/run/usage.ts";

/** The event log of one run: one writer, any number of readers, each with its own cursor. */
export class RunLog implements RunStream {
  /** The session id of a queued run is known only when it starts. */
  facts: RunFacts;
  readonly done: Promise<RunResult>;
  readonly #events = new EventList();
  #summary = new RunSummary();
  #seq = 0;
  readonly #watchers = new Set<Watcher>();
  #ended = false;
  #calls = 0;
  #usage = emptyUsage();
  #filled = 0;
  #lastText = "";
  #lastUsage: Usage | undefined;
  /** What it is waiting for. */
  readonly activity = new RunActivity();
  /** The other figures of the run's receipt. */
  readonly account = new RunStats();
  #finish: (result: RunResult) => void = () => undefined;

  constructor(facts: RunFacts) {
    this.facts = facts;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The number of the last event. */
  get seq(): number {
    return this.#seq;
  }

  /** Model calls and their tokens so far. */
  get cost(): { readonly calls: number; readonly usage: Usage } {
    return { calls: this.#calls, usage: this.#usage };
  }

  /** Tokens of the last model call, the conversation's part of the window; 0 when no call succeeded. */
  get filled(): number {
    return this.#filled;
  }

  /** The text of the last answer, as far as watchers have seen it. */
  get lastText(): string {
    return this.#lastText;
  }

  /** Usage of the last model call that answered. */
  get lastUsage(): Usage | undefined {
    return this.#lastUsage;
  }

  /** Ignored after `run_end`. */
  emit(body: RunEventBody): void {
    if (this.#ended) return;
    this.#seq += 1;
    const event: RunEvent = { ...body, seq: this.#seq, ts: Date.now() };
    this.#events.push(event);
    this.#summary.take(body);
    this.activity.note(body);
    this.#count(body);
    if (body.type === "run_end") {
      this.#ended = true;
      this.#finish(body.result);
    }
    for (const watcher of this.#watchers) watcher.notify(event);
  }

  #count(body: RunEventBody): void {
    if (body.type === "message_start") this.#lastText = "";
    if (body.type === "text_delta") this.#lastText = body.text;
    if (body.type === "usage") {
      this.spend(body.usage);
      if (body.usage.totalTokens > 0) this.#filled = body.usage.totalTokens;
      this.#lastUsage = body.usage;
    }
    if (body.type === "compaction" && body.phase === "end") {
      for (const cost of costsOf(body)) this.addSideCost(cost);
      if (body.ok) this.account.compactions += 1;
    }
    this.account.note(body);
    if (body.type === "attempt_start") this.account.began(body, Date.now());
    if (body.type === "prompt") this.account.prompt = body.record;
  }

  /** Model calls of this run that are not part of the conversation. */
  addSideCost(cost: SideCost): void {
    this.spend(cost.usage, cost.calls);
    this.account.addSideCost(cost);
  }

  /** Counts a model call that no event reports. */
  spend(usage: Usage, calls = 1): void {
    this.#calls += calls;
    this.#usage = addUsage(this.#usage, usage);
  }

  /** A slow watcher gets several deltas as one, and of partial results only the last. */
  async *watch(from = 1, pace?: DeltaPace): AsyncGenerator<RunEvent> {
    const cursor = this.#events.open(from);
    const watcher = new Watcher(pace);
    this.#watchers.add(watcher);
    try {
      for (;;) {
        const event = this.#events.next(cursor, watcher);
        if (event) {
          watcher.given(event);
          yield event;
        } else if (this.#ended) return;
        else await watcher.wait();
      }
    } finally {
      watcher.close();
      this.#watchers.delete(watcher);
      this.#events.close(cursor);
    }
  }

  /** How many events are kept for watchers. */
  get kept(): number {
    return this.#events.kept;
  }

  /** A log of the ended run with nothing but its texts and its end, in the same places. */
  condensed(): RunLog {
    const copy = new RunLog(this.facts);
    for (const event of this.#events.all()) for (const kept of condensed(event)) copy.#events.push(kept);
    copy.#seq = this.#seq;
    copy.#summary = this.#summary;
    copy.#ended = this.#ended;
    background("end of a run", this.done.then(copy.#finish));
    return copy;
  }

  /** The summary that is recorded; undefined until the run has ended. */
  get end(): RunEnd | undefined {
    return this.#summary.end;
  }
}

/** What a compaction's model calls took; nothing before its end. */
export const costsOf = (event: CompactionEvent): readonly SideCost[] => (event.phase === "end" ? event.costs : []);

const KEPT: ReadonlySet<RunEvent["type"]> = new Set([
  "run_start",
  "message_start",
  "text_delta",
  "answer",
  "model_change",
  "run_end",
]);

/**
 * What of an event is kept for clients that ask after the end of a run: its texts and how it ended, without thoughts, tool
 * calls and their results, which are in the transcript.
 */
function condensed(event: RunEvent): readonly RunEvent[] {
  if (event.type !== "message_end") return KEPT.has(event.type) ? [event] : [];
  const content = event.message.content.filter(({ type }) => type === "text");
  return [{ ...event, message: { ...event.message, content } }];
}

/** What a run is waiting for. `person`: for the answer to a question. `none`: for nothing outside the gateway. */
type RunWait = "person" | "tool" | "model" | "compaction" | "none";

/** What a run is waiting for, by its events so far. */
class RunActivity {
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
