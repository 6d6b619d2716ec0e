import { defined } from "../../utils/defined.ts";
import { type Fields, isFields } from "../../utils/fields.ts";
import { tokenCountIn, dataUrlOf, type ImageApi, imageAt, type ImageUsage, ratioOf } from "./api.ts";

/** Makers whose models can answer with text as well as images; other models refuse to. */
const WRITES = /^~?(?:google|openai)\//;

/** OpenRouter draws in its chat. https://openrouter.ai/docs/guides/overview/multimodal/image-generation */
export const openrouterImages: ImageApi = {
  atOnce: 1,
  takesImages: true,
  has: ["size", "aspectRatio", "resolution"],
  request({ prompt, images, style }, { baseUrl, model, key }) {
    const config = defined({ aspect_ratio: style.aspectRatio ?? ratioOf(style.size), image_size: style.resolution });
    const shown = images.map((image) => ({ type: "image_url", image_url: { url: dataUrlOf(image) } }));
    return {
      url: `${baseUrl}/chat/completions`,
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model,
        messages: [{ role: "user", content: [{ type: "text", text: prompt }, ...shown] }],
        modalities: WRITES.test(model) ? ["image", "text"] : ["image"],
        usage: { include: true },
        ...(Object.keys(config).length > 0 && { image_config: config }),
      }),
    };
  },
  read(body) {
    const fields = isFields(body) ? body : {};
    const message = messageIn(fields);
    const made: readonly unknown[] = Array.isArray(message["images"]) ? message["images"] : [];
    const usage = usageIn(fields["usage"]);
    const text = message["content"];
    return {
      images: made.flatMap(
        (one) => (isFields(one) && isFields(one["image_url"]) && imageAt(one["image_url"]["url"])) || [],
      ),
      ...(typeof text === "string" && { text: text.trim() }),
      ...(usage && { usage }),
    };
  },
};

function messageIn({ choices }: Fields): Fields {
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isFields(first) && isFields(first["message"]) ? first["message"] : {};
}

function usageIn(usage: unknown): ImageUsage | undefined {
  if (!isFields(usage)) return undefined;
  const { cost } = usage;
  return {
    input: tokenCountIn(usage["prompt_tokens"]),
    output: tokenCountIn(usage["completion_tokens"]),
    ...(typeof cost === "number" && cost >= 0 && { usd: cost }),
  };
}
