import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startGatewayFixture, TOKEN, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import { connectParams, RawClient } from "../../../kit/server/server.ts";
import { expectShape } from "../../../server/shapes.ts";

let fixture: GatewayFixture;
let client: RawClient;
/** OpenClaw's client for the terminal, which knows only the questions of plugins. */
let tui: RawClient;

beforeAll(async () => {
  fixture = await startGatewayFixture({ enabled: false });
  client = await connect("gateway-client");
  tui = await connect("openclaw-tui");
});
afterAll(async () => {
  client.close();
  tui.close();
  await fixture.close();
});

const SCOPES = ["operator.admin", "operator.approvals"];

async function connect(id: string): Promise<RawClient> {
  const opened = new RawClient(fixture.http.replace("http", "ws"));
  const params = connectParams(TOKEN);
  await opened.connect({ ...params, client: { ...params.client, id }, scopes: SCOPES });
  return opened;
}

const answered = z.looseObject({ id: z.string(), ok: z.boolean(), payload: z.unknown().optional() });
const payloadOf = (frame: unknown) => answered.parse(frame).payload;
const ask = async (method: string, params: object = {}) => payloadOf(await client.request(method, params));

const command = { command: "rm -rf tea", cwd: "/tmp", agentId: "main", sessionKey: "agent:main:main" };
const plugin = { title: "May I?", description: "a question", pluginId: "tea", toolName: "brew", severity: "critical" };

test("a client's question about a command is asked, looked up, answered and kept", async () => {
  const id = "Approval-1";
  const accepted = await ask("exec.approval.request", { ...command, id, twoPhase: true, timeoutMs: 60_000 });
  expect(accepted).toMatchObject({ status: "accepted", id, expiresAtMs: expect.any(Number) });
  expect(await client.event("exec.approval.requested")).toMatchObject({
    payload: { id, request: { command: command.command, sessionKey: command.sessionKey } },
  });
  expect(await ask("exec.approval.list")).toMatchObject([{ id, approvalKind: "exec" }]);
  expect(await ask("plugin.approval.list")).toEqual([]);
  expect(await ask("exec.approval.get", { id })).toMatchObject({ commandText: "rm -rf tea", host: "gateway" });
  const waiting = await ask("approval.get", { id });
  expectShape("ApprovalGetResult", waiting);
  expect(waiting).toMatchObject({ approval: { status: "pending" } });

  const decided = client.request("exec.approval.waitDecision", { id });
  expect(await ask("exec.approval.resolve", { id, decision: "allow-once" })).toMatchObject({ ok: true });
  expect(payloadOf(await decided)).toMatchObject({ id, decision: "allow-once", terminalReason: "user" });
  expect(await client.event("exec.approval.resolved")).toMatchObject({ payload: { id, decision: "allow-once" } });

  const history = await ask("approval.history", { limit: 10 });
  expectShape("ApprovalHistoryResult", history);
  const source = { sessionKey: "agent:main:main", agentId: "main" };
  expect(history).toMatchObject({ items: [{ id, status: "allowed", decision: "allow-once", source }] });
  const again = await client.request("exec.approval.resolve", { id, decision: "deny" });
  expect(again).toMatchObject({ ok: false, error: { details: { reason: "APPROVAL_ALREADY_RESOLVED" } } });
  expect(await ask("exec.approval.resolve", { id, decision: "allow-once" })).toMatchObject({ ok: true });
});

test("a client that wants one answer gets the decision", async () => {
  const decided = client.request("exec.approval.request", { ...command, id: "one-answer" });
  await client.until((frame) => JSON.stringify(frame).includes('"one-answer"'));
  const resolved = await ask("approval.resolve", { id: "one-answer", kind: "exec", decision: "deny" });
  expectShape("ApprovalResolveResult", resolved);
  expect(resolved).toMatchObject({ applied: true, approval: { status: "denied" } });
  expect(payloadOf(await decided)).toMatchObject({ id: "one-answer", decision: "deny" });
});

test("an id that is taken is refused, and a time that is over gives no decision", async () => {
  const first = client.request("exec.approval.request", { ...command, id: "soon-over", timeoutMs: 1 });
  expect(payloadOf(await first)).toMatchObject({ id: "soon-over", decision: null });
  await ask("exec.approval.request", { ...command, id: "taken", twoPhase: true });
  expect(await client.request("exec.approval.request", { ...command, id: "taken" })).toMatchObject({
    ok: false,
    error: { code: "INVALID_REQUEST", details: { kind: "CONFLICT" } },
  });
  await ask("exec.approval.resolve", { id: "taken", decision: "deny" });
  for (const id of ["taken", "soon-over"])
    for (const method of ["exec.approval.request", "plugin.approval.request"])
      expect(
        await client.request(method, { ...command, title: "May I?", description: "a question", id }),
      ).toMatchObject({
        ok: false,
        error: { code: "INVALID_REQUEST", details: { reason: "APPROVAL_ID_IN_USE" } },
      });
});

test("the question of a plugin has a list and events of its own, and shapes of its own in the history", async () => {
  const asked = z
    .looseObject({ id: z.string() })
    .parse(await ask("plugin.approval.request", { ...plugin, twoPhase: true }));
  const { id } = asked;
  expect(await client.event("plugin.approval.requested")).toMatchObject({ payload: { id, request: plugin } });
  expect(await ask("plugin.approval.list")).toMatchObject([{ id, request: plugin }]);
  expect(await ask("exec.approval.list")).toEqual([]);
  expect(await ask("plugin.approval.resolve", { id, decision: "allow-always" })).toMatchObject({ ok: true });
  expect(await client.event("plugin.approval.resolved")).toMatchObject({ payload: { id, decision: "allow-always" } });
  const history = await ask("approval.history", { kind: "plugin" });
  expectShape("ApprovalHistoryResult", history);
  expect(history).toMatchObject({
    items: [{ id, status: "allowed", presentation: { kind: "plugin", title: "May I?" } }],
  });
});

test("a client that knows only the questions of plugins is shown commands as such, on one line", async () => {
  const long = { ...command, command: `echo ${"x".repeat(2000)}`, id: "long" };
  const lines = { ...command, command: "echo a\necho b", id: "lines" };
  for (const one of [long, lines]) await ask("exec.approval.request", { ...one, twoPhase: true });
  const isAbout = (id: string) => (frame: Record<string, unknown>) =>
    frame["event"] === "plugin.approval.requested" && JSON.stringify(frame).includes(`"id":"${id}"`);
  expect(await tui.until(isAbout("lines"))).toMatchObject({
    payload: {
      request: {
        title: "The agent wants to run a command",
        description: expect.stringContaining("echo a ⏎ echo b — in /tmp"),
        allowedDecisions: ["allow-once", "allow-always", "deny"],
      },
    },
  });
  expect(await tui.until(isAbout("long"))).toMatchObject({ payload: { request: { allowedDecisions: ["deny"] } } });
  const listed = payloadOf(await tui.request("plugin.approval.list"));
  expect(listed).toMatchObject([{ id: "long" }, { id: "lines", request: { title: expect.any(String) } }]);
  for (const id of ["long", "lines"]) await tui.request("plugin.approval.resolve", { id, decision: "deny" });
  expect(tui.frames.some(({ event }) => event === "exec.approval.requested")).toBe(false);
});

test("the history survives a restart, and its pages follow each other", async () => {
  client.close();
  tui.close();
  await fixture.restart();
  client = await connect("gateway-client");
  tui = await connect("openclaw-tui");
  const page = z.looseObject({ items: z.array(z.looseObject({ id: z.string() })), nextCursor: z.string().optional() });
  const first = page.parse(await ask("approval.history", { limit: 2 }));
  expectShape("ApprovalHistoryResult", first);
  expect(first.items).toHaveLength(2);
  const rest = page.parse(await ask("approval.history", { limit: 100, cursor: first.nextCursor }));
  expect(rest.items.map(({ id }) => id)).toContain("Approval-1");
  expect(rest.items.some(({ id }) => first.items.some((one) => one.id === id))).toBe(false);
});

const question = {
  questionId: "q1",
  header: "Tea",
  question: "Which tea?",
  options: [{ label: "green" }, { label: "black" }],
};

test("a client asks people a question, and the answer reaches whoever waits for it", async () => {
  const asked = { id: "question-1", questions: [question], sessionKey: "agent:main:main", timeoutMs: 60_000 };
  const requested = await ask("question.request", asked);
  expectShape("QuestionRequestResult", requested);
  const { payload } = await client.event("question.requested");
  expectShape("QuestionRecord", payload);
  const list = await ask("question.list");
  expectShape("QuestionListResult", list);
  expect(list).toMatchObject({ questions: [{ id: "question-1", sessionKey: "agent:main:main", status: "pending" }] });
  const waited = client.request("question.waitAnswer", { id: "question-1" });
  const answers = { answers: { q1: ["green"] } };
  const resolved = await ask("question.resolve", { id: "question-1", answers });
  expectShape("QuestionResolveResult", resolved);
  expect(payloadOf(await waited)).toEqual({ status: "answered", answers });
  const end = await client.event("question.resolved");
  expectShape("QuestionResolvedEvent", end["payload"]);
  const found = await ask("question.get", { id: "question-1" });
  expectShape("QuestionGetResult", found);
  expect(found).toMatchObject({ question: { status: "answered" } });
  expect(await client.request("question.resolve", { id: "question-1", cancel: true })).toMatchObject({
    error: { details: { reason: "QUESTION_ALREADY_TERMINAL" } },
  });
  expect(await client.request("question.get", { id: "nothing" })).toMatchObject({
    error: { details: { reason: "QUESTION_NOT_FOUND" } },
  });
});

const OPTIONS = [{ label: "green" }, { label: "black" }];
const ANSWERS: readonly [string, object, Readonly<Record<string, readonly string[]>>, "taken" | "refused"][] = [
  ["an option", {}, { q1: ["green"] }, "taken"],
  ["an option with blanks around", {}, { q1: [" green "] }, "taken"],
  ["no option", {}, { q1: ["white"] }, "refused"],
  ["another spelling", {}, { q1: ["Green"] }, "refused"],
  ["two where one is asked for", {}, { q1: ["green", "black"] }, "refused"],
  ["an empty list", {}, { q1: [] }, "refused"],
  ["nothing", {}, {}, "refused"],
  ["an answer to another question", {}, { q1: ["green"], q2: ["black"] }, "refused"],
  ["several where several are asked for", { multiSelect: true }, { q1: ["black", "green"] }, "taken"],
  ["several, one of them no option", { multiSelect: true }, { q1: ["black", "white"] }, "refused"],
  ["own words where they are asked for", { isOther: true }, { q1: ["white"] }, "taken"],
  ["two of own words", { isOther: true }, { q1: ["white", "red"] }, "refused"],
  ["blanks", { isOther: true }, { q1: ["  "] }, "refused"],
  ["options and own words", { isOther: true, multiSelect: true }, { q1: ["green", "white"] }, "taken"],
  ["own words to an open question", { options: [] }, { q1: ["whatever"] }, "taken"],
  ["blanks to an open question", { options: [] }, { q1: [" "] }, "refused"],
];

test.each(ANSWERS)("an answer is held against its question: %s", async (about, more, answers, fate) => {
  const id = `held-${about}`;
  await ask("question.request", { id, questions: [{ ...question, options: OPTIONS, ...more }] });
  const answer = await client.request("question.resolve", { id, answers: { answers } });
  if (fate === "taken") {
    const trimmed = Object.fromEntries(
      Object.entries(answers).map(([of, said]) => [of, said.map((one) => one.trim())]),
    );
    expect(payloadOf(answer)).toEqual({ status: "answered", answers: { answers: trimmed } });
    return;
  }
  expect(answer).toMatchObject({
    error: { code: "INVALID_REQUEST", details: { reason: "QUESTION_INVALID_ANSWER" } },
  });
  expect(await ask("question.get", { id })).toMatchObject({ question: { status: "pending" } });
  await ask("question.resolve", { id, cancel: true });
});

test("each question of a request needs its answer, and questions that nobody can tell apart are refused", async () => {
  const both = [question, { ...question, questionId: "q2" }];
  await ask("question.request", { id: "two", questions: both });
  const resolve = (answers: object) => client.request("question.resolve", { id: "two", answers: { answers } });
  expect(await resolve({ q1: ["green"] })).toMatchObject({ error: { details: { reason: "QUESTION_INVALID_ANSWER" } } });
  expect(await resolve({ q1: ["green"], q2: ["black"] })).toMatchObject({ payload: { status: "answered" } });
  expect(await client.request("question.request", { id: "two", questions: [question] })).toMatchObject({
    error: { code: "INVALID_REQUEST", details: { reason: "QUESTION_ID_IN_USE" } },
  });
  const [first] = OPTIONS;
  for (const questions of [
    [question, question],
    [{ ...question, options: [first, first] }],
    [{ ...question, options: [first] }],
  ])
    expect(await client.request("question.request", { questions })).toMatchObject({
      error: { code: "INVALID_REQUEST" },
    });
});

test("a question that nobody answers expires, and one about a secret is refused", async () => {
  await ask("question.request", { id: "late", questions: [question], timeoutMs: 1 });
  expect(await ask("question.waitAnswer", { id: "late" })).toEqual({ status: "expired" });
  const secret = { ...question, isSecret: true };
  expect(await client.request("question.request", { questions: [secret] })).toMatchObject({
    ok: false,
    error: { code: "INVALID_REQUEST", message: expect.stringContaining("isSecret") },
  });
});
