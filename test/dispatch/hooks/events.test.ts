import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { textResult } from "../../../src/tools/define.ts";
import { type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { nextMessage } from "../../kit/inbound.ts";
import { makeTool } from "../../kit/tools.ts";
import { PATIENCE } from "../../kit/until.ts";

let fixture: DispatchFixture;
const heard: (readonly [name: string, event: Record<string, unknown>])[] = [];

beforeEach(async () => {
  fixture = await openDispatchFixture();
  heard.length = 0;
  fixture.hooks = (on) => {
    for (const name of ["command", "message:transcribed", "message:preprocessed"] as const)
      on(name, (event) => void heard.push([name, event as unknown as Record<string, unknown>]));
  };
});
afterEach(() => fixture.close());

const named = (name: string) => heard.filter(([one]) => one === name).map(([, event]) => event);

test("message:transcribed and message:preprocessed tell of each message of a turn, once", async () => {
  fixture.transcribe = async () => ({ text: "call me at noon" });
  fixture.rules = { inboundDebounceMs: () => 20 };
  const boot = await fixture.boot();
  const { id } = await boot.ports.storage.media.put(Buffer.from("x"), { mime: "audio/ogg" });
  const voice = { kind: "voice" as const, mime: "audio/ogg", source: { at: "store" as const, id } };
  await boot.dispatch.receive([nextMessage("listen", "2", { media: [voice] }), nextMessage("please", "2")]);
  await fixture.model.called(1);
  expect(named("message:transcribed")).toEqual([
    expect.objectContaining({ content: "listen", transcript: "call me at noon", channelId: "telegram", senderId: "2" }),
  ]);
  const prepared = named("message:preprocessed");
  expect(prepared).toEqual([
    expect.objectContaining({ body: "listen", content: "listen\ncall me at noon", transcript: "call me at noon" }),
    expect.objectContaining({ body: "please", content: "please" }),
  ]);
  for (const { bodyForAgent } of prepared) expect(bodyForAgent).toMatch(/listen[\s\S]*call me at noon[\s\S]*please/);
});

test("command tells of every command that its sender may give, by its own name, and of no other message", async () => {
  fixture.rules = { isOwner: ({ sender }) => sender.id === "1" };
  const boot = await fixture.boot();
  await boot.ask("/status");
  await boot.ask("/abort");
  await boot.ask("/think high /verbose on");
  await boot.ask("hello");
  await boot.ask("/new");
  const refused = await boot.tell("/restart", "2");
  await boot.outcome(refused);
  const told = named("command").map(({ command, args, senderId, commandSource }) => [
    command,
    args,
    senderId,
    commandSource,
  ]);
  expect(told).toEqual([
    ["status", "", "1", "telegram"],
    ["stop", "", "1", "telegram"],
    ["think", "", "1", "telegram"],
    ["verbose", "", "1", "telegram"],
  ]);
});

test("a message that joins a running turn is told of when it has joined", async () => {
  const looking = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  fixture.rules = { queueMode: () => "steer" };
  fixture.tools.push(
    makeTool("look", async () => {
      looking.resolve();
      await gate.promise;
      return textResult("seen");
    }),
  );
  fixture.model.answer((_, number) => (number === 1 ? { tool: "look", args: {} } : { text: "ok" }));
  const boot = await fixture.boot();
  const first = await boot.tell("first");
  await looking.promise;
  expect(named("message:preprocessed")).toHaveLength(1);
  const second = await boot.tell("second");
  await vi.waitUntil(
    async () =>
      (await boot.journal.inbox.find(second.message.from.channel, second.message.from.account, second.message.eventKey))
        ?.runId,
    PATIENCE,
  );
  gate.resolve();
  expect([await boot.outcome(first), await boot.outcome(second)]).toEqual([{ kind: "replied" }, { kind: "steered" }]);
  expect(named("message:preprocessed").map(({ body }) => body)).toEqual(["first", "second"]);
});
