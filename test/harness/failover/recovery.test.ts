import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Contributions } from "../../../src/plugins/contributions.ts";
import { Hooks } from "../../../src/plugins/hooks.ts";
import type { ContributionRegistry } from "../../../src/types/contribution.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { eventsOf, openRunFixture, userTurn, type RunFixture } from "../../kit/run.ts";
import { MODEL, SPARE } from "../../kit/models.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

type Events = Awaited<ReturnType<typeof eventsOf>>;
const last = (events: Events) => events.at(-1) as Extract<Events[number], { type: "run_end" }>;
const ofType = <T extends Events[number]["type"]>(events: Events, type: T) =>
  events.filter((event): event is Extract<Events[number], { type: T }> => event.type === type);

describe("an answer that is cut off", () => {
  it("is continued: watchers see one text, and the model is shown its own first words", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? { text: "one two three four", stopAfter: 2, everyMs: 5 } : { text: "and the rest" },
    );
    const events = await eventsOf(fixture.start().stream);
    const shown = ofType(events, "text_delta")
      .map((event) => event.delta)
      .join("");
    expect(shown).toBe("one two and the rest");
    expect(ofType(events, "text_delta").at(-1)?.text).toBe(shown);
    expect(ofType(events, "message_end").at(-1)?.text).toBe(shown);
    expect(ofType(events, "retry")).toMatchObject([{ continues: true }]);
    const roles = fixture.model.calls[1]!.messages.map((message) => message.role);
    expect(roles).toEqual(["system", "user", "assistant", "user"]);
    expect(JSON.stringify(fixture.model.calls[1]!.messages[2])).toContain("one two");
  });

  it("is shown whole to the next turn", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? { text: "one two three", stopAfter: 1, everyMs: 5 } : { text: "two" },
    );
    await fixture.start().stream.done;
    await fixture.start({ turn: userTurn("and now?", "turn-2") }).stream.done;
    const text = JSON.stringify(fixture.model.calls[2]!.messages);
    expect(text).toContain("one");
    expect(fixture.model.calls[2]!.messages.map((message) => message.role)).toEqual([
      "system",
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
  });

  it("is sent completely after the next start", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? { text: "one two three", stopAfter: 1, everyMs: 5 } : { text: "two" },
    );
    await fixture.start().stream.done;
    const again = await eventsOf(fixture.start().stream);
    expect(ofType(again, "message_end").map((event) => event.text)).toEqual(["one two"]);
    expect(fixture.model.calls).toHaveLength(2);
  });

  it("is continued after the next start, with its first words", async () => {
    fixture.model.answer((_, number) => (number === 1 ? { text: "one two", stopAfter: 1, everyMs: 5 } : "hang"));
    const first = fixture.start();
    await fixture.model.called(2);
    first.abort("shutdown");
    await first.stream.done;
    fixture.model.answer(() => ({ text: "and two" }));
    const events = await eventsOf(fixture.start().stream);
    expect(ofType(events, "message_end").at(-1)?.text).toBe("one and two");
  });

  it("is given up without a loop when it is cut off every time", async () => {
    fixture.model.answer(() => ({ text: "one two three", stopAfter: 1, everyMs: 5 }));
    const events = await eventsOf(fixture.start().stream);
    expect(last(events).result).toMatchObject({ kind: "failed" });
    expect(fixture.model.calls.length).toBeLessThan(6);
  });
});

describe("a prompt that only passes on what another session contains", () => {
  const announcement = {
    ...userTurn("A subagent has finished: 42.", "announce-1"),
    provenance: { kind: "inter_session" as const, sourceTool: "subagent_announce" },
    events: [
      {
        type: "task_completion" as const,
        source: "subagent" as const,
        childSessionKey: "main::child",
        announceType: "subagent task",
        taskLabel: "count",
        status: "ok" as const,
        statusLabel: "completed",
        result: "42",
        replyInstruction: "Tell the user.",
      },
    ],
  };

  it("is shown to the model, also after its tools, and never stored", async () => {
    await fixture.start().stream.done;
    fixture.model.answer((call, number) =>
      number === 2 ? { tool: "look", args: {} } : { text: `told after ${call.toolText}` },
    );
    const look = makeTool("look", async () => textResult("a look"));
    await fixture.start({ turn: announcement, tools: [look] }).stream.done;
    const [, ...shown] = fixture.model.calls[2]!.messages;
    expect(shown.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "tool"]);
    expect(JSON.stringify(shown[2])).toContain("A subagent has finished");
    expect((await fixture.transcript()).join()).not.toContain("A subagent has finished");
    expect((await fixture.transcript()).at(-1)).toBe("assistant: told after a look");
  });

  it("is not asked twice by another boot", async () => {
    await fixture.start({ turn: announcement }).stream.done;
    const calls = fixture.model.calls.length;
    const events = await eventsOf(fixture.start({ turn: announcement }).stream);
    expect(last(events).result.kind).toBe("replied");
    expect(fixture.model.calls).toHaveLength(calls);
  });
});

describe("tools with side effects", () => {
  it.each([
    [500, "Internal server error"],
    [429, "Rate limit reached"],
    [529, "overloaded"],
    [401, "Incorrect API key provided"],
  ])("run once, whatever fails after them (%i)", async (status, message) => {
    let sent = 0;
    const send = makeTool(
      "send",
      async () => {
        sent += 1;
        return textResult("sent");
      },
      true,
    );
    fixture.model.answer((call, number) => {
      if (number === 1) return { tool: "send", args: {} };
      return number === 2 ? { status, message } : { text: `after: ${call.toolText}` };
    });
    const events = await eventsOf(fixture.start({ tools: [send], candidates: [MODEL, SPARE] }).stream);
    expect(sent).toBe(1);
    expect(ofType(events, "message_end").at(-1)?.text).toBe("after: sent");
  });
});

describe("a model that repeats its tool calls", () => {
  it("is warned, and then the run ends with that reason", async () => {
    fixture.model.answer(() => ({ tool: "look", args: { text: "again" } }));
    const events = await eventsOf(
      fixture.start({ tools: [makeTool("look", async () => textResult("nothing new"))] }).stream,
    );
    expect(last(events).result).toMatchObject({ kind: "failed", failure: { kind: "tool_loop" } });
    expect(fixture.model.calls).toHaveLength(22);
    expect(fixture.model.calls[10]!.toolText).toContain("Change the approach");
  });

  it("is left alone while its results change", async () => {
    let looks = 0;
    const look = makeTool("look", async () => {
      looks += 1;
      return textResult(`${looks} lines`);
    });
    fixture.model.answer((_, number) => (number < 20 ? { tool: "look", args: {} } : { text: "seen enough" }));
    const events = await eventsOf(fixture.start({ tools: [look] }).stream);
    expect(last(events).result.kind).toBe("replied");
  });
});

describe("another model", () => {
  const failFirst = () =>
    fixture.model.answer((call) =>
      call.model === "fake-1" ? { status: 402, message: "Insufficient credits" } : { text: "spare here" },
    );

  it("is named to the user once, until the first one is back", async () => {
    failFirst();
    const first = await eventsOf(fixture.start({ candidates: [MODEL, SPARE] }).stream);
    expect(ofType(first, "model_change")).toMatchObject([
      {
        from: MODEL,
        to: SPARE,
        text: "↪️ Answered by spare/spare-1 in place of fake/fake-1: its account is out of credit.",
      },
    ]);
    const second = await eventsOf(fixture.start({ candidates: [MODEL, SPARE], turn: userTurn("b", "t2") }).stream);
    expect(ofType(second, "model_change")).toEqual([]);
    expect(last(second).receipt).toMatchObject({ model: SPARE });
  });

  it("leaves a note in the transcript", async () => {
    failFirst();
    await fixture.start({ candidates: [MODEL, SPARE] }).stream.done;
    const entries = (await fixture.session.after("turn-1")) ?? [];
    expect(entries).toContainEqual(
      expect.objectContaining({ type: "model_change", provider: "spare", modelId: "spare-1" }),
    );
  });

  it("is never taken where the user chose one", async () => {
    failFirst();
    const events = await eventsOf(fixture.start({ candidates: [MODEL] }).stream);
    expect(last(events).result).toMatchObject({ kind: "failed", failure: { kind: "billing" } });
  });
});

describe("the receipt", () => {
  it("has the thinking level of the request, which is none where the model cannot think", async () => {
    const events = await eventsOf(fixture.start({ thinking: "high" }).stream);
    expect(last(events).receipt.tries).toMatchObject([{ thinking: "off" }]);
  });

  it.each(["", "I will not"])("counts a call that the model refused, where it told what it took (%j)", async (text) => {
    fixture.model.answer(() => ({ text, reason: "refusal" }));
    const events = await eventsOf(fixture.start().stream);
    expect(last(events).result).toMatchObject({ kind: "failed", failure: { kind: "refusal" } });
    expect(last(events).receipt).toMatchObject({ calls: 1, usage: { input: 10, output: 5, totalTokens: 15 } });
  });

  it("counts no call that never came to an answer", async () => {
    fixture.model.answer(() => ({ status: 402, message: "Insufficient credits" }));
    const events = await eventsOf(fixture.start().stream);
    expect(last(events).receipt).toMatchObject({ calls: 0, usage: { totalTokens: 0 } });
  });

  it("lists every try with its cause and remedy, the tools, and the model that answered", async () => {
    fixture.model.answer((_, number) => {
      if (number === 1) return { status: 500, message: "Internal server error" };
      return number === 2 ? { tool: "look", args: {} } : { text: "done" };
    });
    const events = await eventsOf(fixture.start({ tools: [makeTool("look", async () => textResult("x"))] }).stream);
    expect(last(events).receipt).toMatchObject({
      model: MODEL,
      profile: "fake:config",
      engine: "legacy",
      candidates: [MODEL],
      tries: [
        { model: MODEL, outcome: "network", remedy: "wait", messages: 1 },
        { model: MODEL, outcome: "replied", messages: 1 },
      ],
      tools: [{ name: "look", calls: 1, failed: 0 }],
      compactions: 0,
    });
  });
});

/** The hooks of one plugin. */
function hooksOf(register: (on: ContributionRegistry["addHook"]) => void): Hooks {
  const plugin = { id: "shaping", register: ({ addHook }: ContributionRegistry) => register(addHook) };
  return new Hooks(new Contributions([plugin]), fixture.clock, fixture.log);
}

describe("hooks", () => {
  it("add to the turn, which the transcript keeps, and to the system prompt, which it does not", async () => {
    const hooks = hooksOf((on) => {
      on("before_prompt_build", async ({ prompt }) => ({ prependContext: `before ${prompt}` }));
      on("before_agent_start", () => ({ prependContext: "old name", prependSystemContext: "Rules." }));
      on("before_prompt_build", () => {
        throw new Error("broken plugin");
      });
    });
    await fixture.start({ hooks }).stream.done;
    expect(fixture.model.calls[0]!.said).toBe("before hello\n\nold name\n\nhello");
    expect(fixture.model.calls[0]!.system).toBe("Rules.\n\nYou are a test.");
    expect((await fixture.transcript())[0]).toBe("user: before hello\n\nold name\n\nhello");
  });

  it("are informed of the end, and nobody waits for them", async () => {
    const heard = Promise.withResolvers<unknown>();
    const hooks = hooksOf((on) =>
      on("agent_end", async (end) => {
        heard.resolve(end);
        await new Promise(() => undefined);
      }),
    );
    await fixture.start({ hooks }).stream.done;
    expect(await heard.promise).toMatchObject({ success: true, messages: [{ role: "user" }, { role: "assistant" }] });
  });
});
