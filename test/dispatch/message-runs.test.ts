import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runsOf, stopMessage } from "../../src/dispatch/clients/message-runs.ts";
import { textResult } from "../../src/tools/define.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import type { Outcome } from "../../src/types/journal.ts";
import type { RunEvent } from "../../src/types/run/events.ts";
import { manualClock } from "../kit/clock.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { nextMessage } from "../kit/inbound.ts";
import { makeTool } from "../kit/tools.ts";
import { until } from "../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const keyOf = ({ from: { channel, account }, eventKey }: InboundMessage) => ({ channel, account, eventKey });
const rowOf = ({ from: { channel, account }, eventKey }: InboundMessage) =>
  boot.journal.inbox.find(channel, account, eventKey);
const stop = (said: InboundMessage) => stopMessage(keyOf(said), boot.dispatch, boot.ports);

interface Followed {
  readonly said: InboundMessage;
  /** Of each run the id, and what its events are from where the message joined it. */
  readonly runs: { readonly id: string; readonly events: RunEvent[] }[];
  /** Resolves when no further run can follow and those that were found have ended. */
  readonly over: Promise<void>;
  outcome(): Promise<Outcome | undefined>;
}

function say(text: string, more: Partial<InboundMessage> = {}): Followed {
  const said = nextMessage(text, "1", more);
  const runs: Followed["runs"] = [];
  const { signal } = new AbortController();
  const found = runsOf({ key: keyOf(said), stored: boot.dispatch.receive([said]), signal }, boot.dispatch, boot.ports);
  const follow = async () => {
    for await (const { stream, from } of found) {
      const events: RunEvent[] = [];
      runs.push({ id: stream.facts.runId, events });
      for await (const event of stream.watch(from)) events.push(event);
    }
  };
  return { said, runs, over: follow(), outcome: async () => (await rowOf(said))?.outcome };
}

const textsOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "message_end" ? [event.text] : []));

describe("the run of a message", () => {
  it("is found from its beginning, and shows no directives", async () => {
    fixture.model.answer(() => ({ text: "[[reply_to_current]] here you are" }));
    const { runs, over, outcome } = say("hello");
    await over;
    expect(await outcome()).toEqual({ kind: "replied" });
    expect(runs).toHaveLength(1);
    const [run] = runs;
    expect(run?.events[0]).toMatchObject({ type: "run_start", seq: 1 });
    expect(run?.events.at(-1)?.type).toBe("run_end");
    expect(textsOf(run?.events ?? [])).toEqual(["here you are"]);
  });

  it("names its message as the transcript does", async () => {
    const { runs, over, said } = say("hello");
    await over;
    const [begun] = runs[0]?.events ?? [];
    const { entries } = await boot.sessions.history(boot.keyOf("1"), 10);
    const asked = entries.find(({ type }) => type === "message");
    expect(JSON.stringify(asked)).toContain(said.text);
    expect(begun).toMatchObject({ type: "run_start", facts: { turnId: asked?.id } });
  });

  it("is that of the turn into which messages were merged", async () => {
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(({ said }, number) =>
      number === 1 ? { text: "first one", until: gate.promise } : { text: `both: ${said.includes("beta")}` },
    );
    const first = say("first");
    await fixture.model.called(1);
    const merged = [say("alpha"), say("beta")];
    await until(() => boot.dispatch.lanes.waiting === 2);
    gate.resolve();
    await Promise.all([first, ...merged].map(({ over }) => over));
    expect(await merged[1]?.outcome()).toMatchObject({ kind: "merged" });
    const ids = merged.map(({ runs }) => runs.map(({ id }) => id));
    expect(ids[0]).toHaveLength(1);
    expect(ids[1]).toEqual(ids[0]);
    expect(ids[0]).not.toEqual(first.runs.map(({ id }) => id));
    for (const { runs } of merged) {
      expect(runs[0]?.events[0]?.type).toBe("run_start");
      expect(textsOf(runs[0]?.events ?? [])).toEqual(["both: true"]);
    }
  });

  it("is found though the journal is read so slowly that the run has ended meanwhile", async () => {
    const gate = Promise.withResolvers<void>();
    fixture.model.answer((_call, number) => ({ text: "an answer", ...(number === 1 && { until: gate.promise }) }));
    const first = say("first");
    await fixture.model.called(1);
    const said = [nextMessage("alpha", "1"), nextMessage("beta", "1")];
    const stored = boot.dispatch.receive(said);
    const { inbox } = boot.ports.storage.journal;
    let isSlow = false;
    const find: typeof inbox.find = async (...key) => {
      if (isSlow) await until(async () => (await inbox.find(...key))?.state === "done");
      return inbox.find(...key);
    };
    const journal = { ...boot.ports.storage.journal, inbox: { ...inbox, find } };
    const ports = { ...boot.ports, storage: { ...boot.ports.storage, journal } };
    const { signal } = new AbortController();
    const found = said.map((one) => runsOf({ key: keyOf(one), stored, signal }, boot.dispatch, ports));
    await stored;
    await until(() => boot.dispatch.lanes.waiting === 2);
    await until(async () => (await inbox.open()).length === 3);
    isSlow = true;
    gate.resolve();
    const ids: string[] = [];
    for (const runs of found) for await (const { stream } of runs) ids.push(stream.facts.runId);
    expect(ids).toHaveLength(2);
    expect(ids[1]).toBe(ids[0]);
    await first.over;
  });

  it("is the one into which it was steered, from then on", async () => {
    fixture.rules = { queueMode: () => "steer" };
    const gate = Promise.withResolvers<void>();
    let isLooking = false;
    fixture.tools.push(
      makeTool("look", async () => {
        isLooking = true;
        await gate.promise;
        return textResult("seen");
      }),
    );
    fixture.model.answer((_call, number) =>
      number === 1 ? { text: "I will look", tool: "look", args: {} } : { text: "done" },
    );
    const first = say("first");
    await until(() => isLooking);
    const second = say("and this");
    await until(async () => (await rowOf(second.said))?.runId);
    await until(() => second.runs.length > 0);
    gate.resolve();
    await Promise.all([first.over, second.over]);
    expect(await second.outcome()).toEqual({ kind: "steered" });
    expect(second.runs.map(({ id }) => id)).toEqual(first.runs.map(({ id }) => id));
    expect(textsOf(first.runs[0]?.events ?? [])).toEqual(["I will look", "done"]);
    expect(textsOf(second.runs[0]?.events ?? [])).toEqual(["done"]);
    expect(second.runs[0]?.events.some(({ type }) => type === "tool_start")).toBe(false);
  });

  it("costs the journal no look for each run of others that begins meanwhile", async () => {
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(({ said }) => ({ text: "echo", ...(said.includes("first") && { until: gate.promise }) }));
    const first = say("first");
    await fixture.model.called(1);
    const second = say("second");
    await until(() => boot.dispatch.lanes.waiting === 1);
    const find = vi.spyOn(boot.journal.inbox, "find");
    for (let at = 0; at < 20; at += 1) await boot.ask("elsewhere", `other${at}`);
    expect(find.mock.calls.filter(([, , eventKey]) => eventKey === second.said.eventKey)).toEqual([]);
    gate.resolve();
    await Promise.all([first.over, second.over]);
    expect(second.runs).toHaveLength(1);
  });

  it("is not awaited for a command, nor for a message that is not let in, came before or is not stored", async () => {
    const command = say("/status");
    await command.over;
    expect(await command.outcome()).toEqual({ kind: "command", name: "status" });
    fixture.gate = async () => ({ kind: "drop", why: "a test" });
    const dropped = say("let me in");
    await dropped.over;
    const again = say("let me in", { eventKey: dropped.said.eventKey });
    await again.over;
    const lost = runsOf(
      {
        key: keyOf(nextMessage("lost")),
        stored: Promise.reject(new Error("disk full")),
        signal: new AbortController().signal,
      },
      boot.dispatch,
      boot.ports,
    );
    for await (const run of lost) throw new Error(`the run ${run.stream.facts.runId} is nobody's`);
    expect([command, dropped, again].flatMap(({ runs }) => runs)).toEqual([]);
  });

  it("is not awaited for a message that nobody works on, and not after the signal", async () => {
    const [alone, other] = [nextMessage("alone"), nextMessage("other")];
    await boot.journal.inbox.accept([alone, other]);
    const clock = manualClock();
    const ended: string[] = [];
    const follow = async (said: InboundMessage, signal: AbortSignal) => {
      const wish = { key: keyOf(said), stored: Promise.resolve(), signal };
      for await (const run of runsOf(wish, boot.dispatch, { ...boot.ports, clock }))
        throw new Error(`found ${run.from}`);
      ended.push(said.text);
    };
    const unload = new AbortController();
    const both = [follow(other, unload.signal), follow(alone, new AbortController().signal)];
    await until(() => clock.waits.length === 2);
    unload.abort();
    await both[0];
    expect(ended).toEqual(["other"]);
    clock.pass(60_000);
    await both[1];
    expect(ended).toEqual(["other", "alone"]);
    expect(clock.waits).toEqual([]);
  });
});

describe("ending a message", () => {
  it("stops its run", async () => {
    fixture.model.answer(() => "hang");
    const said = say("work on it");
    await fixture.model.called(1);
    await stop(said.said);
    await said.over;
    expect(said.runs[0]?.events.at(-1)).toMatchObject({ type: "run_end", result: { kind: "aborted", by: "user" } });
    expect(await said.outcome()).toEqual({ kind: "aborted" });
  });

  it("drops it while it waits, and nothing else", async () => {
    const gate = Promise.withResolvers<void>();
    fixture.model.answer(({ said }) => ({ text: `echo ${said.split("\n").at(-1)}`, until: gate.promise }));
    const [first] = [say("first")];
    await fixture.model.called(1);
    const waiting = [say("second"), say("third")];
    await until(() => boot.dispatch.lanes.waiting === 2);
    await stop(waiting[0]!.said);
    await waiting[0]!.over;
    expect(await waiting[0]!.outcome()).toEqual({ kind: "aborted" });
    gate.resolve();
    await Promise.all([first.over, waiting[1]!.over]);
    expect(await first.outcome()).toEqual({ kind: "replied" });
    expect(await waiting[1]!.outcome()).toEqual({ kind: "replied" });
    expect(fixture.platform.texts.join()).not.toContain("second");
    // One that has ended, and one that never came, are left alone.
    await stop(waiting[0]!.said);
    await stop(nextMessage("never said"));
    expect(await waiting[0]!.outcome()).toEqual({ kind: "aborted" });
  });
});
