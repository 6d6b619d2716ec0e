import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import { expect, onTestFinished, test } from "vitest";
import { openSessions } from "../../src/sessions/sessions.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { ConversationTree, EntryBody, Sessions } from "../../src/types/session.ts";
import { recordLog } from "../kit/log.ts";
import { tableOf } from "../kit/store/session-table.ts";
import { openStateDir } from "../kit/store/state-dir.ts";
import { ALL, answer, handClock, say, texts } from "../kit/store/transcript-file.ts";

const KEY = sessionKey("telegram:default:8001");
const COPY = sessionKey("webchat:default:copy");

async function open(left: readonly string[] = []): Promise<{ sessions: Sessions; dir: string }> {
  const { dir, remove } = await openStateDir();
  for (const name of left) await writeFile(join(dir, name), "{}");
  const given = { cwdFor: () => "/spaces", log: recordLog(), clock: handClock(), defaultAgent: agentId("main") };
  const sessions = await openSessions({ dir, table: await tableOf(dir), ...given });
  onTestFinished(async () => {
    await sessions.close();
    await remove();
  });
  return { sessions, dir };
}

/** A conversation; a number begins a new branch after the entry with that place. */
async function conversation(sessions: Sessions, parts: readonly (EntryBody | number | null)[]): Promise<string[]> {
  const session = await sessions.acquire(KEY);
  const ids: string[] = [];
  for (const part of parts) {
    if (part === null) session.branch(null);
    else if (typeof part === "number") session.branch(ids[part] ?? null);
    else ids.push(await session.append(part));
  }
  await session.sync();
  session.release();
  return ids;
}

const shown = ({ branches }: ConversationTree) =>
  branches.map(({ isActive, messages }) => [
    isActive,
    messages.map(({ message }) => (typeof message.content === "string" ? message.content : "answer")).toReversed(),
  ]);

const flush: EntryBody = {
  type: "message",
  message: {
    role: "user",
    content: "write down what matters",
    timestamp: 1,
    provenance: { kind: "internal_system", sourceTool: "memory_flush" },
  },
};

test("the branches of a conversation are those in which a person was answered, the newest first", async () => {
  const { sessions } = await open();
  expect((await sessions.tree(KEY)).branches).toEqual([]);
  const parts = [
    say("a"),
    answer("1"),
    say("b"),
    answer("2"),
    1,
    flush,
    answer("3"),
    1,
    say("left out"),
    1,
    say("c"),
    answer("4"),
  ];
  const ids = await conversation(sessions, parts);
  const tree = await sessions.tree(KEY);
  expect(shown(tree)).toEqual([
    [true, ["a", "answer", "c", "answer"]],
    [false, ["a", "answer", "b", "answer"]],
  ]);
  expect(tree.find(ids[2] ?? "")).toMatchObject({ isActive: false, entry: { message: { content: "b" } } });
  expect(tree.find(ids[0] ?? "")).toMatchObject({ isActive: true });
  expect(tree.find("absent")).toBeUndefined();
});

test("the leaf of a branch stays the same when the conversation continues elsewhere and comes back", async () => {
  const { sessions } = await open();
  const place: EntryBody = { type: "custom", customType: "openclaw.branch", data: { why: "branch-switch" } };
  const parts = [say("a"), answer("1"), say("b"), answer("2"), 1, say("c"), answer("3")];
  const ids = await conversation(sessions, parts);
  const [first, second] = [ids[3], ids[5]];
  const switched = async (to: string | undefined) => {
    const session = await sessions.acquire(KEY);
    session.branch(to ?? null);
    await session.append(place);
    await session.sync();
    session.release();
    return new Map((await sessions.tree(KEY)).branches.map(({ leafId, isActive }) => [leafId, isActive]));
  };
  for (const to of [first, second, first, second])
    expect(await switched(to)).toEqual(
      new Map([
        [first, to === first],
        [second, to === second],
      ]),
    );
});

test("what a killed process left of a copy is removed, and nothing else", async () => {
  const { dir } = await open(["copy.jsonl.0123456789ab.tmp", "copy.jsonl", "notes.tmp"]);
  const names = await readdir(dir);
  expect(names.filter((name) => name.startsWith("copy") || name.endsWith(".tmp")).toSorted()).toEqual([
    "copy.jsonl",
    "notes.tmp",
  ]);
});

test("a conversation that begins again at its root has an active branch of its own", async () => {
  const { sessions } = await open();
  await conversation(sessions, [say("a"), answer("1"), null, say("b")]);
  expect(shown(await sessions.tree(KEY))).toEqual([
    [true, ["b"]],
    [false, ["a", "answer"]],
  ]);
});

test("the branches of a damaged file are what can be read of them", async () => {
  const { sessions } = await open();
  await conversation(sessions, [say("a"), answer("1")]);
  const file = sessions.fileOf(KEY) ?? "";
  const line = (id: string, parentId: string, text: string) =>
    `${JSON.stringify({ type: "message", id, parentId, timestamp: "2026-11-21T00:00:00.000Z", message: { role: "user", content: text, timestamp: 1 } })}\n`;
  await appendFile(
    file,
    `{"torn": \n${line("x", "y", "loop x")}${line("y", "x", "loop y")}${line("z", "nowhere", "no parent")}`,
  );
  expect(shown(await sessions.tree(KEY))).toMatchObject([
    [true, ["no parent"]],
    [false, ["a", "answer"]],
  ]);
  await writeFile(file, "");
  expect((await sessions.tree(KEY)).branches).toEqual([]);
});

test("a copy has the entries up to its place, the choices and the marks of content, and is its own", async () => {
  const { sessions, dir } = await open();
  const ids = await conversation(sessions, [say("a"), answer("1"), say("b"), answer("2"), 1, say("c")]);
  const before = await readFile(sessions.fileOf(KEY) ?? "", "utf8");
  const marks = { thinkingLevel: "low", label: "mine", heardGuests: true, inputTokens: 7, lastTo: "8001" } as const;
  await sessions.patch(KEY, marks);
  const entry = await sessions.fork(KEY, { to: COPY, until: ids[3], patch: { parentSessionKey: KEY } });
  expect(entry).toMatchObject({
    thinkingLevel: "low",
    heardGuests: true,
    parentSessionKey: KEY,
    forkedFromParent: true,
  });
  for (const field of ["label", "inputTokens", "lastTo"]) expect(entry).not.toHaveProperty(field);

  const copy = await sessions.acquire(COPY);
  expect(texts(await copy.window(ALL))).toEqual(["a", "1", "b", "2"]);
  await copy.append(say("d"), { durable: true });
  copy.release();
  const { messages } = SessionManager.open(sessions.fileOf(COPY) ?? "", dir).buildSessionContext();
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
  expect(await readFile(sessions.fileOf(KEY) ?? "", "utf8")).toBe(before);

  const again = sessions.fork(KEY, { to: COPY, patch: {} });
  await expect(again).rejects.toThrow("is there already");
  expect(await sessions.fork(sessionKey("nobody"), { to: sessionKey("x"), patch: {} })).toBeUndefined();
  expect(sessions.peek(sessionKey("x"))).toBeUndefined();
  await sessions.fork(KEY, { to: sessionKey("empty"), until: null, patch: {} });
  const empty = await sessions.acquire(sessionKey("empty"));
  expect([empty.isNew, empty.leafId]).toEqual([true, null]);
  empty.release();
  expect(join(dir, `${entry?.sessionId}.jsonl`)).toBe(sessions.fileOf(COPY));
});
