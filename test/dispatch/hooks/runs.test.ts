import { toolSet } from "../../kit/tools.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, textResult } from "../../../src/tools/define.ts";
import { type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { createTools } from "../../kit/create-tools.ts";
import { settingsFor } from "../../kit/settings.ts";
import { MODEL } from "../../kit/models.ts";

let fixture: DispatchFixture;
beforeEach(async () => {
  fixture = await openDispatchFixture();
});
afterEach(() => fixture.close());

const shown = () => fixture.platform.messages.map(({ text }) => text);

type Events = Record<string, unknown>[];

/** Writes down the events of hooks. */
function watch(...names: readonly Parameters<Parameters<NonNullable<DispatchFixture["hooks"]>>[0]>[0][]): Events {
  const events: Events = [];
  fixture.hooks = (on) => {
    for (const name of names) on(name, (event) => void events.push({ name, ...(event as object) }));
  };
  return events;
}

const look = (result = "a tree") =>
  defineTool({
    name: "look",
    label: "Look",
    description: "Looks.",
    input: z.object({}),
    hasSideEffects: false,
    run: async () => textResult(result),
  });

describe("the model", () => {
  it("is the one that before_model_resolve names, and the configured ones stay as fallbacks", async () => {
    const asked: unknown[] = [];
    fixture.hooks = (on) =>
      on("before_model_resolve", (event) => {
        asked.push(event);
        return { modelOverride: "other-model" };
      });
    fixture.rules = { agent: { model: { primary: MODEL, fallbacks: [] } } };
    const boot = await fixture.boot();
    const row = await boot.tell("hello");
    await boot.outcome(row);
    expect(asked).toEqual([{ prompt: expect.stringContaining("hello") }]);
    const run = await boot.journal.runs.last(boot.keyOf("1"));
    expect(run?.receipt.candidates).toEqual([{ provider: MODEL.provider, id: "other-model" }, MODEL]);
  });

  it("is not one that the agent may not use", async () => {
    fixture.rules = { agent: { model: { primary: MODEL, fallbacks: [] }, allowedModels: [] } };
    fixture.hooks = (on) => on("before_model_resolve", () => ({ providerOverride: "dear", modelOverride: "large" }));
    const boot = await fixture.boot();
    await boot.ask("hello");
    expect(shown()).toEqual(["echo: hello"]);
    expect(fixture.log.lines).toContain("warn the model of a plugin is not allowed");
  });

  it("is not asked when before_agent_reply answers; the transcript has both", async () => {
    fixture.hooks = (on) =>
      on("before_agent_reply", (event) => {
        const isMine = (event as { cleanedBody: string }).cleanedBody.includes("hours");
        const mediaUrls = ["https://example.com/hours.png"];
        return isMine ? { handled: true, reply: { text: "Nine to five.", mediaUrls } } : undefined;
      });
    const boot = await fixture.boot();
    expect(await boot.ask("your hours?")).toEqual({ kind: "replied" });
    // The platform of the test shows the address of a file that it cannot fetch.
    expect(shown()).toEqual(["Nine to five.", "https://example.com/hours.png"]);
    expect(fixture.model.calls).toEqual([]);
    await boot.ask("and then?");
    expect(fixture.model.calls).toHaveLength(1);
    const messages = await boot.use("1", async (session) => (await session.window(10_000)).messages);
    expect(messages.map(({ message }) => message.role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(messages[1]?.message).toMatchObject({ provider: "openclaw", model: "plugin:watcher" });
  });
});

it("each model call is reported with its input, its output and its end", async () => {
  const events = watch("llm_input", "llm_output", "model_call_started", "model_call_ended");
  fixture.tools.push(look());
  fixture.model.answer((call) => (call.isAfterTool ? { text: "done" } : { tool: "look", args: {} }));
  const boot = await fixture.boot();
  await boot.ask("look around");
  await expect
    .poll(() => events.map(({ name }) => name))
    .toEqual([
      "llm_input",
      "model_call_started",
      "model_call_ended",
      "model_call_started",
      "model_call_ended",
      "llm_output",
    ]);
  const [input, begun, ended, , , output] = events;
  expect(input).toMatchObject({
    systemPrompt: "You are a test.",
    prompt: expect.stringContaining("look around"),
    historyMessages: [],
    imagesCount: 0,
    tools: [{ name: "look", description: "Looks." }],
    model: MODEL.id,
  });
  expect(begun).toMatchObject({ provider: MODEL.provider, model: MODEL.id, sessionKey: boot.keyOf("1") });
  expect(ended).toMatchObject({ callId: begun?.["callId"], outcome: "completed", durationMs: expect.any(Number) });
  expect(output).toMatchObject({ assistantTexts: ["done"], resolvedRef: `${MODEL.provider}/${MODEL.id}` });
});

it("a failed call is reported with the kind of its failure", async () => {
  const events = watch("model_call_ended");
  fixture.model.answer(() => ({ status: 401, message: "bad key" }));
  const boot = await fixture.boot();
  await boot.ask("hello");
  await expect.poll(() => events[0]).toMatchObject({ outcome: "error", errorCategory: "auth" });
});

it("a run that before_agent_run blocks shows the person its message, and the operator its reason", async () => {
  fixture.hooks = (on) =>
    on("before_agent_run", () => ({
      outcome: "block",
      reason: "quota of tenant 7",
      message: "Please come back tomorrow.",
    }));
  const boot = await fixture.boot();
  expect(await boot.ask("hello")).toMatchObject({ kind: "failed", why: expect.stringContaining("blocked") });
  expect(shown()).toEqual(["⚠️ Please come back tomorrow."]);
  expect((await boot.journal.runs.last(boot.keyOf("1")))?.result).toContain("blocked");
  expect(fixture.model.calls).toEqual([]);
});

it("toolsAllow of hooks caps the tools of the run; several lists all hold, and an empty one leaves none", async () => {
  const named = (name: string) => ({ ...look(), name });
  fixture.tools.push(named("read"), named("look"), named("exec"));
  let lists: readonly unknown[] = [
    ["group:fs", "look", "unknown"],
    ["read", "ls"],
  ];
  fixture.hooks = (on) => {
    on("before_prompt_build", () => ({ toolsAllow: lists[0] }));
    on("agent_turn_prepare", () => ({ toolsAllow: lists[1] }));
  };
  const boot = await fixture.boot();
  await boot.ask("one");
  lists = [["*"], []];
  await boot.ask("two");
  lists = ["read", undefined];
  await boot.ask("three");
  expect(fixture.model.calls.map(({ tools }) => tools.map((tool) => tool.function.name).toSorted())).toEqual([
    ["read"],
    [],
    ["exec", "look", "read"],
  ]);
});

it("the receipt says that a hook removed a tool which the model called all the same", async () => {
  fixture.tools.push({ ...look(), name: "look" });
  fixture.hooks = (on) => on("before_prompt_build", () => ({ toolsAllow: [] }));
  fixture.model.answer(({ isAfterTool }) => (isAfterTool ? { text: "no" } : { tool: "look", args: {} }));
  const boot = await fixture.boot();
  await boot.ask("look");
  const { receipt } = (await boot.journal.runs.last(boot.keyOf("1"))) ?? {};
  expect(receipt?.removed).toEqual([{ tool: "look", stage: "run", key: "toolsAllow of a plugin" }]);
});

describe("an answer that before_agent_finalize wants revised", () => {
  it("is followed by another pass with the instruction, once", async () => {
    const asked: unknown[] = [];
    fixture.hooks = (on) =>
      on("before_agent_finalize", (event) => {
        const { stopHookActive, lastAssistantMessage } = event as Record<string, unknown>;
        asked.push({ stopHookActive, lastAssistantMessage });
        return { action: "revise", reason: "no tests", retry: { instruction: "Run the tests first." } };
      });
    fixture.model.answer((call) => ({ text: call.said.includes("Run the tests") ? "All green." : "Done." }));
    const boot = await fixture.boot();
    await boot.ask("build it");
    expect(shown()).toEqual(["Done.\n\nAll green."]);
    expect(asked).toEqual([
      { stopHookActive: false, lastAssistantMessage: "Done." },
      { stopHookActive: true, lastAssistantMessage: "All green." },
    ]);
  });

  it("is final when another hook says so", async () => {
    fixture.hooks = (on) => {
      on("before_agent_finalize", () => ({ action: "revise", reason: "again" }));
      on("before_agent_finalize", () => ({ action: "finalize" }));
    };
    const boot = await fixture.boot();
    await boot.ask("build it");
    expect(fixture.model.calls).toHaveLength(1);
  });
});

describe("the transcript", () => {
  const kept = async (boot: Awaited<ReturnType<DispatchFixture["boot"]>>) =>
    boot.use("1", async (session) => (await session.window(10_000)).messages.map(({ message }) => message));

  it("has a tool's result as tool_result_persist leaves it; the run under way saw the whole", async () => {
    fixture.hooks = (on) =>
      on("tool_result_persist", (event) => {
        const { message, toolName } = event as { message: object; toolName: string };
        return { message: { ...message, content: [{ type: "text", text: `[${toolName}: cut]` }] } };
      });
    fixture.tools.push(look("a very long tree"));
    fixture.model.answer((call) => (call.isAfterTool ? { text: `saw ${call.toolText}` } : { tool: "look", args: {} }));
    const boot = await fixture.boot();
    await boot.ask("look");
    expect(shown()).toEqual(["saw a very long tree"]);
    expect((await kept(boot))[2]).toMatchObject({ role: "toolResult", content: [{ text: "[look: cut]" }] });
  });

  it("has a tool's whole result where tool_result_persist answers with a promise, and the log says so", async () => {
    fixture.hooks = (on) =>
      on("tool_result_persist", async () => ({ message: { content: [{ type: "text", text: "cut" }] } }));
    fixture.tools.push(look("a tree"));
    fixture.model.answer((call) => (call.isAfterTool ? { text: "done" } : { tool: "look", args: {} }));
    const boot = await fixture.boot();
    await boot.ask("look");
    expect((await kept(boot))[2]).toMatchObject({ role: "toolResult", content: [{ text: "a tree" }] });
    expect(fixture.log.lines).toContainEqual(expect.stringContaining("it is a promise, and nobody waits for it"));
  });

  it("has messages as before_message_write leaves them; the model was asked with the text as it was", async () => {
    fixture.hooks = (on) =>
      on("before_message_write", (event) => {
        const { message } = event as { message: { role: string; content: unknown } };
        if (message.role === "assistant") return { block: true };
        return { message: { ...message, content: "a question about […]" } };
      });
    const boot = await fixture.boot();
    await boot.ask("my card is 4111");
    expect(shown()).toEqual(["echo: my card is 4111"]);
    expect(await kept(boot)).toMatchObject([
      { role: "user", content: "a question about […]" },
      { role: "assistant", content: [{ text: "[The plugin watcher did not let this message be kept.]" }] },
    ]);
  });

  it("is as it would be without the hook when its answer has no content of the message's kind, or is a promise", async () => {
    fixture.hooks = (on) => {
      on("before_message_write", () => ({ message: { content: [{ type: "spell" }] } }));
      on("before_message_write", async () => ({ block: true }));
      on("before_message_write", () => {
        throw new Error("no idea");
      });
    };
    const boot = await fixture.boot();
    await boot.ask("hello");
    expect(await kept(boot)).toMatchObject([{ role: "user" }, { content: [{ text: "echo: hello" }] }]);
    expect(fixture.log.lines).toContainEqual(expect.stringContaining("it is a promise, and nobody waits for it"));
  });

  it("is as it would be without hooks that empty what they are shown, or give what cannot be written", async () => {
    const endless: Record<string, unknown> = {};
    endless["self"] = endless;
    const spoil = (event: unknown): void => {
      const { messages = [], message } = event as {
        messages?: { content?: unknown }[];
        message?: { content?: unknown };
      };
      for (const one of [...messages, ...(message ? [message] : [])]) one.content = null;
    };
    fixture.hooks = (on) => {
      for (const name of ["before_agent_run", "llm_input", "agent_end", "before_message_write"] as const)
        on(name, spoil);
      on("tool_result_persist", () => ({ message: { content: [{ type: "text", text: "cut" }], details: endless } }));
    };
    fixture.tools.push(look("a tree"));
    fixture.model.answer((call) => (call.isAfterTool ? { text: `saw ${call.toolText}` } : { tool: "look", args: {} }));
    const boot = await fixture.boot();
    await boot.ask("look");
    await boot.ask("look again");
    expect(shown()).toEqual(["saw a tree", "saw a tree"]);
    expect((await kept(boot))[2]).toMatchObject({ role: "toolResult", content: [{ text: "a tree" }] });
  });
});

it("each hook of a tool's call, and the person who is asked, sees the arguments as the hooks before left them", async () => {
  const seen: unknown[] = [];
  const resolved: unknown[] = [];
  fixture.hooks = (on) => {
    on("before_tool_call", () => ({ params: { path: "/safe" } }));
    on("before_tool_call", (event, { toolName, toolCallId }) => {
      seen.push({ ...(event as object), context: { toolName, toolCallId } });
      const onResolution = (decision: string) => resolved.push(decision);
      return { requireApproval: { title: "Look there", description: "it is far", onResolution } };
    });
  };
  fixture.tools.push({ ...look(), input: z.object({ path: z.string() }) });
  fixture.model.answer((call) => (call.isAfterTool ? { text: "done" } : { tool: "look", args: { path: "/etc" } }));
  const boot = await fixture.boot();
  const row = await boot.tell("look", "owner");
  await expect.poll(shown).toEqual([expect.stringContaining('look {"path":"/safe"}')]);
  const [, id = ""] = /\/approve (\S+)/.exec(shown()[0] ?? "") ?? [];
  await boot.tell(`/approve ${id} deny`, "owner");
  await boot.outcome(row);
  expect(seen).toEqual([
    expect.objectContaining({
      toolName: "look",
      params: { path: "/safe" },
      runId: expect.any(String),
      context: { toolName: "look", toolCallId: expect.any(String) },
    }),
  ]);
  expect(resolved).toEqual(["deny"]);
});

it("the first question about a call fixes its arguments, and says how grave it is", async () => {
  fixture.hooks = (on) => {
    on("before_tool_call", () => ({
      params: { path: "/safe" },
      requireApproval: { title: "Look there", severity: "critical", allowedDecisions: ["allow-once", "deny"] },
    }));
    on("before_tool_call", () => ({ params: { path: "/etc" } }));
  };
  const calls: unknown[] = [];
  const run = async (input: unknown) => textResult(`saw ${calls.push(input)}`);
  fixture.tools.push({ ...look(), input: z.object({ path: z.string() }), run });
  fixture.model.answer((call) => (call.isAfterTool ? { text: "done" } : { tool: "look", args: { path: "/x" } }));
  const boot = await fixture.boot();
  const row = await boot.tell("look", "owner");
  await expect
    .poll(shown)
    .toEqual([
      expect.stringMatching(
        /critical: Look there[^]*look \{"path":"\/safe"\}|look \{"path":"\/safe"\}[^]*critical: Look there/,
      ),
    ]);
  const [, id = ""] = /\/approve (\S+)/.exec(shown()[0] ?? "") ?? [];
  await boot.tell(`/approve ${id} once`, "owner");
  await boot.outcome(row);
  expect(calls).toEqual([{ path: "/safe" }]);
});

it("a question that no answer can allow is a denial, and nobody is asked", async () => {
  const resolved: unknown[] = [];
  fixture.hooks = (on) =>
    on("before_tool_call", () => ({
      requireApproval: {
        title: "Never",
        allowedDecisions: ["deny"],
        onResolution: (one: string) => resolved.push(one),
      },
    }));
  fixture.tools.push(look());
  fixture.model.answer((call) => (call.isAfterTool ? { text: call.toolText } : { tool: "look", args: {} }));
  const boot = await fixture.boot();
  await boot.ask("look");
  expect(shown()).toEqual([expect.stringContaining("nobody allowed it: Never")]);
  expect(resolved).toEqual(["deny"]);
});

it("a question that offers only an answer for good can be allowed so, and not once", async () => {
  const resolved: unknown[] = [];
  fixture.hooks = (on) =>
    on("before_tool_call", () => ({
      requireApproval: {
        title: "Trust it",
        allowedDecisions: ["allow-always", "deny"],
        onResolution: (one: string) => resolved.push(one),
      },
    }));
  fixture.tools.push(look());
  fixture.model.answer((call) => (call.isAfterTool ? { text: call.toolText } : { tool: "look", args: {} }));
  const boot = await fixture.boot();
  const row = await boot.tell("look", "owner");
  await expect.poll(() => fixture.platform.messages[0]?.text).toContain("always or deny.");
  const { text, buttons } = fixture.platform.messages[0]!;
  expect(text).toContain("A plugin asks whether to allow a call of the agent");
  const [, id = ""] = /\/approve (\S+)/.exec(text) ?? [];
  expect(buttons).toEqual([`/approve ${id} always`, `/approve ${id} deny`]);
  await boot.ask(`/approve ${id} once`, "owner");
  expect(fixture.platform.texts.at(-1)).toBe(`The question "${id}" cannot be allowed once: answer always or deny.`);
  expect([resolved, boot.chat.approvals.list().length]).toEqual([[], 1]);
  await boot.ask(`/approve ${id} always`, "owner");
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(resolved).toEqual(["allow-always"]);
  expect(fixture.platform.texts.at(-1)).not.toContain("not run");
});

it("a command gets the variables of resolve_exec_env, but none that makes a program load code", async () => {
  fixture.hooks = (on) =>
    on("resolve_exec_env", () => ({
      TICKET: "T-1",
      LD_PRELOAD: "/tmp/x.so",
      NODE_OPTIONS: "-r x",
      PATH: "/x",
      bad: 7,
    }));
  const rules = { isAllowed: async () => false, allow: async () => undefined };
  fixture.rules = { agent: { exec: { ...settingsFor(fixture.dir).exec, security: "full", ask: "off" } } };
  fixture.allTools = () => (settings) => toolSet(createTools({ rules, settings, rights: "owner", deniedPaths: [] }));
  fixture.model.answer((call) =>
    call.isAfterTool ? { text: `got ${call.toolText}` } : { tool: "exec", args: { command: "env" } },
  );
  const boot = await fixture.boot();
  await boot.ask("show it");
  const [text = ""] = shown();
  expect(text).toContain("TICKET=T-1");
  expect(text).not.toMatch(/LD_PRELOAD|NODE_OPTIONS=|PATH=\/x$|bad=/m);
});

it("a compaction is reported when it begins and when it is done", async () => {
  const events = watch("before_compaction", "after_compaction");
  fixture.model.answer(({ system }) => ({ text: system.includes("test") ? "x ".repeat(2000) : "SUMMARY" }));
  const boot = await fixture.boot();
  for (const turn of [1, 2, 3]) await boot.ask(`turn ${turn} ${"word ".repeat(1500)}`);
  expect(await boot.chat.compact(boot.keyOf("1"))).toMatchObject({ compacted: true });
  await expect
    .poll(() => events)
    .toEqual([
      {
        name: "before_compaction",
        messageCount: 6,
        compactingCount: expect.any(Number),
        tokenCount: expect.any(Number),
        sessionFile: expect.stringMatching(/\.jsonl$/),
      },
      {
        name: "after_compaction",
        messageCount: expect.any(Number),
        compactedCount: expect.any(Number),
        tokenCount: expect.any(Number),
        sessionFile: expect.stringMatching(/\.jsonl$/),
      },
    ]);
});
