import type { PiModel, PiStreamOptions } from "../pi.ts";
import { type Fields, isFields } from "../../utils/fields.ts";

/** The SDK has no content of this type; it passes an image of any type on. */
const PDF = "application/pdf";

/** Google's API takes a PDF file where it takes an image. */
const READS_PDF: ReadonlySet<string> = new Set(["anthropic-messages", "google-generative-ai"]);

/** Whether a PDF file can be shown to the model, as an image of the type `application/pdf`. */
export const readsPdf = ({ api, input }: Pick<PiModel, "api" | "input">): boolean =>
  READS_PDF.has(api) && input.includes("image");

/** Options with which PDF files reach Anthropic as documents; the options themselves for other APIs. */
export function withDocuments(api: string, options: PiStreamOptions = {}): PiStreamOptions {
  if (api !== "anthropic-messages") return options;
  const { onPayload } = options;
  return {
    ...options,
    onPayload: async (payload, model) => asDocuments((await onPayload?.(payload, model)) ?? payload),
  };
}

function asDocuments(payload: unknown): unknown {
  if (!isFields(payload) || !Array.isArray(payload["messages"])) return payload;
  const messages: readonly unknown[] = payload["messages"];
  return messages.some(hasPdf) ? { ...payload, messages: messages.map(withDocument) } : payload;
}

const blocksOf = (message: unknown): readonly unknown[] =>
  isFields(message) && Array.isArray(message["content"]) ? message["content"] : [];

const isPdf = (block: unknown): block is Fields =>
  isFields(block) && block["type"] === "image" && isFields(block["source"]) && block["source"]["media_type"] === PDF;

const hasPdf = (message: unknown): boolean => blocksOf(message).some(isPdf);

const withDocument = (message: unknown): unknown =>
  isFields(message) && hasPdf(message)
    ? {
        ...message,
        content: blocksOf(message).map((block) => (isPdf(block) ? { ...block, type: "document" } : block)),
      }
    : message;
