import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type OpenJournal, openJournal } from "../../src/store/journal/journal.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import { channelId, DEFAULT_ACCOUNT, runId, sessionKey } from "../../src/types/ids.ts";
import type { InboxRow, Outcome } from "../../src/types/journal.ts";

let dir: string;
let journal: OpenJournal;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "when-ended-"));
  journal = await openJournal({ path: join(dir, "journal.sqlite"), bootId: "boot" });
});
afterEach(async () => {
  await journal.close();
  await rm(dir, { recursive: true });
});

const message = (eventKey: string, options: InboundMessage["options"]): InboundMessage => ({
  id: eventKey,
  eventKey,
  from: { channel: channelId("subagent"), account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: eventKey } },
  sender: { id: "gateway" },
  text: "",
  media: [],
  mentionsBot: true,
  receivedAt: 1,
  ...(options && { options }),
});

/** What the session above `name` is told; `above` is what that session's own end tells. */
const told = (name: string, parent: string, above?: InboundMessage): InboundMessage =>
  message(`told:${name}`, {
    sessionKey: sessionKey(parent),
    announce: { child: sessionKey(name), runId: name, label: name, startedAt: 1 },
    ...(above && { whenEnded: above }),
  });

const work = (name: string, whenEnded: InboundMessage): InboundMessage =>
  message(`work:${name}`, { sessionKey: sessionKey(name), subagent: { depth: 1 }, whenEnded });

async function accept(...messages: InboundMessage[]): Promise<readonly number[]> {
  return (await journal.inbox.accept(messages)).map(({ row }) => row.id);
}
const end = (id: number, outcome: Outcome = { kind: "replied" }) => journal.inbox.finishTurn([id], outcome);
const open = async (): Promise<readonly InboxRow[]> => journal.inbox.open();
const openKeys = async (): Promise<readonly string[]> => (await open()).map((row) => row.message.eventKey);

describe("a message that another one names as its successor", () => {
  it("is accepted in the commit that ends the other, once, and watchers are told", async () => {
    const stop = new AbortController();
    const followed = journal.inbox.followed(stop.signal)[Symbol.asyncIterator]();
    const [id = 0] = await accept(work("a", told("a", "root")));
    await end(id);
    expect(await openKeys()).toEqual(["told:a"]);
    expect((await followed.next()).value).toMatchObject({ state: "accepted", message: { eventKey: "told:a" } });
    await end(id);
    await journal.inbox.finish([id], { kind: "failed", why: "again" });
    expect(await openKeys()).toEqual(["told:a"]);
    stop.abort();
  });

  it("is accepted however the other ends, unless that was stopped", async () => {
    const ends: readonly (readonly [string, Outcome])[] = [
      ["f", { kind: "failed", why: "x" }],
      ["d", { kind: "dropped", why: "x" }],
      ["s", { kind: "silent" }],
      ["m", { kind: "merged", into: 1 }],
    ];
    for (const [name, outcome] of ends) {
      const [id = 0] = await accept(work(name, told(name, "root")));
      await journal.inbox.finish([id], outcome);
    }
    const [stopped = 0, withdrawn = 0] = await accept(work("x", told("x", "root")), work("w", told("w", "root")));
    await end(stopped, { kind: "aborted" });
    await journal.inbox.withdraw(withdrawn, { kind: "dropped", why: "by an operator" });
    expect(await openKeys()).toEqual(["told:f", "told:d", "told:s", "told:m", "told:w"]);
  });

  it("is written with the record of the run, or not at all", async () => {
    const [id = 0] = await accept(work("a", told("a", "root")));
    const receipt = { usage: { input: 1, output: 1, cost: { total: 0 } } };
    const run = { runId: runId("r"), sessionKey: sessionKey("a"), at: 1, receipt, result: "replied" };
    await journal.inbox.recordTurn(run as never, [id], undefined);
    expect(await openKeys()).toEqual(["work:a"]);
    await journal.inbox.recordTurn(run as never, [id], { kind: "replied" });
    expect(await openKeys()).toEqual(["told:a"]);
  });

  it("goes on when a stopped child was the last that its parent waited for", async () => {
    const ofParent = told("parent", "root");
    const [parent = 0, child = 0] = await accept(
      work("parent", ofParent),
      work("child", told("child", "parent", ofParent)),
    );
    await end(parent);
    expect(await openKeys()).toEqual(["work:child"]);
    await end(child, { kind: "aborted" });
    expect(await openKeys()).toEqual(["told:parent"]);
  });

  it("ends a chain of messages between two sessions where one is stopped", async () => {
    const relay = (name: string, next?: InboundMessage) =>
      message(name, { sessionKey: sessionKey(name), ...(next && { whenEnded: next }) });
    const [first = 0, other = 0] = await accept(relay("1", relay("2", relay("3"))), relay("a", relay("b")));
    await end(first);
    expect(await openKeys()).toEqual(["a", "2"]);
    const second = (await open()).find((row) => row.message.eventKey === "2")?.id ?? 0;
    await end(second, { kind: "aborted" });
    await end(other);
    expect(await openKeys()).toEqual(["b"]);
  });

  /** Each node has up to two children; the order of ends is drawn. */
  it("tells each session of each child once, and of nested work when nothing is left of it", async () => {
    const nodes = fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(nodes, fc.array(fc.nat(), { minLength: 60, maxLength: 60 }), async (parents, draws) => {
        const prefix = `${Math.random()}`;
        const name = (at: number) => `${prefix}:${at}`;
        const parentOf = parents.map((given, at) => (at === 0 ? undefined : given % at));
        const tellOf = (at: number): InboundMessage => {
          const parent = parentOf[at];
          return parent === undefined ? told(name(at), `${prefix}:root`) : told(name(at), name(parent), tellOf(parent));
        };
        await accept(...parents.map((_, at) => work(name(at), tellOf(at))));
        const seen: string[] = [];
        for (const draw of draws) {
          const rows = (await open()).filter((row) => row.message.eventKey.includes(prefix));
          const row = rows[draw % Math.max(1, rows.length)];
          if (!row) break;
          seen.push(row.message.eventKey);
          await end(row.id);
        }
        const tells = seen.filter((key) => key.startsWith("told:"));
        expect(new Set(tells).size).toBe(tells.length);
        expect(tells.toSorted()).toEqual(parents.map((_, at) => `told:${name(at)}`).toSorted());
        // Nobody is told of a session before it is told of all below it.
        for (const [at, parent] of parentOf.entries())
          if (parent !== undefined)
            expect(tells.indexOf(`told:${name(at)}`)).toBeLessThan(tells.indexOf(`told:${name(parent)}`));
      }),
      { numRuns: 40 },
    );
  });
});
