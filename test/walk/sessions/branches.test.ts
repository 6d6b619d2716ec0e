import { describe } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { until } from "../../kit/until.ts";

const KEY = "agent:main:main";
type Gateway = Parameters<typeof call>[0];
interface Shown {
  readonly role: string;
  readonly content: unknown;
  readonly __openclaw: { readonly id: string };
}
interface Branch {
  readonly leafEntryId: string;
  readonly headline: string;
  readonly messageCount: number;
  readonly active: boolean;
}

const history = async (gateway: Gateway, sessionKey = KEY) =>
  ((await call(gateway, "chat.history", { sessionKey })) as { messages: readonly Shown[] }).messages;
const turnsOf = async (gateway: Gateway, sessionKey = KEY) =>
  (await history(gateway, sessionKey)).filter(({ role }) => role === "user");
const wordsOf = async (gateway: Gateway, sessionKey = KEY) =>
  (await turnsOf(gateway, sessionKey)).map(({ content }) => textOf(content));
const textOf = (content: unknown) =>
  typeof content === "string" ? content : (content as { text: string }[]).map(({ text }) => text).join("");
const branches = async (gateway: Gateway) =>
  ((await call(gateway, "sessions.branches.list", { sessionKey: KEY })) as { branches: readonly Branch[] }).branches;

let said = 0;
async function say(gateway: Gateway, message: string, sessionKey = KEY): Promise<void> {
  const idempotencyKey = `branches-${(said += 1)}`;
  await call(gateway, "chat.send", { sessionKey, message, idempotencyKey });
  await call(gateway, "agent.wait", { runId: idempotencyKey, timeoutMs: 20_000 });
}
/** The words of people in the request that the model got last. */
const askedLast = (world: World): readonly string[] =>
  ["one", "two", "three", "four", "five"].filter((word) =>
    JSON.stringify(world.model.calls.at(-1)?.body).includes(`say ${word}`),
  );

describe("a conversation that goes on at an earlier place", () => {
  test("is rewound, keeps its place through kill -9, and goes back to the other branch", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.model.answer(({ said: text }) => ({ text: `answer to ${text.slice(-5)}` }));
    for (const word of ["one", "two", "three"]) await say(gateway, `say ${word}`);
    const [, second] = await turnsOf(gateway);
    const [whole] = await branches(gateway);
    expect(whole).toMatchObject({ messageCount: 6, active: true });

    const entryId = second?.__openclaw.id;
    expect(await call(gateway, "sessions.rewind", { sessionKey: KEY, entryId })).toEqual({ editorText: "say two" });
    expect(await wordsOf(gateway)).toEqual(["say one"]);
    await gateway.kill();
    const again = await home.start();
    expect(await wordsOf(again)).toEqual(["say one"]);
    await say(again, "say four");
    expect(askedLast(world)).toEqual(["one", "four"]);
    expect(await branches(again)).toMatchObject([
      { messageCount: 4, active: true },
      { leafEntryId: whole?.leafEntryId, messageCount: 6, active: false },
    ]);

    const refused = call(again, "sessions.rewind", { sessionKey: KEY, entryId });
    await expect(refused).rejects.toThrow("not on the active path");
    await call(again, "sessions.branches.switch", { sessionKey: KEY, leafEntryId: whole?.leafEntryId });
    await say(again, "say five");
    expect(askedLast(world)).toEqual(["one", "two", "three", "five"]);
    expect(await wordsOf(again)).toEqual(["say one", "say two", "say three", "say five"]);
  });

  test("is rewound to before its first turn, also while a run answers", async ({ world, expect }) => {
    const { gateway } = await world.start();
    world.model.answer(() => ({ text: "done" }));
    await say(gateway, "say one");
    world.model.answer(() => ({ text: "slow ".repeat(2000), everyMs: 50 }));
    await call(gateway, "chat.send", { sessionKey: KEY, message: "say two", idempotencyKey: "under-way" });
    await until(() => world.model.calls.length === 2);
    const [first] = await turnsOf(gateway);
    const rewound = await call(gateway, "sessions.rewind", { sessionKey: KEY, entryId: first?.__openclaw.id });
    expect(rewound).toEqual({ editorText: "say one" });
    expect(await history(gateway)).toEqual([]);
    world.model.answer(() => ({ text: "fresh" }));
    await say(gateway, "say three");
    expect(askedLast(world)).toEqual(["three"]);
  });

  test("is copied into a session of its own, up to a turn or as a whole", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.model.answer(() => ({ text: "done" }));
    for (const word of ["one", "two"]) await say(gateway, `say ${word}`);
    const entryId = (await turnsOf(gateway))[1]?.__openclaw.id;
    const fork = (await call(gateway, "sessions.fork", { sessionKey: KEY, entryId })) as Record<string, string>;
    expect(fork["editorText"]).toBe("say two");
    const whole = (await call(gateway, "sessions.create", { parentSessionKey: KEY, fork: true })) as { key: string };
    await gateway.kill();
    const again = await home.start();
    await say(again, "say four", fork["sessionKey"]);
    expect(askedLast(world)).toEqual(["one", "four"]);
    await say(again, "say five", whole.key);
    expect(askedLast(world)).toEqual(["one", "two", "five"]);
    expect(await wordsOf(again)).toEqual(["say one", "say two"]);
    await expect(call(again, "sessions.create", { fork: true })).rejects.toThrow("Fork requires parentSessionKey");
  });
});
