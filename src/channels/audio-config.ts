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
            "A program with its arguments that prints the words of a voice note; `{{MediaPath}}` is the file, added at the end when it stands nowhere.",
            ["whisper-cli", "--no-timestamps", "{{MediaPath}}"],
          ),
        ),
      baseUrl: z
        .url()
        .optional()
        .meta(about("Address", "An OpenAI-compatible service; `/audio/transcriptions` is added.")),
      model: z.string().default("whisper-1").meta(about("Model", "The service's model.")),
      apiKey: secretField.optional().meta(about("Key", "The service's key.")),
      language: z.string().optional().meta(about("Language", "What is spoken, such as `de`; guessed when unset.")),
      prompt: z.string().optional().meta(about("Prompt", "Names and words that may occur.")),
      maxBytes: z.int().min(1).default(20_971_520).meta(about("Most bytes", "Longer recordings stay files.")),
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
