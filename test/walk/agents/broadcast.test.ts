import { describe, vi } from "vitest";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { inboxOf, sessionsOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const GROUP = { id: -100_900, type: "supergroup", title: "Council" };

const council = (strategy: "parallel" | "sequential") => ({
  messages: { responsePrefix: "[{identity.name}]" },
  commands: { ownerAllowFrom: ["1001"] },
  agents: {
    list: [
      { id: "main", identity: { name: "Bear" } },
      { id: "owl", identity: { name: "Owl" } },
      { id: "fox", identity: { name: "Fox" } },
    ],
  },
  broadcast: { strategy, [`telegram:${GROUP.id}`]: ["owl", "fox"] },
  channels: { telegram: { groups: { "*": { requireMention: false } } } },
});

const groupKey = (agent: string) => `agent:${agent}:telegram:default:group:${GROUP.id}`;
const said = (world: World, text: string) => world.telegram.say(text, { chat: GROUP });
const answersOf = ({ telegram }: World, name: string) =>
  telegram.shown(GROUP.id).filter((text) => text.startsWith(`[${name}]`));

describe.concurrent("a chat that several agents answer", () => {
  test("is answered by each in its own session, and by the default agent elsewhere", async ({ world, expect }) => {
    const { home } = await world.start(council("parallel"));
    const both = Promise.withResolvers<void>();
    world.model.answer(async (call) => {
      if (!call.said.includes("council")) return { text: `echo: ${call.said}` };
      // Neither waits for the other.
      if (world.model.open === 2) both.resolve();
      await both.promise;
      return { text: "I agree." };
    });
    said(world, "council, do you agree?");
    await world.told("[Owl] I agree.", GROUP.id);
    await world.told("[Fox] I agree.", GROUP.id);
    world.telegram.say("hello");
    await world.told(/^\[Bear\] echo: /);
    await vi.waitUntil(() => inboxOf(home).every(({ state }) => state === "done"), PATIENCE);
    expect(Object.keys(sessionsOf(home)).toSorted()).toEqual([
      groupKey("fox"),
      groupKey("owl"),
      "telegram:default:1001",
    ]);
    const rows = inboxOf(home).slice(0, 3);
    expect(rows.map(({ outcome }) => outcome?.["kind"])).toEqual(["merged", "replied", "replied"]);
    expect(world.telegram.shown(GROUP.id)).toHaveLength(2);
  });

  test("is answered by one after the other, also when the gateway is killed in between", async ({ world, expect }) => {
    const { home, gateway } = await world.start(council("sequential"));
    let isHeld = true;
    world.model.answer((call) => {
      const isFox = call.system.includes("workspace-fox");
      return isFox && isHeld ? "hang" : { text: isFox ? "second" : "first" };
    });
    said(world, "in turn, please");
    await world.told("[Owl] first", GROUP.id);
    await vi.waitUntil(() => world.model.calls.length === 2, PATIENCE);
    await gateway.kill("SIGKILL");
    isHeld = false;
    await home.start();
    await world.told("[Fox] second", GROUP.id);
    expect(answersOf(world, "Owl")).toHaveLength(1);
    expect(answersOf(world, "Fox")).toHaveLength(1);
  });

  test("gives every agent what was said before, and obeys /new in all conversations", async ({ world, expect }) => {
    const config = council("parallel");
    const groups = { "*": { requireMention: true } };
    const { home } = await world.start({ ...config, channels: { telegram: { groups } } });
    world.model.answer(() => ({ text: "noted" }));
    world.telegram.say("the door is open", { chat: GROUP, from: { id: 2002, first_name: "Bob" } });
    said(world, "@test_bot what did Bob say?");
    await vi.waitUntil(() => world.telegram.shown(GROUP.id).length === 2, PATIENCE);
    expect(world.model.calls.map((call) => call.said.includes("the door is open"))).toEqual([true, true]);
    await vi.waitUntil(() => inboxOf(home).every(({ state }) => state === "done"), PATIENCE);
    const before = sessionsOf(home);
    said(world, "/new@test_bot");
    await vi.waitUntil(
      () => ["owl", "fox"].every((id) => sessionsOf(home)[groupKey(id)]?.sessionId !== before[groupKey(id)]?.sessionId),
      PATIENCE,
    );
    said(world, "/status@test_bot");
    await world.told(`Session: ${groupKey("owl")}`, GROUP.id);
    await vi.waitUntil(() => inboxOf(home).every(({ state }) => state === "done"), PATIENCE);
    expect(world.telegram.shown(GROUP.id).filter((text) => text.includes("Session: "))).toHaveLength(1);
  });
});
