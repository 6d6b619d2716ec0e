import { describe, expect } from "vitest";
import { entriesOf, fileOf, sessionsOf, textOf, transcriptOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { recordedBy } from "../../kit/plugins/recorder.ts";
import { answerTo, startRecorder } from "../../kit/plugins/recorder-walk.ts";
import { until } from "../../kit/until.ts";

const provider = (model: { url: string }) => ({
  baseUrl: model.url,
  apiKey: "x",
  api: "openai-completions",
  models: ["fake-1", "fake-2", "fake-3"].map((id) => ({ id, contextWindow: 100_000, maxTokens: 4096 })),
});
const withModels = (world: World) => ({ models: { providers: { fake: provider(world.model) } } });

describe.concurrent("the model calls of a plugin", () => {
  test("name another model only as far as the config allows it, in a conversation and outside of one", async ({
    world,
  }) => {
    const config = { completes: true, request: { model: "fake/fake-2" } };
    const { home, gateway } = await startRecorder(world, config, withModels(world));
    world.model.answer(({ model }) => ({ text: `from ${model}` }));
    const completions = () => recordedBy(home).filter(({ call }) => call.endsWith(" completion"));
    /** What both calls of the latest turn gave. */
    const both = async () => {
      const before = completions().length;
      await answerTo(world, "hello");
      await until(() => completions().length === before + 2);
      const texts = completions().slice(before);
      return texts.map(({ params }) => String(params["error"] ?? params["text"]));
    };
    /** Resolves when the plugin has been loaded anew: a turn in between would lose one of its calls. */
    const set = async (key: string, value: string) => {
      const applied = () => gateway.lines.filter(({ msg }) => msg === "config applied").length;
      const before = applied();
      await home.run(["config", "set", `plugins.entries.recorder.llm.${key}`, value]);
      await until(() => applied() > before);
    };
    const DENIED = "Plugin LLM completion cannot override the target model";
    expect(await both()).toEqual([expect.stringContaining(DENIED), expect.stringContaining(DENIED)]);
    await set("allowedModels", '["fake/fake-3"]');
    await set("allowModelOverride", "true");
    const UNLISTED = 'Plugin LLM completion model override "fake/fake-2" is not allowlisted';
    expect(await both()).toEqual([expect.stringContaining(UNLISTED), expect.stringContaining(UNLISTED)]);
    await set("allowedModels", '["fake/fake-2"]');
    expect(await both()).toEqual(["from fake-2", "from fake-2"]);
  });

  test("belong to the agent of the conversation", async ({ world }) => {
    const list = [
      { id: "main", default: true },
      { id: "work", model: "fake/fake-2" },
    ];
    const { home } = await startRecorder(
      world,
      { completes: true },
      {
        ...withModels(world),
        agents: { defaults: { model: { primary: "fake/fake-1" } }, list },
        bindings: [{ agentId: "work", match: { channel: "telegram" } }],
      },
    );
    world.model.answer(({ model }) => ({ text: `from ${model}` }));
    expect(await answerTo(world, "hello")).toBe("from fake-2");
    const given = (name: string) => recordedBy(home).find(({ call }) => call === name)?.params;
    await until(() => given("bound completion") !== undefined && given("unbound completion") !== undefined);
    expect(given("bound completion")).toMatchObject({ text: "from fake-2", agentId: "work" });
    expect(given("unbound completion")).toMatchObject({ text: "from fake-1", agentId: "main" });
    expect(await answerTo(world, "/recorder bound")).toBe("bound: from fake-2");
    expect(await answerTo(world, '/recorder bound {"agentId":"work"}')).toBe("bound: from fake-2");
    expect(await answerTo(world, "/recorder unbound")).toBe("unbound: from fake-1");
    expect(await answerTo(world, '/recorder unbound {"agentId":"work"}')).toBe("unbound: from fake-2");
    expect(await answerTo(world, '/recorder bound {"agentId":"main"}')).toBe(
      "failed: Plugin LLM completion cannot override the active session agent.",
    );
  });

  test("may have several messages: instructions, and what was said before", async ({ world }) => {
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "user", content: [{ type: "text", text: "three" }] },
    ];
    await startRecorder(world, { completes: true, request: { messages } });
    expect(await answerTo(world, `/recorder unbound ${JSON.stringify({ messages })}`)).toBe("unbound: echo: three");
    await answerTo(world, "hello");
    const asked = () => world.model.calls.filter(({ system }) => system.startsWith("Summarise."));
    await until(() => asked().length === 3);
    for (const { messages: sent } of asked())
      expect(sent.map(({ role, content }) => [role, textOf(content)])).toEqual([
        ["system", "Summarise.\n\nBe brief."],
        ["user", "one"],
        ["assistant", "two"],
        ["user", "three"],
      ]);
  });
});

describe.concurrent("a plugin that works on the files of sessions", () => {
  test("loses no row of the gateway by writing back those that it read earlier", async ({ world }) => {
    const { home, gateway } = await startRecorder(world, {});
    await answerTo(world, "hello");
    const [key = ""] = Object.keys(sessionsOf(home));
    expect(await answerTo(world, "/recorder store-read")).toBe("read 1 rows");
    await answerTo(world, "I am new here", 1002);
    await answerTo(world, "/new");
    expect(await answerTo(world, "/recorder store-write")).toBe("wrote 1 rows");
    const begun = sessionsOf(home)[key]!.sessionId;
    // The gateway reads the file again when it stops.
    expect(await gateway.kill()).toBe(0);
    const rows = sessionsOf(home);
    expect(Object.keys(rows)).toHaveLength(2);
    expect(rows[key]).toMatchObject({ sessionId: begun });
    await home.start();
    await answerTo(world, "still there?");
    expect(sessionsOf(home)[key]).toMatchObject({ sessionId: begun });
    await answerTo(world, "and I?", 1002);
    expect(JSON.stringify(world.model.calls.at(-1)?.messages)).toContain("I am new here");
  });

  test("has its change of a row that nobody else changed taken in", async ({ world }) => {
    const { home, gateway } = await startRecorder(world, {});
    await answerTo(world, "hello");
    const [key = ""] = Object.keys(sessionsOf(home));
    await gateway.kill();
    const again = await home.start();
    expect(await answerTo(world, "/recorder store-read")).toBe("read 1 rows");
    expect(await answerTo(world, "/recorder store-write")).toBe("wrote 1 rows");
    await again.kill();
    expect(sessionsOf(home)[key]).toMatchObject({ totalTokens: 4321 });
  });

  test("may shorten a transcript between turns: the conversation continues from there", async ({ world }) => {
    const { home } = await startRecorder(world, { owns: true });
    await answerTo(world, "the first words");
    await answerTo(world, "the second words");
    const [row] = Object.values(sessionsOf(home));
    expect(await answerTo(world, "/recorder file")).toBe(`file ${fileOf(home, row!)}`);
    expect(await answerTo(world, "/recorder rotate")).toBe("kept 2 entries");
    await answerTo(world, "the third words");
    const asked = JSON.stringify(world.model.calls.at(-1)?.messages);
    expect(asked).toContain("the second words");
    expect(asked).not.toContain("the first words");
    const said = transcriptOf(home, ":1001").filter(({ type }) => type === "message");
    expect(said.map(({ message }) => message?.role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(
      entriesOf(fileOf(home, row!))
        .slice(1)
        .map(({ parentId }) => parentId),
    ).toEqual([null, ...said.slice(0, -1).map(({ id }) => id)]);
  });
});
