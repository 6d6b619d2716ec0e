import type { Api } from "@mariozechner/pi-ai";
import { z } from "zod";
import type { AnswerWish } from "../../types/chat/client-ask.ts";
import { defined } from "../../utils/defined.ts";
import type { PiContext, PiModel, PiStreamOptions } from "../pi.ts";

/** Options of an answer that the SDK has no option for. */
export type AddedOptions = Pick<
  AnswerWish,
  "topP" | "stop" | "seed" | "frequencyPenalty" | "presencePenalty" | "calls"
>;

type Place = (body: unknown, wish: AddedOptions) => unknown;

const fields = z.looseObject({});
const google = z.looseObject({ config: fields.optional() });
const bedrock = z.looseObject({ inferenceConfig: fields.optional(), toolConfig: fields.optional() });

/** The fields with which an API makes the model call a tool; `any` and `one` are its words for some tool and this tool. */
const forced = <T>({ calls }: AddedOptions, any: T, one: (name: string) => T): T | undefined => {
  if (calls === undefined || calls === "none") return undefined;
  return calls === "required" ? any : one(calls.tool);
};

const chat: Place = (body, wish) => ({
  ...fields.parse(body),
  ...defined({
    top_p: wish.topP,
    stop: wish.stop,
    seed: wish.seed,
    frequency_penalty: wish.frequencyPenalty,
    presence_penalty: wish.presencePenalty,
    tool_choice: forced<unknown>(wish, "required", (name) => ({ type: "function", function: { name } })),
  }),
});

const responses: Place = (body, wish) => ({
  ...fields.parse(body),
  ...defined({
    top_p: wish.topP,
    tool_choice: forced<unknown>(wish, "required", (name) => ({ type: "function", name })),
  }),
});

const anthropic: Place = (given, wish) => {
  const body = fields.parse(given);
  // A model that thinks cannot be made to call a tool.
  const choice =
    body["thinking"] !== undefined
      ? undefined
      : forced<unknown>(wish, { type: "any" }, (name) => ({ type: "tool", name }));
  return {
    ...body,
    ...defined({ top_p: wish.topP, stop_sequences: wish.stop, tool_choice: choice }),
  };
};

const inConfig: Place = (body, wish) => {
  const { config, ...rest } = google.parse(body);
  const { topP, stop: stopSequences, seed, frequencyPenalty, presencePenalty } = wish;
  const names = forced<readonly string[]>(wish, [], (name) => [name]);
  const calling = names && { mode: "ANY", ...(names.length > 0 && { allowedFunctionNames: names }) };
  const added = defined({ topP, stopSequences, seed, frequencyPenalty, presencePenalty });
  return {
    ...rest,
    config: { ...config, ...added, ...(calling && { toolConfig: { functionCallingConfig: calling } }) },
  };
};

const mistral: Place = (body, wish) => {
  const { topP, stop, seed: randomSeed, frequencyPenalty, presencePenalty } = wish;
  const toolChoice = forced<unknown>(wish, "any", (name) => ({ type: "function", function: { name } }));
  return {
    ...fields.parse(body),
    ...defined({ topP, stop, randomSeed, frequencyPenalty, presencePenalty, toolChoice }),
  };
};

const converse: Place = (body, wish) => {
  const { inferenceConfig, toolConfig, ...rest } = bedrock.parse(body);
  const { topP, stop: stopSequences } = wish;
  const toolChoice = toolConfig && forced<unknown>(wish, { any: {} }, (name) => ({ tool: { name } }));
  return {
    ...rest,
    inferenceConfig: { ...inferenceConfig, ...defined({ topP, stopSequences }) },
    ...(toolConfig && { toolConfig: { ...toolConfig, ...defined({ toolChoice }) } }),
  };
};

/** Where each API has these options in its request. The server of Codex accepts none of them. */
const PLACES: Readonly<Partial<Record<Api, Place>>> = {
  "openai-completions": chat,
  "openai-responses": responses,
  "azure-openai-responses": responses,
  "anthropic-messages": anthropic,
  "google-generative-ai": inConfig,
  "google-vertex": inConfig,
  "mistral-conversations": mistral,
  "bedrock-converse-stream": converse,
};

/**
 * The call with additions that the SDK leaves out of a request: options, as far as the API accepts them, and thoughts for which
 * Anthropic gave only the signature.
 */
export function withPayload(
  { api }: PiModel,
  context: PiContext,
  wish: AddedOptions,
): { readonly context: PiContext; readonly options: Pick<PiStreamOptions, "onPayload"> } {
  const isWished = Object.values(wish).some((value) => value !== undefined);
  const place = isWished ? PLACES[api] : undefined;
  const { signatures, messages } = api === "anthropic-messages" ? hidden(context.messages) : NONE;
  if (!place && !messages) return { context, options: {} };
  return {
    context: messages ? { ...context, messages } : context,
    options: {
      onPayload: (body: unknown) => {
        const shown = signatures.size > 0 ? withEmptyThoughts(body, signatures) : body;
        return place ? place(shown, wish) : shown;
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
