import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createModels } from "../../src/providers/catalog.ts";
import type { ApprovalDecision } from "../../src/types/run/tool.ts";
import { manualClock } from "../kit/clock.ts";
import { until } from "../kit/until.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import { eventsOf, openedByPi, openRunFixture, userTurn, type RunFixture } from "../kit/run.ts";
import { MODEL, SPARE } from "../kit/models.ts";
import type { AssistantMessage } from "../../src/types/run/model.ts";
import { answered, asked, called, given } from "../kit/transcript-messages.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const textsOf = (events: Awaited<ReturnType<typeof eventsOf>>) =>
  events.flatMap((event) => (event.type === "message_end" ? [event.text] : []));

describe("a run", () => {
  it("answers, stores both turns and sends each watcher everything in order", async () => {
    fixture.model.answer(() => ({ text: "one two three" }));
    const run = fixture.start();
    const [first, second] = await Promise.all([eventsOf(run.stream), eventsOf(run.stream)]);
    const late = await eventsOf(run.stream);
    expect(second).toEqual(first);
    expect(textsOf(late)).toEqual(textsOf(first));
    expect(late.filter(({ type }) => type !== "text_delta")).toEqual(first.filter(({ type }) => type !== "text_delta"));
    expect(first.map((event) => event.seq)).toEqual(first.map((_, at) => at + 1));
    expect(first[0]).toMatchObject({ type: "run_start" });
    expect(first.at(-1)).toMatchObject({ type: "run_end", result: { kind: "replied", stop: "stop" } });
    expect(textsOf(first)).toEqual(["one two three"]);
    expect(await fixture.transcript()).toEqual(["user: hello", "assistant: one two three"]);
    expect(openedByPi(fixture.session.file)).toEqual(["user: hello", "assistant: one two three"]);
  });

  it("lets a watcher begin in the middle", async () => {
    const run = fixture.start();
    await run.stream.done;
    const all = await eventsOf(run.stream);
    const tail: number[] = [];
    for await (const event of run.stream.watch(3)) tail.push(event.seq);
    expect(tail).toEqual(all.slice(2).map((event) => event.seq));
  });

  it("stores the turn on disk before the model is asked", async () => {
    let seen: string[] = [];
    fixture.model.answer(async () => {
      seen = await fixture.transcript();
      return { text: "ok" };
    });
    await fixture.start().stream.done;
    expect(seen).toEqual(["user: hello"]);
  });

  it("keeps thoughts out of what is shown", async () => {
    fixture.model.answer(() => ({ text: "<think>secret plan</think>visible <final>words</final>" }));
    const events = await eventsOf(fixture.start().stream);
    expect(textsOf(events)).toEqual(["visible words"]);
    const shown = events.flatMap((event) => (event.type === "text_delta" ? [event.delta] : [])).join("");
    expect(shown).toBe("visible words");
    const ends = events.filter((event) => event.type === "text_delta").map((event) => event.text);
    expect(ends.at(-1)).toBe("visible words");
    const thoughts = events.flatMap((event) => (event.type === "thinking_delta" ? [event.delta] : []));
    expect(thoughts.join("")).toBe("secret plan");
  });

  it("adds up what its calls cost", async () => {
    fixture.model.answer((_, number) => (number < 3 ? { tool: "look", args: {} } : { text: "done" }));
    const events = await eventsOf(fixture.start({ tools: [makeTool("look", async () => textResult("seen"))] }).stream);
    const end = events.at(-1);
    expect(end).toMatchObject({
      receipt: { calls: 3, model: MODEL, usage: { input: 30, output: 15, totalTokens: 45 } },
    });
  });
});

describe("tools", () => {
  it("run in a loop, and their errors are results that the model sees", async () => {
    fixture.model.answer((call, number) => {
      if (number === 1) return { tool: "look", args: { text: "a" } };
      if (number === 2) return { tool: "look", args: { text: "b" } };
      if (number === 3) return { tool: "nothing-like-it", args: {} };
      return { text: `heard: ${call.messages.filter((message) => message.role === "tool").length}` };
    });
    const look = makeTool("look", async ({ text }) => {
      if (text === "b") throw new Error("b is not there");
      return textResult(`saw ${text}`);
    });
    const events = await eventsOf(fixture.start({ tools: [look] }).stream);
    expect(events.filter((event) => event.type === "tool_end").map(({ isError, text }) => [isError, text])).toEqual([
      [false, "saw a"],
      [true, "b is not there"],
      [true, expect.stringContaining("nothing-like-it")],
    ]);
    expect(textsOf(events).at(-1)).toBe("heard: 3");
    expect(fixture.model.calls[2]!.toolText).toBe("b is not there");
    expect(openedByPi(fixture.session.file)).toHaveLength(8);
  });
});

describe("the events of a tool's call", () => {
  it("names an image with its size, and what the call was about", async () => {
    fixture.model.answer((_, number) => (number === 1 ? { tool: "look", args: { path: "a.png" } } : { text: "seen" }));
    const data = Buffer.alloc(10, 7).toString("base64");
    const look = makeTool("look", async () => ({
      content: [
        { type: "text", text: "a picture" },
        { type: "image", data, mimeType: "image/png" },
      ],
    }));
    const events = await eventsOf(fixture.start({ tools: [look] }).stream);
    expect(events.find((event) => event.type === "tool_end")).toMatchObject({
      meta: "a.png",
      text: "a picture\n[image]",
      content: [
        { type: "text", text: "a picture" },
        { type: "image", mimeType: "image/png", bytes: 10, omitted: true },
      ],
    });
    expect(JSON.stringify(events.filter((event) => event.type === "tool_end"))).not.toContain(data);
  });

  it("keeps the last error for the receipt, whatever came after it, shortened", async () => {
    const calls = [
      { command: "make test", text: "bad" },
      { command: "make lint", text: "bad" },
      { command: "ls", text: "good" },
    ];
    fixture.model.answer((_, number) => {
      const args = calls[number - 1];
      return args ? { tool: "look", args } : { text: "done" };
    });
    const look = makeTool("look", async ({ text }) => {
      if (text === "bad") throw new Error(`line one\n\n${"x".repeat(5000)} the end`);
      return textResult("fine");
    });
    const events = await eventsOf(fixture.start({ tools: [look] }).stream);
    const { receipt } = events.findLast((event) => event.type === "run_end")!;
    expect(receipt.lastToolError).toMatchObject({ toolName: "look", meta: "make lint" });
    expect(receipt.lastToolError?.error).toMatch(/^line one x+.*left out.*x+ the end$/);
    expect(receipt.lastToolError?.error?.length).toBeLessThanOrEqual(400);
  });

  it("names the files that the answer brings", async () => {
    fixture.model.answer(() => ({ text: "Here. [[media:./a.png]] `[[media:no.png]]`" }));
    const events = await eventsOf(fixture.start().stream);
    expect(events.find((event) => event.type === "message_end")).toMatchObject({ media: ["./a.png"] });
  });
});

describe("a call whose arguments were cut off", () => {
  it.each(["openai-completions", "anthropic-messages"])("is not run, and the model is informed (%s)", async (api) => {
    fixture.model.answer((_, number) => {
      if (number === 1) return { text: "", tool: "write", args: { text: "rm -rf ./build" }, argsCut: 16 };
      return { text: "I call it again." };
    });
    const ran: string[] = [];
    const write = makeTool("write", async ({ text }) => textResult((ran.push(text), "written")), true);
    const provider = { baseUrl: fixture.model.urlFor(api), api, apiKey: "sk-0123456789", models: [{ id: "fake-1" }] };
    const models = createModels({ providers: { fake: provider }, env: {}, probeLocal: false });
    const events = await eventsOf(fixture.start({ models, tools: [write] }).stream);
    expect(ran).toEqual([]);
    const ends = events.filter((event) => event.type === "tool_end");
    expect(ends).toMatchObject([{ name: "write", isError: true, text: expect.stringContaining("cut off") }]);
    expect(textsOf(events).at(-1)).toBe("I call it again.");
    expect(events.at(-1)).toMatchObject({ type: "run_end", result: { kind: "replied" } });
  });
});

describe("a server that cannot answer yet", () => {
  it("is waited for while it loads its model", async () => {
    fixture.model.answer((_, number) =>
      number < 8 ? { status: 503, message: "Loading model" } : { text: "Here I am." },
    );
    const events = await eventsOf(fixture.start().stream);
    expect(events.at(-1)).toMatchObject({ type: "run_end", result: { kind: "replied" } });
    expect(fixture.clock.waits.filter((ms) => [2000, 4000, 8000, 15_000].includes(ms))).toEqual([
      2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000,
    ]);
  });
});

describe("a limit that a refusal names", () => {
  const refused = (message: string) => ({ status: 400, message });

  it("of the answer lowers what is asked for it", async () => {
    const words = "max_tokens is too large: 4096. This model supports at most 1000 completion tokens.";
    fixture.model.answer((call) => ((call.maxTokens ?? 0) > 1000 ? refused(words) : { text: "Short." }));
    const events = await eventsOf(fixture.start().stream);
    expect(events.at(-1)).toMatchObject({ result: { kind: "replied" }, receipt: { calls: 1 } });
    expect(fixture.model.calls.map((call) => call.maxTokens)).toEqual([4096, 1000]);
    const other = await eventsOf(fixture.start({ turn: userTurn("again", "turn-2") }).stream);
    expect(other.at(-1)).toMatchObject({ result: { kind: "replied" } });
    // The next run knows it.
    expect(fixture.model.calls.map((call) => call.maxTokens)).toEqual([4096, 1000, 1000]);
  });

  it("of one message is reported with its figures", async () => {
    fixture.model.answer(() =>
      refused("This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens."),
    );
    const events = await eventsOf(fixture.start().stream);
    expect(events.at(-1)).toMatchObject({
      result: { failure: { kind: "context_overflow", limitTokens: 4096, requestedTokens: 5000, isAlone: true } },
    });
  });
});

describe("a stream that cannot be read", () => {
  it("is reported as that, without our own abort", async () => {
    const raw = {
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: "data: {not json\n\ndata: more\n\n",
    };
    fixture.model.answer(() => ({ raw }));
    const end = (await eventsOf(fixture.start().stream)).at(-1);
    expect(end).toMatchObject({ result: { kind: "failed", failure: { kind: "cut_off" } } });
    expect(JSON.stringify(end)).not.toContain("operation was aborted");
  });

  it.each(["", "[[reply_to_current]]", "<think>hm</think> [[tts]]"])(
    "and an answer without a word has no status in its text: %j",
    async (text) => {
      fixture.model.answer(() => ({ text }));
      const end = (await eventsOf(fixture.start().stream)).at(-1);
      expect(end).toMatchObject({ result: { failure: { message: "The model ended without an answer." } } });
    },
  );
});

describe("an abort", () => {
  /** An abort waits for no clock: whatever has not ended when this one stands still never ends. */
  const clock = manualClock();

  it("ends a run at once though its tool does not listen", async () => {
    const begun = Promise.withResolvers<void>();
    fixture.model.answer(() => ({ tool: "sleep", args: {} }));
    const sleep = makeTool("sleep", () => {
      begun.resolve();
      return new Promise(() => undefined);
    });
    const run = fixture.start({ tools: [sleep], clock });
    await begun.promise;
    run.abort("user");
    expect(await run.stream.done).toEqual({ kind: "aborted", by: "user" });
    openedByPi(fixture.session.file);
  });

  it("ends a run at once while the model hangs, before and in the middle of its words", async () => {
    fixture.model.answer(() => "hang");
    const silent = fixture.start({ clock });
    await fixture.model.called(1);
    silent.abort("shutdown");
    expect(await silent.stream.done).toEqual({ kind: "aborted", by: "shutdown" });

    fixture.model.answer(() => ({ text: "words ".repeat(500), everyMs: 20 }));
    const talking = fixture.start({ turn: userTurn("again", "turn-2"), clock });
    for await (const event of talking.stream.watch()) if (event.type === "text_delta") break;
    talking.abort("user");
    expect(await talking.stream.done).toEqual({ kind: "aborted", by: "user" });
  });

  it("ends the wait before another try", async () => {
    fixture.model.answer(() => ({ status: 529, message: "overloaded" }));
    const run = fixture.start({ clock });
    for await (const event of run.stream.watch()) if (event.type === "retry") break;
    run.abort("user");
    expect((await run.stream.done).kind).toBe("aborted");
  });

  it("leaves a conversation that continues", async () => {
    const begun = Promise.withResolvers<void>();
    fixture.model.answer((_, number) => (number === 1 ? { tool: "sleep", args: {} } : { text: "here again" }));
    const sleep = makeTool("sleep", () => {
      begun.resolve();
      return new Promise(() => undefined);
    });
    const run = fixture.start({ tools: [sleep] });
    await begun.promise;
    run.abort("user");
    await run.stream.done;
    const next = await eventsOf(fixture.start({ turn: userTurn("and now?", "turn-2"), tools: [sleep] }).stream);
    expect(textsOf(next)).toEqual(["here again"]);
    const roles = fixture.model.calls.at(-1)!.messages.map((message) => message.role);
    expect(roles.filter((role) => role === "tool")).toHaveLength(roles.filter((role) => role === "assistant").length);
  });

  it("does not count while a person is asked", async () => {
    const clock = manualClock();
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<ApprovalDecision>();
    fixture.model.answer((_, number) => (number === 1 ? { tool: "ask", args: {} } : "hang"));
    const ask = makeTool("ask", async (_, context) =>
      textResult(await context.approvals.ask({ command: "c", cwd: "/", reason: "r" }, context.signal)),
    );
    const approvals = {
      ask: () => {
        asked.resolve();
        return answered.promise;
      },
    };
    const run = fixture.start({ tools: [ask], approvals, clock, timeoutMs: 10_000 });
    await asked.promise;
    clock.pass(4000);
    clock.pass(3_600_000);
    answered.resolve("allow-once");
    await fixture.model.called(2);
    expect(fixture.model.calls[1]!.toolText).toBe("allow-once");
    expect(clock.waits).toEqual([10_000]);
    clock.pass(10_000);
    expect(await run.stream.done).toEqual({ kind: "aborted", by: "timeout" });
  });
});

describe("a failing model", () => {
  const failWith = async (status: number, message: string) => {
    fixture.model.answer(() => ({ status, message }));
    return fixture.start().stream.done;
  };

  it.each([
    [401, "Incorrect API key provided", "auth", 1],
    [429, "Rate limit reached", "rate_limit", 3],
    [500, "Internal server error", "network", 4],
    [400, "This model's maximum context length is 10 tokens", "context_overflow", 1],
    [404, "The model `fake-1` does not exist", "model_missing", 1],
  ] as const)(
    "ends a run of status %i as failed with its kind, after the tries of its policy",
    async (status, message, kind, calls) => {
      expect(await failWith(status, message)).toMatchObject({ kind: "failed", failure: { kind } });
      expect(fixture.model.calls).toHaveLength(calls);
      expect(await fixture.transcript()).toEqual(["user: hello"]);
    },
  );

  it("waits as long as the provider asks", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? { status: 429, message: "Rate limit reached. Please try again in 3s." } : { text: "now" },
    );
    expect((await fixture.start().stream.done).kind).toBe("replied");
    expect(fixture.clock.waits).toContain(3000);
  });

  it("is asked again when its stream is cut off, without the half answer", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? { text: "half of an answer that", stopAfter: 3 } : { text: "whole" },
    );
    const run = fixture.start();
    expect((await run.stream.done).kind).toBe("replied");
    expect(fixture.model.calls.at(-1)!.messages.filter((message) => message.role === "assistant")).toEqual([]);
    expect((await eventsOf(run.stream)).find((event) => event.type === "retry")).toMatchObject({ because: "network" });
  });

  it("is followed by the next one", async () => {
    fixture.model.answer((call) =>
      call.model === "fake-1" ? { status: 401, message: "Incorrect API key provided" } : { text: "spare here" },
    );
    const events = await eventsOf(fixture.start({ candidates: [MODEL, SPARE] }).stream);
    expect(textsOf(events)).toEqual(["spare here"]);
    expect(events.at(-1)).toMatchObject({ receipt: { model: SPARE } });
  });

  it("ends the run when nobody knows the model, or there is none", async () => {
    expect(await fixture.start({ candidates: [{ provider: "nobody", id: "x" }] }).stream.done).toMatchObject({
      kind: "failed",
    });
    expect(await fixture.start({ candidates: [], turn: userTurn("b", "t2") }).stream.done).toMatchObject({
      kind: "failed",
      failure: { kind: "model_missing" },
    });
  });

  it("ends the run when the system prompt cannot be made", async () => {
    const run = fixture.start({ systemPrompt: () => Promise.reject(new Error("no prompt")) });
    expect(await run.stream.done).toMatchObject({ kind: "failed", failure: { message: "no prompt" } });
  });

  it("ends the run, and calls no more, when the transcript cannot be written", async () => {
    fixture.model.answer(() => ({ tool: "look", args: {} }));
    let looks = 0;
    const look = makeTool("look", async () => {
      looks += 1;
      return textResult("seen");
    });
    const { session } = fixture;
    let writes = 0;
    const conversation: typeof session = Object.create(session, {
      window: { value: session.window.bind(session) },
      after: { value: session.after.bind(session) },
      append: {
        value: (...args: Parameters<typeof session.append>) => {
          writes += 1;
          return writes > 2 ? Promise.reject(new Error("No room left on the disk")) : session.append(...args);
        },
      },
    });
    const run = fixture.start({ tools: [look], conversation });
    expect(await run.stream.done).toMatchObject({ kind: "failed", failure: { message: "No room left on the disk" } });
    expect([looks, fixture.model.calls.length]).toEqual([1, 1]);
  });
});

describe("steering", () => {
  it("reaches the running turn before the next call and is in the transcript under its id", async () => {
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    fixture.model.answer((call, number) =>
      number === 1 ? { tool: "slow", args: {} } : { text: `heard ${call.said}` },
    );
    const slow = makeTool("slow", async () => {
      begun.resolve();
      await go.promise;
      return textResult("ok");
    });
    const run = fixture.start({ tools: [slow] });
    await begun.promise;
    const taken = run.steer(userTurn("wait, the other one", "steer-1"));
    go.resolve();
    expect(await taken).toBe(true);
    expect(textsOf(await eventsOf(run.stream)).at(-1)).toBe("heard wait, the other one");
    expect(await fixture.session.after("steer-1")).toHaveLength(1);
    expect((await fixture.transcript()).at(-2)).toBe("user: wait, the other one");
    openedByPi(fixture.session.file);
  });

  it("is refused when the run is over", async () => {
    const run = fixture.start();
    await run.stream.done;
    expect(await run.steer(userTurn("too late", "steer-1"))).toBe(false);
    expect(await fixture.session.after("steer-1")).toBeUndefined();
  });

  it("is refused when the run is aborted first", async () => {
    fixture.model.answer(() => "hang");
    const run = fixture.start();
    await fixture.model.called(1);
    const taken = run.steer(userTurn("hey", "steer-1"));
    run.abort("user");
    expect(await taken).toBe(false);
  });

  it("survives a failed attempt", async () => {
    fixture.model.answer(async (call, number) => {
      if (number > 1) return { text: `heard ${call.said}` };
      void run.steer(userTurn("and this", "steer-1"));
      return { status: 500, message: "Internal server error" };
    });
    const run = fixture.start();
    const events = await eventsOf(run.stream);
    expect(textsOf(events).at(-1)).toMatch(/^heard hello\s+and this$/);
  });
});

describe("after a crash", () => {
  const calls = (id: string) => called(id, "look");
  const assistant = (content: AssistantMessage["content"], stopReason: AssistantMessage["stopReason"]) => ({
    type: "message" as const,
    message: answered(content, { stopReason }),
  });
  const user = (text: string) => ({ type: "message" as const, message: asked([{ type: "text", text }]) });
  const look = makeTool("look", async () => textResult("seen"));

  it("repeats an answer that was finished and asks nobody", async () => {
    await fixture.session.append(user("hello"), { id: "turn-1" });
    await fixture.session.append(
      assistant([{ type: "text", text: "<think>hm</think>I see. " }, calls("c1")], "toolUse"),
    );
    await fixture.session.append({ type: "message", message: given("c1", [], { toolName: "look" }) });
    await fixture.session.append(assistant([{ type: "text", text: "All good." }], "stop"), { id: "final" });
    const events = await eventsOf(fixture.start().stream);
    expect(textsOf(events).map((text) => text.trim())).toEqual(["I see.", "All good."]);
    expect(events.findLast((event) => event.type === "message_end")).toMatchObject({ entryId: "final" });
    expect(events.at(-1)).toMatchObject({ result: { kind: "replied" } });
    expect(fixture.model.calls).toEqual([]);
  });

  it("does not write the user's turn twice", async () => {
    await fixture.session.append(user("hello"), { id: "turn-1" });
    fixture.model.answer(() => ({ text: "hi" }));
    await fixture.start().stream.done;
    expect(await fixture.transcript()).toEqual(["user: hello", "assistant: hi"]);
  });

  it("gives an interrupted call an error result and continues, with what was said before", async () => {
    await fixture.session.append(user("hello"), { id: "turn-1" });
    await fixture.session.append(assistant([{ type: "text", text: "Let me look." }, calls("c1")], "toolUse"));
    fixture.model.answer((call) => ({ text: `after: ${call.toolText}` }));
    const events = await eventsOf(fixture.start({ tools: [look] }).stream);
    expect(textsOf(events)).toEqual(["Let me look.", expect.stringMatching(/^after: .*interrupted/)]);
    expect(openedByPi(fixture.session.file).map((line) => line.split(":")[0])).toEqual([
      "user",
      "assistant",
      "toolResult",
      "assistant",
    ]);
  });

  it("continues after an answer that a shutdown cut off", async () => {
    await fixture.session.append(user("hello"), { id: "turn-1" });
    await fixture.session.append(assistant([{ type: "text", text: "I was sayi" }], "aborted"));
    fixture.model.answer(() => ({ text: "whole answer" }));
    const events = await eventsOf(fixture.start().stream);
    expect(textsOf(events)).toEqual(["whole answer"]);
  });

  it("answers a steered turn that came after the answer", async () => {
    await fixture.session.append(user("hello"), { id: "turn-1" });
    await fixture.session.append(assistant([{ type: "text", text: "First." }], "stop"));
    await fixture.session.append(user("and this?"), { id: "steer-1" });
    fixture.model.answer((call) => ({ text: `Second: ${call.said}` }));
    const events = await eventsOf(fixture.start().stream);
    expect(textsOf(events)).toEqual(["First.", "Second: and this?"]);
  });
});

describe("time", () => {
  it("ends a run that takes too long", async () => {
    fixture.model.answer(() => "hang");
    const clock = manualClock();
    const run = fixture.start({ clock, timeoutMs: 1000 });
    await fixture.model.called(1);
    clock.pass(1000);
    expect(await run.stream.done).toEqual({ kind: "aborted", by: "timeout" });
    await until(() => clock.waits.length === 0, "no timer is left");
  });

  it("is measured and leaves no timer", async () => {
    const clock = manualClock();
    await fixture.start({ clock }).stream.done;
    await until(() => clock.waits.length === 0, "no timer is left");
  });
});
