import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RunLog } from "../../src/harness/log/run-log.ts";
import { RunText } from "../../src/server/events/runs.ts";
import type { DeltaPace, RunEvent, RunEventBody } from "../../src/types/run/events.ts";
import { emptyUsage } from "../../src/types/run/usage.ts";
import { runFacts } from "../kit/run-facts.ts";
import { answered } from "../kit/transcript-messages.ts";

const FACTS = runFacts("run-1");
const END: RunEventBody = {
  type: "run_end",
  result: { kind: "replied", stop: "stop" },
  receipt: { model: { provider: "p", id: "m" }, usage: emptyUsage(), calls: 1, durationMs: 1 },
  endedAt: 2,
};

/** Writes the messages of a run as the harness does. */
class Writer {
  readonly log = new RunLog(FACTS);
  #text = "";

  step(step: Step): void {
    const emit = (body: RunEventBody) => this.log.emit(body);
    switch (step.type) {
      case "start":
        this.#text = "";
        return emit({ type: "message_start" });
      case "text":
        this.#text += step.delta;
        return emit({ type: "text_delta", delta: step.delta, text: this.#text });
      case "anew":
        this.#text = step.delta;
        return emit({ type: "text_delta", delta: step.delta, text: this.#text, anew: true });
      case "carried":
        this.#text = step.delta;
        emit({ type: "message_start" });
        return emit({ type: "text_delta", delta: step.delta, text: this.#text, carried: true });
      case "thought":
        return emit({ type: "thinking_delta", delta: step.delta });
      case "stop":
        return emit({ type: "message_end", message: answered(this.#text), text: this.#text, entryId: "e" });
      case "tool":
        return emit({ type: "tool_start", callId: step.id, name: "exec", args: {} });
      case "partial":
        return emit({ type: "tool_update", callId: step.id, name: "exec", partial: step.delta });
      case "result":
        return emit({ type: "tool_end", callId: step.id, name: "exec", isError: false, text: "done", durationMs: 1 });
    }
  }
}

type Step =
  | { readonly type: "start" | "stop" }
  | { readonly type: "text" | "anew" | "carried" | "thought"; readonly delta: string }
  | { readonly type: "tool" | "result"; readonly id: string }
  | { readonly type: "partial"; readonly id: string; readonly delta: string };

/** What a watcher makes of the events: all that readers of a run build on. */
class Reading {
  readonly texts: string[] = [];
  readonly carried: string[] = [];
  readonly results: string[] = [];
  readonly whole = new RunText();
  thoughts = "";
  /** The deltas of the message that is going on, one after the other. */
  spelled = "";
  #seq = 0;

  take(event: RunEvent): void {
    expect(event.seq).toBeGreaterThan(this.#seq);
    this.#seq = event.seq;
    this.whole.add(event);
    if (event.type === "message_start") this.spelled = "";
    if (event.type === "thinking_delta") this.thoughts += event.delta;
    if (event.type === "message_end") this.texts.push(event.text);
    if (event.type === "tool_end") this.results.push(event.callId);
    if (event.type !== "text_delta") return;
    this.spelled = event.anew ? event.delta : this.spelled + event.delta;
    expect(event.text).toBe(this.spelled);
    if (event.carried === true) this.carried.push(event.delta);
  }

  get all() {
    const { texts, carried, results, thoughts, spelled, whole } = this;
    return { texts, carried, results, thoughts, spelled, whole: whole.text };
  }
}

/** A watcher that takes events one by one, when it is told to. */
class Watcher {
  readonly reading = new Reading();
  readonly #events: AsyncIterator<RunEvent>;

  constructor(log: RunLog) {
    this.#events = log.watch()[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const next = await this.#events.next();
      if (next.done === true) return;
      this.reading.take(next.value);
    }
  }
}

/** A watcher whose pauses end when they are told to; undefined for whole messages. */
class PacedReading {
  readonly deltas: string[] = [];
  readonly #reading = new Reading();
  readonly #read: Promise<void>;
  #due: (() => void) | undefined;
  /** Asks for what waits; undefined when the watcher does not listen any more. */
  giveNow: (() => void) | undefined;

  constructor(log: RunLog, pauseMs: number | undefined, isUrgent?: DeltaPace["isUrgent"]) {
    const after = (_ms: number, call: () => void) => {
      this.#due = call;
      return () => {
        if (this.#due === call) this.#due = undefined;
      };
    };
    const onWanted = (giveNow: () => void) => {
      this.giveNow = giveNow;
      return () => {
        this.giveNow = undefined;
      };
    };
    const pace = { clock: { after }, everyMs: () => pauseMs, onWanted };
    this.#read = this.#readAll(log, { ...pace, ...(isUrgent && { isUrgent }) });
  }

  async #readAll(log: RunLog, pace: DeltaPace): Promise<void> {
    for await (const event of log.watch(1, pace)) {
      this.#reading.take(event);
      if (event.type === "text_delta") this.deltas.push(event.delta);
    }
  }

  endPause(): void {
    const due = this.#due;
    this.#due = undefined;
    due?.();
  }

  /** What was read, after the end of the log. */
  async end() {
    await this.#read;
    return this.#reading.all;
  }
}

const delta = fc.string({ minLength: 1, maxLength: 3 });
const id = fc.constantFrom("a", "b");
const step: fc.Arbitrary<readonly Step[]> = fc.oneof(
  fc.constant([{ type: "start" } as const]),
  fc.constant([{ type: "stop" } as const]),
  { weight: 4, arbitrary: fc.array(fc.record({ type: fc.constant("text" as const), delta }), { maxLength: 150 }) },
  fc.array(fc.record({ type: fc.constantFrom("text" as const, "thought" as const), delta }), { maxLength: 90 }),
  fc.tuple(fc.record({ type: fc.constantFrom("anew" as const, "carried" as const), delta })),
  fc.tuple(fc.record({ type: fc.constantFrom("tool" as const, "result" as const), id })),
  fc.array(fc.record({ type: fc.constant("partial" as const), id, delta }), { maxLength: 5 }),
);
/** After which step a watcher joins, and after how many steps each it takes another event. */
const joining = fc.record({ at: fc.nat(300), takesEach: fc.integer({ min: 1, max: 40 }) });

describe("the log of a run", () => {
  it("gives every watcher the same texts, whenever it joins and however slow it is", async () => {
    const runs = fc.tuple(fc.array(step, { maxLength: 12 }), fc.array(joining, { maxLength: 4 }));
    await fc.assert(
      fc.asyncProperty(runs, async ([parts, joins]) => {
        const writer = new Writer();
        const fromStart = new Watcher(writer.log);
        const watchers: { takesEach: number; watcher: Watcher }[] = [];
        for (const [at, one] of parts.flat().entries()) {
          writer.step(one);
          await fromStart.take(1);
          for (const { takesEach } of joins.filter((join) => join.at === at))
            watchers.push({ takesEach, watcher: new Watcher(writer.log) });
          for (const { takesEach, watcher } of watchers) if (at % takesEach === 0) await watcher.take(1);
        }
        writer.log.emit(END);
        await fromStart.take(Infinity);
        watchers.push({ takesEach: 1, watcher: new Watcher(writer.log) });
        for (const { watcher } of watchers) {
          await watcher.take(Infinity);
          expect(watcher.reading.all).toEqual(fromStart.reading.all);
        }
      }),
    );
  });

  it("gives a watcher with a pace the same texts, wherever its pauses end", async () => {
    const runs = fc.tuple(fc.array(step, { maxLength: 12 }), fc.infiniteStream(fc.nat(3)));
    await fc.assert(
      fc.asyncProperty(runs, fc.constantFrom(50, undefined), async ([parts, choices], pauseMs) => {
        const writer = new Writer();
        const each = new Watcher(writer.log);
        const paced = new PacedReading(writer.log, pauseMs);
        for (const one of parts.flat()) {
          writer.step(one);
          const choice = choices.next().value;
          if (choice === 1) await setImmediate();
          if (choice === 2) paced.endPause();
        }
        writer.log.emit(END);
        await each.take(Infinity);
        expect(await paced.end()).toEqual(each.reading.all);
      }),
    );
  });

  it("gives a watcher with a pace the first delta at once, and those of a pause as one", async () => {
    const writer = new Writer();
    const paced = new PacedReading(writer.log, 50);
    const deltas = async () => (await setImmediate(), paced.deltas);
    for (const delta of ["a ", "b ", "c "]) {
      writer.step({ type: "text", delta });
      await setImmediate();
    }
    expect(await deltas()).toEqual(["a "]);
    paced.endPause();
    expect(await deltas()).toEqual(["a ", "b c "]);
    paced.endPause();
    writer.step({ type: "text", delta: "d " });
    expect(await deltas()).toEqual(["a ", "b c ", "d "]);
    writer.step({ type: "text", delta: "e " });
    writer.step({ type: "stop" });
    expect(await deltas()).toEqual(["a ", "b c ", "d ", "e "]);
  });

  it("gives an urgent delta at once, with those that waited for the end of the pause", async () => {
    const writer = new Writer();
    const paced = new PacedReading(writer.log, 50, (delta, text) => delta === "!" && text === "abc!");
    for (const delta of ["a", "b", "c", "!", "d", "!"]) {
      writer.step({ type: "text", delta });
      await setImmediate();
    }
    expect(paced.deltas).toEqual(["a", "bc!"]);
    paced.endPause();
    await setImmediate();
    expect(paced.deltas).toEqual(["a", "bc!", "d!"]);
  });

  it("gives a watcher of whole messages each message's deltas as one, when the message ends", async () => {
    const writer = new Writer();
    const paced = new PacedReading(writer.log, undefined);
    for (const delta of ["a ", "b "]) writer.step({ type: "text", delta });
    await setImmediate();
    expect(paced.deltas).toEqual([]);
    writer.step({ type: "stop" });
    await setImmediate();
    expect(paced.deltas).toEqual(["a b "]);
  });

  it.each([50, undefined])("gives what waits as soon as it is wanted, with a pause of %s", async (pauseMs) => {
    const writer = new Writer();
    const paced = new PacedReading(writer.log, pauseMs);
    const given = async () => (await setImmediate(), paced.deltas.join(""));
    await given();
    for (const delta of ["a ", "b "]) writer.step({ type: "text", delta });
    paced.giveNow?.();
    expect(await given()).toBe("a b ");
    paced.giveNow?.();
    for (const delta of ["c ", "d "]) writer.step({ type: "text", delta });
    paced.giveNow?.();
    expect(await given()).toBe("a b c d ");
    writer.step({ type: "stop" });
    writer.log.emit(END);
    await paced.end();
    expect(paced.giveNow).toBeUndefined();
  });

  it("keeps few events of many, whether its watchers keep up or not", async () => {
    const writer = new Writer();
    const quick = new Watcher(writer.log);
    const stuck = new Watcher(writer.log);
    writer.step({ type: "start" });
    await Promise.all([quick.take(1), stuck.take(1)]);
    for (let n = 0; n < 10_000; n += 1) {
      writer.step({ type: n % 2 === 0 ? "text" : "thought", delta: "x" });
      await quick.take(1);
      if (n === 5000) await stuck.take(2);
    }
    writer.step({ type: "stop" });
    writer.step({ type: "tool", id: "a" });
    for (let n = 0; n < 2000; n += 1) writer.step({ type: "partial", id: "a", delta: "y".repeat(8000) });
    expect(writer.log.kept).toBeLessThan(12);
    writer.step({ type: "result", id: "a" });
    writer.log.emit(END);
    expect(writer.log.kept).toBeLessThan(12);
    await Promise.all([quick.take(Infinity), stuck.take(Infinity)]);
    expect(stuck.reading.all).toEqual(quick.reading.all);
    expect(quick.reading.spelled).toHaveLength(5000);
  });

  it("keeps the last partial result of each call that continues", async () => {
    const writer = new Writer();
    for (const id of ["a", "b"]) writer.step({ type: "tool", id });
    for (let n = 1; n <= 3; n += 1)
      for (const id of ["a", "b"]) writer.step({ type: "partial", id, delta: `${id}${n}` });
    writer.step({ type: "result", id: "a" });
    writer.log.emit(END);
    const partials: string[] = [];
    for await (const event of writer.log.watch()) if (event.type === "tool_update") partials.push(event.partial);
    expect(partials).toEqual(["b3"]);
  });

  it("has what is to be written down at its end, without its events being read again", async () => {
    const writer = new Writer();
    for (const type of ["start", "stop"] as const) writer.step({ type });
    expect(writer.log.end).toBeUndefined();
    writer.log.emit(END);
    expect(writer.log.end).toMatchObject({ result: { kind: "replied" }, texts: [""], compactions: 0 });
  });

  it("can be kept with its texts and its end alone", async () => {
    const writer = new Writer();
    writer.step({ type: "start" });
    writer.step({ type: "thought", delta: "hm" });
    for (const delta of ["one", " two"]) writer.step({ type: "text", delta });
    writer.step({ type: "stop" });
    for (const type of ["tool", "result"] as const) writer.step({ type, id: "a" });
    writer.log.emit(END);
    const condensed = writer.log.condensed();
    const events: RunEvent[] = [];
    for await (const event of condensed.watch()) events.push(event);
    expect(events.map(({ type, seq }) => [type, seq])).toEqual([
      ["message_start", 1],
      ["text_delta", 4],
      ["message_end", 5],
      ["run_end", 8],
    ]);
    expect(condensed.ended).toBe(true);
    expect(await condensed.done).toEqual(await writer.log.done);
  });
});
