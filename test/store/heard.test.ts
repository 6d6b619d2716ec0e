import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openJournal, type OpenJournal } from "../../src/store/journal/journal.ts";
import { runId, sessionKey } from "../../src/types/ids.ts";
import type { Outcome } from "../../src/types/journal.ts";
import type { Peer } from "../../src/types/chat/message.ts";
import { message } from "../kit/inbound.ts";

let dir: string;
let journal: OpenJournal;
let now = 1000;
let events = 0;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "heard-"));
  const clock = { now: () => now, after: () => () => undefined };
  journal = await openJournal({ path: join(dir, "journal.sqlite"), bootId: "boot", clock });
});
afterEach(async () => {
  await journal.close();
  await rm(dir, { recursive: true, force: true });
});

async function accept(text: string, chat: string, thread?: string): Promise<number> {
  const from = { chat: { kind: "group", id: chat }, ...(thread !== undefined && { thread }) } as const;
  const [taken] = await journal.inbox.accept([{ ...message({ text, ...from }), eventKey: `e${++events}` }]);
  return taken!.row.id;
}

const hear = async (text: string, chat = "-1", thread?: string) =>
  journal.inbox.finish([await accept(text, chat, thread)], { kind: "dropped", why: "not mentioned" }, "history");

async function turn(chat = "-1", outcome: Outcome = { kind: "replied" }): Promise<void> {
  const id = await accept("asked", chat);
  await journal.inbox.claim([id], { sessionKey: sessionKey("k"), runId: runId(`r${id}`), turnId: `t${id}` });
  await journal.inbox.finish([id], outcome);
}

const heard = async (since = 0, placeOf = (from: Peer): Peer => from) =>
  (await journal.heard(since, placeOf)).map(({ message: { text } }) => text);

test("what a chat said since its last turn is found, oldest first", async () => {
  await hear("told");
  await hear("elsewhere", "-2");
  await hear("in a topic", "-1", "5");
  await turn();
  await hear("first");
  await hear("second");
  expect(await heard()).toEqual(["elsewhere", "in a topic", "first", "second"]);
  const inChat = ({ thread: _thread, ...chat }: Peer): Peer => chat;
  expect(await heard(0, inChat)).toEqual(["elsewhere", "first", "second"]);
});

test("a command is no turn, nor is what was dropped; a turn that was stopped is one", async () => {
  await hear("kept");
  const command = await accept("/status", "-1");
  await journal.inbox.finish([command], { kind: "command", name: "status" });
  await journal.inbox.finish([await accept("a stranger", "-1")], { kind: "dropped", why: "no" }, "drop");
  expect(await heard()).toEqual(["kept"]);
  await turn("-1", { kind: "aborted" });
  expect(await heard()).toEqual([]);
});

test("what is older than asked for is left", async () => {
  await hear("old");
  now = 5000;
  await hear("new");
  expect(await heard(2000)).toEqual(["new"]);
});
