import { z } from "zod";
import type { ClientAttachment } from "../methods/attachments.ts";
import { badRequest, type ApiError } from "./errors.ts";
import type { SaidPart } from "./said.ts";

/** A part of a message whose type the gateway does not read. */
class UnreadablePart extends Error {
  readonly error: ApiError;

  constructor(message: string) {
    super(message);
    this.error = badRequest(message, "messages");
  }
}

const text = z.looseObject({
  type: z.enum(["text", "input_text", "output_text", "refusal"]),
  text: z.string().optional(),
});
const image = z.looseObject({
  type: z.enum(["image_url", "input_image"]),
  image_url: z.union([z.string(), z.looseObject({ url: z.string() })]).nullish(),
});
const audio = z.looseObject({
  type: z.literal("input_audio"),
  input_audio: z.looseObject({ data: z.string().min(1), format: z.string().max(16) }),
});
const fileFields = {
  file_data: z.string().nullish(),
  filename: z.string().max(256).nullish(),
  file_url: z.string().nullish(),
  file_id: z.string().nullish(),
};
const file = z.looseObject({ type: z.literal("file"), file: z.looseObject(fileFields) });
const inputFile = z.looseObject({ type: z.literal("input_file"), ...fileFields });
const part = z.discriminatedUnion("type", [text, image, audio, file, inputFile]);

/** The content of a message: a text, or parts of it. */
export const contentSchema = z.union([z.string(), z.array(part)]);
type Content = z.infer<typeof contentSchema>;
type Part = z.infer<typeof part>;

/** The parts of a message in both of OpenAI's protocols; an error for a part that cannot be read. Never throws. */
export function readContentParts(given: Content): readonly SaidPart[] | ApiError {
  if (typeof given === "string") return [{ type: "text", text: given }];
  try {
    return given.map(readPart);
  } catch (error) {
    if (error instanceof UnreadablePart) return error.error;
    throw error;
  }
}

function readPart(given: Part): SaidPart {
  switch (given.type) {
    case "image_url":
    case "input_image":
      return readImage(typeof given.image_url === "string" ? given.image_url : (given.image_url?.url ?? ""));
    case "input_audio":
      return { type: "file", file: audioFile(given.input_audio) };
    case "file":
      return readFile(given.file);
    case "input_file":
      return readFile(given);
    default:
      return { type: "text", text: given.text ?? "" };
  }
}

function readImage(url: string): SaidPart {
  const [, mimeType] = /^data:(image\/[\w.+-]+);base64,/.exec(url.slice(0, 100)) ?? [];
  if (mimeType === undefined)
    throw new UnreadablePart("images must be base64 data URLs; this gateway fetches no address");
  return { type: "image", data: url.slice(url.indexOf(",") + 1), mimeType };
}

const audioFile = ({ data, format }: { data: string; format: string }): ClientAttachment => ({
  type: "audio",
  mimeType: format === "mp3" ? "audio/mpeg" : `audio/${format.replaceAll(/[^\w.+-]/g, "")}`,
  fileName: `audio.${format.replaceAll(/\W/g, "")}`,
  content: data,
});

interface GivenFile {
  readonly file_data?: string | null | undefined;
  readonly filename?: string | null | undefined;
}

function readFile({ file_data: data, filename }: GivenFile): SaidPart {
  if (typeof data !== "string" || data === "")
    throw new UnreadablePart("files must be sent as file_data; this gateway fetches no address and has no uploads");
  const [, mimeType] = /^data:([\w.+-]+\/[\w.+-]+)[;,]/.exec(data.slice(0, 200)) ?? [];
  return {
    type: "file",
    file: {
      type: "file",
      content: data,
      ...(mimeType !== undefined && { mimeType }),
      ...(typeof filename === "string" && filename !== "" && { fileName: filename }),
    },
  };
}
