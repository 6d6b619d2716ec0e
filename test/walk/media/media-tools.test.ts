import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "vitest";
import type { ModelCall } from "../../fakes/model.ts";
import type { Home } from "../../kit/gateway/process.ts";
import { pdfWith } from "../../kit/media/pdf.ts";
import { png } from "../../kit/pictures.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const MODEL = { name: "x", reasoning: false, contextWindow: 100_000, maxTokens: 1000 };
const models = (world: World) => ({
  providers: {
    fake: {
      baseUrl: world.model.url,
      apiKey: "fake-key",
      api: "openai-completions",
      models: ["fake-1", "slow", "eyes", "reader"].map((id) => ({
        ...MODEL,
        id,
        input: id === "eyes" || id === "slow" ? ["text", "image"] : ["text"],
      })),
    },
  },
});

const config = (world: World) => ({
  commands: { ownerAllowFrom: ["1001"] },
  models: models(world),
  agents: {
    defaults: {
      model: { primary: "fake/fake-1" },
      imageModel: { primary: "fake/slow", fallbacks: ["fake/eyes"], timeoutMs: 1000 },
      pdfModel: { primary: "fake/slow", fallbacks: ["fake/reader"], timeoutMs: 1000 },
      pdfMaxPages: 2,
      pdfMaxBytesMb: 0.01,
    },
  },
});

const put = (home: Home, name: string, bytes: Uint8Array) => writeFile(join(home.stateDir, "workspace", name), bytes);
const of = (world: World, model: string): readonly ModelCall[] =>
  world.model.calls.filter((call) => call.model === model);

describe.concurrent("images and documents in a conversation", () => {
  test("an image is looked at by the configured models, the next one when the first does not answer", async ({
    world,
    expect,
  }) => {
    const { home } = await world.start(config(world));
    await put(home, "cat.png", png(8, 8));
    world.model.answer((call) => {
      if (call.model === "slow") return "hang";
      if (call.model === "eyes") return { text: "A grey square." };
      return call.isAfterTool
        ? { text: call.toolText.includes("grey square") ? "It is grey." : "?" }
        : { tool: "image", args: { image: "cat.png" } };
    });
    world.telegram.say("what is on cat.png?");
    await world.told("It is grey.");
    expect(of(world, "slow")).toHaveLength(1);
    expect(JSON.stringify(of(world, "eyes")[0]?.messages)).toContain("data:image/png;base64,");
  });

  test("a document is read by its own models, as far as the config allows", async ({ world, expect }) => {
    const { home } = await world.start(config(world));
    await put(home, "a.pdf", pdfWith(["One lamp", "Two lamps", "Three lamps"].map((text) => ({ text }))));
    await put(home, "big.pdf", Buffer.concat([pdfWith([{ text: "x" }]), Buffer.alloc(20_000)]));
    const said: string[] = [];
    world.model.answer((call) => {
      if (call.model === "slow") return "hang";
      if (call.model === "reader") return { text: "Lamps." };
      if (call.isAfterTool) said.push(call.toolText);
      if (!call.isAfterTool) return { tool: "pdf", args: { pdf: "a.pdf" } };
      return said.length === 1 ? { tool: "pdf", args: { pdf: "big.pdf" } } : { text: "It is about lamps." };
    });
    world.telegram.say("what is a.pdf about?");
    await world.told("It is about lamps.");
    const shown = JSON.stringify(of(world, "reader")[0]?.messages);
    expect(shown).toContain("Two lamps");
    expect(shown).not.toContain("Three lamps");
    expect(said[0]).toContain("Lamps.");
    expect(said[1]).toContain("larger than");
  });
});
