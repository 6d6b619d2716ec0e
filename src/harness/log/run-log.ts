import type { CompactionEvent, DeltaPace, RunEvent, RunEventBody, RunStream } from "../../types/run/events.ts";
import type { Usage } from "../../types/run/model.ts";
import type { RunFacts, RunResult, SideCost } from "../../types/run/run.ts";
import { RunStats } from "./run-stats.ts";
import { Watcher, isDelta } from "./watcher.ts";
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
  /** The work that the run is waiting for. */
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

  /** Adds an event. Ignored after `run_end`. */
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
    if (body.type === "attempt_start") {
      const { type: _type, ...facts } = body;
      this.account.began(facts, Date.now());
    }
    if (body.type === "prompt") this.account.prompt = body.record;
  }

  /** Counts model calls of this run that are not part of the conversation. */
  addSideCost(cost: SideCost): void {
    this.spend(cost.usage, cost.calls);
    this.account.addSideCost(cost);
  }

  /** Counts a model call that no event reports. */
  spend(usage: Usage, calls = 1): void {
    this.#calls += calls;
    this.#usage = addUsage(this.#usage, usage);
  }

  /**
   * The events from the number `from` on. A slow watcher gets several deltas as one, and of partial results only the
   * last.
   */
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

/** The cost of a compaction's model calls; none before its end. */
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
 * The part of an event that is kept for clients that ask after the end of a run: its texts and how it ended, without
 * thoughts, tool calls and their results, which are in the transcript.
 */
function condensed(event: RunEvent): readonly RunEvent[] {
  if (event.type !== "message_end") return KEPT.has(event.type) ? [event] : [];
  const content = event.message.content.filter(({ type }) => type === "text");
  return [{ ...event, message: { ...event.message, content } }];
}

/** The work that a run is waiting for. `person`: the answer to a question. `none`: nothing outside the gateway. */
type RunWait = "person" | "tool" | "model" | "compaction" | "none";

/** The work that a run is waiting for, by the run's events so far. */
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

/** How far a watcher has come: the `seq` of the last event that it was given. */
interface Cursor {
  seen: number;
}

/** Deltas that may wait until they are merged: a merge for each new one would cost more than it saves. */
const UNMERGED = 64;

/**
 * The events of a run, as far as a watcher can still need them. Successive deltas become one as soon as no watcher is
 * between them, and of a tool call's partial results only the last is kept, none once the call has ended. So the list
 * grows with the messages and calls of a run, and not with the pieces in which they came.
 */
class EventList {
  #events: RunEvent[] = [];
  readonly #cursors = new Set<Cursor>();
  /** The `seq` of the partial result that is kept of each call. */
  readonly #partials = new Map<string, number>();
  /** Deltas since the last merge, and the `seq` from which on they may be merged. */
  #deltas = 0;
  #groupFrom = 1;
  /** The `seq` of the newest event that is not a delta. */
  #newestOther = 0;

  get kept(): number {
    return this.#events.length;
  }

  all(): readonly RunEvent[] {
    return this.#events;
  }

  /** The cursor of a watcher that begins at `from`. The caller gives the cursor back with `close`. */
  open(from: number): Cursor {
    const cursor = { seen: from - 1 };
    this.#cursors.add(cursor);
    return cursor;
  }

  close(cursor: Cursor): void {
    this.#cursors.delete(cursor);
  }

  /**
   * The next event for this watcher, which counts as given; undefined when there is none yet, or a delta that has to
   * wait.
   */
  next(cursor: Cursor, watcher: Pick<Watcher, "isPaced" | "rests">): RunEvent | undefined {
    const onlyDeltas = cursor.seen >= this.#newestOther;
    if (watcher.rests && onlyDeltas) return undefined;
    if (watcher.isPaced && onlyDeltas) this.#merge();
    const event = this.#events[this.#indexAfter(cursor.seen)];
    if (event) cursor.seen = event.seq;
    return event;
  }

  push(event: RunEvent): void {
    if (event.type === "tool_update" || event.type === "tool_end") this.#dropPartial(event.callId);
    if (event.type === "tool_update") this.#partials.set(event.callId, event.seq);
    if (isDelta(event)) this.#deltas += 1;
    else {
      this.#newestOther = event.seq;
      if (event.type !== "tool_update") this.#endGroup(event.seq + 1);
    }
    this.#events.push(event);
    if (this.#deltas >= UNMERGED) this.#merge();
  }

  #dropPartial(callId: string): void {
    const seq = this.#partials.get(callId);
    if (seq === undefined) return;
    this.#partials.delete(callId);
    this.#events.splice(this.#indexAfter(seq - 1), 1);
  }

  #endGroup(nextFrom: number): void {
    this.#merge();
    this.#groupFrom = nextFrom;
  }

  #merge(): void {
    if (this.#deltas === 0) return;
    this.#deltas = 0;
    const from = this.#indexAfter(this.#groupFrom - 1);
    const group = this.#events.splice(from);
    const seen = [...this.#cursors].map((cursor) => cursor.seen);
    this.#events.push(...mergeDeltas(group, seen));
  }

  /** The index of the first event with a higher `seq`. */
  #indexAfter(seq: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.seq ?? Infinity) <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

type Delta = RunEvent & { readonly type: "text_delta" | "thinking_delta" };

/**
 * Merges successive deltas of one message into one, with the `seq` of the last. Deltas that a watcher has seen only in
 * part stay apart, so that the watcher gets none twice; `seen` has the `seq` up to which each watcher has read. Text
 * and thoughts are merged separately, also where they alternate.
 */
function mergeDeltas(events: readonly RunEvent[], seen: readonly number[]): RunEvent[] {
  const kept = new Map<number, RunEvent>();
  const last = new Map<RunEvent["type"], Delta>();
  const isBetween = (a: RunEvent, b: RunEvent): boolean => seen.some((seq) => a.seq <= seq && seq < b.seq);
  for (const event of events) {
    if (event.type !== "text_delta" && event.type !== "thinking_delta") {
      kept.set(event.seq, event);
      continue;
    }
    const before = last.get(event.type);
    const merged = before && !isBetween(before, event) ? merge(before, event) : undefined;
    if (before && merged) kept.delete(before.seq);
    kept.set(event.seq, merged ?? event);
    last.set(event.type, merged ?? event);
  }
  return [...kept.values()];
}

/**
 * One delta made of two. Undefined for two that must stay apart: text of an earlier process is not merged with new
 * text.
 */
function merge(before: Delta, event: Delta): Delta | undefined {
  if (before.type === "thinking_delta" && event.type === "thinking_delta")
    return { ...event, delta: before.delta + event.delta };
  if (before.type !== "text_delta" || event.type !== "text_delta" || before.carried !== event.carried) return undefined;
  if (event.anew) return event;
  const delta = before.delta + event.delta;
  const anew = before.anew && { anew: true as const };
  // The delta is the same string as the text, so that it is held once.
  return { ...event, ...anew, delta: delta.length === event.text.length ? event.text : delta };
}
