import fc from "fast-check";
import { expect, test } from "vitest";
import { startChannels } from "../../src/channels/channels.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import { message } from "../kit/inbound.ts";
import { memoryValues } from "../kit/store/memory-values.ts";
import { silent, TestClock, Toy } from "../kit/toy-channel.ts";

/** The names of a message that people of the platform choose. */
const namesIn = ({ from, sender, replyTo, news, context }: InboundMessage) => [
  from.chat.title,
  sender.name,
  sender.username,
  replyTo?.sender,
  news?.subject,
  context?.threadName,
];

const named = (name: string): InboundMessage => ({
  ...message({ chat: { kind: "group", id: "7", title: name }, sender: { id: "7", name, username: name } }),
  replyTo: { id: "1", sender: name, text: name },
  news: { kind: "renamed", subject: name },
  context: { threadName: name },
});

async function received(given: readonly InboundMessage[]): Promise<readonly InboundMessage[]> {
  const toy = new Toy();
  const taken: InboundMessage[] = [];
  const receive = async (messages: readonly InboundMessage[]) => void taken.push(...messages);
  const clock = new TestClock();
  const ports = { adapters: [toy.account()], receive, values: memoryValues(), log: silent, clock };
  const channels = startChannels({ ...ports, media: { read: async () => new Uint8Array() } });
  await clock.pass(1);
  await toy.host.receive(given);
  await channels.close();
  return taken;
}

/** Line ends, controls, halves of a pair, and signs that turn the text after them around. */
const UNFIT = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069\u200B]/u;

test("every name that a stranger chose is short, on one line and as it looks", async () => {
  const signs = fc.constantFrom(
    "a",
    " ",
    "\n",
    "\r",
    "\t",
    "\u001B",
    "\u0007",
    "\u202E",
    "\u2067",
    "\u200B",
    "\u2028",
    "\uD800",
    "\u0085",
    "\u0300",
  );
  const names = fc.string({ unit: fc.oneof(signs, fc.string({ unit: "grapheme", maxLength: 1 })), maxLength: 600 });
  await fc.assert(
    fc.asyncProperty(names, async (name) => {
      const [taken] = await received([named(name)]);
      for (const shown of namesIn(taken!)) {
        expect(shown?.length).toBeLessThanOrEqual(200);
        expect(shown).not.toMatch(UNFIT);
        expect(shown).not.toMatch(/\p{M}{7}/u);
      }
    }),
    { numRuns: 60 },
  );
  const [long] = await received([named("L".repeat(100_000))]);
  expect(namesIn(long!)).toEqual(Array.from({ length: 6 }, () => `${"L".repeat(199)}…`));
});

test("a name with a hidden sign does not become the name of somebody else", async () => {
  const [taken] = await received([named("ad\u200Bmin\u202E")]);
  expect(taken?.sender.username).toBe("ad\uFFFDmin\uFFFD");
});

test("plain names of all scripts, and what else a message says, stay as they are", async () => {
  for (const name of ["Ada", "Søren Kierkegård", "مرحبا", "हिन्दी", "👩‍👩‍👧 Familie", "日本語の部屋", "می‌خواهم"]) {
    const given = { ...named(name), text: "a\u202Eb\nc" };
    expect(await received([given])).toEqual([given]);
  }
});

test("a message without the parts that name somebody goes on to the journal, which keeps it", async () => {
  const given: unknown = [{ id: "1", eventKey: "e", text: "hello" }, null, { from: null, sender: 7 }];
  const taken: unknown = await received(Array.isArray(given) ? given : []);
  expect(taken).toMatchObject([{ eventKey: "e" }, null, { from: null, sender: 7 }]);
});
