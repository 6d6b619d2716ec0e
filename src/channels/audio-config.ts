import { z } from "zod";
import { about, secretField } from "../utils/config.ts";

/** `audio.*` */
export const audioConfig = z.strictObject({
  transcription: z
    .strictObject({
      command: z
        .array(z.string())
        .min(1)
        .optional()
        .meta(
          about(
            "Command",
            "Program with arguments that prints the text of a voice note. `{{MediaPath}}` is the file; it is added at the end when it is missing.",
            ["whisper-cli", "--no-timestamps", "{{MediaPath}}"],
          ),
        ),
      baseUrl: z
        .url()
        .optional()
        .meta(about("Address", "Address of an OpenAI-compatible service; `/audio/transcriptions` is added.")),
      model: z.string().default("whisper-1").meta(about("Model", "Model of the service.")),
      apiKey: secretField.optional().meta(about("Key", "Key of the service.")),
      costPerMinute: z
        .number()
        .min(0)
        .optional()
        .meta(
          about(
            "Price",
            "US dollars of a minute, for budgets in money. A service of this machine costs nothing; another one has no known price when unset.",
            0.006,
          ),
        ),
      language: z
        .string()
        .optional()
        .meta(about("Language", "Language of recordings, such as `de`; guessed when unset.")),
      prompt: z.string().optional().meta(about("Prompt", "Names and words that may occur in recordings.")),
      maxBytes: z.int().min(1).default(20_971_520).meta(about("Most bytes", "Recordings with more bytes stay files.")),
      timeoutSeconds: z
        .int()
        .min(1)
        .max(600)
        .default(60)
        .meta(about("Timeout", "Seconds after which a recording stays a file.")),
    })
    .refine((given) => given.command === undefined || given.baseUrl === undefined, "either command or baseUrl")
    .optional()
    .meta(about("Transcription", "Turns voice notes into text. Off when unset.")),
});

export type Transcription = NonNullable<z.output<typeof audioConfig>["transcription"]>;
