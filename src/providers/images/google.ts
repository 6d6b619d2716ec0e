import { defined } from "../../utils/defined.ts";
import { type Fields, isFields } from "../../utils/fields.ts";
import { tokenCountIn, fromBase64, type ImageAnswer, type ImageApi, type ImageUsage, ratioOf } from "./api.ts";

const RATIOS = new Set(["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"]);

/** Gemini's models that draw. https://ai.google.dev/gemini-api/docs/image-generation */
export const googleImages: ImageApi = {
  atOnce: 1,
  takesImages: true,
  has: ["size", "aspectRatio", "resolution"],
  request({ prompt, images, style }, { baseUrl, model, key }) {
    const ratio = style.aspectRatio ?? ratioOf(style.size);
    const imageConfig = defined({
      aspectRatio: ratio !== undefined && RATIOS.has(ratio) ? ratio : undefined,
      imageSize: style.resolution,
    });
    const shown = images.map(({ bytes, mime }) => ({
      inlineData: { mimeType: mime, data: Buffer.from(bytes).toString("base64") },
    }));
    return {
      url: `${baseUrl}/models/${encodeURIComponent(model)}:generateContent`,
      headers: { "content-type": "application/json", "x-goog-api-key": key },
      body: JSON.stringify({
        contents: [{ role: "user", parts: [{ text: prompt }, ...shown] }],
        generationConfig: {
          responseModalities: ["TEXT", "IMAGE"],
          ...(Object.keys(imageConfig).length > 0 && { imageConfig }),
        },
      }),
    };
  },
  read(body) {
    if (!isFields(body)) return { images: [] };
    const [candidate] = listIn(body, "candidates");
    const content = candidate?.["content"];
    const parts = isFields(content) ? listIn(content, "parts") : [];
    const usage = usageIn(body["usageMetadata"]);
    return { images: parts.flatMap(imageIn), text: saidIn(body, candidate, parts), ...(usage && { usage }) };
  },
};

const listIn = (fields: Fields, name: string): readonly Fields[] => {
  const list = fields[name];
  return Array.isArray(list) ? list.filter(isFields) : [];
};

/** Thoughts may have drafts of images. */
function imageIn({ inlineData: data, thought }: Fields): ImageAnswer["images"] {
  const bytes = isFields(data) && thought !== true ? fromBase64(data["data"]) : undefined;
  return bytes ? [{ bytes }] : [];
}

/** Text of the model, or else the reason that Google names. */
function saidIn({ promptFeedback }: Fields, candidate: Fields | undefined, parts: readonly Fields[]): string {
  const texts = parts.flatMap(({ text, thought }) => (typeof text === "string" && thought !== true ? [text] : []));
  const reasons = [
    isFields(promptFeedback) ? promptFeedback["blockReason"] : undefined,
    candidate?.["finishReason"] === "STOP" ? undefined : candidate?.["finishReason"],
  ].filter((reason) => typeof reason === "string");
  return [...texts, ...reasons].join(" ").trim();
}

function usageIn(usage: unknown): ImageUsage | undefined {
  if (!isFields(usage)) return undefined;
  const output = tokenCountIn(usage["candidatesTokenCount"]) + tokenCountIn(usage["thoughtsTokenCount"]);
  return { input: tokenCountIn(usage["promptTokenCount"]), output };
}
