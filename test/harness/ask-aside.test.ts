import { writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ImageLoader } from "../../src/history/images/load.ts";
import type { Resize } from "../../src/history/images/resize.ts";
import { createModels } from "../../src/providers/catalog.ts";
import { textResult } from "../../src/tools/define.ts";
import type { SidePart } from "../../src/types/media/side-call.ts";
import type { MediaSettings } from "../../src/types/media/settings.ts";
import { isFields } from "../../src/utils/fields.ts";
import type { ModelCall, ModelReply } from "../fakes/model.ts";
import { mediaContributions } from "../contracts/tool/media-kit.ts";
import { createTools } from "../kit/create-tools.ts";
import { png } from "../kit/pictures.ts";
import { eventsOf, openRunFixture, type RunFixture } from "../kit/run.ts";
import { settingsFor } from "../kit/settings.ts";
import { agentSettings, makeTool, noRules } from "../kit/tools.ts";

const KEY = "sk-test-0123456789";
const EYES = { provider: "eyes", id: "eyes-1" };
const GOOGLE = { provider: "goggles", id: "goggles-1" };
const OTHER_EYES = { provider: "spare", id: "spare-eyes" };
const BLIND = { provider: "blind", id: "blind-1" };

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const models = () => {
  const provider = (api: string, id: string, input: ("text" | "image")[]) => ({
    baseUrl: fixture.model.urlFor(api),
    api,
    apiKey: KEY,
    models: [{ id, contextWindow: 100_000, maxTokens: 4096, input }],
  });
  return createModels({
    providers: {
      fake: provider("openai-completions", "fake-1", ["text"]),
      eyes: provider("anthropic-messages", "eyes-1", ["text", "image"]),
      goggles: provider("google-generative-ai", "goggles-1", ["text", "image"]),
      spare: provider("openai-completions", "spare-eyes", ["text", "image"]),
      blind: provider("openai-completions", "blind-1", ["text"]),
    },
    env: {},
    probeLocal: false,
  });
};

/** One turn in which the model calls the tool once; what the models beside it answer is `aside`. */
async function turn(
  call: { readonly tool: string; readonly args: Record<string, unknown> },
  given: {
    readonly media: Partial<MediaSettings>;
    readonly aside?: (call: ModelCall) => ModelReply;
    readonly resizer?: Resize | undefined;
    readonly extra?: Parameters<typeof createTools>[0]["extra"];
  },
) {
  const { aside = () => ({ text: "A grey square." }) } = given;
  let asked = 0;
  fixture.model.answer((seen) => {
    if (seen.model !== "fake-1") return aside(seen);
    asked += 1;
    return asked === 1 ? call : { text: "done" };
  });
  const media = { pdfMaxBytes: 10_485_760, pdfMaxPages: 20, ...given.media };
  const tools = createTools({
    settings: { ...agentSettings(fixture.dir), media },
    rules: noRules,
    rights: "owner",
    deniedPaths: [],
    own: mediaContributions(),
    ...(given.extra && { extra: given.extra }),
  });
  const images = new ImageLoader({
    log: fixture.log,
    mediaDir: join(fixture.dir, "media"),
    ...("resizer" in given && { findResizer: async () => given.resizer }),
  });
  const settings = { ...settingsFor(fixture.dir), media };
  const events = await eventsOf(fixture.start({ tools, settings, models: models(), images }).stream);
  const end = events.at(-1);
  const result = events.find((event) => event.type === "tool_end");
  const own = fixture.model.calls.filter(({ model }) => model === "fake-1");
  return {
    end,
    result,
    said: own.at(-1)?.toolText ?? "",
    asked: fixture.model.calls.filter(({ model }) => model !== "fake-1"),
  };
}

/** Blocks of the last user message, as Anthropic gets them. */
function blocksIn({ body }: ModelCall): readonly Record<string, unknown>[] {
  const messages = isFields(body) && Array.isArray(body["messages"]) ? (body["messages"] as unknown[]) : [];
  const last = messages.at(-1);
  return isFields(last) && Array.isArray(last["content"]) ? (last["content"] as Record<string, unknown>[]) : [];
}

const photo = async (width: number, height: number): Promise<Buffer> =>
  sharp({
    create: { width, height, channels: 3, background: "white", noise: { type: "gaussian", mean: 128, sigma: 60 } },
  })
    .png()
    .toBuffer();

describe("the tool image, in a run", () => {
  it("asks the model of agents.defaults.imageModel, whose cost is in the receipt, under the name of the tool", async () => {
    writeFileSync(join(fixture.dir, "square.png"), png(20, 20));
    const { end, said, asked } = await turn(
      { tool: "image", args: { image: "square.png", prompt: "What colour?" } },
      { media: { image: { models: [EYES] } } },
    );
    expect(asked).toHaveLength(1);
    expect(blocksIn(asked[0]!)).toMatchObject([
      { type: "image", source: { media_type: "image/png", data: png(20, 20).toString("base64") } },
      { type: "text", text: "What colour?" },
    ]);
    expect(said).toMatch(/<<<EXTERNAL_UNTRUSTED_CONTENT[^]*From: square\.png\n---\nA grey square\.\n<<<END_/);
    expect(end).toMatchObject({
      type: "run_end",
      receipt: { beside: [{ what: "tool", tool: "image", model: EYES, calls: 1, usage: { input: 10, output: 5 } }] },
    });
  });

  it("asks the fallbacks in their order, and says what each of them said when none answers", async () => {
    writeFileSync(join(fixture.dir, "square.png"), png(20, 20));
    const media = { image: { models: [BLIND, EYES, OTHER_EYES] } };
    const call = { tool: "image", args: { image: "square.png" } };
    const second = await turn(call, {
      media,
      aside: ({ model }) => (model === "eyes-1" ? { status: 400, message: `no ${KEY}` } : { text: "Grey." }),
    });
    expect(second.asked.map(({ model }) => model)).toEqual(["eyes-1", "spare-eyes"]);
    expect(second.said).toContain("\nGrey.\n");
  });

  it("tells the model why nobody answered, without any key", async () => {
    writeFileSync(join(fixture.dir, "square.png"), png(20, 20));
    const { said, end } = await turn(
      { tool: "image", args: { image: "square.png" } },
      { media: { image: { models: [BLIND, EYES] } }, aside: () => ({ status: 400, message: `no luck with ${KEY}` }) },
    );
    expect(said).toMatch(
      /^blind\/blind-1: the model sees no images \(set agents\.defaults\.imageModel to one that does\)$/m,
    );
    expect(said).toMatch(/^eyes\/eyes-1: .*no luck with/m);
    expect(said).not.toContain(KEY);
    expect(end).toMatchObject({ result: { kind: "replied" } });
  });

  it("makes an image over 5 MB small enough for the provider", async () => {
    const bytes = await photo(1500, 1500);
    expect(bytes.byteLength).toBeGreaterThan(5 * 1024 * 1024);
    writeFileSync(join(fixture.dir, "photo.png"), bytes);
    const { asked } = await turn(
      { tool: "image", args: { image: "photo.png" } },
      { media: { image: { models: [EYES] } } },
    );
    const [image] = blocksIn(asked[0]!);
    const data = isFields(image?.["source"]) ? String(image["source"]["data"]) : "";
    expect(data.length).toBeLessThanOrEqual(5_242_880);
    const { width, height } = await sharp(Buffer.from(data, "base64")).metadata();
    expect([width, height]).toEqual([1200, 1200]);
  });

  it("refuses it with the reason where nothing makes images smaller", async () => {
    const bytes = await photo(1500, 1500);
    writeFileSync(join(fixture.dir, "photo.png"), bytes);
    const { asked, said } = await turn(
      { tool: "image", args: { image: "photo.png" } },
      { media: { image: { models: [EYES] } }, resizer: undefined },
    );
    expect(asked).toEqual([]);
    expect(said).toMatch(/eyes\/eyes-1: it does not take photo\.png \([\d.]+ MB; it takes 3\.8 MB.*npm install sharp/);
  });

  it("ends soon after the run is stopped", async () => {
    writeFileSync(join(fixture.dir, "square.png"), png(20, 20));
    fixture.model.answer(({ model }) =>
      model === "fake-1" ? { tool: "image", args: { image: "square.png" } } : "hang",
    );
    const media = { image: { models: [EYES] }, pdfMaxBytes: 1, pdfMaxPages: 1 };
    const settings = { ...agentSettings(fixture.dir), media };
    const tools = createTools({
      settings,
      rules: noRules,
      rights: "owner",
      deniedPaths: [],
      own: mediaContributions(),
    });
    const run = fixture.start({
      tools,
      models: models(),
      images: new ImageLoader({ log: fixture.log, mediaDir: join(fixture.dir, "media") }),
    });
    await fixture.model.called(2);
    run.abort("user");
    const events = await eventsOf(run.stream);
    expect(events.at(-1)).toMatchObject({ result: { kind: "aborted" } });
  });
});

describe("a PDF file for a model", () => {
  const PDF = Buffer.from("%PDF-1.4 a document");
  const parts: readonly SidePart[] = [
    { type: "pdf", bytes: PDF },
    { type: "text", text: "Sum up." },
  ];
  const asking = (model: { provider: string; id: string }) =>
    makeTool("reader", async (_input, { aside, signal }) => {
      const show = async ({ readsPdf }: { readsPdf: boolean }) => (readsPdf ? parts : { why: "it reads no PDF files" });
      const question = { models: [model], system: "Read.", show, timeoutMs: 10_000 };
      return textResult((await aside?.ask(question, signal))?.text ?? "");
    });

  it("is a document for Anthropic", async () => {
    const { asked } = await turn({ tool: "reader", args: {} }, { media: {}, extra: [asking(EYES)] });
    const source = { type: "base64", media_type: "application/pdf", data: PDF.toString("base64") };
    expect(blocksIn(asked[0]!)).toMatchObject([{ type: "document", source }, { type: "text" }]);
  });

  it("is inline data for Google", async () => {
    const { asked } = await turn({ tool: "reader", args: {} }, { media: {}, extra: [asking(GOOGLE)] });
    expect(JSON.stringify(asked[0]?.body)).toContain(
      JSON.stringify({ inlineData: { data: PDF.toString("base64"), mimeType: "application/pdf" } }),
    );
  });

  it("is not for other APIs", async () => {
    const { asked, said } = await turn({ tool: "reader", args: {} }, { media: {}, extra: [asking(OTHER_EYES)] });
    expect(asked).toEqual([]);
    expect(said).toContain("spare/spare-eyes: it reads no PDF files");
  });
});
