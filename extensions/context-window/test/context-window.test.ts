import { describe, expect, test } from "vitest";
import { Contributions } from "../../../src/plugins/contributions.ts";
import type { AgentMessage, AssembleParams } from "../../../src/types/engine/context-engine.ts";
import { contextEngineContract } from "../../../test/contracts/context-engine.ts";
import { answer, result, textOf, turns, user } from "../../../test/kit/engine.ts";
import { contributor } from "../plugin.ts";

const open = async (config: object = {}) => {
  const contributions = new Contributions([contributor]);
  await contributions.configSchemas();
  contributions.applyConfig({ "context-window": { config } }, { stateDir: "/state", memorySlot: undefined });
  const factory = contributions.contextEngine("context-window");
  if (!factory) throw new Error("the extension registers no engine");
  return factory({});
};

contextEngineContract({ name: "context-window", open: () => open() });

async function assemble(messages: AgentMessage[], more: Partial<AssembleParams> = {}) {
  const engine = await open();
  return engine.assemble({ sessionId: "s", messages, prompt: "next", availableTools: new Set(), ...more });
}

describe("what the context window shows", () => {
  test("everything, and nothing about it, while it fits", async () => {
    const messages = [...turns(3), user("next")];
    const shown = await assemble(messages, { tokenBudget: 1000 });
    expect(shown.messages).toEqual(messages);
    expect(shown.systemPromptAddition).toBeUndefined();
  });

  test("the newest turns within the budget, and the number of the messages that it leaves out", async () => {
    const messages = [...turns(10, "word ".repeat(80)), user("next")];
    const shown = await assemble(messages, { tokenBudget: 450 });
    expect(shown.messages).toEqual(messages.slice(-5));
    expect(shown.estimatedTokens).toBeLessThanOrEqual(450);
    expect(shown.systemPromptAddition).toBe("16 earlier messages of this conversation are not shown here.");
  });

  test("tool calls with their results, or neither", async () => {
    const long = "found ".repeat(200);
    const loop = [user("look"), answer("looking", "c1"), result("c1", long), answer("there it is")];
    const messages = [...turns(1), ...loop, user("next")];
    for (let tokenBudget = 10; tokenBudget < 600; tokenBudget += 10) {
      const { messages: shown } = await assemble(messages, { tokenBudget });
      expect(loop.filter((one) => shown.includes(one)).length % loop.length).toBe(0);
      expect(shown.at(-1)).toBe(messages.at(-1));
    }
  });

  test("the turn that is to be answered, also when it alone exceeds the budget", async () => {
    const messages = [...turns(2), user("long ".repeat(500))];
    const shown = await assemble(messages, { tokenBudget: 100 });
    expect(shown.messages.map(textOf)).toEqual([textOf(messages.at(-1)!)]);
    expect(shown.estimatedTokens).toBeGreaterThan(100);
  });

  test("pictures and scripts without spaces at their size", async () => {
    const picture = user("look", { content: [{ type: "image", data: "x".repeat(100_000), mimeType: "image/png" }] });
    const chinese = user("漢".repeat(1000));
    expect((await assemble([picture], {})).estimatedTokens).toBe(1200);
    expect((await assemble([chinese], {})).estimatedTokens).toBe(1000);
  });

  test("no more than its own setting allows, whatever the budget", async () => {
    const engine = await open({ maxTokens: 300 });
    const messages = [...turns(10, "word ".repeat(80)), user("next")];
    const shown = await engine.assemble({ sessionId: "s", messages, tokenBudget: 100_000 });
    expect(shown.messages).toEqual(messages.slice(-3));
    await expect(open({ maxTokens: "many" })).rejects.toThrow("maxTokens");
  });

  test("nothing of an empty conversation", async () => {
    expect(await assemble([])).toEqual({ messages: [], estimatedTokens: 0 });
  });
});
