import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";
import { modelsAt } from "../../kit/models.ts";
import { UNMETERED } from "../../../src/types/run/model-meter.ts";
import { until } from "../../kit/until.ts";
import { peer } from "../../kit/inbound.ts";

let fixture: DispatchFixture;
let boot: Boot;
let gate: ReturnType<typeof Promise.withResolvers<void>>;
let isLooking = false;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  gate = Promise.withResolvers();
  isLooking = false;
  fixture.tools.push(
    makeTool("look", async () => {
      isLooking = true;
      await gate.promise;
      return textResult("seen");
    }),
  );
  fixture.model.answer((_, number) => (number === 1 ? { tool: "look", args: {} } : { text: "ok" }));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

/** Says something first, and resolves when its turn runs a tool that ends with `gate`. */
async function busy() {
  const row = await boot.tell("first");
  await until(() => isLooking);
  return row;
}

const users = () =>
  (fixture.model.calls.at(-1)?.messages ?? []).flatMap(({ role, content }) =>
    role === "user" ? [JSON.stringify(content)] : [],
  );

describe("/queue", () => {
  it("holds at once and for the session, also while a turn is running, and after a restart", async () => {
    const first = await busy();
    expect(await boot.ask("/queue steer cap:5")).toEqual({ kind: "command", name: "queue" });
    expect(fixture.platform.texts.at(-1)).toContain("Queue: steer, debounce");
    const second = await boot.tell("and this");
    await until(async () => (await boot.journal.inbox.find("telegram", "default", second.message.eventKey))?.runId);
    gate.resolve();
    expect([await boot.outcome(first), await boot.outcome(second)]).toEqual([{ kind: "replied" }, { kind: "steered" }]);
    await boot.stop();
    boot = await fixture.boot();
    await boot.ask("/queue");
    expect(fixture.platform.texts.at(-1)).toContain("Queue: steer");
    expect(fixture.platform.texts.at(-1)).toContain("cap 5, drop summarize (set here)");
    await boot.ask("/queue default");
    expect(fixture.platform.texts.at(-1)).toContain("(as configured)");
  });

  it("names what it does not know, and changes nothing", async () => {
    await boot.ask("/queue steer cap:many");
    expect(fixture.platform.texts.at(-1)).toContain('I do not know "cap:many"');
    await boot.ask("/queue");
    expect(fixture.platform.texts.at(-1)).toContain("(as configured)");
  });

  it("in a message holds for that message alone, and the model does not see it", async () => {
    const first = await busy();
    const second = await boot.tell("look /queue steer at that");
    await until(async () => (await boot.journal.inbox.find("telegram", "default", second.message.eventKey))?.runId);
    const third = await boot.tell("third");
    await until(() => boot.dispatch.stateOf(third) === "waiting");
    gate.resolve();
    const outcomes = [await boot.outcome(first), await boot.outcome(second), await boot.outcome(third)];
    expect(outcomes).toEqual([{ kind: "replied" }, { kind: "steered" }, { kind: "replied" }]);
    expect(users().join()).toContain("look at that");
    expect(users().join()).not.toContain("/queue");
  });

  it("in a row of another program that means nothing here is left out", async () => {
    fixture.model.answer(() => ({ text: "ok" }));
    await boot.ask("hello");
    await boot.ports.storage.sessions.patch(boot.keyOf("1"), {
      queueMode: "sometimes",
      queueCap: -3,
      queueDrop: "all",
    });
    await boot.ask("/queue");
    expect(fixture.platform.texts.at(-1)).toContain("(as configured)");
  });
});

describe("/think in a message", () => {
  const thinking = async () => (await boot.journal.runs.last(boot.keyOf("1")))?.receipt.tries?.at(-1)?.thinking;

  it("holds for that message; alone, for the session; together with another, for both", async () => {
    await boot.stop();
    fixture.models = modelsAt(fixture.model.url, UNMETERED, { reasoning: true });
    fixture.model.answer(() => ({ text: "ok" }));
    boot = await fixture.boot();
    await boot.ask("/think high what is this?");
    expect(await thinking()).toBe("high");
    expect(users().at(-1)).toContain("what is this?");
    expect(users().at(-1)).not.toContain("/think");
    await boot.ask("and now?");
    expect(await thinking()).toBe("off");
    expect(await boot.ask("/think high /queue followup")).toEqual({ kind: "command", name: "think and /queue" });
    const said = fixture.platform.texts.at(-1);
    expect(said).toContain("Thinking level: high.");
    expect(said).toContain("Queue: followup");
    await boot.ask("again");
    expect(await thinking()).toBe("high");
  });

  it("joins no running turn, which cannot think otherwise", async () => {
    fixture.rules = { queueMode: () => "steer" };
    await busy();
    const second = await boot.tell("/think high second");
    await until(() => boot.dispatch.stateOf(second) === "waiting");
    gate.resolve();
    expect(await boot.outcome(second)).toEqual({ kind: "replied" });
  });

  it("of a guest in a group is part of the text", async () => {
    fixture.model.answer(() => ({ text: "ok" }));
    fixture.rules = { isOwner: () => false };
    const from = { ...peer("1"), chat: { kind: "group", id: "1", title: "Friends" } } as const;
    await boot.outcome(await boot.tell("please /think high now", "1", { from }));
    expect(users().at(-1)).toContain("please /think high now");
    expect(await boot.outcome(await boot.tell("/think high now", "1", { from }))).toMatchObject({ kind: "command" });
    expect(fixture.platform.texts.at(-1)).toContain("Only an owner may use /think");
  });
});

describe("a message that waits because it cannot join the turn", () => {
  it("keeps no later one from joining it", async () => {
    fixture.rules = { queueMode: () => "steer" };
    const first = await busy();
    const media = [{ kind: "image", source: { at: "platform", ref: "f1" } }] as const;
    const photo = await boot.tell("a photo", "1", { media });
    await until(() => boot.dispatch.stateOf(photo) === "waiting");
    const words = await boot.tell("some words");
    await until(async () => (await boot.journal.inbox.find("telegram", "default", words.message.eventKey))?.runId);
    gate.resolve();
    expect([await boot.outcome(first), await boot.outcome(words), await boot.outcome(photo)]).toEqual([
      { kind: "replied" },
      { kind: "steered" },
      { kind: "replied" },
    ]);
  });
});
