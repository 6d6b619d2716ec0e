import { expect } from "vitest";
import { test } from "../../kit/gateway/world.ts";

const PEOPLE = [2001, 2002];

/** Providers keep what requests begin with, and ask less for it the next time. */
test("requests of different chats begin with the same tools and the same instructions, up to where the chat is named", async ({
  world,
}) => {
  await world.start({ channels: { telegram: { dmPolicy: "open", allowFrom: ["*"] } } });
  for (const id of PEOPLE) {
    world.telegram.say(`hello from ${id}`, { from: { id, first_name: `P${id}` }, chat: { id, type: "private" } });
    await world.told(`hello from ${id}`, id);
  }
  const [first, second] = world.model.calls;
  expect(first?.tools.map((tool) => tool.function.name)).toContain("exec");
  expect(second?.tools).toEqual(first?.tools);
  const [one, other] = [first, second].map((call) => call?.system.split('"chat_id"')[0]);
  expect(one).toContain("# ");
  expect(other).toBe(one);
});
