import { z } from "zod";
import { THINK_LEVELS } from "../../../types/run/model.ts";

const MOST_TEXT_CHARS = 20_000;
const MOST_WORDS = 200;
const MOST_OUTPUT_BYTES = 50_000;
const WEEK_SECONDS = 7 * 86_400;

export const word = z.string().trim().min(1).max(500);
const text = z.string().trim().min(1).max(MOST_TEXT_CHARS);
const seconds = z.number().min(0).max(WEEK_SECONDS).optional();
const toolsAllow = z.array(word).max(MOST_WORDS).optional();

/**
 * Fields that other gateways write. They mean nothing here: no text of strangers joins a job, and a list of tools is
 * used as it is.
 */
const unused = {
  allowUnsafeExternalContent: z.boolean().optional(),
  toolsAllowIsDefault: z.boolean().optional(),
};

const withoutUnused = <T extends { [name in keyof typeof unused]?: unknown }>({
  allowUnsafeExternalContent: _unsafe,
  toolsAllowIsDefault: _isDefault,
  ...payload
}: T) => payload;

/** A word of a command. */
export const argument = z
  .string()
  .max(MOST_TEXT_CHARS)
  .refine((given) => !given.includes("\0"), "has a zero character");

/** The payload of a job in the present fields. */
export const payloadShape = z.lazy(() =>
  z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("systemEvent"), text, toolsAllow, ...unused }).transform(withoutUnused),
    z
      .strictObject({
        kind: z.literal("agentTurn"),
        message: text,
        model: word.optional(),
        fallbacks: z.array(word).max(20).optional(),
        thinking: z.enum(THINK_LEVELS).optional(),
        timeoutSeconds: seconds,
        lightContext: z.boolean().optional(),
        toolsAllow,
        ...unused,
      })
      .transform(withoutUnused),
    z.strictObject({
      kind: z.literal("command"),
      argv: z
        .array(argument)
        .min(1)
        .max(MOST_WORDS)
        .refine(([program = ""]) => program.trim() !== "", "begins with no program"),
      cwd: z.string().trim().min(1).max(4096).optional(),
      env: z.record(z.string().min(1).max(MOST_WORDS), argument).optional(),
      input: argument.optional(),
      timeoutSeconds: seconds,
      outputMaxBytes: z.int().min(1).max(MOST_OUTPUT_BYTES).optional(),
    }),
  ]),
);
