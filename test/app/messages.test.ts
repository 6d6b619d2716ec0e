import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TOO_MANY_STARTS } from "../../src/dispatch/notices/chat-texts.ts";
import { openJournal, type OpenJournal } from "../../src/store/journal/journal.ts";
import type { Clock } from "../../src/types/clock.ts";
import { runId, sessionKey } from "../../src/types/ids.ts";
import type { Receipt } from "../../src/types/run/run.ts";
import { nextMessage, peer } from "../kit/inbound.ts";
import { run } from "../kit/gateway/cli.ts";

let dir: string;
let now: number;
let journal: OpenJournal;
const clock: Clock = { now: () => (now += 1000), after: () => () => undefined };

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "messages-"));
  now = Date.UTC(2026, 10, 21, 3);
  journal = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId: "b", clock });
});
afterEach(async () => {
  await journal.close();
  rmSync(dir, { recursive: true });
});

const cli = (...args: string[]) => run(args, { OPENCLAW_STATE_DIR: dir });
const accept = async (...said: Parameters<typeof nextMessage>) => {
  const [accepted] = await journal.inbox.accept([nextMessage(...said)]);
  return accepted!.row;
};
const KEY = sessionKey("telegram:default:1");
const claim = (...ids: number[]) =>
  journal.inbox.claim(ids, { sessionKey: KEY, runId: runId("run-one"), turnId: "t1" });
const text = (body: string) => ({ kind: "text", body, format: "plain", plain: body }) as const;
const plan = (inboxId: number, ...bodies: string[]) =>
  journal.outbox.plan({ replyKey: `in:${inboxId}:reply`, inboxId, to: peer("1"), parts: bodies.map(text) });

const receipt: Receipt = {
  model: { provider: "anthropic", id: "sonnet" },
  usage: {
    input: 10,
    output: 5,
    cacheRead: 90,
    cacheWrite: 0,
    totalTokens: 105,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.0123 },
  },
  calls: 2,
  durationMs: 1500,
  tries: [
    {
      model: { provider: "openai", id: "gpt" },
      profile: "openai:work",
      thinking: "off",
      messages: 1,
      estimatedTokens: 9,
      durationMs: 200,
      outcome: "rate_limit",
      message: "slow down",
      remedy: "fallback_model",
    },
  ],
  tools: [{ name: "read", calls: 2, failed: 1, ms: 40 }],
};

/** The steps of the only story. */
async function steps(...args: string[]): Promise<[string, string][]> {
  const ended = await cli("why", ...args, "--json");
  expect(ended.err).toBe("");
  const { stories } = JSON.parse(ended.out) as { stories: { steps: { step: string; text: string }[] }[] };
  return stories.flatMap((story) => story.steps.map(({ step, text: words }): [string, string] => [step, words]));
}

describe("openclaw why", () => {
  it("shows for a message that was given up how often it was started, when the process ended, and that the chat was informed", async () => {
    const row = await accept("hello", "1", { id: "66" });
    const starts: number[] = [];
    for (const bootId of ["b1", "b2", "b3", "b4"]) {
      await journal.close();
      journal = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId, clock });
      await claim(row.id);
      starts.push(now);
      // The same start takes it up again when the disk was full: that is no other start.
      await claim(row.id);
    }
    await journal.inbox.finish([row.id], { kind: "failed", why: TOO_MANY_STARTS });
    const given = await steps("66");
    const ended = (of: number) => ["run", `start ${of}: the gateway's process ended before the turn did`];
    expect(given.filter(([step]) => step === "run")).toEqual([1, 2, 3].map(ended));
    expect(given.at(-1)?.[1]).toBe(
      "given up: started 3 times, and the process ended each time before the turn did; its chat was not informed",
    );
    const [notice] = await journal.outbox.plan({
      replyKey: `in:${row.id}:error`,
      inboxId: row.id,
      to: peer("1"),
      parts: [text(TOO_MANY_STARTS)],
    });
    expect((await steps("66")).find(([step]) => step === "end")?.[1]).toMatch(/its chat is being informed$/);
    await journal.outbox.mark(notice!.id, { state: "sent", messageId: "m9" });
    expect((await steps("66")).map(([step]) => step)).toEqual(
      "received admission session run run run end reply".split(" "),
    );
    expect((await steps("66")).find(([step]) => step === "end")?.[1]).toMatch(/its chat was informed$/);
    const { stories } = JSON.parse((await cli("why", "66", "--json")).out) as {
      stories: { steps: { step: string; at?: number }[] }[];
    };
    expect(stories[0]?.steps.filter(({ step }) => step === "run").map(({ at }) => at)).toEqual(starts.slice(0, 3));
  });

  it("shows which starts an answered message did not survive", async () => {
    const row = await accept("hello", "1", { id: "67" });
    await claim(row.id);
    await journal.close();
    journal = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId: "b2", clock });
    await claim(row.id);
    await journal.inbox.finish([row.id], { kind: "replied" });
    await journal.runs.record({ runId: runId("run-one"), sessionKey: KEY, at: now, result: "replied", receipt });
    const runs = (await steps("67")).filter(([step]) => step === "run").map(([, words]) => words);
    expect(runs[0]).toBe("start 1: the gateway's process ended before the turn did");
    expect(runs.filter((words) => words.startsWith("start "))).toHaveLength(1);
  });

  it("shows every step of an answered message, in order", async () => {
    const said = nextMessage("hello", "1", { id: "55" });
    const [{ row } = await Promise.reject(new Error("not taken"))] = await journal.inbox.accept([said]);
    await journal.inbox.accept([said, said]);
    await claim(row.id);
    const ended = now + 1500;
    const rows = await plan(row.id, "one", "two");
    await journal.outbox.mark(rows[0]!.id, { state: "sending" });
    await journal.outbox.mark(rows[0]!.id, { state: "sent", messageId: "m1" });
    await journal.outbox.mark(rows[1]!.id, { state: "unknown", error: "reset" });
    await journal.outbox.mark(rows[1]!.id, { state: "sending", isRepeat: true });
    await journal.outbox.mark(rows[1]!.id, { state: "sent", messageId: "m2" });
    await journal.inbox.finish([row.id], { kind: "replied" });
    await journal.runs.record({ runId: runId("run-one"), sessionKey: KEY, at: ended, result: "replied", receipt });
    const told = await steps("55");
    const sorted = new Map(told.map(([step, words]) => [words, step]));
    expect(told.map(([step]) => step)).toEqual([
      "received",
      "admission",
      "offered",
      "session",
      "run",
      "run",
      "run",
      "run",
      "reply",
      "reply",
      "end",
    ]);
    const all = [...sorted.keys()].join("\n");
    expect(all).toContain("message 55 of User 1 (1) on telegram/default, direct chat 1, as row 1");
    expect(all).toContain("seen 3 times");
    expect(all).toContain("session telegram:default:1, run run-one");
    expect(all).toContain(
      "asked openai/gpt (key openai:work): rate_limit after 200 ms: slow down; then fallback_model",
    );
    expect(all).toContain("tool read: 2 calls, 1 failed, 40 ms");
    expect(all).toContain("replied; anthropic/sonnet, 2 calls, 100 tokens in, 5 out, $0.0123, 1500 ms");
    expect(all).toContain("part 1, was sent: message m1");
    expect(all).toContain("part 2, was sent: message m2, a possible repeat");
    expect(told.at(-1)).toEqual(["end", "it was answered"]);
    for (const other of ["#1", "1", "m2", "run-one", "run-"]) expect(await steps(other), other).toEqual(told);
    const shown = await cli("why", "55");
    expect(shown.out.split("\n")).toHaveLength(told.length + 1);
    expect(shown.out).toMatch(/^2026-11-2\d \d\d:\d\d:\d\d {2}received {3}message 55/);
  });

  it("shows what became of the message's own files", async () => {
    const [said, other] = [await accept("look", "1", { id: "56" }), await accept("and this", "1", { id: "57" })];
    await claim(said.id, other.id);
    const photo = {
      inboxId: said.id,
      kind: "image",
      name: "dot\n.png",
      tries: 3,
      durationMs: 1700,
      bytes: 68,
    } as const;
    const big = { inboxId: said.id, kind: "document", tries: 1, durationMs: 4, why: "larger than 20 MB" } as const;
    const files = [photo, big, { ...photo, inboxId: other.id, name: "other.png", tries: 1 }];
    const record = { runId: runId("run-one"), sessionKey: KEY, at: now + 1500, result: "replied" };
    await journal.runs.record({ ...record, receipt: { ...receipt, files } });
    expect((await steps("56")).filter(([step]) => step === "file")).toEqual([
      ["file", "dot .png (image): fetched, 68 bytes, 3 tries in 1700 ms"],
      ["file", "document: not available, 4 ms: larger than 20 MB"],
    ]);
    expect((await steps("57")).filter(([step]) => step === "file")).toEqual([
      ["file", "other.png (image): fetched, 68 bytes, 1700 ms"],
    ]);
    const shown = await cli("runs", "show", "run-one");
    expect(shown.out).toMatch(/Files that came with it:\n.*\n.*document +1 +4 ms +larger than 20 MB/s);
  });

  it("does not call a message answered alone whose answer the platform refused", async () => {
    const said = await accept("x", "1", { id: "e" });
    await claim(said.id);
    const [first, second] = await plan(said.id, "one", "two");
    await journal.outbox.mark(first!.id, { state: "failed", error: "bot was blocked" });
    await journal.inbox.finish([said.id], { kind: "replied" });
    expect((await steps("e")).at(-1)).toEqual(["end", "it was answered"]);
    await journal.outbox.mark(second!.id, { state: "failed", error: "bot was blocked" });
    expect((await steps("e")).at(-1)).toEqual(["end", "it was answered, but nothing of the answer was sent"]);
  });

  it("shows why there was no answer", async () => {
    const dropped = await accept("x", "1", { id: "a" });
    await journal.inbox.finish([dropped.id], { kind: "dropped", why: "the sender is not in allowFrom" }, "drop");
    const heard = await accept("x", "1", { id: "b" });
    await journal.inbox.finish([heard.id], { kind: "dropped", why: "not mentioned" }, "history");
    const silent = await accept("x", "1", { id: "c" });
    await claim(silent.id);
    await journal.inbox.finish([silent.id], { kind: "silent" });
    const open = await accept("x", "1", { id: "d" });
    expect(await steps("a")).toContainEqual(["admission", "not let in: the sender is not in allowFrom"]);
    expect(await steps("b")).toContainEqual(["admission", "heard, kept as context, not to be answered: not mentioned"]);
    expect(await steps("c")).toContainEqual(["end", "the agent chose to say nothing"]);
    expect(await steps("d")).toEqual([
      ["received", expect.stringContaining(`as row ${open.id}`)],
      ["end", "no outcome yet: it waits for its turn, or for the gateway to look at it"],
    ]);
  });

  it("shows the messages of one turn, with the answer of that turn", async () => {
    const [one, two] = [await accept("x", "1", { id: "a" }), await accept("y", "1", { id: "b" })];
    await claim(one.id, two.id);
    const [reply] = await plan(one.id, "to both");
    await journal.outbox.mark(reply!.id, { state: "sent", messageId: "m9" });
    await journal.inbox.finish([one.id], { kind: "replied" });
    await journal.inbox.finish([two.id], { kind: "merged", into: one.id });
    expect(await steps("b")).toContainEqual(["queue", "it became part of the turn of row 1"]);
    expect(await steps("b")).toContainEqual(["reply", "reply row 1, part 1, was sent: message m9"]);
    expect(await steps("a")).toContainEqual(["queue", "its turn has the messages of other rows too: 2"]);
  });

  it("shows replies that answer no message, and those to a message that was deleted", async () => {
    const sent = { replyKey: "send:k", to: peer("1"), parts: [text("hello")] };
    const [own] = await journal.outbox.plan(sent);
    await journal.outbox.mark(own!.id, { state: "sending" });
    await journal.outbox.mark(own!.id, { state: "sent", messageId: "m7" });
    const [orphan] = await plan(99, "answer");
    await journal.outbox.mark(orphan!.id, { state: "sent", messageId: "m8" });
    const place = "for telegram/default, direct chat 1";
    expect(await steps("m7")).toEqual([
      ["planned", `sent for an operator (message send), ${place}`],
      ["reply", "reply row 1, part 1, was sent: message m7"],
    ]);
    expect(await steps("m8")).toEqual([
      ["planned", `an answer to the message of row 99, which is not kept any more, ${place}`],
      ["reply", "reply row 2, part 1, was sent: message m8"],
    ]);
    expect((await cli("why", "m7")).out).toMatch(/ planned +sent for an operator/);
    expect((await cli("why", "m7", "--channel", "slack")).code).toBe(1);
    const other = await journal.outbox.plan({ ...sent, replyKey: "send:l", to: peer("2") });
    await journal.outbox.mark(other[0]!.id, { state: "sent", messageId: "m7" });
    expect((await cli("why", "m7")).err).toContain("reply row 1 (telegram chat 1), as in openclaw outbox show 1");
  });

  it("asks back when an id may mean messages of several chats", async () => {
    await accept("x", "1", { id: "7" });
    await accept("x", "2", { id: "7" });
    const ended = await cli("why", "7");
    expect(ended.code).toBe(2);
    expect(ended.err).toContain("#2 (message 7, telegram chat 2), #1 (message 7, telegram chat 1)");
    expect((await steps("#2"))[0]?.[1]).toContain("direct chat 2");
    expect((await cli("why", "7", "--channel", "slack")).code).toBe(1);
    expect((await cli("why", "nothing")).err).toContain("Nothing here is called nothing");
  });
});

describe("without a gateway", () => {
  it("lists and shows what is open, and all on demand", async () => {
    expect((await cli("inbox")).out).toBe("Every message has its outcome.\n");
    const open = await accept("what is open?", "1");
    const done = await accept("done", "2");
    await claim(done.id);
    await plan(done.id, "answer");
    await journal.inbox.finish([done.id], { kind: "replied" });
    const listed = await cli("inbox", "list");
    expect(listed.out).toMatch(/^1 .*telegram +1 +User 1 +waits for .*what is open\?$/m);
    expect(listed.out).not.toContain("done");
    expect((await cli("inbox", "list", "--all")).out).toMatch(/replied +done$/m);
    const bySession = await cli("inbox", "list", "--all", "--session", KEY, "--json");
    expect(JSON.parse(bySession.out)).toMatchObject({
      count: 1,
      rows: [{ id: done.id, outcome: { kind: "replied" } }],
    });
    const shown = await cli("inbox", "show", `#${done.id}`);
    expect(shown.out).toMatch(/^State +replied$/m);
    expect(shown.out).toMatch(/^1 .*#2 +telegram +1 +planned/m);
    expect((await cli("inbox", "show", "99")).code).toBe(1);
    expect((await cli("inbox", "show", "x")).code).toBe(2);
    expect((await cli("outbox")).out).toMatch(/^1 .*planned/m);
    expect((await cli("outbox", "show", "1")).out).toMatch(/^Text +answer$/m);
    expect(open.id).toBe(1);
  });

  it("ends and reopens messages for the next start", async () => {
    const row = await accept("x");
    expect((await cli("inbox", "retry", "1")).out).toContain("at the next start");
    expect((await cli("inbox", "drop", "1")).out).toContain("is ended");
    expect((await cli("inbox", "drop", "1")).err).toContain("has ended already: it was dropped: by the operator");
    const again = JSON.parse((await cli("inbox", "retry", "1", "--json")).out) as { id: number };
    expect(await journal.inbox.open()).toMatchObject([{ id: again.id, againOf: row.id }]);
    expect(await steps("#1")).toContainEqual(["again", `an operator had it run again, as row ${again.id}`]);
    await journal.inbox.finish([again.id], { kind: "replied" });
    const refused = await cli("inbox", "retry", String(again.id));
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("it was answered")]);
  });

  it("runs a message again once, with what was part of its turn", async () => {
    const [one, two] = [await accept("x", "1"), await accept("y", "1")];
    await journal.inbox.finish([one.id], { kind: "failed", why: "no key" });
    await journal.inbox.finish([two.id], { kind: "merged", into: one.id });
    expect((await cli("inbox", "retry", "2")).err).toContain("openclaw inbox retry 1");
    expect((await cli("inbox", "retry", "1")).out).toContain(
      "as row 3: it goes on at the next start of the gateway. What was part of its turn comes along: row 4.",
    );
    const refused = await cli("inbox", "retry", "1");
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining("was run again already, as row 3: it has no outcome yet"),
    ]);
    expect(refused.err).toContain("openclaw inbox show 3");
    expect((await journal.inbox.open()).map(({ id }) => id)).toEqual([3, 4]);
  });

  it("ends with a message what was planned of its answer, unless that answers others too", async () => {
    const [one, two, three] = [await accept("x"), await accept("y"), await accept("z")];
    const [sent] = await plan(one.id, "said", "not yet", "nor this");
    await journal.outbox.mark(sent!.id, { state: "sent", messageId: "m" });
    expect((await cli("inbox", "drop", "1")).out).toBe(
      "Message 1 is ended, and so is what was not sent of its answer (reply row 2, 3); the gateway does not run.\n",
    );
    expect(await journal.outbox.open()).toEqual([]);
    await claim(two.id, three.id);
    await plan(two.id, "to both");
    expect((await cli("inbox", "drop", "2")).out).toBe("Message 2 is ended; the gateway does not run.\n");
    expect(await journal.outbox.open()).toMatchObject([{ id: 4, state: "planned" }]);
  });

  it("gives up replies and readies them for the next start", async () => {
    const row = await accept("x");
    const [reply] = await plan(row.id, "answer");
    await journal.inbox.finish([row.id], { kind: "replied" });
    expect((await cli("outbox", "drop", "1")).out).toBe("Reply 1 is given up.\n");
    expect((await cli("inbox", "list", "--all")).out).toMatch(/answered, but nothing of it was sent +x$/m);
    expect((await cli("inbox", "show", "1")).out).toMatch(/^State +answered, but nothing of it was sent$/m);
    expect((await cli("outbox", "drop", "1")).code).toBe(2);
    expect((await cli("outbox", "retry", "1")).out).toContain("at the next start");
    await journal.outbox.mark(reply!.id, { state: "unknown" });
    expect((await cli("outbox", "retry", "1")).out).toContain("possible repeat");
    await journal.outbox.mark(reply!.id, { state: "sent", messageId: "m" });
    expect((await cli("outbox", "retry", "1")).err).toContain("Reply 1 was sent");
    expect((await cli("outbox")).out).toBe("Every reply was sent.\n");
  });

  it("sends one that was given up in the middle of its send with its label", async () => {
    const [reply] = await plan((await accept("x")).id, "answer");
    await journal.outbox.mark(reply!.id, { state: "sending" });
    expect((await cli("outbox", "drop", "1")).out).toBe("Reply 1 is given up; it may have arrived.\n");
    expect((await cli("outbox", "retry", "1")).out).toContain("marked as a possible repeat");
  });

  it("says so where nothing came in yet", async () => {
    const empty = { OPENCLAW_STATE_DIR: join(dir, "other") };
    expect((await run(["inbox", "list", "--all"], empty)).out).toBe("No message is known.\n");
    expect((await run(["inbox", "drop", "1"], empty)).code).toBe(1);
    expect((await run(["outbox", "retry", "1"], empty)).code).toBe(1);
    expect((await run(["why", "5"], empty)).code).toBe(1);
  });
});
