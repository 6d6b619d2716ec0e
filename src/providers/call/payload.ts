import type { Api } from "@mariozechner/pi-ai";
import { z } from "zod";
import type { PiContext, PiModel, PiStreamOptions } from "../pi.ts";

const fields = z.looseObject({});
const google = z.looseObject({ config: fields.optional() });
const bedrock = z.looseObject({ inferenceConfig: fields.optional() });

type Place = (body: unknown, topP: number) => unknown;

const atTop: Place = (body, topP) => ({ ...fields.parse(body), top_p: topP });
const inConfig: Place = (body, topP) => {
  const { config, ...rest } = google.parse(body);
  return { ...rest, config: { ...config, topP } };
};

/** Where each API has `top_p` in its request. The SDK has no option for it, and the server of Codex does not accept it. */
const PLACES: Readonly<Partial<Record<Api, Place>>> = {
  "openai-completions": atTop,
  "openai-responses": atTop,
  "azure-openai-responses": atTop,
  "anthropic-messages": atTop,
  "google-generative-ai": inConfig,
  "google-vertex": inConfig,
  "mistral-conversations": (body, topP) => ({ ...fields.parse(body), topP }),
  "bedrock-converse-stream": (body, topP) => {
    const { inferenceConfig, ...rest } = bedrock.parse(body);
    return { ...rest, inferenceConfig: { ...inferenceConfig, topP } };
  },
};

/**
 * The call with additions that the SDK leaves out of a request: `topP`, if the API accepts it, and thoughts for which
 * Anthropic gave only the signature.
 */
export function withPayload(
  { api }: PiModel,
  context: PiContext,
  topP: number | undefined,
): { readonly context: PiContext; readonly options: Pick<PiStreamOptions, "onPayload"> } {
  const place = topP === undefined ? undefined : PLACES[api];
  const { signatures, messages } = api === "anthropic-messages" ? hidden(context.messages) : NONE;
  if (!place && !messages) return { context, options: {} };
  return {
    context: messages ? { ...context, messages } : context,
    options: {
      onPayload: (body: unknown) => {
        const shown = signatures.size > 0 ? withEmptyThoughts(body, signatures) : body;
        return place && topP !== undefined ? place(shown, topP) : shown;
      },
    },
  };
}

const NONE = { signatures: new Set<string>(), messages: undefined };

/** The SDK drops a thought without words, but sends the signature of one that is redacted. `messages`: undefined where none is such. */
function hidden(given: PiContext["messages"]) {
  const signatures = new Set<string>();
  const messages = given.map((message) => {
    if (message.role !== "assistant" || !message.content.some(isWordless)) return message;
    const content = message.content.map((part) => {
      if (!isWordless(part)) return part;
      signatures.add(part.thinkingSignature);
      return { ...part, redacted: true };
    });
    return { ...message, content };
  });
  return { signatures, messages: signatures.size > 0 ? messages : undefined };
}

type Part = Extract<PiContext["messages"][number], { role: "assistant" }>["content"][number];
type Wordless = Extract<Part, { type: "thinking" }> & { readonly thinkingSignature: string };

const isWordless = (part: Part): part is Wordless =>
  part.type === "thinking" &&
  part.redacted !== true &&
  part.thinking.trim() === "" &&
  (part.thinkingSignature ?? "") !== "";

const turns = z.looseObject({ messages: z.array(z.looseObject({ content: z.unknown() })) });
const redacted = z.object({ type: z.literal("redacted_thinking"), data: z.string() });

function withEmptyThoughts(body: unknown, signatures: ReadonlySet<string>): unknown {
  const { messages, ...rest } = turns.parse(body);
  const shown = (block: unknown): unknown => {
    const { data: signature } = redacted.safeParse(block).data ?? {};
    if (signature === undefined || !signatures.has(signature)) return block;
    return { type: "thinking", thinking: "", signature };
  };
  const mended = messages.map(({ content, ...message }) => ({
    ...message,
    content: Array.isArray(content) ? content.map(shown) : content,
  }));
  return { ...rest, messages: mended };
}
