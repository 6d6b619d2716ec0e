import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, vi } from "vitest";
import { type Home, PATIENCE } from "../kit/gateway/process.ts";
import { outcomesOf } from "../kit/gateway/state-files.ts";
import { test } from "../kit/gateway/world.ts";

const NEWS = "The build is green, all 312 tests passed.";

const outboxOf = (home: Home) => {
  const journal = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    return journal.prepare("SELECT reply_key, state FROM outbox ORDER BY id").all();
  } finally {
    journal.close();
  }
};

describe.concurrent("the message tool", () => {
  test("says it once, though the answer says it again", async ({ world, expect }) => {
    const { home } = await world.start();
    world.model.answer((call) =>
      call.isAfterTool ? { text: `**${NEWS}**` } : { tool: "message", args: { action: "send", message: NEWS } },
    );
    world.telegram.say("how is the build?");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.telegram.shown(1001)).toEqual([NEWS]);
    expect(world.model.calls.at(-1)?.toolText).toMatch(/^Sent to telegram:1001, message id \d+\.$/);
    expect(world.model.calls[0]?.system).toContain("`message` sends to other chats");
    expect(outboxOf(home)).toHaveLength(1);
  });

  test("sends no thoughts, marks or directives, and no word of silence", async ({ world, expect }) => {
    await world.start();
    const texts = [
      `<think>a secret plan</think>${NEWS}\n[[reply_to_current]]`,
      "NO_REPLY",
      "ANNOUNCE_SKIP",
      "<think>only a thought",
      "[[tts]]",
    ];
    const results: string[] = [];
    world.model.answer((call) => {
      if (call.isAfterTool) results.push(call.toolText);
      const message = texts[results.length];
      return message === undefined ? { text: "NO_REPLY" } : { tool: "message", args: { action: "send", message } };
    });
    world.telegram.say("how is the build?");
    await vi.waitFor(() => expect(results).toHaveLength(texts.length), PATIENCE);
    expect(world.telegram.shown(1001)).toEqual([NEWS]);
    const [sent, ...others] = results.map((text) => /Sent|nothing to send/.exec(text)?.[0]);
    expect([sent, ...new Set(others)]).toEqual(["Sent", "nothing to send"]);
  });

  test("reacts to the message that it answers, and edits what it sent", async ({ world, expect }) => {
    const { home } = await world.start();
    const steps = [
      { action: "react", emoji: "👍" },
      { action: "send", message: "one moment" },
    ];
    world.model.answer((call, number) => {
      const args = steps[number - 1];
      if (args) return { tool: "message", args };
      const id = /message id (\d+)/.exec(call.toolText)?.[1];
      if (id !== undefined) return { tool: "message", args: { action: "edit", messageId: id, message: "it is done" } };
      return { text: "NO_REPLY" };
    });
    world.telegram.say("go");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.telegram.shown(1001)).toEqual(["it is done"]);
    expect(world.telegram.sent.filter((call) => call.method === "setMessageReaction")).toHaveLength(1);
  });

  test("does not say it again after a kill between the send and its result", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.model.answer((call) =>
      call.isAfterTool ? { text: NEWS } : { tool: "message", args: { action: "send", message: NEWS } },
    );
    // The tool looks more and more seldom: the platform's late yes leaves it some time in which it does not know.
    world.telegram.fail("sendMessage", "429", 1, 1);
    world.telegram.say("how is the build?");
    await vi.waitFor(
      () => {
        if (outboxOf(home)[0]?.["state"] !== "sent") throw new Error("it is not sent yet");
      },
      { ...PATIENCE, interval: 5 },
    );
    gateway.signal("SIGKILL");
    await gateway.ended;
    await home.start();
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.telegram.shown(1001)).toEqual([NEWS]);
    expect(world.model.calls.filter((call) => !call.isAfterTool)).toHaveLength(1);
    expect(world.model.calls.at(-1)?.toolText).toContain("Sent to telegram:1001");
  });
});
