import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readInbound } from "../../src/store/journal/read-inbound.ts";
import type { OpenJournal } from "../../src/store/journal/journal.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import { message } from "../kit/inbound.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";

const NOW = 1_700_000_000_000;

const rich: InboundMessage = {
  ...message({ chat: { kind: "group", id: "-5", title: "Room" }, thread: "7" }),
  eventKey: "u9",
  sender: { id: "7", name: "Ada", username: "ada", isBot: false, roles: ["r"] },
  media: [{ kind: "image", mime: "image/png", name: "a.png", bytes: 3, source: { at: "platform", ref: "f1" } }],
  replyTo: { id: "3", sender: "Bob", text: "before", fromBot: true },
  isEdit: false,
  event: "button",
  guildId: "1",
  teamId: "T",
  context: { threadName: "topic", threadHistory: ["one"], isForwarded: true },
  untrusted: ["forwarded"],
  sentAt: 5,
};

/** The message with another value at a path; `undefined` removes the field. */
function having(path: string, value: unknown): unknown {
  const copy = structuredClone(rich) as unknown as Record<string, unknown>;
  const parts = path.split(".");
  const last = parts.pop()!;
  const at = parts.reduce<Record<string, unknown>>((below, part) => below[part] as Record<string, unknown>, copy);
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

const read = (path: string, value: unknown) => readInbound(having(path, value), NOW).message;

describe("a message that an adapter offers", () => {
  it("is taken as it is when its types are right", () => {
    expect(readInbound(rich, NOW)).toEqual({ message: rich, faults: [] });
    expect(readInbound(rich, NOW).message).toBe(rich);
    const plain = message();
    expect(readInbound(plain, NOW)).toEqual({ message: plain, faults: [] });
  });

  it.each([
    "id",
    "eventKey",
    "from.chat.id",
    "from.thread",
    "sender.id",
    "sender.name",
    "guildId",
    "text",
    "replyTo.id",
  ])("may have a number as its %s", (path) => {
    expect(read(path, 1001)).toEqual(having(path, "1001"));
  });

  it.each([
    ["sender.name", {}],
    ["sender.roles", "admin"],
    ["sender.username", null],
    ["from.chat.title", []],
    ["replyTo", "3"],
    ["replyTo", null],
    ["context", 5],
    ["context.threadHistory", "one"],
    ["untrusted", "x"],
    ["guildId", {}],
    ["sentAt", "yesterday"],
    ["isEdit", null],
    ["event", null],
  ])("is answered without its %s when that is %j", (path, value) => {
    const { message: got, faults } = readInbound(having(path, value), NOW);
    expect(got).toEqual(having(path, undefined));
    expect(faults).toEqual([expect.stringContaining(path)]);
  });

  it.each([
    ["media", {}, []],
    ["media", [null, ...rich.media], rich.media],
    ["media", [{ kind: "image" }, ...rich.media, 5, { kind: "hologram", source: {} }], rich.media],
    ["mentionsBot", "yes", false],
    ["text", {}, ""],
    ["text", undefined, ""],
    ["receivedAt", "now", NOW],
  ])("has a usual %s in place of %j", (path, value, usual) => {
    expect(read(path, value)).toEqual(having(path, usual));
  });

  it("without an event key has one that is the same when it is offered again", () => {
    const one = read("eventKey", undefined);
    expect(one.unreadable).toBeUndefined();
    expect(one.eventKey).toMatch(/^shape:\w{32}$/);
    expect(read("eventKey", undefined)).toEqual(one);
    expect(read("eventKey", {}).eventKey).not.toBe(one.eventKey);
  });

  it.each([
    ["sender", undefined],
    ["sender", "7"],
    ["sender.id", undefined],
    ["sender.id", {}],
    ["sender.isBot", "yes"],
    ["from", undefined],
    ["from.channel", {}],
    ["from.chat.id", null],
    ["from.chat.kind", "channel"],
    ["from.thread", {}],
    ["isEdit", "no"],
    ["event", "edited"],
    ["reaction", { emoji: 5 }],
    ["news", "joined"],
    ["options", 5],
  ])("cannot be read when its %s is %j", (path, value) => {
    const given = having(path, value);
    const { message: got } = readInbound(given, NOW);
    expect(got).toMatchObject({ eventKey: "u9", text: "hello", sender: { id: "" }, unreadable: { raw: given } });
    expect(got.unreadable?.why).toContain(path.split(".")[0]);
    // As the journal has it, and after an update that can still not read it.
    expect(readInbound(JSON.parse(JSON.stringify(got)), NOW + 1).message).toEqual(got);
  });

  it("is read whatever it is, and what was read once is read again as the same", () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });
    const paths = fc.constantFrom(
      "id",
      "eventKey",
      "from",
      "from.chat",
      "from.chat.id",
      "from.thread",
      "sender",
      "sender.id",
      "sender.isBot",
      "text",
      "media",
      "media.0",
      "media.0.source",
      "replyTo",
      "event",
      "isEdit",
      "reaction",
      "news",
      "context",
      "context.threadHistory",
      "untrusted",
      "options",
      "receivedAt",
      "sentAt",
      "unreadable",
    );
    const mutated = fc.tuple(paths, anything).map(([path, value]) => having(path, value));
    fc.assert(
      fc.property(fc.oneof(mutated, anything), (given) => {
        // What JSON changes, such as a date, may be read otherwise once it is stored.
        const stored: unknown = JSON.parse(JSON.stringify(readInbound(given, NOW).message));
        const { message: got } = readInbound(stored, NOW);
        expect(readInbound(JSON.parse(JSON.stringify(got)), NOW).message).toEqual(got);
        for (const part of [
          got.eventKey,
          got.from.channel,
          got.from.account,
          got.from.chat.id,
          got.sender.id,
          got.text,
        ])
          expect(typeof part).toBe("string");
        expect(Array.isArray(got.media)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("the journal", () => {
  let state: StateDir;
  let journal: OpenJournal;
  beforeEach(async () => {
    state = await openStateDir();
    journal = await state.journal();
  });
  afterEach(() => state.remove());

  it("keeps what cannot be read as a message that has ended, and knows it when it is offered again", async () => {
    const odd = having("sender.id", {}) as InboundMessage;
    const [first] = await journal.inbox.accept([odd]);
    expect(first).toMatchObject({ isNew: true, row: { state: "done", outcome: { kind: "dropped" } } });
    expect(first?.faults).toHaveLength(1);
    expect(await journal.inbox.open()).toEqual([]);
    const [again] = await journal.inbox.accept([odd]);
    expect(again).toMatchObject({ isNew: false, row: { id: first!.row.id } });
    const [shown] = await journal.messages.inboxRows(5);
    expect(shown).toMatchObject({ outcome: { why: expect.stringContaining("unreadable: sender.id") } });
    expect(journal.counts().unreadableLastWeek).toBe(1);
  });

  it("reads it anew when it is run again, with the same end where it still cannot be read", async () => {
    const odd = having("sender.id", {}) as InboundMessage;
    const [accepted] = await journal.inbox.accept([odd]);
    const again = await journal.messages.runAgain(accepted!.row.id);
    expect(again).toMatchObject({ kind: "copied", row: { againOf: accepted!.row.id, outcome: { kind: "dropped" } } });
  });
});
