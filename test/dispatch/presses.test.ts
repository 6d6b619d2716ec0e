import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Peer } from "../../src/types/chat/message.ts";
import { untilIdle } from "../kit/idle.ts";
import { peer } from "../kit/inbound.ts";
import { until } from "../kit/until.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

/** The agent asks in a chat; gives back the id of the message with the button. */
async function ask(to: Peer): Promise<string> {
  const blocks = [{ kind: "text", markdown: "And now?" }] as const;
  await boot.outbox.deliver({ replyKey: "question", to, blocks, buttons: [{ label: "On", command: "go on" }] });
  const question = () => fixture.platform.messages.find(({ text }) => text === "And now?");
  await until(question, "the question");
  return question()!.id;
}

const press = (id: string, from: Peer) => boot.tell("go on", from.chat.id, { event: "button", id, from });
const outcomeOf = async (id: string, from: Peer) => boot.outcome(await press(id, from));
const saidTo = (chat: string) =>
  fixture.platform.messages.filter((message) => message.chat === chat).map(({ text }) => text);

describe("a press", () => {
  it("counts in the chat where the button was shown", async () => {
    expect(await outcomeOf(await ask(peer("1")), peer("1"))).toEqual({ kind: "replied" });
    expect(saidTo("1")).toEqual(["And now?", "echo: go on"]);
  });

  it("counts under another name of that chat", async () => {
    fixture.platform.names.set("@ada", "1");
    expect(await outcomeOf(await ask(peer("@ada")), peer("1"))).toEqual({ kind: "replied" });
  });

  it("from another chat does nothing, and whoever pressed is told why", async () => {
    const id = await ask(peer("1"));
    expect(await outcomeOf(id, peer("2"))).toMatchObject({
      kind: "dropped",
      why: expect.stringContaining("another chat"),
    });
    expect(saidTo("2")).toEqual([expect.stringContaining("shown in another chat")]);
    expect(saidTo("1")).toEqual(["And now?"]);
    expect(fixture.model.calls).toEqual([]);
  });

  it("from another thread of a chat counts only where the platform has one id for both", async () => {
    const id = await ask({ ...peer("1"), thread: "5" });
    expect(await outcomeOf(id, { ...peer("1"), thread: "6" })).toEqual({ kind: "replied" });
    fixture.platform.names.set("1/5", "thread 5").set("1/6", "thread 6");
    expect(await outcomeOf(id, { ...peer("1"), thread: "6" })).toMatchObject({ kind: "dropped" });
    expect(await outcomeOf(id, { ...peer("1"), thread: "5" })).toEqual({ kind: "replied" });
  });

  it("does nothing while the platform does not say which chat it came from", async () => {
    const id = await ask(peer("@ada"));
    Object.assign(fixture.platform, { chatId: () => Promise.reject(new Error("503")) });
    expect(await outcomeOf(id, peer("1"))).toMatchObject({ kind: "failed" });
    expect(saidTo("1")).toEqual([expect.stringContaining("Please try again")]);
    expect(fixture.model.calls).toEqual([]);
  });

  it("waits for the connection that can say it", async () => {
    fixture.platform.names.set("@ada", "1");
    const id = await ask(peer("@ada"));
    const connection = Promise.withResolvers<void>();
    Object.assign(fixture, { isLinked: false, linked: connection.promise });
    const row = await press(id, peer("1"));
    await untilIdle();
    expect(
      (await boot.journal.inbox.find(row.message.from.channel, row.message.from.account, row.message.eventKey))
        ?.outcome,
    ).toBeUndefined();
    fixture.isLinked = true;
    connection.resolve();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  });
});
