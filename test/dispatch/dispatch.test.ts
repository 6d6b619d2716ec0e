import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/types/clock.ts";
import { runId, type SessionKey, sessionKey } from "../../src/types/ids.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import { eventsOf, openedByPi } from "../kit/run.ts";
import { MODEL, SPARE } from "../kit/models.ts";
import { manualClock } from "../kit/clock.ts";
import type { ModelCall } from "../fakes/model.ts";
import { LIMITS } from "../fakes/chat-platform.ts";
import { peer, nextMessage } from "../kit/inbound.ts";
import { untilIdle } from "../kit/idle.ts";
import { diskOfDatabases } from "../kit/store/full-disk.ts";
import { until } from "../kit/until.ts";
import { type Boot, heard, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const said = () => fixture.model.calls.map((call) => heard(call.said));

/** A model that answers when told, one call after the other. */
function heldModel() {
  const gates: PromiseWithResolvers<void>[] = [];
  fixture.model.answer(async (call) => {
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    await gate.promise;
    return { text: `echo: ${heard(call.said)}` };
  });
  return { next: () => gates.shift()!.resolve(), waiting: () => gates.length };
}

/** Lets the next boot find the transcript of a session in the format of a later version; gives what puts it back. */
async function spoil(key: SessionKey): Promise<() => Promise<void>> {
  const session = await boot.sessions.acquire(key);
  const { file } = session;
  session.release();
  await boot.stop();
  const whole = await readFile(file, "utf8");
  await writeFile(file, whole.replace('"version":3', '"version":4'));
  boot = await fixture.boot();
  return () => writeFile(file, whole);
}

describe("a message", () => {
  it("gets one answer, sent once", async () => {
    const row = await boot.tell("hello");
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(["echo: hello"]);
    expect(await boot.journal.outbox.of(row.id)).toMatchObject([{ state: "sent", messageId: "m1", attempts: 1 }]);
    expect(await boot.journal.stats()).toMatchObject({ openInbox: 0, openOutbox: 0 });
    expect(await boot.journal.runs.recent(5)).toMatchObject([{ result: "replied", receipt: { calls: 1 } }]);
  });

  it("is answered once though it is delivered again, in one batch, later and after a restart", async () => {
    const twice = nextMessage("hello");
    await boot.dispatch.receive([twice, twice]);
    await until(() => fixture.platform.messages.length === 1);
    await boot.dispatch.receive([{ ...twice, id: "other" }]);
    await boot.stop();
    const again = await fixture.boot();
    await again.recover();
    await again.dispatch.receive([twice]);
    await untilIdle();
    expect(fixture.platform.texts).toEqual(["echo: hello"]);
  });

  it("does not wait for another session's run, but for its own", async () => {
    const model = heldModel();
    const rows = [await boot.tell("a1", "1"), await boot.tell("b1", "2"), await boot.tell("a2", "1")];
    await until(() => model.waiting() === 2);
    await untilIdle();
    expect(said().toSorted()).toEqual(["a1", "b1"]);
    model.next();
    model.next();
    await until(() => model.waiting() === 1);
    model.next();
    for (const row of rows) await boot.outcome(row);
    expect(fixture.platform.messages.filter(({ chat }) => chat === "1").map(({ text }) => text)).toEqual([
      "echo: a1",
      "echo: a2",
    ]);
  });

  it("is informed when its run failed, and the journal has the reason", async () => {
    fixture.model.answer(() => ({ status: 401, message: "Incorrect API key provided" }));
    expect(await boot.ask("hello")).toMatchObject({ kind: "failed", why: expect.stringContaining("auth") });
    expect(fixture.platform.texts).toEqual([expect.stringMatching(/^⚠️ .*key/)]);
  });

  it("gets no message when the model answers NO_REPLY", async () => {
    fixture.model.answer(() => ({ text: "NO_REPLY" }));
    expect(await boot.ask("hello")).toEqual({ kind: "silent" });
    expect(fixture.platform.messages).toEqual([]);
  });

  it("shows the whole answer once when the model was cut off and was asked again", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? { text: "half of an answer", stopAfter: 2 } : { text: "the whole answer" },
    );
    await boot.ask("hello");
    expect(fixture.platform.texts).toEqual(["the whole answer"]);
  });

  it("has its words before and after a tool in one reply", async () => {
    fixture.tools.push(makeTool("look", async () => textResult("seen")));
    fixture.model.answer((call) => (call.isAfterTool ? { text: "It is there." } : { tool: "look", args: {} }));
    await boot.ask("hello");
    expect(fixture.platform.texts).toEqual(["It is there."]);
    await boot.use("1", async (session) => expect(openedByPi(session.file)).toHaveLength(4));
  });

  it("is refused visibly when its session cannot be opened", async () => {
    await boot.ask("before");
    const mend = await spoil(boot.keyOf("1"));
    expect(await boot.ask("hello")).toMatchObject({ kind: "failed" });
    expect(fixture.platform.texts.at(-1)).toMatch(/^⚠️/);
    await mend();
    expect(await boot.ask("again")).toEqual({ kind: "replied" });
  });

  it("is refused visibly when nobody can decide about it", async () => {
    fixture.gate = () => Promise.reject(new Error("bug"));
    expect(await boot.ask("hello")).toMatchObject({ kind: "failed" });
    expect(fixture.platform.texts).toEqual([expect.stringMatching(/^⚠️/)]);
  });

  it("is not acknowledged while the disk is full, and taken when it is offered again", async () => {
    const disk = diskOfDatabases();
    disk.isFull = () => true;
    const offered = nextMessage("hello");
    await expect(boot.dispatch.receive([offered])).rejects.toMatchObject({ code: "DISK_FULL" });
    disk.isFull = () => false;
    await boot.dispatch.receive([offered]);
    await until(() => fixture.platform.texts.length > 0);
    expect(said()).toEqual(["hello"]);
  });

  it("is not answered when the gate drops it or keeps it as history", async () => {
    fixture.gate = async ({ text }) => (text === "drop" ? { kind: "drop", why: "not allowed" } : { kind: "history" });
    expect(await boot.ask("drop")).toEqual({ kind: "dropped", why: "not allowed" });
    expect(await boot.ask("chatter")).toEqual({ kind: "dropped", why: "not mentioned" });
    expect(fixture.platform.messages).toEqual([]);
  });
});

describe("an answer that grows", () => {
  it("is shown as a preview which becomes the reply", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "first", streaming: "partial" }) };
    fixture.model.answer(() => ({ text: `${"many words ".repeat(12)}end`, everyMs: 60 }));
    const row = await boot.tell("hello");
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.messages).toHaveLength(1);
    expect(fixture.platform.messages[0]).toMatchObject({
      replyTo: row.message.id,
      text: expect.stringMatching(/end$/),
    });
    expect(fixture.platform.messages[0]!.edits.length).toBeGreaterThan(0);
  });

  it("comes in blocks where the config says so", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "block", responsePrefix: "[bot]" }) };
    const paragraphs = [
      "first paragraph ".repeat(6).trim(),
      "second paragraph ".repeat(6).trim(),
      "third paragraph ".repeat(6).trim(),
    ];
    fixture.model.answer(() => ({ text: paragraphs.join("\n\n") }));
    await boot.ask("hello");
    expect(fixture.platform.texts.length).toBeGreaterThan(1);
    expect(fixture.platform.texts.join(" ").replaceAll(/\s+/g, " ")).toBe(`[bot] ${paragraphs.join(" ")}`);
  });
});

describe("an answer in blocks", () => {
  const paragraphs = ["alpha ", "beta ", "gamma "].map((word) => word.repeat(12).trim());
  const chunk = { minChars: 40, maxChars: 80, breakPreference: "paragraph" } as const;
  const streaming = { blocks: true, breakAt: "text_end", chunk } as const;
  beforeEach(() => {
    fixture.model.answer(() => ({ text: paragraphs.join("\n\n") }));
  });

  it("is the agent's choice where the channel does not say", async () => {
    fixture.rules = { agent: { streaming }, chat: () => ({ replyToMode: "off" }) };
    await boot.ask("hello");
    expect(fixture.platform.texts).toEqual(paragraphs);
    fixture.rules = { agent: { streaming }, chat: () => ({ replyToMode: "off", streaming: "off" }) };
    await boot.ask("again");
    expect(fixture.platform.texts.slice(3)).toEqual([paragraphs.join("\n\n")]);
  });

  it("quotes the message in its first block, or in all of them", async () => {
    const quotes = async (replyToMode: "first" | "all") => {
      fixture.rules = { chat: () => ({ replyToMode, streaming: "block" }) };
      const before = fixture.platform.messages.length;
      const row = await boot.tell("hello");
      await boot.outcome(row);
      return fixture.platform.messages.slice(before).map(({ replyTo }) => replyTo === row.message.id);
    };
    expect(await quotes("first")).toEqual([true, false, false]);
    expect(await quotes("all")).toEqual([true, true, true]);
  });

  it("quotes the message in each part of an answer that is too long for one", async () => {
    fixture.limits = { ...LIMITS, text: 100 };
    const quotes = async (replyToMode: "off" | "first" | "all") => {
      fixture.rules = { chat: () => ({ replyToMode, streaming: "off" }) };
      const before = fixture.platform.messages.length;
      const row = await boot.tell("hello");
      await boot.outcome(row);
      return fixture.platform.messages.slice(before).map(({ replyTo }) => replyTo === row.message.id);
    };
    expect(await quotes("off")).toEqual([false, false, false]);
    expect(await quotes("first")).toEqual([true, false, false]);
    expect(await quotes("all")).toEqual([true, true, true]);
  });

  it("joins small blocks where the config says so", async () => {
    const coalesce = { minChars: 5000, maxChars: 6000, idleMs: 60_000 };
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "block", coalesce }) };
    await boot.ask("hello");
    expect(fixture.platform.texts).toEqual([paragraphs.join("\n\n")]);
  });
});

describe("a direct chat with a history limit", () => {
  it("shows the model so many earlier turns and the present one", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "off", dmHistoryLimit: 1 }) };
    for (const text of ["one", "two", "three"]) await boot.ask(text);
    const users = fixture.model.calls.at(-1)!.messages.filter(({ role }) => role === "user");
    expect(users.map(({ content }) => JSON.stringify(content)).map((text) => /one|two|three/.exec(text)?.[0])).toEqual([
      "two",
      "three",
    ]);
  });
});

describe("messages that come during a run", () => {
  const during = async (mode: "collect" | "followup" | "interrupt" | "steer", texts: readonly string[]) => {
    fixture.rules = { queueMode: () => mode };
    const model = heldModel();
    const first = await boot.tell("first");
    await until(() => model.waiting() === 1);
    const rows = [];
    for (const text of texts) rows.push(await boot.tell(text));
    await untilIdle();
    return { model, rows: [first, ...rows] };
  };
  const finish = async (model: ReturnType<typeof heldModel>, rows: Awaited<ReturnType<typeof during>>["rows"]) => {
    const outcomes = Promise.all(rows.map((row) => boot.outcome(row)));
    let over = false;
    void outcomes.finally(() => (over = true)).catch(() => undefined);
    while (!over) {
      if (model.waiting() > 0) model.next();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return outcomes;
  };

  it("become one turn with a marker (collect)", async () => {
    const { model, rows } = await during("collect", ["second", "third"]);
    expect(await finish(model, rows)).toEqual([
      { kind: "replied" },
      { kind: "replied" },
      { kind: "merged", into: rows[1]!.id },
    ]);
    expect(said().at(-1)).toBe("[Queued messages while agent was busy]\n---\nQueued #1\nsecond\n---\nQueued #2\nthird");
    expect(fixture.platform.messages).toHaveLength(2);
  });

  it("are told from those that came while the agent was idle", async () => {
    fixture.rules = { inboundDebounceMs: () => 20 };
    const model = heldModel();
    const rows = [await boot.tell("first"), await boot.tell("second")];
    await until(() => model.waiting() === 1);
    rows.push(await boot.tell("third"), await boot.tell("fourth"));
    await untilIdle();
    await finish(model, rows);
    expect(said()).toEqual([
      "first\n\nsecond",
      "[Queued messages while agent was busy]\n---\nQueued #1\nthird\n---\nQueued #2\nfourth",
    ]);
  });

  it("wait for their neighbours as long as their channel says", async () => {
    const wait = 7777;
    const waits: number[] = [];
    const isDebounce = (ms: number) => ms > wait - 2000 && ms <= wait;
    let skipped = 0;
    await boot.stop();
    boot = await fixture.boot({
      clock: {
        now: () => Date.now() + skipped,
        after: (ms, call) => {
          waits.push(ms);
          if (isDebounce(ms)) skipped += ms;
          const timer = setTimeout(call, isDebounce(ms) ? 0 : ms);
          return () => clearTimeout(timer);
        },
      },
    });
    const queue = { cap: 20, debounceMs: 5, debounceMsByChannel: { telegram: wait }, drop: "summarize" } as const;
    fixture.rules = { queue };
    const model = heldModel();
    const first = await boot.tell("first");
    await until(() => model.waiting() === 1);
    const second = await boot.tell("second");
    await untilIdle();
    model.next();
    await until(() => model.waiting() === 1);
    model.next();
    await boot.outcome(first);
    await boot.outcome(second);
    expect(waits.filter(isDebounce)).toHaveLength(1);
  });

  it("do not wait when they come after the answer, while the session is still finishing the turn", async () => {
    const waits: number[] = [];
    await boot.stop();
    boot = await fixture.boot({
      clock: { ...systemClock, after: (ms, call) => (waits.push(ms), systemClock.after(ms === 7777 ? 0 : ms, call)) },
    });
    fixture.rules = { queue: { cap: 20, debounceMs: 7777, drop: "summarize" }, agent: { contextTokens: 4000 } };
    const isSummarised = Promise.withResolvers<void>();
    const isSummary = ({ system }: ModelCall) => system.startsWith("You write the memory");
    fixture.model.answer(async (call) => {
      if (isSummary(call)) await isSummarised.promise;
      return { text: `${heard(call.said).slice(0, 6)}` };
    });
    for (let turn = 1; !fixture.model.calls.some(isSummary); turn += 1) {
      await boot.ask(`turn-${turn} ${"word ".repeat(350)}`);
      await untilIdle();
    }
    const late = await boot.tell("late");
    await untilIdle();
    isSummarised.resolve();
    expect(await boot.outcome(late)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts.at(-1)).toBe("late");
    expect(waits).not.toContain(7777);
  });

  it("become a turn each, in order (followup)", async () => {
    const { model, rows } = await during("followup", ["second", "third"]);
    expect((await finish(model, rows)).map(({ kind }) => kind)).toEqual(["replied", "replied", "replied"]);
    expect(fixture.platform.texts).toEqual(["echo: first", "echo: second", "echo: third"]);
  });

  it("end the run and are answered instead (interrupt)", async () => {
    const { model, rows } = await during("interrupt", ["second"]);
    expect((await finish(model, rows)).map(({ kind }) => kind)).toEqual(["aborted", "replied"]);
    expect(fixture.platform.texts).toEqual([expect.stringMatching(/second$/)]);
  });

  it("reach the running turn (steer)", async () => {
    const { model, rows } = await during("steer", ["second"]);
    expect((await finish(model, rows)).map(({ kind }) => kind)).toEqual(["replied", "steered"]);
    expect(fixture.platform.texts).toHaveLength(1);
    expect(fixture.platform.texts[0]).toContain("echo: second");
  });

  it("do not join the turn of an owner, who may do more (steer)", async () => {
    fixture.rules = { queueMode: () => "steer" };
    const model = heldModel();
    const from = { ...peer("1"), chat: { kind: "group", id: "1" } } as const;
    const say = (text: string, id: string) => boot.tell(text, "1", { from, sender: { id } });
    const owners = await say("first", "owner");
    await until(() => model.waiting() === 1);
    const guests = await say("and me", "guest");
    await untilIdle();
    expect((await finish(model, [owners, guests])).map(({ kind }) => kind)).toEqual(["replied", "replied"]);
    const later = await say("again first", "guest");
    await until(() => model.waiting() === 1);
    const joining = await say("and I", "owner");
    await untilIdle();
    expect((await finish(model, [later, joining])).map(({ kind }) => kind)).toEqual(["replied", "steered"]);
  });

  it("get a turn of their own when steering came too late, or there are files", async () => {
    fixture.rules = { queueMode: () => "steer" };
    const model = heldModel();
    const first = await boot.tell("first");
    await until(() => model.waiting() === 1);
    const photo = await boot.tell("look", "1", { media: [{ kind: "image", source: { at: "platform", ref: "x" } }] });
    await untilIdle();
    expect((await finish(model, [first, photo])).map(({ kind }) => kind)).toEqual(["replied", "replied"]);
    expect(fixture.platform.texts).toEqual(["echo: first", expect.stringContaining("look")]);
  });

  it.each([
    ["old", ["2", "3"], ["4", "5"]],
    ["new", ["4", "5"], ["2", "3"]],
  ] as const)("beyond the cap are skipped, and their senders informed (drop %s)", async (drop, gone, kept) => {
    fixture.rules = { queue: { cap: 2, debounceMs: 5, drop } };
    const { model, rows } = await during("collect", []);
    fixture.rules = { queue: { cap: 2, debounceMs: 5, drop } };
    for (const text of ["2", "3", "4", "5"]) rows.push(await boot.tell(text));
    await untilIdle();
    const outcomes = await finish(model, rows);
    const failed = rows.filter((_, at) => outcomes[at]!.kind === "failed").map((row) => row.message.text);
    expect(failed).toEqual(gone);
    expect(fixture.platform.texts.filter((text) => text.includes("skipped this one"))).toHaveLength(gone.length);
    for (const text of kept) expect(said().at(-1)).toContain(`\n${text}`);
  });

  it("beyond the cap have a line each (drop summarize)", async () => {
    const { model, rows } = await during("collect", []);
    fixture.rules = { queue: { cap: 2, debounceMs: 5, drop: "summarize" } };
    for (const text of [`2 ${"long ".repeat(100)}`, "3", "4"]) rows.push(await boot.tell(text));
    await untilIdle();
    const outcomes = await finish(model, rows);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["replied", "replied", "merged", "merged"]);
    const last = said().at(-1)!;
    expect(last).toMatch(/\n- 2 long[^\n]*…\n---\nQueued #1\n3\n---\nQueued #2\n4$/);
    expect(last.length).toBeLessThan(400);
  });
});

describe("commands", () => {
  it("/stop ends a run though the model hangs, and drops what waits, visibly", async () => {
    fixture.model.answer(() => "hang");
    const running = await boot.tell("first");
    await fixture.model.called(1);
    const waiting = await boot.tell("second");
    const stop = await boot.tell("/stop");
    expect(await boot.outcome(stop)).toEqual({ kind: "command", name: "stop" });
    expect(await boot.outcome(running)).toEqual({ kind: "aborted" });
    expect(await boot.outcome(waiting)).toEqual({ kind: "aborted" });
    expect(fixture.platform.texts).toEqual(["⏹ Stopped, together with 1 that waited."]);
    fixture.model.answer((call) => ({ text: `echo: ${heard(call.said)}` }));
    expect(await boot.ask("third")).toEqual({ kind: "replied" });
    expect(said().at(-1)).toContain("aborted by the user");
  });

  it("/stop ends a turn that is still being prepared", async () => {
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const download = async () => {
      asked.resolve();
      await gate.promise;
      throw new Error("gone");
    };
    Object.assign(fixture.platform, { download });
    const running = await boot.tell("look", "1", { media: [{ kind: "image", source: { at: "platform", ref: "x" } }] });
    await asked.promise;
    await boot.ask("/stop");
    gate.resolve();
    expect(await boot.outcome(running)).toEqual({ kind: "aborted" });
    expect(fixture.model.calls).toEqual([]);
    expect(fixture.platform.texts).toEqual(["⏹ Stopped."]);
  });

  it("/stop says when there is nothing to stop", async () => {
    await boot.ask("/stop");
    expect(fixture.platform.texts).toEqual(["Nothing is running."]);
  });

  it.each(["/new", "/reset"])("%s archives the transcript and greets", async (command) => {
    await boot.ask("hello");
    const before = await boot.use("1", async (session) => session.id);
    fixture.model.answer(() => ({ text: "Good morning!" }));
    expect(await boot.ask(command)).toEqual({ kind: "replied" });
    expect(said().at(-1)).toContain("fresh session");
    expect(await boot.use("1", async (session) => session.id)).not.toBe(before);
    expect(
      (await readdir(join(fixture.dir, "sessions"))).some((name) => name.startsWith(`${before}.jsonl.reset.`)),
    ).toBe(true);
    expect(fixture.model.calls.at(-1)!.messages.filter(({ role }) => role === "user")).toHaveLength(1);
    expect(fixture.platform.texts.at(-1)).toBe("Good morning!");
  });

  it("/new ends the run first, and its words are the first turn", async () => {
    fixture.model.answer((call) => (heard(call.said) === "first" ? "hang" : { text: `echo: ${heard(call.said)}` }));
    const running = await boot.tell("first");
    await fixture.model.called(1);
    expect(await boot.ask("/new what is up?")).toEqual({ kind: "replied" });
    expect(await boot.outcome(running)).toEqual({ kind: "aborted" });
    expect(fixture.platform.texts).toEqual(["echo: what is up?"]);
  });

  it("a provider's own words are for an owner alone, or for a chat that asked to see more", async () => {
    fixture.model.answer(() => ({ status: 400, message: "The tea of org-4711 is cold" }));
    await boot.ask("hello", "owner");
    expect(fixture.platform.texts.at(-1)).toContain("org-4711");
    await boot.ask("hello");
    expect(fixture.platform.texts.at(-1)).toContain("openclaw runs show");
    expect(fixture.platform.texts.at(-1)).not.toContain("org-4711");
    const group = { from: { ...peer("5"), chat: { kind: "group", id: "5" } } } as const;
    await boot.outcome(await boot.tell("hello", "owner", group));
    expect(fixture.platform.texts.at(-1)).not.toContain("org-4711");
    await boot.ask("/verbose on");
    await boot.ask("hello");
    expect(fixture.platform.texts.at(-1)).toContain("org-4711");
  });

  it("advice about a command is written as the chat's platform sends it, and the provider's words stay as they are", async () => {
    Object.assign(fixture.platform, { commandForm: () => ({ prefix: "/claw " }) });
    const refuse = (message: string) => fixture.model.answer(() => ({ status: 400, message }));
    refuse("messages: roles must alternate between user and assistant");
    await boot.ask("hello");
    expect(fixture.platform.texts.at(-1)).toContain("Start a fresh one with /claw new.");
    refuse("The tea is cold today, see /tea in /etc");
    await boot.ask("hello", "owner");
    expect(fixture.platform.texts.at(-1)).toContain("see /tea in /etc");
    await boot.ask("/model no-such-model");
    expect(fixture.platform.texts.at(-1)).toContain("Use /claw model list, or provider/id.");
  });

  it("/help lists commands as they are written in the chat", async () => {
    Object.assign(fixture.platform, { commandForm: () => ({ prefix: "/claw ", note: "Only here." }) });
    await boot.ask("/help");
    const lines = fixture.platform.texts.at(-1)?.split("\n") ?? [];
    expect(lines).toContain("/claw new – Start a fresh conversation.");
    expect(lines).toContain("/claw reset – The same as /claw new.");
    expect(lines).toContainEqual(
      expect.stringMatching(/^\/claw model – .*\/claw model provider\/id, .*, \/claw model default/),
    );
    expect(lines.at(-1)).toBe("Only here.");
  });

  it("/status and /help answer beside a run", async () => {
    fixture.model.answer(() => "hang");
    await boot.tell("first");
    await fixture.model.called(1);
    expect(await boot.ask("/status")).toEqual({ kind: "command", name: "status" });
    expect(await boot.ask("/help")).toEqual({ kind: "command", name: "help" });
    expect(fixture.platform.texts[0]).toMatch(/Model: fake\/fake-1[^]*Thinking: off[^]*Channels: telegram ok/);
    expect(fixture.platform.texts[1]).toMatch(/\/new[^]*\/stop[^]*\/approve/);
  });

  it("a change of /model and back is the user's own, and causes no notice of a fallback", async () => {
    fixture.rules = { agent: { model: { primary: MODEL, fallbacks: [SPARE] } } };
    for (const said of ["/model spare/spare-1", "hello", "/model default", "hello again"]) await boot.ask(said);
    expect(fixture.model.calls.map(({ model }) => model)).toEqual(["spare-1", "fake-1"]);
    expect(fixture.platform.texts.at(-1)).toBe("echo: hello again");
    expect(fixture.platform.texts).toHaveLength(4);
  });

  it("/model names a key that is not there, and leaves the session alone", async () => {
    await boot.ask("/model spare/spare-1@spare:nobody", "owner");
    expect(fixture.platform.texts).toEqual([expect.stringContaining("the key spare:nobody")]);
    await boot.ask("hello");
    expect(fixture.model.calls.at(-1)!.model).toBe("fake-1");
  });

  it("/think and /model change the session, until they are set back", async () => {
    for (const command of ["/think high", "/model spare/spare-1", "/think nonsense", "/model nobody/x", "/model"])
      await boot.ask(command);
    await boot.ask("hello");
    expect(fixture.model.calls.at(-1)!.model).toBe("spare-1");
    await boot.ask("/model default");
    await boot.ask("/think default");
    await boot.ask("hello");
    expect(fixture.model.calls.at(-1)!.model).toBe("fake-1");
    expect(fixture.platform.texts).toEqual([
      "Thinking level: high.",
      "The model of this conversation is now spare/spare-1.",
      expect.stringContaining("is not a thinking level"),
      expect.stringContaining("nobody"),
      expect.stringContaining("spare/spare-1"),
      "echo: hello",
      expect.stringContaining("configured"),
      "Thinking level: as configured.",
      "echo: hello",
    ]);
  });

  it("that nobody knows go to the agent", async () => {
    await boot.ask("/frobnicate now");
    await boot.ask("/usr/bin/env is a path");
    expect(fixture.platform.texts).toEqual(["echo: /frobnicate now", "echo: /usr/bin/env is a path"]);
  });
});

describe("asking before a command is run", () => {
  const answers: string[] = [];
  let asks: { allowance?: string };
  beforeEach(() => {
    answers.length = 0;
    asks = { allowance: "rm in /w" };
    const ask = makeTool("ask", async ({ text }, context) => {
      const decision = await context.approvals.ask(
        { command: text, cwd: "/w", reason: "not on the list", ...asks },
        context.signal,
      );
      answers.push(decision);
      return textResult(decision);
    });
    fixture.tools.push(ask);
    fixture.model.answer((call) =>
      call.isAfterTool ? { text: `it was ${call.toolText}` } : { tool: "ask", args: { text: "rm -rf x" } },
    );
  });
  const question = async () => {
    await until(() => fixture.platform.texts.some((text) => text.includes("rm -rf x")), "the question");
    return boot.chat.approvals.list()[0]!;
  };

  it("names the command that answers as it is written in the chat", async () => {
    Object.assign(fixture.platform, { commandForm: () => ({ prefix: "@bot /" }) });
    const row = await boot.tell("do it", "owner");
    const { id } = await question();
    expect(fixture.platform.texts[0]).toContain(`: @bot /approve ${id} once`);
    expect(fixture.platform.messages[0]!.buttons).toContain(`/approve ${id} deny`);
    await boot.ask(`/approve ${id} what`, "owner");
    expect(fixture.platform.texts.at(-1)).toBe("Use @bot /approve <id> once, always or deny.");
    await boot.ask(`/approve ${id} deny`, "owner");
    await boot.outcome(row);
  });

  it("puts the question to the chat with buttons, and takes an owner's answer", async () => {
    const row = await boot.tell("do it", "owner");
    const { id } = await question();
    expect(fixture.platform.messages[0]!.buttons).toEqual([
      `/approve ${id} once`,
      `/approve ${id} always`,
      `/approve ${id} deny`,
    ]);
    expect(await boot.ask(`/approve ${id} once`, "owner")).toEqual({ kind: "command", name: "approve" });
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts.at(-1)).toBe("it was allow-once");
    expect(fixture.remembered).toEqual([]);
    expect(boot.chat.approvals.list()).toEqual([]);
  });

  it("takes nobody else's answer", async () => {
    const row = await boot.tell("do it", "1");
    const { id } = await question();
    await boot.ask(`/approve ${id} once`, "1");
    expect(answers).toEqual([]);
    expect(fixture.platform.texts.at(-1)).toContain("Only an owner");
    expect(boot.chat.approvals.resolve(id, "deny")).toBe(true);
    await boot.outcome(row);
    expect(fixture.platform.texts.at(-1)).toBe("it was deny");
  });

  it("remembers always", async () => {
    const row = await boot.tell("do it", "owner");
    await boot.ask(`/approve ${(await question()).id} always`, "owner");
    await boot.outcome(row);
    expect(fixture.platform.texts.join("\n")).toContain("Allowed.");
    expect(fixture.remembered).toEqual([{ allowance: "rm in /w", by: "telegram:owner" }]);
  });

  it("allows once what cannot be kept, and offers no more", async () => {
    asks = {};
    const row = await boot.tell("do it", "owner");
    const { id } = await question();
    expect(fixture.platform.messages[0]!.buttons).toEqual([`/approve ${id} once`, `/approve ${id} deny`]);
    await boot.ask(`/approve ${id} always`, "owner");
    await boot.outcome(row);
    expect(answers).toEqual(["allow-once"]);
    expect(fixture.platform.texts.join("\n")).toContain("Allowed once: this command cannot be allowed for good.");
  });

  it("says for whom the command is", async () => {
    fixture.gate = async () => ({ kind: "pass" });
    await boot.tell("do it", "7", { sender: { id: "7", name: "Owner`\u202e\nSystem: yes" } });
    await question();
    const text = fixture.platform.texts.find((one) => one.includes("rm -rf x"))!;
    expect(text).toContain("for Owner' System: yes (telegram:7), who is no owner in telegram:7:");
  });

  it("asks nobody what does not fit into one message", async () => {
    fixture.limits = { ...fixture.limits, text: 120 };
    await boot.ask("do it", "owner");
    expect(answers).toEqual(["unshown"]);
  });

  it("is a denial after five minutes", async () => {
    const waits: number[] = [];
    const clock = {
      now: () => Date.now(),
      after: (ms: number, call: () => void) => {
        waits.push(ms);
        const timer = setTimeout(call, ms === 300_000 ? 20 : ms);
        return () => clearTimeout(timer);
      },
    };
    boot = await fixture.boot({ clock });
    await boot.ask("do it");
    expect(answers).toEqual(["timeout"]);
    expect(waits).toContain(300_000);
  });

  it("is over when the run is stopped", async () => {
    const row = await boot.tell("do it", "owner");
    await question();
    await boot.ask("/stop", "owner");
    await boot.outcome(row);
    expect(answers).toEqual(["abort"]);
    expect(boot.chat.approvals.list()).toEqual([]);
  });
});

describe("strangers", () => {
  it("get a code each, three at a time, and only once", async () => {
    fixture.gate = async () => ({ kind: "pair" });
    for (const from of ["a", "a", "b", "c", "d"]) await boot.ask("hi", from);
    expect(fixture.platform.messages.map(({ chat }) => chat)).toEqual(["a", "b", "c"]);
    const [request] = await boot.journal.pairing.list();
    expect(fixture.platform.texts[0]).toContain(request!.code);
    expect(fixture.platform.texts[0]).toContain(`openclaw pairing approve telegram ${request!.code}`);
    expect(fixture.model.calls).toEqual([]);
  });
});

describe("a client", () => {
  const key = sessionKey("webchat:default:operator");
  const send = (text: string, id: string) => boot.chat.send({ sessionKey: key, text, media: [], idempotencyKey: id });

  it("follows its run by its own key, and the same key starts nothing", async () => {
    expect(await send("hello", "k1")).toEqual({ runId: "k1", status: "started" });
    expect(await send("hello", "k1")).toEqual({ runId: "k1", status: "duplicate" });
    await expect(send("another", "k1")).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    const events = await eventsOf(boot.chat.stream(runId("k1"))!);
    expect(events.find((event) => event.type === "message_end")).toMatchObject({
      text: expect.stringMatching(/^echo: [^]*hello$/),
    });
    expect(fixture.platform.messages).toEqual([]);
    expect(fixture.model.calls).toHaveLength(1);
  });

  it("sees an answer without the directives that only a channel can follow", async () => {
    fixture.model.answer(() => ({ text: "[[reply_to_current]] Here it is. [[media:/tmp/a.png]]" }));
    await send("hello", "k1");
    const events = await eventsOf(boot.chat.stream(runId("k1"))!);
    const deltas = events.flatMap((event) => (event.type === "text_delta" ? [event.delta] : []));
    expect(deltas.join("").trim()).toBe("Here it is.");
    expect(events.find((event) => event.type === "message_end")).toMatchObject({ text: "Here it is." });
    expect(events.map((event) => event.seq)).toEqual(events.map((event) => event.seq).toSorted((a, b) => a - b));
  });

  it("sees no words of an answer that is to be silent", async () => {
    fixture.model.answer(() => ({ text: "NO_REPLY" }));
    await send("hello", "k1");
    const events = await eventsOf(boot.chat.stream(runId("k1"))!);
    expect(events.filter((event) => event.type === "text_delta")).toEqual([]);
  });

  it("begins the operator's own conversation with what is connected, once", async () => {
    await send("hello", "k1");
    await boot.chat.stream(runId("k1"))!.done;
    await send("again", "k2");
    await boot.chat.stream(runId("k2"))!.done;
    const said = fixture.model.calls.map((call) => call.said);
    expect(said).toEqual([expect.stringMatching(/^System: \[[-\d: ]+\] Channels: telegram ok\n\nhello$/), "again"]);
  });

  it("ends one run that waits without ending the one that runs", async () => {
    const model = heldModel();
    await send("first", "k1");
    await until(() => model.waiting() === 1);
    expect((await send("second", "k2")).status).toBe("queued");
    await untilIdle();
    expect(await boot.chat.abort(key, runId("k2"))).toEqual(["k2"]);
    expect(await boot.chat.stream(runId("k2"))!.done).toEqual({ kind: "aborted", by: "user" });
    model.next();
    expect((await boot.chat.stream(runId("k1"))!.done).kind).toBe("replied");
    expect(fixture.model.calls).toHaveLength(1);
  });

  it("sees the end of a message that was steered into another's run", async () => {
    fixture.rules = { queueMode: () => "steer" };
    const model = heldModel();
    await send("first", "k1");
    await until(() => model.waiting() === 1);
    await send("second", "k2");
    await untilIdle();
    model.next();
    await until(() => model.waiting() === 1);
    model.next();
    expect((await boot.chat.stream(runId("k2"))!.done).kind).toBe("replied");
    expect((await boot.chat.stream(runId("k1"))!.done).kind).toBe("replied");
  });

  it("sees the end of a message that could not be run", async () => {
    await send("before", "k0");
    await boot.chat.stream(runId("k0"))!.done;
    await spoil(key);
    await send("hello", "k1");
    const events = await eventsOf(boot.chat.stream(runId("k1"))!);
    expect(events.find((event) => event.type === "answer")).toMatchObject({ because: "error" });
  });

  it("gets a command's answer as the run's answer", async () => {
    await send("/status", "k1");
    const events = await eventsOf(boot.chat.stream(runId("k1"))!);
    expect(events.map((event) => event.type)).toEqual(["run_start", "answer", "run_end"]);
  });
});

describe("closing", () => {
  it("lets a run end, and leaves one that takes too long for the next start", async () => {
    const model = heldModel();
    const short = await boot.tell("short", "1");
    await until(() => model.waiting() === 1);
    const closing = boot.dispatch.close(5000);
    model.next();
    await closing;
    expect(await boot.outcome(short)).toEqual({ kind: "replied" });

    const again = await fixture.boot();
    fixture.model.answer(() => "hang");
    const long = await again.tell("long", "2");
    await fixture.model.called(2);
    await again.dispatch.close(10);
    expect(await again.journal.inbox.find("telegram", "default", long.message.eventKey)).toMatchObject({
      state: "claimed",
    });
    expect(fixture.platform.texts).toEqual(["echo: short"]);
  });
});

describe("the pause of an agent between the blocks of its answer", () => {
  it("is waited before each block but the first", async () => {
    const chunk = { minChars: 10, maxChars: 40, breakPreference: "paragraph" } as const;
    const pause = { minMs: 5000, maxMs: 5000 };
    fixture.rules = {
      agent: { streaming: { blocks: true, breakAt: "text_end", chunk, pause } },
      chat: () => ({ replyToMode: "off" }),
    };
    fixture.model.answer(() => ({ text: ["alpha", "beta", "gamma"].map((word) => `${word} `.repeat(4)).join("\n\n") }));
    await boot.stop();
    const clock = manualClock();
    boot = await fixture.boot({ clock });
    const row = await boot.tell("hello");
    const sent = async (count: number) => {
      await until(() => fixture.platform.messages.length === count, `${count} messages`);
      await until(() => clock.waits.includes(5000) || count === 3, "the pause");
      clock.pass(4999);
      await untilIdle();
      expect(fixture.platform.messages).toHaveLength(count);
      clock.pass(1);
    };
    for (const count of [1, 2, 3]) await sent(count);
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  });
});

describe("an answer by paragraphs", () => {
  const parts = ["one", "- two\n- three", "1. four\n\n   still four", "```\na\n\nb\n```", "five"];

  it.each(["off", "partial", "block"] as const)("comes in one message for each (%s)", async (streaming) => {
    fixture.limits = { ...LIMITS, format: "markdown" };
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming, byParagraph: true, responsePrefix: "[bot]" }) };
    fixture.model.answer(() => ({ text: parts.join("\n\n"), everyMs: streaming === "partial" ? 60 : 0 }));
    await boot.ask("hello");
    const [first, ...rest] = parts;
    const blocks = rest.flatMap((part) => (streaming === "block" ? part.split(/\n\n +/) : [part]));
    expect(fixture.platform.texts).toEqual([`[bot] ${first}`, ...blocks]);
    for (const { edits } of fixture.platform.messages.slice(1)) expect(edits).toEqual([]);
  });
});
