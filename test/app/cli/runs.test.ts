import { NOWHERE_ELSE } from "../../kit/store/transcript-file.ts";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { partSizes, type TextPart } from "../../../src/prompt/parts.ts";
import { estimateTokens } from "../../../src/sessions/transcript/tokens.ts";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { accountId, channelId, runId, sessionKey } from "../../../src/types/ids.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import type { PromptRecord, Receipt } from "../../../src/types/run/run.ts";
import { png } from "../../kit/pictures.ts";
import { recordLog } from "../../kit/log.ts";
import { user } from "../../kit/store/transcript-file.ts";
import { Transcript } from "../../../src/sessions/transcript/transcript.ts";
import { run, stateDir } from "../../kit/gateway/cli.ts";
import { fakeGateway, Refusal } from "./fake-gateway.ts";

const KEY = "telegram:default:77";
const usage = {
  input: 1200,
  output: 34,
  cacheRead: 5000,
  cacheWrite: 60,
  totalTokens: 6294,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.0123 },
};
const sonnet = { provider: "anthropic", id: "claude" };
const spare = { provider: "openai", id: "gpt" };

const message: InboundMessage = {
  id: "m1",
  eventKey: "e1",
  from: { channel: channelId("telegram"), account: accountId("default"), chat: { kind: "direct", id: "77" } },
  sender: { id: "77" },
  text: "hello",
  media: [],
  mentionsBot: true,
  receivedAt: 1,
};

const system: readonly TextPart[] = [
  { name: "identity", source: "built in", text: "You are somebody." },
  { name: "AGENTS.md", source: "/w/AGENTS.md", text: "\n\nThe rules \u001b[31m of the house" },
];

const receipt: Receipt = {
  model: spare,
  usage,
  calls: 2,
  durationMs: 2345,
  profile: "openai:env",
  engine: "legacy",
  trigger: "message",
  principal: { kind: "sender", id: "telegram:77", name: "Ann" },
  candidates: [sonnet, spare, { provider: "google", id: "gemini" }],
  tries: [
    {
      model: sonnet,
      profile: "anthropic:a",
      thinking: "low",
      messages: 3,
      estimatedTokens: 900,
      durationMs: 700,
      outcome: "rate_limit",
      message: "429 slow down",
      remedy: "next_candidate",
    },
    { model: spare, thinking: "low", messages: 3, estimatedTokens: 900, durationMs: 1500, outcome: "replied" },
  ],
  skipped: [{ model: sonnet, profile: "anthropic:b", why: "cools down until 12:00" }],
  tools: [{ name: "read", calls: 2, failed: 1, ms: 12 }],
  compactions: 1,
};

/** A state directory with three runs: a whole one, one of an older version, one that failed. */
async function withRuns(file = "s1.jsonl") {
  const dir = stateDir("{}");
  mkdirSync(join(dir, "sessions"));
  const journal = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId: "b" });
  const path = join(dir, "sessions", file);
  const transcript = await Transcript.open({
    path,
    sessionId: "s1",
    sessionKey: KEY,
    cwd: "/",
    earlier: NOWHERE_ELSE,
    log: recordLog(),
    now: () => 1,
  });
  const picture = { type: "image" as const, data: png(4, 4).toString("base64"), mimeType: "image/png" };
  const shown = [
    user("an earlier question"),
    { ...user(""), content: [{ type: "text" as const, text: "look at this" }, picture] },
  ];
  const ids = [];
  for (const one of shown) ids.push(await transcript.append({ type: "message", message: one }));
  await transcript.append({ type: "message", message: user("said later") });
  await transcript.close();
  const row = { sessionId: "s1", sessionFile: path, updatedAt: 1 };
  writeFileSync(join(dir, "sessions", "sessions.json"), JSON.stringify({ [KEY]: row }));
  const prompt: PromptRecord = {
    system: await journal.texts.put(system.map((part) => part.text).join("")),
    systemParts: partSizes(system),
    bodyParts: [{ name: "message", source: "telegram message m1", tokens: 3 }],
    firstEntryId: ids[0]!,
    lastEntryId: ids[1]!,
    hasSummary: false,
    api: "openai-responses",
    input: ["text", "image"],
    images: true,
    strict: false,
    cuts: {},
    tools: ["read", "exec"],
    messages: 1,
    estimatedTokens: shown.reduce((sum, one) => sum + estimateTokens(one), 0),
  };
  const [accepted] = await journal.inbox.accept([message]);
  const inboxId = accepted!.row.id;
  await journal.inbox.claim([inboxId], { sessionKey: sessionKey(KEY), runId: runId("abc1"), turnId: ids[1]! });
  await journal.inbox.finish([inboxId], { kind: "replied" });
  const part = { kind: "text", body: "yes", format: "plain", plain: "yes" } as const;
  const [planned] = await journal.outbox.plan({ replyKey: "r", inboxId, to: message.from, parts: [part] });
  await journal.outbox.mark(planned!.id, { state: "unknown", error: "the line was cut" });
  const at = (second: number) => Date.UTC(2026, 0, 1, 12, 0, second);
  const record = { sessionKey: sessionKey(KEY), result: "replied" };
  await journal.runs.record({ ...record, runId: runId("abc1"), at: at(1), receipt: { ...receipt, prompt } });
  const old = { model: sonnet, usage, calls: 1, durationMs: 80 };
  await journal.runs.record({ ...record, runId: runId("abd2"), at: at(2), receipt: old });
  const failed = { ...record, sessionKey: sessionKey("other"), result: "failed:auth" };
  await journal.runs.record({ ...failed, runId: runId("fff3"), at: at(3), receipt: old });
  await journal.close();
  return { dir, path, env: { OPENCLAW_STATE_DIR: dir } };
}

test("runs lists the latest first, of one conversation, failed ones, so many", async () => {
  const { env } = await withRuns();
  const all = await run(["runs"], env);
  expect(all.code, all.err).toBe(0);
  const [head, ...lines] = all.out.trimEnd().split("\n");
  expect(head).toMatch(/^TIME +RUN +SESSION +MODEL +RESULT +TOOK +IN +OUT +COST$/);
  expect(lines.map((line) => line.split(/ {2,}/)[1])).toEqual(["fff3", "abd2", "abc1"]);
  expect(lines[2]).toMatch(/openai\/gpt \(for anthropic\/claude\) +replied +2\.3 s +6,260 +34 +\$0\.0123$/);
  const ids = async (...args: string[]) =>
    JSON.parse((await run(["runs", "list", "--json", ...args], env)).out).runs.map(
      (one: { runId: string }) => one.runId,
    );
  expect(await ids("--session", KEY)).toEqual(["abd2", "abc1"]);
  expect(await ids("--failed")).toEqual(["fff3"]);
  expect(await ids("--limit", "1")).toEqual(["fff3"]);
  expect(await run(["runs", "--session", "nobody"], env)).toMatchObject({ code: 0, out: "No such run is known.\n" });
  expect(await run(["runs"], { OPENCLAW_STATE_DIR: stateDir() })).toMatchObject({
    code: 0,
    out: "No such run is known.\n",
  });
});

test("runs show lists models, attempts, tools, cost, and the messages in and out", async () => {
  const { env } = await withRuns();
  const { code, out, err } = await run(["runs", "show", "abc"], env);
  expect(code, err).toBe(0);
  for (const line of [
    /^Run +abc1$/m,
    /^Model +openai\/gpt \(for anthropic\/claude\)$/m,
    /^Acted for +the sender Ann \(telegram:77\)$/m,
    /^Key +openai:env$/m,
    /^Saw +1 messages of about [\d,]+ tokens, a system prompt of 13, 2 tools$/m,
    /^Engine +legacy$/m,
    /^Tokens +1,200 in, 34 out, 5,000 read from the provider's cache, 60 written to it$/m,
    /^anthropic\/claude +rate_limit$/m,
    /^openai\/gpt +replied$/m,
    /^google\/gemini +not needed$/m,
    /^1 +anthropic\/claude +anthropic:a +low +3 +900 +700 ms +rate_limit +next_candidate +429 slow down$/m,
    /^anthropic\/claude +anthropic:b +cools down until 12:00$/m,
    /^message +telegram message m1 +3$/m,
    /^AGENTS\.md +\/w\/AGENTS\.md +\d+$/m,
    /^read +2 +1 +12 ms$/m,
    /^1 +telegram +77 +m1 +replied$/m,
    /^1 +telegram +77 +text +unknown +0 +the line was cut$/m,
  ])
    expect(out).toMatch(line);
  const json = JSON.parse((await run(["runs", "show", "abc1", "--json"], env)).out);
  expect(json).toMatchObject({
    run: { runId: "abc1", receipt: { tries: [{ outcome: "rate_limit" }, { outcome: "replied" }] } },
    inbox: [{ messageId: "m1", outcome: { kind: "replied" } }],
    outbox: [{ state: "unknown", error: "the line was cut" }],
  });
});

test("a receipt of an older version is shown as far as it goes", async () => {
  const { env } = await withRuns();
  const { code, out } = await run(["runs", "show", "abd2"], env);
  expect(code).toBe(0);
  expect(out).toMatch(/^Model +anthropic\/claude$/m);
  expect(out).not.toMatch(/undefined|Attempts|Tools|NaN/);
  expect(await run(["runs", "show", "abd2", "--prompt"], env)).toMatchObject({
    code: 1,
    err: expect.stringContaining("kept no record"),
  });
});

test("a run that is not there, and a beginning that fits several", async () => {
  const { env } = await withRuns();
  expect(await run(["runs", "show", "nope"], env)).toMatchObject({
    code: 1,
    err: expect.stringContaining("error NOT_FOUND: There is no run nope."),
  });
  expect(await run(["runs", "show", "ab"], env)).toMatchObject({
    code: 2,
    err: expect.stringContaining("Several runs begin with ab: abd2, abc1."),
  });
});

const PROMPT = [
  /^--- system · identity · built in · 5 tokens ---\nYou are somebody\.$/m,
  /^--- system · AGENTS\.md · \/w\/AGENTS\.md · \d+ tokens ---\nThe rules \[31m of the house$/m,
  /^--- tools · 2 ---\nread, exec$/m,
  /^--- message 1 · user · entry [0-9a-f]{16} · [\d,]+ tokens ---\nan earlier question\n\nlook at this\n\[image image\/png, 71 bytes\]$/m,
];

test("runs show --prompt prints what the model saw, piece by piece", async () => {
  const { env } = await withRuns();
  const { code, out, err } = await run(["runs", "show", "abc", "--prompt"], env);
  expect(code, err).toBe(0);
  for (const piece of PROMPT) expect(out).toMatch(piece);
  expect(out).not.toMatch(/said later|not known/);
  const json = JSON.parse((await run(["runs", "show", "abc", "--prompt", "--json"], env)).out);
  expect(json).toMatchObject({ faithful: true, tools: ["read", "exec"], messages: [{ role: "user" }] });
  expect(json.system.map((part: { text: string }) => part.text)).toEqual(system.map((part) => part.text));
});

test("the prompt is found after a reset, and a lost one is reported", async () => {
  const { dir, path, env } = await withRuns();
  const fresh = { sessionId: "s2", sessionFile: join(dir, "sessions", "s2.jsonl"), updatedAt: 2 };
  writeFileSync(join(dir, "sessions", "sessions.json"), JSON.stringify({ [KEY]: fresh }));
  renameSync(path, `${path}.reset.2026-01-01T00-00-00.000Z`);
  for (const piece of PROMPT) expect((await run(["runs", "show", "abc", "--prompt"], env)).out).toMatch(piece);
  renameSync(`${path}.reset.2026-01-01T00-00-00.000Z`, join(dir, "elsewhere.jsonl"));
  const gone = await run(["runs", "show", "abc", "--prompt"], env);
  expect(gone.code).toBe(0);
  expect(gone.out).toContain("You are somebody.");
  expect(gone.out).toContain("This is not known to be what was sent: The transcript has no entries up to");
});

test("what an engine made is shown as it was kept, and files of images are named", async () => {
  const { dir, path, env } = await withRuns();
  const journal = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId: "b" });
  const transcript = await Transcript.open({
    path,
    sessionId: "s1",
    cwd: "/",
    earlier: NOWHERE_ELSE,
    log: recordLog(),
    now: () => 1,
  });
  const asked = user("what is in ./plan.png and https://example.org/a.png?");
  const id = await transcript.append({ type: "message", message: asked });
  await transcript.close();
  const { receipt: whole } = (await journal.runs.find("abc1"))!;
  const one = { ...whole.prompt!, firstEntryId: id, lastEntryId: id, estimatedTokens: estimateTokens(asked) };
  const made = [
    { role: "user", content: "as the engine told it" },
    { role: "assistant", content: [{ type: "toolCall", id: "c1", name: "read", arguments: { path: "x" } }] },
    {
      role: "toolResult",
      toolCallId: "c1",
      toolName: "read",
      content: [{ type: "text", text: "lines" }],
      isError: true,
    },
  ];
  const engineMessages = await journal.texts.put(JSON.stringify(made));
  const record = { sessionKey: sessionKey(KEY), result: "replied", at: 1 };
  const keep = (run: string, prompt: PromptRecord) =>
    journal.runs.record({ ...record, runId: runId(run), receipt: { ...receipt, prompt } });
  await keep("image", one);
  await keep("engine", { ...one, engineMessages, messages: 3 });
  await keep("pruned", { ...one, engineMessages: "no such text" });
  await journal.close();
  const shown = async (run_: string) => (await run(["runs", "show", run_, "--prompt"], env)).out;
  expect(await shown("image")).toMatch(/^--- images of these files too.* ---\n\.\/plan\.png\n\n/m);
  const engine = await shown("engine");
  expect(engine).toMatch(/^--- message 1 · user · \d+ tokens ---\nas the engine told it$/m);
  expect(engine).toMatch(/^--- message 2 · assistant · \d+ tokens ---\n\[call read c1\] \{"path":"x"\}$/m);
  expect(engine).toMatch(/^--- message 3 · toolResult · read c1 · failed · \d+ tokens ---\nlines$/m);
  expect(engine).not.toContain("not known");
  expect(await shown("pruned")).toContain("What the context engine made is not kept any more.");
});

test("a running gateway is asked instead", async () => {
  const line = { runId: "abc1", sessionKey: KEY, at: 1, result: "replied", receipt };
  const gateway = await fakeGateway({
    "runs.list": () => ({ runs: [line] }),
    "runs.get": ({ params }) => {
      if (params["runId"] === "abc1") return { run: line, inbox: [], outbox: [] };
      throw new Refusal("INVALID_REQUEST", "There is no run x.", { kind: "NOT_FOUND" });
    },
    "runs.prompt": () => ({
      runId: "abc1",
      system: [],
      messages: [{ role: "user", tokens: 3, content: [{ type: "text", text: "as it was" }] }],
      tools: [],
      bodyParts: [],
      faithful: true,
    }),
  });
  const env = { ...gateway.env, OPENCLAW_STATE_DIR: stateDir() };
  expect((await run(["runs", "--session", "main", "--failed"], env)).out).toContain("abc1");
  expect(gateway.requests).toEqual([{ method: "runs.list", params: { limit: 20, sessionKey: "main", failed: true } }]);
  expect((await run(["runs", "show", "abc1"], env)).out).toMatch(/^Run +abc1$/m);
  expect((await run(["runs", "show", "abc1", "--prompt"], env)).out).toContain("as it was");
  expect(await run(["runs", "show", "x"], env)).toMatchObject({
    code: 1,
    err: expect.stringContaining("There is no run x."),
  });
});
