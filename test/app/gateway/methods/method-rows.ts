import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FakeBrowser } from "../../../fakes/push-service.ts";
import type { FakeTelegram } from "../../../fakes/telegram.ts";
import type { Params, Row } from "../../../peers/real-gateway/row.ts";
import { ROWS } from "../../../peers/real-gateway/rows/all.ts";

/** A request whose answer depends on what happens meanwhile. */
export interface Request extends Row {
  /** Lets something happen outside of the gateway before the request. */
  readonly before?: () => void;
  /** The request is repeated until its answer has this. */
  readonly has?: (answer: unknown) => boolean;
}

const MAIN = "agent:main:main";
const BUSY = "agent:main:busy";
const FAILING = "agent:main:failing";

const hasItems =
  (list: string, count = 1) =>
  (answer: unknown): boolean =>
    (Object(answer) as Record<string, unknown[]>)[list]!.length >= count;
const isList = (answer: unknown): boolean => Array.isArray(answer) && answer.length > 0;
const once = (method: string, params: Params = {}): Request => ({ method, params });

/** Strangers at a channel, messages to it, and its accounts. */
const channelRequests = (telegram: FakeTelegram): readonly Request[] => [
  {
    method: "pairing.list",
    before: () => [11, 12, 13].forEach((id) => telegram.say("hello", { from: { id, first_name: "Ada" } })),
    has: hasItems("requests", 3),
  },
  once("pairing.approve", { channel: "telegram", code: "{pairing.list:requests.0.code}", notify: true }),
  { method: "channels.pairing.list", about: "with two", params: { channel: "telegram" } },
  {
    method: "channels.pairing.approve",
    about: "of a stranger",
    params: {
      channel: "telegram",
      accountId: "default",
      requestId: "{channels.pairing.list (with two):requests.0.requestId}",
      notify: true,
    },
  },
  {
    method: "channels.pairing.dismiss",
    about: "of a stranger",
    params: {
      channel: "telegram",
      accountId: "default",
      requestId: "{channels.pairing.list (with two):requests.1.requestId}",
    },
  },
  once("owners.list"),
  once("owners.add", { channel: "telegram", senderId: "11" }),
  once("owners.remove", { entry: "telegram:11" }),
  once("channels.setups"),
  once("openclaw.import.detect"),
  once("openclaw.import.start", { dir: "{openclaw.import.detect:found.dir}" }),
  once("openclaw.setup.detect"),
  once("system.growth"),
  { method: "openclaw.setup.activate", about: "of the present model", params: { kind: "existing-model" } },
  {
    method: "openclaw.setup.activate",
    about: "of a server that is not there",
    params: { kind: "api-key", authChoice: "custom-api-key", baseUrl: "http://127.0.0.1:1/v1", modelRef: "m" },
  },
  once("openclaw.setup.verify"),
  once("channels.capabilities"),
  once("channels.probe", { channel: "telegram", timeoutMs: 20_000 }),
  {
    method: "send",
    about: "to a person",
    params: { channel: "telegram", to: "11", message: "hello", idempotencyKey: "s1" },
  },
  {
    method: "send",
    about: "tried",
    params: { channel: "telegram", to: "11", message: "hello", dryRun: true, idempotencyKey: "s2" },
  },
  {
    method: "send",
    about: "that is refused",
    before: () => telegram.fail("sendMessage", "403", 2),
    params: { channel: "telegram", to: "11", message: "one", tellFailure: true, idempotencyKey: "s3" },
  },
  {
    method: "send",
    about: "that is refused again",
    params: { channel: "telegram", to: "11", message: "two", tellFailure: true, idempotencyKey: "s4" },
  },
  once("outbox.list", { limit: 10 }),
  once("outbox.get", { id: "{outbox.list:rows.0.id}" }),
  once("outbox.retry", { id: "{outbox.list:rows.0.id}" }),
  {
    method: "send",
    about: "that waits",
    before: () => telegram.fail("sendMessage", "500", 50),
    params: { channel: "telegram", to: "11", message: "three", timeoutMs: 0, idempotencyKey: "s5" },
  },
  { method: "outbox.list", about: "that waits", params: { open: true }, has: hasItems("rows") },
  {
    method: "outbox.drop",
    before: () => telegram.heal(),
    params: { id: "{outbox.list (that waits):rows.0.id}" },
  },
  once("channels.add", { channel: "telegram", accountId: "second", values: { token: "1:a" } }),
  once("channels.enable", { channel: "telegram", accountId: "second", enabled: false }),
  once("channels.remove", { channel: "telegram", accountId: "second" }),
  once("channels.login.start", { channel: "whatsapp" }),
  once("channels.login.wait", { loginId: "{channels.login.start:loginId}", next: 0 }),
  once("channels.login.cancel", { loginId: "{channels.login.start:loginId}" }),
];

/** Messages that wait or failed, and their runs. */
const messageRequests: readonly Request[] = [
  {
    method: "chat.send",
    about: "before a message that waits",
    params: { sessionKey: BUSY, message: "SLOW please", idempotencyKey: "run-busy" },
    until: "answer",
  },
  {
    method: "chat.send",
    about: "that waits",
    params: { sessionKey: BUSY, message: "later", queueMode: "followup", idempotencyKey: "run-later" },
    until: "answer",
  },
  { method: "sessions.queue", params: { key: BUSY }, has: hasItems("messages") },
  once("inbox.drop", { id: "{sessions.queue:messages.0.id}" }),
  { method: "sessions.list", about: "with a run", params: { limit: 20 }, until: "answer" },
  { method: "health", about: "with a run" },
  { method: "status", about: "with a run" },
  { method: "gateway.restart.preflight", about: "with a run" },
  { method: "diagnostics.lanes", about: "with a run" },
  { method: "sessions.abort", about: "of the run", params: { key: BUSY } },
  {
    method: "chat.send",
    about: "that fails",
    params: { sessionKey: FAILING, message: "FAIL", idempotencyKey: "run-failed" },
    until: "run",
  },
  once("inbox.list", { sessionKey: FAILING }),
  once("inbox.get", { id: "{inbox.list:rows.0.id}" }),
  once("inbox.retry", { id: "{inbox.list:rows.0.id}" }),
  once("messages.why", { id: "run-failed" }),
  once("runs.list", { limit: 5 }),
  { method: "runs.list", about: "that failed", params: { failed: true } },
  once("runs.get", { runId: "run-hello" }),
  once("runs.prompt", { runId: "run-hello" }),
  { method: "tasks.list", about: "of jobs", params: { limit: 10 }, has: hasItems("tasks") },
  { method: "tasks.get", about: "of a job", params: { taskId: "{tasks.list (of jobs):tasks.0.taskId}" } },
];

/** Calls that a person has to allow: of the gateway's own tools, and of a plugin's hook. */
const approvalRequests: readonly Request[] = [
  {
    method: "chat.send",
    about: "with a command to allow",
    params: { sessionKey: MAIN, message: 'TOOL:exec {"command":"echo tea"}', idempotencyKey: "run-exec" },
    until: "answer",
  },
  { method: "exec.approval.list", about: "of a run", has: isList },
  {
    method: "exec.approval.resolve",
    about: "of a run",
    params: { id: "{exec.approval.list (of a run):0.id}", decision: "allow-once" },
  },
  once("agent.wait", { runId: "run-exec", timeoutMs: 60_000 }),
  {
    method: "chat.send",
    about: "with a call of which a plugin asks",
    params: { sessionKey: MAIN, message: 'TOOL:read {"path":"AGENTS.md"}', idempotencyKey: "run-asked" },
    until: "answer",
  },
  { method: "plugin.approval.list", about: "of a run", has: isList },
  {
    method: "plugin.approval.resolve",
    about: "of a run",
    params: { id: "{plugin.approval.list (of a run):0.id}", decision: "deny" },
  },
  once("plugin.approval.waitDecision", { id: "{plugin.approval.list (of a run):0.id}" }),
  {
    method: "plugin.approval.request",
    about: "of a client",
    params: { id: "of-a-client", title: "May I?", description: "a question", twoPhase: true },
  },
  { method: "approval.resolve", about: "of a client", params: { id: "of-a-client", kind: "plugin", decision: "deny" } },
  {
    method: "question.request",
    about: "of a client",
    params: {
      id: "tea",
      questions: [
        { questionId: "q1", header: "Tea", question: "Which tea?", options: [{ label: "green" }, { label: "black" }] },
      ],
    },
  },
  { method: "question.get", about: "of a client", params: { id: "tea" } },
  { method: "question.resolve", about: "of a client", params: { id: "tea", answers: { answers: { q1: ["green"] } } } },
  { method: "question.get", about: "with its answer", params: { id: "tea" } },
  once("question.waitAnswer", { id: "tea" }),
];

const JOB = "00000000-0000-4000-8000-000000000001";

/** Plugins, jobs, speech and policy. */
const ownRequests: readonly Request[] = [
  once("plugins.loaded", { check: true }),
  { method: "plugins.inspect", about: "of one", params: { pluginId: "tea-timer" } },
  {
    method: "plugins.sessionAction",
    about: "of one",
    params: { pluginId: "tea-timer", actionId: "count", payload: 2 },
  },
  once("tea-timer.left"),
  once("plugins.judgeInstall", {
    targetType: "plugin",
    targetName: "tea-pot",
    sourcePath: "/tmp/tea-pot",
    request: { kind: "path", mode: "install" },
  }),
  { method: "plugins.setEnabled", about: "of a broken one", params: { pluginId: "tea-pot", enabled: true } },
  once("plugins.retry", { pluginId: "tea-pot" }),
  once("doctor.run"),
  once("update.history"),
  once("policy.explain"),
  { method: "policy.explain", about: "of a stranger", params: { sender: "11", channel: "telegram", tool: "exec" } },
  { method: "policy.explain", about: "of a command", params: { command: "touch notes.txt" } },
  once("cron.import", {
    jobs: [
      {
        id: JOB,
        name: "imported",
        schedule: { kind: "every", everyMs: 3_600_000 },
        sessionTarget: "isolated",
        payload: { kind: "agentTurn", message: "hello" },
      },
      { name: "bad" },
    ],
    runs: [],
  }),
  once("cron.preview", { id: JOB }),
  { method: "tts.setProvider", about: "of the config", params: { provider: "tea-voice" } },
  once("sessions.unsubscribe"),
];

/** A stranger who is sent away, and a person who is put out. */
const puttingOut = (telegram: FakeTelegram): readonly Request[] => [
  {
    method: "pairing.list",
    about: "with one more",
    before: () => telegram.say("hello", { from: { id: 14, first_name: "Bo" } }),
    has: hasItems("requests"),
  },
  once("pairing.reject", { channel: "telegram", code: "{pairing.list (with one more):requests.0.code}" }),
  once("pairing.revoke", { channel: "telegram", senderId: "{pairing.approve:request.senderId}" }),
];

const IMPORTED = "6f1d9a52-3f0e-4a7e-9c1b-2d8f5e7a9b10";

/** A transcript that the command line has put into the directory, and a conversation that goes on earlier and then again where it was. */
/** The memory of the agent, which has one note of one line. */
const memoryRequests = (stateDir: string): readonly Request[] => [
  {
    method: "memory.notes",
    before: () => writeFileSync(join(stateDir, "workspace", "MEMORY.md"), "The tea is green."),
    params: { agentId: "main" },
  },
  once("memory.note", { path: "MEMORY.md" }),
  once("memory.forget", { path: "MEMORY.md", line: 1, text: "The tea is green." }),
];

const branchRequests = (stateDir: string): readonly Request[] => [
  {
    method: "sessions.import",
    before: () =>
      writeFileSync(
        join(stateDir, "sessions", `${IMPORTED}.jsonl`),
        `${JSON.stringify({ type: "session", version: 3, id: IMPORTED, timestamp: "2026-11-30T00:00:00.000Z", cwd: "." })}\n`,
      ),
    params: { key: "agent:main:taken-in", sessionId: IMPORTED },
  },
  { method: "chat.history", about: "before a rewind", params: { sessionKey: MAIN } },
  once("sessions.rewind", { sessionKey: MAIN, entryId: "{chat.history (before a rewind):messages.0.__openclaw.id}" }),
  { method: "sessions.branches.list", about: "after a rewind", params: { sessionKey: MAIN } },
  { method: "sessions.branches.versions", about: "after a rewind", params: { sessionKey: MAIN } },
  once("sessions.branches.switch", {
    sessionKey: MAIN,
    leafEntryId: "{sessions.branches.list (after a rewind):branches.0.leafEntryId}",
  }),
];

const PICTURES = "agent:main:pictures";
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The files of a conversation. */
const fileRequests: readonly Request[] = [
  {
    method: "chat.send",
    about: "with a picture",
    params: {
      sessionKey: PICTURES,
      message: "look",
      idempotencyKey: "with-a-picture",
      attachments: [{ type: "image", mimeType: "image/png", fileName: "dot.png", content: PICTURE }],
    },
    until: "run",
  },
  { method: "artifacts.list", about: "with a picture", params: { sessionKey: PICTURES } },
  { method: "artifacts.list", about: "of images", params: { sessionKey: PICTURES, type: "image" } },
  once("artifacts.get", { sessionKey: PICTURES, artifactId: "{artifacts.list (with a picture):artifacts.0.id}" }),
  once("artifacts.download", { sessionKey: PICTURES, artifactId: "{artifacts.list (with a picture):artifacts.0.id}" }),
];

/** Devices of which two want more scopes. */
const deviceRequests: readonly Request[] = [
  { method: "device.pair.list", about: "with two", has: hasItems("pending", 2) },
  once("device.pair.approve", { requestId: "{device.pair.list (with two):pending.0.requestId}" }),
  once("device.pair.reject", { requestId: "{device.pair.list (with two):pending.1.requestId}" }),
  once("device.pair.rename", { deviceId: "{device.pair.list (with two):paired.0.deviceId}", label: "phone" }),
  once("device.token.rotate", { deviceId: "{device.pair.list (with two):paired.0.deviceId}", role: "operator" }),
  once("device.token.revoke", { deviceId: "{device.pair.list (with two):paired.0.deviceId}", role: "operator" }),
  once("device.pair.remove", { deviceId: "{device.pair.list (with two):paired.1.deviceId}" }),
  once("device.pair.setupCode", { publicUrl: "https://gateway.example.org" }),
];

/** A browser that wants to be told while its page is closed. */
const pushRequests = ({ endpoint, keys }: FakeBrowser): readonly Request[] => [
  once("push.web.subscribe", { endpoint, keys, language: "de", replaces: `${endpoint}/before` }),
  { method: "push.web.preferences.get", about: "of a browser", params: { endpoint } },
  once("push.web.preferences.set", { endpoint, scope: "device", preferences: { label: "laptop" } }),
  once("push.web.test"),
  once("push.web.unsubscribe", { endpoint }),
];

/** Requests for every method of the gateway: those that OpenClaw's gateway is compared by, and those that need more than they bring. */
export const requestsFor = (
  telegram: FakeTelegram,
  stateDir: string,
  browser: FakeBrowser | undefined,
): readonly Request[] => {
  const config = ROWS.findIndex(({ method }) => method === "config.get");
  const own = [
    ...channelRequests(telegram),
    ...messageRequests,
    ...approvalRequests,
    ...fileRequests,
    ...deviceRequests,
    ...(browser ? pushRequests(browser) : []),
    ...ownRequests,
    ...puttingOut(telegram),
    ...branchRequests(stateDir),
    ...memoryRequests(stateDir),
  ];
  return [...ROWS.slice(0, config), ...own, ...ROWS.slice(config)];
};
