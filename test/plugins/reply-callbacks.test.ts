import { describe, expect, onTestFinished, test } from "vitest";
import { ChannelTestHost } from "../../src/api/testing.ts";
import { testPorts } from "../../testing/plugin-ports.ts";
import { RunLog } from "../../src/harness/log/run-log.ts";
import { pluginsConfig } from "../../src/plugins/config.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Plugins } from "../../src/plugins/host/plugins.ts";
import { readPlugin } from "../../src/plugins/manifest/read-plugin.ts";
import type { PluginPorts } from "../../src/plugins/ports.ts";
import type { RunEventBody } from "../../src/types/run/events.ts";
import type { MessageRun } from "../../src/types/run/message-run.ts";
import { emptyUsage } from "../../src/types/run/usage.ts";
import { AsyncQueue } from "../../src/utils/async-queue.ts";
import { type ManualClock, manualClock } from "../kit/clock.ts";
import { writePlugin } from "../kit/gateway/plugins.ts";
import { recordLog } from "../kit/log.ts";
import { folder } from "../kit/plugins/sources.ts";
import { runFacts } from "../kit/run-facts.ts";
import { answered } from "../kit/transcript-messages.ts";
import { until } from "../kit/until.ts";

/** A channel of the field that passes messages on in both ways, and a plugin's subagent. */
const CODE = `
const channel = {
  id: "post",
  meta: { label: "Post" },
  config: { listAccountIds: () => ["default"], resolveAccount: () => ({}) },
  outbound: { sendText: async () => ({ messageId: "1" }) },
  gateway: {
    startAccount: async ({ channelRuntime: { reply }, abortSignal, setStatus, cfg }) => {
      setStatus({ running: true });
      globalThis.postAccount = abortSignal;
      globalThis.postSays = (sid, replyOptions, how = "buffered") => {
        const ctx = { To: "1", From: "1", Provider: "post", Body: "hi", MessageSid: sid };
        return how === "buffered"
          ? reply.dispatchReplyWithBufferedBlockDispatcher({ ctx, cfg, dispatcherOptions: {}, replyOptions })
          : reply.dispatchReplyFromConfig({ ctx, cfg, dispatcher: reply.createReplyDispatcher({}), replyOptions });
      };
      await new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
    },
  },
};
export default (api) => {
  api.registerChannel({ plugin: channel });
  globalThis.postAsks = (replyOptions) =>
    api.runtime.subagent.run({ sessionKey: "agent:main:subagent:1", message: "look", replyOptions });
};`;

const plugin = globalThis as unknown as {
  postAccount: AbortSignal;
  postSays(sid: string, replyOptions: object, how?: "config"): Promise<unknown>;
  postAsks(replyOptions: object): Promise<unknown>;
};

interface Post {
  readonly plugins: Plugins;
  readonly log: ReturnType<typeof recordLog>;
  /** Keys of the messages whose runs are followed, in order. */
  readonly followed: string[];
  /** Keys of the messages that were ended. */
  readonly stopped: string[];
  /** Gives the runs of each message from now on. */
  readonly runs: AsyncQueue<MessageRun>;
  readonly disconnect: () => Promise<void>;
}

async function openPost({ mayRead = true, clock }: { mayRead?: boolean; clock?: ManualClock } = {}): Promise<Post> {
  const dir = folder();
  const found = await readPlugin(writePlugin(dir, { id: "post", code: CODE }), "config");
  if (found.kind !== "found") throw new Error(found.kind);
  const base = testPorts({ id: "post", folder: dir, config: {} });
  const log = recordLog();
  const [followed, stopped]: string[][] = [[], []];
  const runs = new AsyncQueue<MessageRun>();
  const given = (name: string, signal: AbortSignal) => {
    followed?.push(name);
    signal.addEventListener("abort", () => runs.end(), { once: true });
    return runs;
  };
  const ports: PluginPorts = {
    ...base,
    log,
    ...(clock && { clock }),
    pluginsConfig: () =>
      pluginsConfig.parse({ entries: { post: { enabled: true, hooks: { allowConversationAccess: mayRead } } } }),
    channels: {
      ...base.channels,
      runsOf: ({ key }, signal) => given(Object.values(key).join(" "), signal),
      stopMessage: async (key) => void stopped?.push(Object.values(key).join(" ")),
    },
    subagents: {
      ...base.subagents,
      runsOf: given,
      stop: async (id) => void stopped?.push(id),
    },
  };
  const contributions = new Contributions([]);
  const plugins = new Plugins(contributions, ports);
  onTestFinished(() => plugins.close());
  await plugins.apply({ plugins: [found.plugin], broken: [] });
  const link = await (await contributions.channel("post")!.adapter()).connect({}, new ChannelTestHost());
  onTestFinished(() => link.close());
  return { plugins, log, followed: followed ?? [], stopped: stopped ?? [], runs, disconnect: () => link.close() };
}

/** All callbacks, each of which notes its name and what it gets. */
function noting(names: readonly string[] = ALL) {
  const calls: (readonly unknown[])[] = [];
  const options = Object.fromEntries(
    names.map((name) => [name, async (...given: unknown[]) => void calls.push([name, ...given])]),
  );
  return { calls, options, names: () => calls.map(([name]) => name) };
}

const ALL = [
  "onAgentRunStart",
  "onModelSelected",
  "onAssistantMessageStart",
  "onPartialReply",
  "onReasoningStream",
  "onBlockReplyFlush",
  "onToolResult",
  "onBlockReply",
  "onAgentEvent",
];

const end: RunEventBody = {
  type: "run_end",
  result: { kind: "replied", stop: "stop" },
  receipt: { model: { provider: "p", id: "m" }, usage: emptyUsage(), calls: 1, durationMs: 1 },
  endedAt: 9,
};

/** A run that thinks, uses a tool and answers. */
const EVENTS: readonly RunEventBody[] = [
  { type: "run_start", facts: runFacts("run-1"), startedAt: 5 },
  {
    type: "attempt_start",
    number: 1,
    model: { provider: "p", id: "m" },
    thinking: "low",
    window: 1,
    messages: 1,
    estimatedTokens: 1,
  },
  { type: "message_start" },
  { type: "thinking_delta", delta: "let me " },
  { type: "thinking_delta", delta: "see" },
  { type: "text_delta", delta: "one ", text: "one " },
  { type: "text_delta", delta: "moment", text: "one moment" },
  { type: "message_end", message: answered("one moment"), text: "one moment", entryId: "e1" },
  { type: "tool_start", callId: "c", name: "look", args: {} },
  { type: "tool_end", callId: "c", name: "look", isError: false, text: "seen", durationMs: 1 },
  { type: "message_start" },
  { type: "thinking_delta", delta: "now" },
  { type: "message_end", message: answered(""), text: "", entryId: "e2" },
  { type: "message_start" },
  { type: "message_end", message: answered("done"), text: "done", entryId: "e3", media: ["a.png"] },
];

/** The end of a message whose text is as clients see it. */
const ended = (text: string, more: Partial<Extract<RunEventBody, { type: "message_end" }>>): RunEventBody => ({
  type: "message_end",
  message: answered(text),
  text,
  entryId: "e",
  ...more,
});

function runOf(events: readonly RunEventBody[], from = 1): MessageRun & { readonly stream: RunLog } {
  const stream = new RunLog(runFacts("run-1"));
  for (const event of events) stream.emit(event);
  return { stream, from };
}

describe("the callbacks of replyOptions", () => {
  test("follow the run of the message, one after the other and in order", async () => {
    const { runs, followed, log } = await openPost();
    const { calls, options } = noting(ALL.filter((name) => name !== "onAgentEvent"));
    await plugin.postSays("m1", options);
    expect(followed).toEqual(["post default 1:m1"]);
    runs.push(runOf([...EVENTS, end]));
    await until(() => calls.length === 12);
    expect(calls).toEqual([
      ["onAgentRunStart", "run-1"],
      ["onModelSelected", { provider: "p", model: "m", thinkLevel: "low" }],
      ["onAssistantMessageStart"],
      ["onReasoningStream", { text: "let me see" }],
      ["onPartialReply", { text: "one moment" }],
      ["onBlockReply", { text: "one moment" }],
      ["onBlockReplyFlush"],
      ["onToolResult", { text: "seen" }],
      ["onAssistantMessageStart"],
      ["onReasoningStream", { text: "now" }],
      ["onAssistantMessageStart"],
      ["onBlockReply", { text: "done", mediaUrls: ["a.png"] }],
    ]);
    expect(log.lines.filter((line) => line.startsWith("warn"))).toEqual([]);
  });

  test("say what a message asks for besides its text, and of a message that is only a file", async () => {
    const { runs } = await openPost();
    const { calls, options } = noting(["onBlockReply"]);
    await plugin.postSays("m1", options);
    const messages = [
      ended("", { media: ["a.ogg"], audioAsVoice: true }),
      ended("this one", { replyTo: { kind: "current" } }),
      ended("that one", { replyTo: { kind: "id", id: "7" } }),
      ended("", {}),
    ];
    runs.push(runOf([...EVENTS.slice(0, 2), ...messages, end]));
    await until(() => calls.length === 3);
    expect(calls.map(([, block]) => block)).toEqual([
      { mediaUrls: ["a.ogg"], audioAsVoice: true },
      { text: "this one", replyToTag: true, replyToCurrent: true },
      { text: "that one", replyToTag: true, replyToId: "7" },
    ]);
  });

  test("give every agent event, also when the message is passed on by dispatchReplyFromConfig", async () => {
    const { runs } = await openPost();
    const { calls, options } = noting(["onAgentEvent"]);
    await plugin.postSays("m1", options, "config");
    runs.push(runOf([...EVENTS, end]));
    await until(() => calls.length === 8);
    expect(calls.map(([, event]) => event)).toEqual([
      { stream: "lifecycle", data: { phase: "start", startedAt: 5 } },
      { stream: "thinking", data: { delta: "let me see" } },
      { stream: "assistant", data: { text: "one moment", delta: "one moment" } },
      { stream: "tool", data: { phase: "start", name: "look", toolCallId: "c", args: {} } },
      { stream: "tool", data: expect.objectContaining({ phase: "result", name: "look" }) },
      { stream: "thinking", data: { delta: "now" } },
      { stream: "assistant", data: { text: "done", delta: "", mediaUrls: ["a.png"] } },
      { stream: "lifecycle", data: { phase: "end", startedAt: 5, endedAt: 9 } },
    ]);
  });

  test("get deltas merged while they are slow, which does not delay the run", async () => {
    const { runs } = await openPost();
    const run = runOf(EVENTS.slice(0, 3));
    const slow = Promise.withResolvers<void>();
    const texts: string[] = [];
    const onPartialReply = async ({ text }: { text: string }) => {
      texts.push(text);
      await slow.promise;
    };
    await plugin.postSays("m1", { onPartialReply });
    runs.push(run);
    let text = "";
    for (const delta of ["a", "b", "c", "d", "e"]) {
      run.stream.emit({ type: "text_delta", delta, text: (text += delta) });
      if (delta === "a") await until(() => texts.length === 1);
    }
    run.stream.emit(end);
    expect((await run.stream.done).kind).toBe("replied");
    slow.resolve();
    await until(() => texts.length === 2);
    expect(texts).toEqual(["a", "abcde"]);
  });

  test("begin where the message joined a run, after its start", async () => {
    const { runs } = await openPost();
    const { options, names, calls } = noting(ALL.filter((name) => name !== "onAgentEvent"));
    await plugin.postSays("m1", options);
    runs.push(runOf([...EVENTS, end], 14));
    await until(() => calls.length === 3);
    expect(names()).toEqual(["onAgentRunStart", "onAssistantMessageStart", "onBlockReply"]);
  });

  test("change nothing when they throw, reject or never end, and are named once", async () => {
    const clock = manualClock();
    const { runs, log } = await openPost({ clock });
    const { calls, options } = noting(["onBlockReply"]);
    let hung = 0;
    await plugin.postSays("m1", {
      ...options,
      onAssistantMessageStart: () => {
        throw new Error("thrown");
      },
      onToolResult: () => Promise.reject(new Error("rejected")),
      onBlockReplyFlush: () => {
        hung += 1;
        return new Promise(() => undefined);
      },
      onReasoningStream: "no function",
    });
    runs.push(runOf([...EVENTS, ...EVENTS.slice(2), end]));
    await until(() => hung === 1);
    await until(() => clock.waits.includes(15_000));
    expect(calls).toHaveLength(1);
    clock.pass(15_000);
    await until(() => calls.length === 4);
    expect(hung).toBe(1);
    expect(log.lines.filter((line) => line.startsWith("warn"))).toEqual([
      "warn a callback of a plugin failed: thrown",
      "warn plugin is late",
      "warn a callback of a plugin failed: rejected",
    ]);
  });

  test("that show more than the answer need the right to read conversations", async () => {
    const { runs, plugins, log } = await openPost({ mayRead: false });
    const { options, names, calls } = noting();
    await plugin.postSays("m1", options);
    runs.push(runOf([...EVENTS, end]));
    await until(() => calls.length === 9);
    for (const refused of ["onReasoningStream", "onToolResult", "onAgentEvent"]) expect(names()).not.toContain(refused);
    await plugin.postSays("m2", options);
    expect(plugins.records[0]?.refusedHooks).toEqual([
      "replyOptions.onReasoningStream",
      "replyOptions.onToolResult",
      "replyOptions.onAgentEvent",
    ]);
    expect(log.lines.filter((line) => line.includes("is not called"))).toHaveLength(3);
  });

  test("are called once for a message that comes again, and for none without callbacks", async () => {
    const { runs, followed } = await openPost();
    const { calls, options } = noting(["onAgentRunStart"]);
    await plugin.postSays("m1", options);
    await plugin.postSays("m1", options);
    await plugin.postSays("m2", { disableBlockStreaming: true });
    runs.push(runOf([...EVENTS, end]));
    await until(() => calls.length > 0);
    runs.end();
    expect(followed).toEqual(["post default 1:m1"]);
  });

  test("end with the plugin", async () => {
    const { runs, plugins } = await openPost();
    const { calls, options } = noting(["onAgentRunStart", "onAssistantMessageStart"]);
    await plugin.postSays("m1", options);
    const run = runOf(EVENTS.slice(0, 1));
    runs.push(run);
    await until(() => calls.length === 1);
    await plugins.unload("post");
    run.stream.emit({ type: "message_start" });
    run.stream.emit(end);
    await run.stream.done;
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toHaveLength(1);
  });
});

describe("the abortSignal of replyOptions", () => {
  test("ends its message, also when it aborts before the message is passed on", async () => {
    const { stopped } = await openPost();
    const abort = new AbortController();
    await plugin.postSays("m1", { abortSignal: abort.signal });
    expect(stopped).toEqual([]);
    abort.abort();
    await until(() => stopped.length === 1);
    await plugin.postSays("m2", { abortSignal: AbortSignal.abort() });
    await until(() => stopped.length === 2);
    expect(stopped).toEqual(["post default 1:m1", "post default 1:m2"]);
  });

  test("ends nothing once the run is over", async () => {
    const { stopped, followed, runs } = await openPost();
    const { calls, options } = noting(["onAgentRunStart"]);
    const abort = new AbortController();
    await plugin.postSays("m1", { ...options, abortSignal: abort.signal });
    runs.push(runOf([...EVENTS, end]));
    runs.end();
    await until(() => calls.length === 1);
    // The message is followed anew when the first follower has ended.
    await until(async () => {
      await plugin.postSays("m1", options);
      return followed.length === 2;
    });
    abort.abort();
    expect(stopped).toEqual([]);
  });

  test("ends nothing when it is that of an account that is closed", async () => {
    const { stopped, runs, disconnect } = await openPost();
    const { calls, options } = noting(["onAgentRunStart"]);
    await plugin.postSays("m1", { ...options, abortSignal: plugin.postAccount });
    await disconnect();
    expect(plugin.postAccount.aborted).toBe(true);
    runs.push(runOf([...EVENTS, end]));
    await until(() => calls.length === 1);
    expect(stopped).toEqual([]);
  });
});

test("a plugin follows its own subagents without that right, and ends them", async () => {
  const { runs, followed, stopped } = await openPost({ mayRead: false });
  const { options, names } = noting();
  const abort = new AbortController();
  await plugin.postAsks({ ...options, abortSignal: abort.signal });
  expect(followed).toEqual(["run-1"]);
  const run = runOf(EVENTS);
  runs.push(run);
  await until(() => names().includes("onToolResult"));
  abort.abort();
  await until(() => stopped.length === 1);
  expect(stopped).toEqual(["run-1"]);
  run.stream.emit(end);
  runs.end();
});
