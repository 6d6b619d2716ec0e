import { describe } from "vitest";
import type { ModelReply } from "../fakes/model.ts";
import { outcomesOf } from "../kit/gateway/state-files.ts";
import { sharedTest } from "../kit/gateway/shared.ts";
import { test, type Peers } from "../kit/gateway/world.ts";

const inOneGateway = sharedTest({ places: 8 });

const always = (world: Peers, reply: ModelReply) => world.model.answer(() => reply);
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

const SEEING = {
  models: {
    providers: {
      fake: { models: [{ id: "fake-1", contextWindow: 100_000, maxTokens: 4096, input: ["text", "image"] }] },
    },
  },
};
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const TOO_LARGE = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes";

describe.concurrent("a model that", () => {
  inOneGateway("refuses the key: the chat is informed, and not with the provider's text", async ({ world, expect }) => {
    const { home, gateway } = world.start();
    always(world, { status: 401, message: "Incorrect API key provided: sk-secret-words-of-the-provider" });
    world.telegram.say("hello");
    const notice = await world.told("key was not accepted");
    expect(notice.text).not.toContain("provider");
    const [outcome] = await outcomesOf(home, 1);
    expect(outcome).toMatchObject({ kind: "failed", why: expect.stringMatching(/^auth: /) });
    expect((await gateway.logged("run failed"))["why"]).toBe("auth");
    expect(world.model.calls).toHaveLength(1);
  });

  inOneGateway("is asked too often answers after the wait it names", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer((call, number) =>
      number === 1 ? { status: 429, message: "Rate limit reached", retryAfter: 1 } : { text: `late: ${call.said}` },
    );
    world.telegram.say("patience");
    await world.told("late:");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.model.calls).toHaveLength(2);
  });

  inOneGateway("is rate-limited without end: the chat is informed", async ({ world, expect }) => {
    const { home, gateway } = world.start();
    always(world, { status: 429, message: "Rate limit reached", retryAfter: 1 });
    world.telegram.say("hello");
    await world.told("receiving too many requests");
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "failed" });
    await gateway.logged("retry");
  });

  inOneGateway("fails with 500: is asked again, then the chat is informed", async ({ world, expect }) => {
    const { home } = world.start();
    always(world, { status: 500, message: "Internal error" });
    world.telegram.say("hello");
    await world.told("⚠️");
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "failed" });
    expect(world.model.calls.length).toBeGreaterThan(1);
  });

  inOneGateway("breaks with 500 once: the answer comes, once", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer((call, number) =>
      number === 1 ? { status: 500, message: "Internal error" } : { text: `second try: ${call.said}` },
    );
    world.telegram.say("hello");
    await world.told("second try");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.telegram.shown(1001)).toHaveLength(1);
  });

  test("never answers: the run's timeout ends it and the chat is informed", async ({ world, expect }) => {
    const { home } = await world.start({ agents: { defaults: { timeoutSeconds: 1 } } });
    always(world, "hang");
    world.telegram.say("hello");
    await world.told("longer than a run may take");
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "failed", why: expect.stringMatching(/^timeout: /) });
  });

  inOneGateway(
    "stops in the middle of an answer: is asked again, and the chat shows the whole answer once",
    async ({ world, expect }) => {
      const { home } = world.start();
      world.model.answer((_call, number) => ({
        text: "one two three four five six",
        ...(number === 1 && { stopAfter: 3 }),
      }));
      world.telegram.say("count");
      await world.told("six");
      expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
      expect(world.telegram.shown(1001)).toEqual(["one two three four five six"]);
    },
  );

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
  });

  test("is replaced by a fallback: the chat is informed once, and `runs show` lists every try", async ({
    world,
    expect,
  }) => {
    const { home } = await world.start(FALLBACK);
    world.model.answer((call) =>
      call.model === "fake-1"
        ? { status: 402, message: "Insufficient credits" }
        : { text: `from the other: ${call.said}` },
    );
    world.telegram.say("first words");
    await world.told("in place of fake/fake-1");
    world.telegram.say("second words");
    await outcomesOf(home, 2);
    // The outcome is there as soon as the answer is durable, which may be before it is sent.
    await world.told("second words");
    const shown = world.telegram.shown(1001);
    expect(shown).toEqual([
      expect.stringContaining("first words"),
      "↪️ Answered by fake/fake-2 in place of fake/fake-1: its account is out of credit.",
      expect.stringContaining("second words"),
    ]);

    const listed = await home.run(["runs", "list", "--json"]);
    expect(listed.code, listed.stderr).toBe(0);
    const { runs } = JSON.parse(listed.stdout) as { runs: { runId: string }[] };
    const texts = await Promise.all(runs.map(async ({ runId }) => (await home.run(["runs", "show", runId])).stdout));
    const first = texts.find((text) => text.includes("Attempts:") && text.includes("fallback_model"));
    expect(first).toMatch(/^1 +fake\/fake-1 +fake:config .* billing +fallback_model +.*Insufficient credits/m);
    expect(first).toMatch(/^2 +fake\/fake-2 +fake:config .* replied/m);
    const second = texts.find((text) => text.includes("Not asked:"));
    expect(second).toMatch(/^fake\/fake-1 +fake:config +cooldown until .* after billing/m);
  });

  test("finds an image too large: the text is answered, and the chat is informed of the limit", async ({
    world,
    expect,
  }) => {
    const { home } = await world.start(SEEING);
    world.telegram.file("large", PNG);
    world.model.answer((call) =>
      call.images.length > 0 ? { status: 400, message: TOO_LARGE } : { text: `no image: ${call.said}` },
    );
    world.telegram.say("", {
      more: {
        photo: [{ file_id: "large", file_unique_id: "l", width: 10, height: 10, file_size: PNG.length }],
        caption: "what is on it?",
        text: undefined,
      },
    });
    const answer = await world.told("no image:");
    expect(answer.text).toContain("what is on it?");
    const notice = await world.told("Answered without the image");
    expect(notice.text).toContain("it is too large for the model (at most 5.0 MB)");
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "replied" });
    expect(world.model.calls).toHaveLength(2);
  });

  inOneGateway("answers with no text: is asked again, and then the chat is informed", async ({ world, expect }) => {
    const { home } = world.start();
    always(world, { text: "" });
    world.telegram.say("hello");
    await world.told("Something went wrong");
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "failed" });
    expect(world.model.calls).toHaveLength(2);
  });

  inOneGateway("failed leaves the next message to be answered", async ({ world, expect }) => {
    const { home } = world.start();
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
