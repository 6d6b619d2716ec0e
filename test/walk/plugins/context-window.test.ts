import type { ModelCall } from "../../fakes/model.ts";
import { transcriptOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const LONG = "word ".repeat(1200);

async function say(world: World, text: string): Promise<void> {
  const before = world.telegram.shown(1001).length;
  world.telegram.say(text, { from: { id: 1001, first_name: "Ada" } });
  await world.telegram.waitFor(() => world.telegram.shown(1001).length > before);
}

test("the engine context-window shows the newest turns, says how many are left out, and compacts as the gateway does", async ({
  world,
  expect,
}) => {
  const isSummary = (call: ModelCall) => call.system.startsWith("You write the memory");
  world.model.answer((call) => ({ text: isSummary(call) ? "SUMMARY of the long chat" : "ok" }));
  const entries = { "context-window": { config: { maxTokens: 5000 } } };
  const { home, gateway } = await world.start({ plugins: { slots: { contextEngine: "context-window" }, entries } });
  for (let turn = 1; turn <= 14; turn += 1) await say(world, `turn-${turn} ${LONG}`);
  const { system, messages } = world.model.calls.at(-1)!;
  const shown = JSON.stringify(messages).match(/turn-\d+ /g);
  expect(shown).toEqual(["turn-12 ", "turn-13 ", "turn-14 "]);
  expect(system).toContain("22 earlier messages of this conversation are not shown here.");
  await say(world, "/compact");
  expect(transcriptOf(home, ":1001").some(({ type }) => type === "compaction")).toBe(true);
  await say(world, "and now?");
  expect(JSON.stringify(world.model.calls.at(-1)?.messages)).toContain("SUMMARY of the long chat");
  expect(gateway.lines.filter(({ code }) => String(code).startsWith("ENGINE_"))).toEqual([]);
});
