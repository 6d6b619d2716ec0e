import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createModels, type ModelHandle } from "../../../src/providers/catalog.ts";
import { drawImages } from "../../../src/providers/images/draw.ts";
import type { DrawAsk, DrawStyle } from "../../../src/types/media/drawing.ts";
import type { CallCost, ModelMeter, PlannedCall } from "../../../src/types/run/model-meter.ts";
import { type ImageService, startImageService } from "../../kit/media/image-service.ts";
import { png } from "../../kit/pictures.ts";

const KEY = "sk-of-the-image-service";
const PICTURE = png(3, 3);
const BASE64 = PICTURE.toString("base64");

let service: ImageService;
let planned: PlannedCall[];
let settled: CallCost[];
let refusal: string | undefined;

beforeEach(async () => {
  [planned, settled, refusal] = [[], [], undefined];
  service = await startImageService(() => ({ body: { data: [{ b64_json: BASE64 }] } }));
});
afterEach(() => service.close());

const meter: ModelMeter = {
  async reserve(call) {
    planned.push(call);
    if (refusal !== undefined) return { kind: "refused", reason: refusal };
    return { kind: "allowed", settle: (cost) => void settled.push(cost) };
  },
};

async function handleOf(provider: string, id: string, more: object = {}): Promise<ModelHandle> {
  const settings = { baseUrl: `${service.url}/v1/`, apiKey: KEY, ...more };
  const models = createModels({ providers: { [provider]: settings }, env: {}, probeLocal: false, meter });
  const found = await models.find({ provider, id });
  if ("missing" in found) throw new Error(found.missing);
  return found;
}

const asked = (style: DrawStyle = {}, more: Partial<DrawAsk> = {}): DrawAsk => ({
  prompt: "a cat",
  images: [],
  count: 1,
  style,
  ...more,
});

const draw = (handle: ModelHandle, ask = asked(), signal = new AbortController().signal) =>
  drawImages(handle, ask, { origin: { cause: "message" }, signal });

const COMPATIBLE = { api: "openai-completions", models: [{ id: "flux", contextWindow: 1000, maxTokens: 1000 }] };
const FULL: DrawStyle = {
  size: "1536x1024",
  aspectRatio: "16:9",
  resolution: "2K",
  quality: "high",
  outputFormat: "webp",
  background: "opaque",
};
const PICTURE_SHOWN = { bytes: PICTURE, mime: "image/png" };

/** What each provider's own documentation shows as an answer. */
const GOOGLE = {
  candidates: [
    {
      content: {
        role: "model",
        parts: [
          { text: "A draft", thought: true },
          { inlineData: { mimeType: "image/png", data: "AAAA" }, thought: true },
          { text: "Here is your cat." },
          { inlineData: { mimeType: "image/png", data: BASE64 } },
        ],
      },
      finishReason: "STOP",
    },
  ],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1290, thoughtsTokenCount: 10, totalTokenCount: 1309 },
};
const OPENROUTER = {
  choices: [
    {
      message: {
        role: "assistant",
        content: "A cat.",
        images: [{ type: "image_url", image_url: { url: `data:image/png;base64,${BASE64}` } }],
      },
    },
  ],
  usage: { prompt_tokens: 8, completion_tokens: 1300, total_tokens: 1308, cost: 0.0387 },
};
const OPENAI = {
  created: 1_713_833_628,
  data: [{ b64_json: BASE64 }],
  usage: { total_tokens: 4210, input_tokens: 50, output_tokens: 4160, input_tokens_details: { text_tokens: 50 } },
};

interface Row {
  readonly name: string;
  readonly provider: string;
  readonly model: string;
  readonly settings?: object;
  readonly answer: unknown;
  readonly at: string;
  readonly key: readonly [name: string, value: string];
  readonly body: object;
  readonly leftOut: readonly string[];
  readonly usage: object;
  readonly usd: number;
}

const ROWS: readonly Row[] = [
  {
    name: "OpenAI",
    provider: "openai",
    model: "gpt-image-1",
    answer: OPENAI,
    at: "/v1/images/generations",
    key: ["authorization", `Bearer ${KEY}`],
    body: {
      model: "gpt-image-1",
      prompt: "a cat",
      n: 1,
      size: "1536x1024",
      quality: "high",
      output_format: "webp",
      background: "opaque",
    },
    leftOut: ["resolution"],
    usage: { input: 50, output: 4160 },
    usd: (50 * 10 + 4160 * 40) / 1e6,
  },
  {
    name: "Google",
    provider: "google",
    model: "gemini-2.5-flash-image",
    answer: GOOGLE,
    at: "/v1/models/gemini-2.5-flash-image:generateContent",
    key: ["x-goog-api-key", KEY],
    body: {
      contents: [{ role: "user", parts: [{ text: "a cat" }] }],
      generationConfig: {
        responseModalities: ["TEXT", "IMAGE"],
        imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
      },
    },
    leftOut: ["quality", "outputFormat", "background"],
    usage: { input: 9, output: 1300 },
    usd: (9 * 0.3 + 1300 * 30) / 1e6,
  },
  {
    name: "OpenRouter",
    provider: "openrouter",
    model: "google/gemini-2.5-flash-image",
    answer: OPENROUTER,
    at: "/v1/chat/completions",
    key: ["authorization", `Bearer ${KEY}`],
    body: {
      model: "google/gemini-2.5-flash-image",
      messages: [{ role: "user", content: [{ type: "text", text: "a cat" }] }],
      modalities: ["image", "text"],
      usage: { include: true },
      image_config: { aspect_ratio: "16:9", image_size: "2K" },
    },
    leftOut: ["quality", "outputFormat", "background"],
    usage: { input: 8, output: 1300 },
    usd: 0.0387,
  },
  {
    name: "xAI",
    provider: "xai",
    model: "grok-2-image",
    settings: { models: [{ id: "grok-2-image", cost: { input: 0, output: 70, cacheRead: 0, cacheWrite: 0 } }] },
    answer: { data: [{ b64_json: BASE64, revised_prompt: "one cat" }] },
    at: "/v1/images/generations",
    key: ["authorization", `Bearer ${KEY}`],
    body: {
      model: "grok-2-image",
      prompt: "a cat",
      n: 1,
      aspect_ratio: "16:9",
      resolution: "2k",
      response_format: "b64_json",
    },
    leftOut: ["size", "quality", "outputFormat", "background"],
    // It counts no tokens: an image counts as a thousand.
    usage: { output: 1000 },
    usd: 0.07,
  },
  {
    name: "another service with OpenAI's API",
    provider: "local",
    model: "flux",
    settings: COMPATIBLE,
    answer: { data: [{ b64_json: BASE64 }] },
    at: "/v1/images/generations",
    key: ["authorization", `Bearer ${KEY}`],
    body: { model: "flux", prompt: "a cat", n: 1, size: "1536x1024", response_format: "b64_json" },
    leftOut: ["aspectRatio", "resolution", "quality", "outputFormat", "background"],
    usage: { output: 1000 },
    usd: 0,
  },
];

describe("a service that draws", () => {
  it.each(ROWS)("$name is asked as its documentation says, and its answer is read", async (row) => {
    service.answer(() => ({ body: row.answer }));
    const drawn = await draw(await handleOf(row.provider, row.model, row.settings), asked(FULL));
    expect(service.asked).toHaveLength(1);
    expect(service.asked[0]).toMatchObject({ path: row.at, headers: { [row.key[0]]: row.key[1] } });
    expect(service.asked[0]?.body).toEqual(row.body);
    expect(drawn).toEqual({
      images: [{ bytes: expect.anything(), mime: "image/png", ending: "png" }],
      leftOut: row.leftOut,
    });
    expect("images" in drawn && Buffer.from(drawn.images[0]!.bytes).equals(PICTURE)).toBe(true);
    expect(settled).toMatchObject([{ outcome: "answered", usage: row.usage }]);
    expect(settled[0]?.usage.cost.total).toBeCloseTo(row.usd, 10);
    expect(planned[0]?.most.outputTokens).toBeGreaterThanOrEqual(settled[0]?.usage.output ?? Infinity);
    // An image is made whole or not at all.
    expect(planned[0]?.most.leastOutputTokens).toBe(planned[0]?.most.outputTokens);
  });

  it("sends nothing of a style that the call does not have", async () => {
    await draw(await handleOf("openai", "gpt-image-1"));
    expect(service.asked[0]?.body).toEqual({ model: "gpt-image-1", prompt: "a cat", n: 1 });
    await draw(await handleOf("google", "gemini-2.5-flash-image"));
    expect(service.asked[1]?.body["generationConfig"]).toEqual({ responseModalities: ["TEXT", "IMAGE"] });
  });

  it("gets the shape nearest to a ratio, where it has only sizes", async () => {
    const handle = await handleOf("openai", "gpt-image-1");
    const sizes: unknown[] = [];
    for (const aspectRatio of ["1:1", "16:9", "9:16", "0:0"]) {
      await draw(handle, asked({ aspectRatio }));
      sizes.push(service.asked.at(-1)?.body["size"]);
    }
    expect(sizes).toEqual(["1024x1024", "1536x1024", "1024x1536", undefined]);
  });

  it("is shown the images to change: OpenAI in a form, Google and OpenRouter beside the text, xAI not at all", async () => {
    const ask = asked({}, { images: [PICTURE_SHOWN, PICTURE_SHOWN] });
    await draw(await handleOf("openai", "gpt-image-1"), ask);
    const [first] = service.asked;
    expect(first?.path).toBe("/v1/images/edits");
    expect(first?.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
    const form = first?.raw.toString("latin1") ?? "";
    expect(form.match(/name="image\[\]"; filename="image-\d\.png"/g)).toHaveLength(2);
    expect(form).toContain(PICTURE.toString("latin1"));
    service.answer(() => ({ body: GOOGLE }));
    await draw(await handleOf("google", "gemini-2.5-flash-image"), ask);
    expect(JSON.stringify(service.asked[1]?.body)).toContain(`{"mimeType":"image/png","data":"${BASE64}"}`);
    service.answer(() => ({ body: OPENROUTER }));
    await draw(await handleOf("openrouter", "black-forest-labs/flux.2-pro"), ask);
    expect(JSON.stringify(service.asked[2]?.body)).toContain(`"url":"data:image/png;base64,${BASE64}"`);
    expect(service.asked[2]?.body["modalities"]).toEqual(["image"]);
    expect(await draw(await handleOf("xai", "grok-2-image"), ask)).toEqual({ why: "its service changes no images" });
    expect(service.asked).toHaveLength(3);
  });

  it("makes several images in one request, or in several where it makes one at a time; each has its own cost", async () => {
    service.answer(() => ({ body: { data: [1, 2, 3].map(() => ({ b64_json: BASE64 })) } }));
    const openai = await draw(await handleOf("openai", "gpt-image-1"), asked({}, { count: 3 }));
    expect("images" in openai && openai.images).toHaveLength(3);
    expect(service.asked[0]?.body["n"]).toBe(3);
    service.answer(() => ({ body: GOOGLE }));
    const google = await draw(await handleOf("google", "gemini-2.5-flash-image"), asked({}, { count: 3 }));
    expect("images" in google && google.images).toHaveLength(3);
    expect(service.asked).toHaveLength(4);
    expect(planned).toHaveLength(4);
    expect(settled.map(({ usage }) => usage.output)).toEqual([3000, 1300, 1300, 1300]);
  });

  it("gives what it made before it failed, and says why there is no more", async () => {
    service.answer((_request, number) =>
      number === 1 ? { body: GOOGLE } : { status: 429, body: { error: { message: "Slow down." } } },
    );
    const drawn = await draw(await handleOf("google", "gemini-2.5-flash-image"), asked({}, { count: 4 }));
    expect(drawn).toMatchObject({ images: [{ mime: "image/png" }], missing: expect.stringContaining("Slow down.") });
    expect(service.asked).toHaveLength(2);
  });

  it("names the image by what it is, whatever the service says of it", async () => {
    const gif = Buffer.from("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=", "base64");
    service.answer(() => ({ body: { data: [{ b64_json: gif.toString("base64") }] } }));
    const drawn = await draw(await handleOf("local", "flux", COMPATIBLE));
    expect(drawn).toMatchObject({ images: [{ mime: "image/gif", ending: "gif" }] });
  });
});

describe("an image that a service only names", () => {
  const named = (url: string) =>
    service.answer(({ path }) =>
      path === "/v1/images/generations" ? { body: { data: [{ url }] } } : { body: PICTURE },
    );

  it("is fetched from the service itself, without the key", async () => {
    named(`${service.url}/made/1.png`);
    const drawn = await draw(await handleOf("local", "flux", COMPATIBLE));
    expect(drawn).toMatchObject({ images: [{ mime: "image/png" }] });
    expect(service.asked[1]).toMatchObject({ path: "/made/1.png" });
    expect(service.asked[1]?.headers["authorization"]).toBeUndefined();
  });

  it("is fetched from no other private address", async () => {
    const other = await startImageService(() => ({ body: PICTURE }));
    try {
      for (const url of [
        `${other.url}/x.png`,
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "ftp://a.test/x",
      ]) {
        named(url);
        const drawn = await draw(await handleOf("local", "flux", COMPATIBLE));
        expect(drawn).toMatchObject({ failure: expect.anything() });
      }
      expect(other.asked).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe("a service that makes no image", () => {
  const WHY: readonly (readonly [name: string, answer: object | string, text: RegExp, kind: string])[] = [
    [
      "refuses the key",
      { status: 401, body: { error: { message: "Bad key", code: "invalid_api_key" } } },
      /Bad key/,
      "auth",
    ],
    ["refuses the prompt", { status: 400, body: { error: { message: "Not allowed" } } }, /Not allowed/, "format"],
    ["has no money", { status: 402, body: { error: { message: "Pay" } } }, /Pay/, "billing"],
    ["fails without a word", { status: 500, body: "" }, /500/, "network"],
    ["answers with a page", { body: "<html>Log in</html>" }, /is no JSON: is the provider's baseUrl right/, "unknown"],
    [
      "answers with a text",
      { body: { data: [{ b64_json: Buffer.from("no image").toString("base64") }] } },
      /no image/,
      "unknown",
    ],
    ["answers with nothing", { body: { data: [] } }, /The answer has no image/, "unknown"],
    ["answers with another shape", { body: [[["x"]]] }, /The answer has no image/, "unknown"],
    ["breaks off", "cut", /./, "network"],
  ];

  it.each(WHY)("%s: the reason is told, and the cost is settled once", async (_name, answer, text, kind) => {
    service.answer(() => answer as never);
    const drawn = await draw(await handleOf("local", "flux", COMPATIBLE));
    expect(drawn).toMatchObject({ why: expect.stringMatching(text), failure: { kind } });
    expect(JSON.stringify(drawn)).not.toContain(KEY);
    expect(settled).toHaveLength(1);
    const isRefused = typeof answer === "object" && "status" in answer;
    // What the service may have done counts, a refusal does not.
    expect((settled[0]?.usage.totalTokens ?? 0) > 0).toBe(!isRefused);
  });

  it("says in Google's words why", async () => {
    service.answer(() => ({ body: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } } }));
    expect(await draw(await handleOf("google", "gemini-2.5-flash-image"))).toMatchObject({
      why: expect.stringContaining("PROHIBITED_CONTENT"),
    });
    service.answer(() => ({ body: { candidates: [{ finishReason: "IMAGE_SAFETY" }] } }));
    expect(await draw(await handleOf("google", "gemini-2.5-flash-image"))).toMatchObject({
      why: expect.stringContaining("IMAGE_SAFETY"),
    });
  });

  it("is not asked where its API has no images, or when a budget does not allow it", async () => {
    const claude = await handleOf("anthropic", "claude-sonnet-4-5");
    expect(await draw(claude)).toEqual({ why: "anthropic has no service that draws images" });
    refusal = "Five dollars a day are spent.";
    const drawn = await draw(await handleOf("openai", "gpt-image-1"));
    expect(drawn).toMatchObject({ why: expect.stringContaining("Five dollars"), failure: { kind: "budget" } });
    expect(service.asked).toEqual([]);
    expect(settled).toEqual([]);
  });

  it("waits as long as a refusal asks for", async () => {
    service.answer(() => ({ status: 429, headers: { "retry-after": "7" }, body: { error: { message: "Later" } } }));
    expect(await draw(await handleOf("openai", "gpt-image-1"))).toMatchObject({
      failure: { kind: "rate_limit", retryAfterMs: 7000 },
    });
  });

  it("sends no key on when it redirects", async () => {
    const other = await startImageService(() => ({ body: OPENAI }));
    service.answer(() => ({ status: 307, headers: { location: `${other.url}/v1/images/generations` }, body: "" }));
    expect(await draw(await handleOf("openai", "gpt-image-1"))).toMatchObject({ failure: { kind: "network" } });
    expect(other.asked).toEqual([]);
    await other.close();
  });

  it("costs nothing when nobody listens at its address", async () => {
    const handle = await handleOf("local", "flux", COMPATIBLE);
    await service.close();
    expect(await draw(handle)).toMatchObject({ why: expect.stringContaining("ECONNREFUSED") });
    expect(settled).toMatchObject([{ outcome: "failed", usage: { totalTokens: 0 } }]);
  });

  it("is left soon after an abort, and counts with the most that it may have taken", async () => {
    service.answer(() => "hang");
    const abort = new AbortController();
    const drawing = draw(await handleOf("openai", "gpt-image-1"), asked(), abort.signal);
    await expect.poll(() => service.asked.length).toBe(1);
    abort.abort();
    expect(await drawing).toMatchObject({ failure: expect.anything() });
    expect(settled).toMatchObject([{ outcome: "aborted", isEstimate: true }]);
    expect(settled[0]?.usage.output).toBe(planned[0]?.most.outputTokens);
    expect(settled[0]?.usage.cost.total).toBeGreaterThan(0.2);
  });
});
