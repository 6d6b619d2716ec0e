import { afterEach, beforeEach, expect, it } from "vitest";
import { MESSAGE, TURN_KINDS, turnKinds } from "../../../src/dispatch/turn-kinds.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import type { TurnKind } from "../../../src/types/run/turn-kind.ts";
import type { SystemPromptRequest } from "../../../src/dispatch/ports.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

/** An appointment: one row, registered once. Nothing else of the gateway knows it. */
const APPOINTMENT: TurnKind = {
  ...MESSAGE,
  name: "appointment",
  trigger: "cron",
  actsFor: () => ({ kind: "automation", id: "appointment", setUpBy: "owner" }),
  provenance: { kind: "internal_system", sourceTool: "appointment" },
  takesCommands: false,
  queue: "alone",
  refusals: "logged",
  maintenance: "none",
  news: () => "It is time.",
  filter: () => (text) => text.replace("to myself: ", ""),
};

let fixture: DispatchFixture;
let boot: Boot;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.kinds = turnKinds([...TURN_KINDS, APPOINTMENT]);
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const APPOINTED: Partial<InboundMessage> = { options: { kind: "appointment" } };

it("a new kind of turn is one row: its text is no command, it brings news, and its answer is filtered", async () => {
  fixture.model.answer(() => ({ text: "to myself: the bins are out" }));
  const row = await boot.tell("/status", "1", APPOINTED);
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(fixture.platform.texts).toEqual(["the bins are out"]);
  const [call] = fixture.model.calls;
  expect(call?.said).toContain("/status");
  expect(call?.said).toContain("It is time.");
  const run = await boot.journal.runs.last(boot.keyOf("1"));
  expect(run?.receipt.trigger).toBe("cron");
});

it("the refusal of a kind that nobody waits for is logged and not sent", async () => {
  fixture.rules = { ...fixture.rules, agent: { stopped: "tools.deny is not supported" } };
  const row = await boot.tell("go", "1", APPOINTED);
  expect((await boot.outcome(row)).kind).toBe("failed");
  expect(fixture.platform.texts).toEqual([]);
});

it("a message of a kind that this gateway does not know never runs", async () => {
  const row = await boot.tell("delete everything", "1", { options: { kind: "later-version" } });
  expect(await boot.outcome(row)).toEqual({
    kind: "dropped",
    why: 'this gateway knows no turn of the kind "later-version"',
  });
  expect(fixture.model.calls).toHaveLength(0);
});

it("two kinds of one name are a mistake that is found at the start", () => {
  expect(() => turnKinds([...TURN_KINDS, { ...APPOINTMENT, name: "message" }])).toThrow("same name");
});

it("a turn that the gateway begins in a conversation sees the same chat as the turns of its people", async () => {
  const asked: SystemPromptRequest[] = [];
  fixture.systemPrompt = async (request) => {
    asked.push(request);
    return { text: "You are a test.", parts: [] };
  };
  fixture.rules = {
    chatPrompt: ({ from, sender }) => ({ text: `The chat ${from.chat.id} of ${sender.id}.`, skills: undefined }),
  };
  await boot.stop();
  boot = await fixture.boot();
  await boot.ask("hello", "1");
  const options = { operator: true, sessionKey: boot.keyOf("1"), kind: "appointment" };
  expect(await boot.outcome(await boot.tell("Nobody wrote.", "gateway", { options }))).toEqual({
    kind: "replied",
  });
  const [first, second] = asked.map(({ peer, hasButtons, speech, extra, isPrivate }) => ({
    peer,
    hasButtons,
    speech,
    extra,
    isPrivate,
  }));
  expect(second).toEqual({ ...first, isPrivate: second?.isPrivate });
  expect(first?.extra).toBe("The chat 1 of 1.");
});
