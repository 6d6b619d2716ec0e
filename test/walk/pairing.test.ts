import { describe } from "vitest";
import { outcomesOf } from "../kit/gateway/state-files.ts";
import { test, type World } from "../kit/gateway/world.ts";

const direct = (dmPolicy: string, allowFrom: string[] = []) => ({ channels: { telegram: { dmPolicy, allowFrom } } });
const stranger = (id: number) => ({ from: { id, first_name: `Stranger ${id}` } });
const CODE = /\b[A-HJ-NP-Z2-9]{8}\b/;

async function codeFor(world: World, id: number): Promise<string> {
  const told = await world.told(/pairing/i, id);
  return CODE.exec(told.text)?.[0] ?? "";
}

describe.concurrent("a stranger", () => {
  test("gets a code once, is let in through the running gateway, and is answered", async ({ world, expect }) => {
    const { home } = await world.start(direct("pairing"));
    world.telegram.say("let me in", stranger(3001));
    const code = await codeFor(world, 3001);
    expect(code).toMatch(CODE);
    world.telegram.say("please", stranger(3001));
    await outcomesOf(home, 2);
    expect(world.telegram.shown(3001)).toHaveLength(1);
    expect(world.model.calls).toEqual([]);

    const listed = await home.run(["pairing", "list", "--json"]);
    expect(listed.code, listed.stderr).toBe(0);
    expect(JSON.parse(listed.stdout)).toMatchObject({ requests: [{ channel: "telegram", senderId: "3001", code }] });
    const human = await home.run(["pairing", "list"]);
    expect(human.stdout).toContain(code);
    const wrong = await home.run(["pairing", "approve", "telegram", "AAAAAAAA"]);
    expect(wrong.code).not.toBe(0);
    const approved = await home.run(["pairing", "approve", "telegram", code.toLowerCase(), "--notify"]);
    expect(approved.code, approved.stderr).toBe(0);
    expect(approved.stderr).toContain("The stranger was informed.");
    await world.told("The operator has let you in", 3001);

    world.telegram.say("thank you", stranger(3001));
    await world.told("thank you", 3001);
    expect(JSON.parse((await home.run(["pairing", "list", "--json"])).stdout)).toMatchObject({
      requests: [],
      turnedAway: [],
      admitted: [{ channel: "telegram", account: "default", senderId: "3001" }],
    });
    expect(await home.run(["pairing", "revoke", "telegram", "3001"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("(3001) may not write on telegram any more (default)."),
    });
    const asked = world.model.calls.length;
    world.telegram.say("hello again", stranger(3001));
    await outcomesOf(home, 4);
    expect(await codeFor(world, 3001)).toMatch(CODE);
    expect((await home.run(["pairing", "reject", "telegram", "3001"])).code).toBe(0);
    expect(JSON.parse((await home.run(["pairing", "list", "--json"])).stdout)).toMatchObject({
      requests: [],
      admitted: [],
    });
    expect(world.model.calls).toHaveLength(asked);
  });

  test("is let in while no gateway runs", async ({ world, expect }) => {
    const { home, gateway } = await world.start(direct("pairing"));
    world.telegram.say("let me in", stranger(3001));
    const code = await codeFor(world, 3001);
    await outcomesOf(home, 1);
    expect(await gateway.kill()).toBe(0);
    const listed = await home.run(["pairing", "list", "--json"]);
    expect(JSON.parse(listed.stdout)).toMatchObject({ requests: [{ code }] });
    const approved = await home.run(["pairing", "approve", "telegram", code]);
    expect(approved.code, approved.stderr).toBe(0);
    await home.start();
    world.telegram.say("hello at last", stranger(3001));
    await world.told("hello at last", 3001);
  });

  test("is the fourth to ask and gets no answer", async ({ world, expect }) => {
    const { home } = await world.start(direct("pairing"));
    for (const id of [3001, 3002, 3003]) {
      world.telegram.say("hello", stranger(id));
      await codeFor(world, id);
    }
    world.telegram.say("hello", stranger(3004));
    const outcomes = await outcomesOf(home, 4);
    expect(outcomes[3]?.["kind"]).toBe("dropped");
    expect(world.telegram.shown(3004)).toEqual([]);
    const codes = await Promise.all([3001, 3002, 3003].map((id) => codeFor(world, id)));
    expect(new Set(codes).size).toBe(3);
    const told = /3 people wait to be let in, one person was turned away without a code: openclaw pairing list/;
    expect((await home.run(["status"])).stdout).toMatch(told);
    expect((await home.run(["doctor"])).stdout).toMatch(told);
  });

  test("is ignored by an allowlist, whose members are answered", async ({ world, expect }) => {
    const { home, gateway } = await world.start(direct("allowlist", ["1001"]));
    world.telegram.say("let me in", stranger(3001));
    expect((await gateway.logged("dropped"))["why"]).toBe("the sender is not in allowFrom");
    world.telegram.say("it is me");
    await world.told("it is me", 1001);
    await outcomesOf(home, 2);
    expect(world.telegram.shown(3001)).toEqual([]);
  });

  test("and everybody else is ignored where direct chats are off", async ({ world, expect }) => {
    const { home, gateway } = await world.start(direct("disabled", ["*"]));
    world.telegram.say("hello?");
    expect((await gateway.logged("dropped"))["why"]).toBe("direct chats are disabled");
    await outcomesOf(home, 1);
    expect(world.telegram.sent).toEqual([]);
    expect(world.model.calls).toEqual([]);
  });
});
