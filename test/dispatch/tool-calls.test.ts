import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { openToolCalls } from "../../src/dispatch/clients/tool-calls.ts";
import { defineTool, textResult } from "../../src/tools/define.ts";
import type { ToolCallRequest } from "../../src/types/chat/tool-call.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { until } from "../kit/until.ts";

let fixture: DispatchFixture;
let ran: unknown[];

beforeEach(async () => {
  fixture = await openDispatchFixture();
  ran = [];
  fixture.tools.push(
    defineTool({
      name: "note",
      label: "Note",
      description: "Notes a text.",
      input: z.object({ text: z.string(), action: z.string().optional() }),
      hasSideEffects: true,
      run: async (input) => (ran.push(input), textResult(`noted ${input.text}`)),
    }),
    defineTool({
      name: "send_out",
      label: "Send",
      description: "Sends a text to another chat.",
      input: z.object({ text: z.string() }),
      hasSideEffects: true,
      riskOf: async () => ({ use: "messages", what: "writes to another chat" }),
      run: async (input) => (ran.push(input), textResult("sent")),
    }),
    defineTool({
      name: "page",
      label: "Page",
      description: "Shows a page.",
      input: z.object({ length: z.number().optional() }),
      hasSideEffects: false,
      run: async ({ length = 4 }) =>
        textResult("x".repeat(length), { externalContent: { untrusted: true, source: "page" } }),
    }),
    defineTool({
      name: "wait",
      label: "Wait",
      description: "Waits for ever.",
      input: z.object({}),
      hasSideEffects: false,
      run: () => (ran.push("began"), new Promise(() => undefined)),
    }),
  );
});
afterEach(() => fixture.close());

const TEN = sessionKey("telegram:default:10");

const request = (
  tool: string,
  args: Record<string, unknown>,
  more: Partial<ToolCallRequest> = {},
): ToolCallRequest => ({
  tool,
  args,
  agentId: agentId("main"),
  sessionKey: TEN,
  isDryRun: false,
  signal: new AbortController().signal,
  ...more,
});

const open = ({ dispatch, ports }: Boot) => openToolCalls(dispatch, ports, () => ({}));

test("a call runs, and clients see it as a run of its session", async () => {
  const boot = await fixture.boot();
  const stop = new AbortController();
  const runs = boot.chat.runs(stop.signal)[Symbol.asyncIterator]();
  const seen = runs.next();
  const outcome = await open(boot)(request("note", { text: "a" }, { action: "add" }));
  expect(outcome).toMatchObject({ kind: "done", result: { content: [{ text: "noted a" }] } });
  expect(ran).toEqual([{ text: "a", action: "add" }]);
  const { value: stream } = await seen;
  expect(stream?.facts).toMatchObject({ sessionKey: TEN, trigger: "api" });
  const types: string[] = [];
  for await (const { type } of stream!.watch()) types.push(type);
  expect(types).toEqual(["run_start", "tool_start", "tool_end", "run_end"]);
  stop.abort();
});

test("arguments that do not fit, unknown tools and dry runs run nothing", async () => {
  const call = open(await fixture.boot());
  expect(await call(request("note", {}))).toMatchObject({
    kind: "invalid",
    why: expect.stringContaining("text"),
  });
  expect(await call(request("nothing", {}))).toEqual({ kind: "missing" });
  expect(await call(request("note", { text: "a" }, { isDryRun: true }))).toEqual({ kind: "fits", tool: "note" });
  expect(await call(request("note", {}, { isDryRun: true }))).toMatchObject({ kind: "invalid" });
  expect(ran).toEqual([]);
});

test("a plugin's before_tool_call changes the arguments, or blocks the call", async () => {
  fixture.hooks = (on) =>
    on("before_tool_call", (event) => {
      const { params } = z.looseObject({ params: z.looseObject({ text: z.string() }) }).parse(event);
      return params.text === "no" ? { block: true, blockReason: "not this" } : { params: { text: "changed" } };
    });
  const call = open(await fixture.boot());
  await call(request("note", { text: "a" }));
  const blocked = await call(request("note", { text: "no" }));
  expect(ran).toEqual([{ text: "changed" }]);
  expect(blocked).toMatchObject({
    result: { isError: true, content: [{ text: expect.stringContaining("not this") }] },
  });
});

test("a plugin's question is put to a person, whose answer decides", async () => {
  fixture.hooks = (on) => on("before_tool_call", () => ({ requireApproval: { title: "May it?" } }));
  const boot = await fixture.boot();
  const call = open(boot);
  for (const decision of ["deny", "allow-once"] as const) {
    const calling = call(request("note", { text: decision }));
    await until(() => boot.dispatch.approvals.list().length > 0, "the question");
    const [asked] = boot.dispatch.approvals.list();
    expect(asked).toMatchObject({ sessionKey: TEN, principal: { kind: "owner", id: "operator" } });
    boot.dispatch.approvals.resolve(asked!.id, decision);
    await calling;
  }
  expect(ran).toEqual([{ text: "allow-once" }]);
});

test("a question that nobody could answer is a refusal at once", async () => {
  fixture.approverClients = () => 0;
  fixture.hooks = (on) => on("before_tool_call", () => ({ requireApproval: { title: "May it?" } }));
  const outcome = await open(await fixture.boot())(request("note", { text: "a" }));
  expect(outcome).toMatchObject({ kind: "done", result: { isError: true } });
  expect(ran).toEqual([]);
});

test("a session that has read a stranger's text asks before a risky call", async () => {
  fixture.approverClients = () => 0;
  fixture.model.answer(({ isAfterTool }) => (isAfterTool ? { text: "read" } : { tool: "page", args: {} }));
  const boot = await fixture.boot();
  const call = open(boot);
  const key = boot.keyOf("10");
  expect(await call(request("send_out", { text: "a" }, { sessionKey: key }))).toMatchObject({
    result: { content: [{ text: "sent" }] },
  });
  await boot.ask("look at the page", "10");
  const outcome = await call(request("send_out", { text: "b" }, { sessionKey: key }));
  expect(outcome).toMatchObject({
    result: { isError: true, content: [{ text: expect.stringContaining("untrusted content (page)") }] },
  });
  expect(ran).toEqual([{ text: "a" }]);
});

test("a client that repeats one call without progress is stopped, and other sessions are not", async () => {
  const call = open(await fixture.boot());
  const kinds: string[] = [];
  for (let turn = 0; turn < 25; turn += 1) kinds.push((await call(request("note", { text: "same" }))).kind);
  expect(kinds[0]).toBe("done");
  expect(kinds.at(-1)).toBe("looping");
  expect(ran.length).toBeLessThan(25);
  expect((await call(request("note", { text: "other" }))).kind).toBe("done");
  expect((await call(request("note", { text: "same" }, { sessionKey: sessionKey("telegram:default:11") }))).kind).toBe(
    "done",
  );
});

test("a long result is cut", async () => {
  const outcome = await open(await fixture.boot())(request("page", { length: 300_000 }));
  const text =
    outcome.kind === "done" && outcome.result.content[0]?.type === "text" ? outcome.result.content[0].text : "";
  expect(text.length).toBeGreaterThan(1000);
  expect(text.length).toBeLessThan(100_000);
});

test("a call ends soon after its client has gone", async () => {
  const gone = new AbortController();
  const calling = open(await fixture.boot())(request("wait", {}, { signal: gone.signal }));
  await until(() => ran.length > 0, "the call");
  gone.abort();
  expect(await calling).toMatchObject({ kind: "done", result: { isError: true } });
});
