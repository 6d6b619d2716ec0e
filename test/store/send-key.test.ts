import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { openJournal, type OpenJournal } from "../../src/store/journal/journal.ts";
import type { Peer } from "../../src/types/chat/message.ts";
import { message } from "../kit/inbound.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";

let state: StateDir;
let journal: OpenJournal;
beforeEach(async () => {
  state = await openStateDir();
  journal = await state.journal();
});
afterEach(() => state.remove());

const text = { kind: "text", body: "x", format: "plain", plain: "x" } as const;

/** The names of the two parts of a reply to an event, of another reply to it and of its preview. */
async function keysIn(of: OpenJournal, eventKey: string, to: Partial<Peer> = {}, reply = ""): Promise<string[]> {
  const said = message();
  const from: Peer = { ...said.from, ...to };
  const [accepted] = await of.inbox.accept([{ ...said, eventKey, from }]);
  const inboxId = accepted!.row.id;
  const plan = (name: string, parts: number) =>
    of.outbox.plan({ replyKey: `in:${inboxId}${reply}:${name}`, inboxId, to: from, parts: Array(parts).fill(text) });
  const rows = [...(await plan("reply", 2)), ...(await plan("error", 1))];
  return [...rows.map(({ sendKey }) => sendKey), of.outbox.previewKey(from, eventKey)];
}

async function openIn(dir: string): Promise<OpenJournal> {
  return openJournal({ path: join(dir, "journal.sqlite"), bootId: "other", sync: "normal" });
}

describe("the name of a message for its platform", () => {
  it("is another one for each part, reply, event, chat, thread, account, channel and journal", async () => {
    const { from } = message();
    const all = await keysIn(journal, "one");
    all.push(...(await keysIn(journal, "two")));
    all.push(...(await keysIn(journal, "three", { chat: { kind: "direct", id: "another chat" } })));
    all.push(...(await keysIn(journal, "four", { thread: "7" })));
    const account = { account: "second" } as unknown as Partial<Peer>;
    all.push(...(await keysIn(journal, "one", account)));
    all.push(...(await keysIn(journal, "one", { channel: "discord" } as unknown as Partial<Peer>)));
    const fresh = await openStateDir();
    all.push(...(await keysIn(await fresh.journal(), "one")));
    await fresh.remove();
    for (const eventKey of ["one", "five"]) all.push(journal.outbox.previewKey({ ...from, thread: "9" }, eventKey));
    expect(new Set(all).size).toBe(all.length);
  });

  it("stays the same after a restart, and when its reply is planned again", async () => {
    const before = await keysIn(journal, "one");
    await journal.close();
    journal = await state.journal();
    expect(await keysIn(journal, "one")).toEqual(before);
    expect((await journal.outbox.open()).map(({ sendKey }) => sendKey)).toEqual(before.slice(0, 3));
  });

  it("is not used again by a restored journal for another event, though its rows have the same numbers", async () => {
    await keysIn(journal, "before the backup");
    await journal.close();
    const copy = `${state.dir}-copy`;
    onTestFinished(() => rm(copy, { recursive: true }));
    await cp(state.dir, copy, { recursive: true });
    journal = await state.journal();
    const lived = await keysIn(journal, "after the backup");
    const restored = await openIn(copy);
    const others = await keysIn(restored, "after the restore");
    expect(lived.filter((key) => others.includes(key))).toEqual([]);
    // What both answer is answered once.
    expect(await keysIn(restored, "after the backup")).toEqual(lived);
    await restored.close();
  });

  it("is that of an answer to a message that is run again only where it is that answer", async () => {
    const [first] = await keysIn(journal, "one");
    const [row] = await journal.inbox.open();
    await journal.inbox.finish([row!.id], { kind: "failed", why: "test" });
    const again = await journal.messages.runAgain(row!.id);
    if (again?.kind !== "copied") throw new Error("not copied");
    const { id, message: copy } = again.row;
    const plan = { replyKey: `in:${id}:reply`, inboxId: id, to: copy.from, parts: [text] };
    expect((await journal.outbox.plan(plan))[0]!.sendKey).not.toBe(first);
  });

  it("of a row of an earlier version is the one under which it may have been sent", async () => {
    const [row] = await journal.outbox.plan({ replyKey: "in:1:reply", to: message().from, parts: [text] });
    await journal.close();
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(join(state.dir, "journal.sqlite"));
    db.exec("UPDATE outbox SET send_key = NULL");
    db.close();
    journal = await state.journal();
    expect(await journal.outbox.open()).toMatchObject([{ id: row!.id, sendKey: "in:1:reply#0" }]);
  });
});
