import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "vitest";
import { test, type World } from "../../kit/gateway/world.ts";
import { type ImageService, startImageService } from "../../kit/media/image-service.ts";
import { png } from "../../kit/pictures.ts";

const BODY = { data: [{ b64_json: png(4, 4).toString("base64") }], usage: { input_tokens: 20, output_tokens: 1000 } };
/** Dollars for a million tokens. */
const COST = { input: 100, output: 100 };

const config = (world: World, { url }: ImageService, more: object = {}) => ({
  commands: { ownerAllowFrom: ["1001"] },
  models: {
    providers: {
      fake: {
        baseUrl: world.model.url,
        apiKey: "x",
        api: "openai-completions",
        models: [{ id: "fake-1", contextWindow: 100_000, maxTokens: 1000, cost: { input: 0, output: 0 } }],
      },
      painter: {
        baseUrl: url,
        apiKey: "painter-key",
        api: "openai-completions",
        models: ["slow", "quick"].map((id) => ({ id, contextWindow: 1000, maxTokens: 1000, cost: COST })),
      },
    },
  },
  agents: {
    defaults: {
      model: { primary: "fake/fake-1" },
      imageGenerationModel: { primary: "painter/slow", fallbacks: ["painter/quick"], timeoutMs: 1000 },
    },
  },
  ...more,
});

const drawing = (world: World, args: object = {}) =>
  world.model.answer(({ isAfterTool, toolText }) => {
    if (!isAfterTool) return { tool: "image_generate", args: { prompt: "a cat", filename: "my cat.png", ...args } };
    const mark = /\[\[media:[^\]]+\]\]/.exec(toolText)?.[0];
    return { text: mark === undefined ? `No: ${toolText}` : `Here is your cat. ${mark}` };
  });

describe.concurrent("images that an agent draws", () => {
  test("come as pictures to the chat, by the next model when the first is late, and their cost is in every report", async ({
    world,
    expect,
  }) => {
    const service = await startImageService(({ body }) => (body["model"] === "slow" ? "hang" : { body: BODY }));
    const { home } = await world.start(config(world, service));
    drawing(world);
    world.telegram.say("draw a cat");
    const sent = await world.telegram.waitFor(({ method, ok }) => method === "sendPhoto" && ok);
    expect(sent.text).toContain("Here is your cat.");
    expect(service.asked.map(({ body }) => body["model"])).toEqual(["slow", "quick"]);
    expect(service.asked[1]).toMatchObject({ headers: { authorization: "Bearer painter-key" } });
    const kept = await readdir(join(home.stateDir, "workspace", ".openclaw", "images"));
    expect(kept).toEqual([expect.stringMatching(/^[0-9a-f-]{36}-my-cat\.png$/)]);
    await expect
      .poll(async () => JSON.parse((await home.run(["usage", "--by", "model", "--json"])).stdout) as unknown)
      .toMatchObject({
        rows: expect.arrayContaining([
          expect.objectContaining({ name: "painter/quick", calls: 1, input: 20, output: 1000 }),
        ]),
      });
    expect((await home.run(["why", "#1"])).stdout).toMatch(/image_generate: 1 calls, 0 failed[^]*, 4 calls, .*\$0\.20/);
    await service.close();
  });

  test("come later when they take long, in a turn of their own", async ({ world }) => {
    const service = await startImageService(() => "hang");
    const painter = { imageGenerationModel: { primary: "painter/slow", timeoutMs: 33_000 } };
    await world.start(
      config(world, service, { agents: { defaults: { model: { primary: "fake/fake-1" }, ...painter } } }),
    );
    world.model.answer(({ isAfterTool, toolText, said }) => {
      if (said.includes("a drawing that you started"))
        return { text: /"a cat" [^]*No image was made: [^]*33 s/.test(said) ? "I have heard of it." : `no: ${said}` };
      return isAfterTool ? { text: `at once: ${toolText}` } : { tool: "image_generate", args: { prompt: "a cat" } };
    });
    world.telegram.say("draw a cat");
    await world.told("at once: The drawing goes on in the background");
    await world.told("I have heard of it.");
    await service.close();
  }, 120_000);

  test("are not drawn when the budget does not allow it", async ({ world, expect }) => {
    const service = await startImageService(() => ({ body: BODY }));
    await world.start(config(world, service, { budgets: { call: { money: 0.01 } } }));
    drawing(world);
    world.telegram.say("draw a cat");
    await world.told("The budget does not allow this call");
    expect(service.asked).toEqual([]);
    await service.close();
  });
});
