import { z } from "zod";
import { about } from "../../utils/config.ts";

/** Milliseconds for one model when the config sets none, and for a model that draws. */
export const MODEL_MS = 120_000;
export const DRAW_MS = 180_000;

const modelName = z.string().regex(/^[^/\s]+\/\S+$/, "write it as provider/model");

const mediaModel = (title: string, description: string, ms = MODEL_MS) =>
  z
    .union([
      modelName.meta(about("Model", "Model, as `provider/model`.")),
      z.strictObject({
        primary: modelName.optional().meta(about("Primary", "The model that is asked first, as `provider/model`.")),
        fallbacks: z
          .array(modelName)
          .prefault([])
          .meta(about("Fallbacks", "Models that are asked in this order when the one before fails.")),
        timeoutMs: z
          .int()
          .min(1000)
          .max(1_800_000)
          .optional()
          .meta(about("Timeout", `Milliseconds for one model; ${ms} when unset.`)),
      }),
    ])
    .optional()
    .meta(about(title, description));

/** Keys of `agents.defaults` about images and documents. */
export const mediaDefaultsShape = {
  imageModel: mediaModel(
    "Image model",
    "Model of the tool `image`, which looks at images that are not in the conversation. There is no such tool when unset.",
  ),
  pdfModel: mediaModel(
    "PDF model",
    "Model of the tool `pdf`. `imageModel` when unset, and the agent's own model when that is unset too.",
  ),
  imageGenerationModel: mediaModel(
    "Drawing model",
    "Model of the tool `image_generate`, which draws images and changes given ones. There is no such tool when unset.",
    DRAW_MS,
  ),
  pdfMaxBytesMb: z
    .number()
    .positive()
    .max(50)
    .default(10)
    .meta(about("PDF size", "Megabytes of a PDF file that the tool `pdf` reads.")),
  pdfMaxPages: z
    .int()
    .min(1)
    .max(100)
    .default(20)
    .meta(about("PDF pages", "Most pages that the tool `pdf` reads in one call.")),
};
