import { describe } from "vitest";
import type { ModelReply } from "../fakes/model.ts";
import { outcomesOf, test, type World } from "./scene.ts";

const always = (world: World, reply: ModelReply) => world.model.answer(() => reply);
const FALLBACK = {
  models: {
    providers: {
      fake: {
        models: [
          { id: "fake-1", contextWindow: 100_000, maxTokens: 4096 },
          { id: "fake-2", contextWindow: 100_000, maxTokens: 4096 },
        ],
      },
    },
  },
  agents: { defaults: { model: { primary: "fake/fake-1", fallbacks: ["fake/fake-2"] } } },
};

describe.concurrent("a model that", () => {
  test("refuses the key: the chat is told, and not with the provider's words", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    always(world, { status: 401, message: "Incorrect API key provided: sk-secret-words-of-the-provider" });
    world.telegram.say("hello");
    const notice = await world.told("key was not accepted");
    expect(notice.text).not.toContain("provider");
    const [outcome] = await outcomesOf(home, 1);
    expect(outcome).toMatchObject({ kind: "failed", why: expect.stringMatching(/^auth: /) });
    expect((await gateway.logged("run failed"))["why"]).toBe("auth");
    expect(world.model.calls).toHaveLength(1);
  });

  test("is asked too often answers after the wait it names", async ({ world, expect }) => {
    const { home } = await world.start();
    world.model.answer((call, number) =>
      number === 1 ? { status: 429, message: "Rate limit reached", retryAfter: 1 } : { text: `late: ${call.said}` },
    );
    world.telegram.say("patience");
    await world.told("late:");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.model.calls).toHaveLength(2);
  });

  test("is asked too often for good: the chat is told", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    always(world, { status: 429, message: "Rate limit reached", retryAfter: 1 });
    world.telegram.say("hello");
    await world.told("asked too often");
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "failed" });
    await gateway.logged("retry");
  });

  test("breaks with 500: asked again, then the chat is told", async ({ world, expect }) => {
    const { home } = await world.start();
    always(world, { status: 500, message: "Internal error" });
    world.telegram.say("hello");
    await world.told("⚠️");
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "failed" });
    expect(world.model.calls.length).toBeGreaterThan(1);
  });

  test("breaks with 500 once: the answer comes, once", async ({ world, expect }) => {
    const { home } = await world.start();
    world.model.answer((call, number) =>
      number === 1 ? { status: 500, message: "Internal error" } : { text: `second try: ${call.said}` },
    );
    world.telegram.say("hello");
    await world.told("second try");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.telegram.shown(1001)).toHaveLength(1);
  });

  test("never answers: the run's timeout ends it and the chat is told", async ({ world, expect }) => {
    const { home } = await world.start({ agents: { defaults: { timeoutSeconds: 1 } } });
    always(world, "hang");
    world.telegram.say("hello");
    await world.told("longer than a run may take");
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "failed", why: expect.stringMatching(/^timeout: /) });
  });

  test("breaks off in the middle is asked again; the answer is whole and once", async ({ world, expect }) => {
    const { home } = await world.start();
    world.model.answer((_call, number) => ({
      text: "one two three four five six",
      ...(number === 1 && { stopAfter: 3 }),
    }));
    world.telegram.say("count");
    await world.told("six");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.telegram.shown(1001)).toEqual(["one two three four five six"]);
  });

  test("fails hands over to the fallback", async ({ world, expect }) => {
    const { home, gateway } = await world.start(FALLBACK);
    world.model.answer((call) =>
      call.model === "fake-1" ? { status: 401, message: "invalid api key" } : { text: `from the other: ${call.said}` },
    );
    world.telegram.say("anyone?");
    await world.told("from the other");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect((await gateway.logged("retry"))["remedy"]).toBe("fallback_model");
    expect(world.model.calls.map((call) => call.model)).toEqual(["fake-1", "fake-2"]);
    expect(world.telegram.shown(1001)).toHaveLength(1);
  });

  test("failed leaves the next message to be answered", async ({ world, expect }) => {
    const { home } = await world.start();
    world.model.answer((call, number) =>
      number === 1 ? { status: 401, message: "no" } : { text: `fine: ${call.said}` },
    );
    world.telegram.say("first");
    await world.told("⚠️");
    world.telegram.say("second");
    await world.told("fine:");
    expect((await outcomesOf(home, 2)).map((outcome) => outcome?.["kind"])).toEqual(["failed", "replied"]);
  });
});
