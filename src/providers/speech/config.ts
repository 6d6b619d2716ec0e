import { z } from "zod";
import { SPEECH_LEVELS } from "../../types/media/speech.ts";
import { about, secretField } from "../../utils/config.ts";

const provider = z
  .strictObject({
    baseUrl: z.url().optional().meta(about("Address", "Address of the service; its own when it is a known one.")),
    apiKey: secretField
      .optional()
      .meta(
        about("Key", "Key of the service; the one of the model provider of this name, or its variable, when unset."),
      ),
    model: z.string().min(1).optional().meta(about("Model", "Model that speaks.")),
    costPerMillionChars: z
      .number()
      .min(0)
      .optional()
      .meta(
        about(
          "Price",
          "US dollars of a million characters, for budgets in money. A service of this machine costs nothing; another one has no known price when unset.",
          15,
        ),
      ),
    voice: z.string().min(1).optional().meta(about("Voice", "Name or id of the voice.")),
    command: z
      .array(z.string())
      .min(1)
      .optional()
      .meta(
        about(
          "Command",
          "Program with arguments that speaks on this machine. It gets the text as its input, and writes the file `{{OutputPath}}`, whose ending says the format.",
          ["piper", "--model", "en.onnx", "--output_file", "{{OutputPath}}.wav"],
        ),
      ),
  })
  .refine((given) => given.command === undefined || given.baseUrl === undefined, "either command or baseUrl");

/** `messages.tts` */
export const speechConfig = z.strictObject({
  auto: z
    .enum(SPEECH_LEVELS)
    .default("off")
    .meta(
      about(
        "Answers",
        "Which answers are spoken as well: `always`, `inbound` those to a spoken message, `tagged` those that the agent marks with `[[tts]]`, or `off`.",
      ),
    ),
  enabled: z.boolean().default(true).meta(about("Enabled", "`false` speaks nothing, whatever else is set.")),
  provider: z
    .string()
    .optional()
    .meta(about("Service", "Name of the service that is asked first; the first of `providers` when unset.")),
  providers: z
    .record(z.string(), provider)
    .prefault({})
    .meta(
      about(
        "Services",
        "Services by name: `openai`, `elevenlabs`, any other with the address of an OpenAI-compatible `/audio/speech`, or a command.",
      ),
    ),
  maxTextLength: z
    .int()
    .min(1)
    .max(20_000)
    .default(4000)
    .meta(about("Longest text", "Characters of a text that is spoken; a longer answer is spoken up to there.")),
  timeoutMs: z.int().min(1000).max(600_000).default(30_000).meta(about("Timeout", "Milliseconds for one service.")),
});

export type SpeechConfig = z.output<typeof speechConfig>;
export type SpeechProvider = z.output<typeof provider>;
