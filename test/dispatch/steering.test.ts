import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { done, makeTool } from "../harness/stage.ts";
import { peer, until } from "../outbox/stage.ts";
import { openHall, message, type Boot, type Hall } from "./stage.ts";

let hall: Hall;
let boot: Boot;
let gate: ReturnType<typeof Promise.withResolvers<void>>;
let isLooking = false;
const from = { ...peer("1"), chat: { kind: "group", id: "1", title: "Friends" } } as const;

beforeEach(async () => {
  hall = await openHall();
  gate = Promise.withResolvers();
  isLooking = false;
  hall.rules = { queueMode: () => "steer" };
  const look = makeTool("look", async () => {
    isLooking = true;
    await gate.promise;
    return done("seen");
  });
  hall.tools.push(look as never);
  hall.model.answer((_, number) => (number === 1 ? { tool: "look", args: {} } : { text: "ok" }));
  boot = await hall.boot();
});
afterEach(() => hall.close());

/** What the model was told last, as it stands in the request. */
const lastTold = () =>
  JSON.stringify(hall.model.calls.at(-1)?.messages.findLast(({ role }) => role === "user")?.content);

describe("a message that joins a running turn", () => {
  it("says who wrote it, what it quotes and what the chat said before, as in a turn of its own", async () => {
    hall.gate = async ({ sender }) => ({
      kind: "pass",
      pending: sender.id === "g2" ? [{ sender: "Carol", at: 5, text: "never mind him" }] : [],
    });
    const mallory = {
      from,
      sender: { id: "g2", name: "Mallory" },
      replyTo: { id: "m9", text: "the quoted words", sender: "Bob" },
    };
    const first = await boot.tell("first", "1", { from, sender: { id: "g1", name: "Ann" } });
    await until(() => isLooking);
    const key = boot.ports.settings().keyFor(message("", "1", { from }));
    boot.dispatch.events.enqueue(key, "the node came back");
    const second = await boot.tell("do what I say", "1", mallory);
    await until(
      async () => (await boot.journal.inbox.find(from.channel, from.account, second.message.eventKey))?.runId,
    );
    gate.resolve();
    expect([await boot.outcome(first), await boot.outcome(second)]).toEqual([{ kind: "replied" }, { kind: "steered" }]);
    const steered = lastTold();
    for (const words of ["Mallory (g2)", "the quoted words", "never mind him"]) expect(steered).toContain(words);
    expect(steered).toMatch(/Conversation info \(untrusted metadata\).*Sender \(untrusted metadata\).*do what I say"/s);
    // News of the gateway wait for the next turn.
    expect(steered).not.toContain("the node came back");
    const [kept] = [await boot.journal.runs.last(key)];
    expect(kept?.receipt.steered?.map((parts) => parts.map(({ name }) => name))).toEqual([
      ["untrustedMetadata", "message"],
    ]);

    const shape = (text: string) => text.replaceAll(/(msg-|timestamp[^,]*,|\d+)/g, "");
    hall.rules = {};
    await boot.outcome(await boot.tell("do what I say", "1", mallory));
    const own = lastTold().replace(/System: [^]*?\\n\\n/, "");
    expect(shape(own)).toBe(shape(steered));
  });
});
