import { z } from "zod";
import { problemsOf } from "../transport/frames.ts";
import { badRequest, type ApiError } from "./errors.ts";

const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const imagePart = z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: z.string() }) });
const content = z.union([z.string(), z.array(z.discriminatedUnion("type", [textPart, imagePart]))]);
export type Content = z.infer<typeof content>;

const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
export type CompletionToolCall = z.infer<typeof toolCall>;

const message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content }),
  z.looseObject({ role: z.literal("user"), content }),
  z.looseObject({
    role: z.literal("assistant"),
    content: content.nullish(),
    tool_calls: z.array(toolCall).optional(),
  }),
  z.looseObject({ role: z.literal("tool"), content, tool_call_id: z.string() }),
]);
export type ApiMessage = z.infer<typeof message>;

// Settings that the agent decides itself (temperature, penalties …) are accepted and have no effect.
const completionRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().min(1).max(256).nullish(),
  tools: z.array(z.unknown()).nullish(),
  functions: z.array(z.unknown()).nullish(),
  tool_choice: z.unknown().optional(),
  function_call: z.unknown().optional(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  n: z.number().nullish(),
});
export type CompletionRequest = z.infer<typeof completionRequest>;

export type ParsedCompletion =
  | { readonly kind: "ok"; readonly request: CompletionRequest }
  | { readonly kind: "bad"; readonly error: ApiError };

/** Reads a request. Never throws. */
export function parseCompletion(body: unknown): ParsedCompletion {
  const parsed = completionRequest.safeParse(body);
  if (!parsed.success) return { kind: "bad", error: badRequest(problemsOf(parsed.error)) };
  const request = parsed.data;
  const unsupported = unsupportedPart(request);
  if (unsupported !== undefined) return { kind: "bad", error: unsupported };
  if (request.messages.at(-1)?.role !== "user") {
    return { kind: "bad", error: badRequest("the last message must have the role user", "messages") };
  }
  const image = imageUrls(request).find((url) => !isDataImage(url));
  if (image === undefined) return { kind: "ok", request };
  const error = badRequest("images must be base64 data URLs; this gateway fetches no address", "messages");
  return { kind: "bad", error };
}

/** Refuses parts that the gateway does not support: a client that sends one would misread an answer without it. */
function unsupportedPart(request: CompletionRequest): ApiError | undefined {
  const found = UNSUPPORTED.find(({ is }) => is(request));
  return found && badRequest(found.message, found.param);
}

const OWN_TOOLS = "the agent calls its own tools and cannot call the client's; leave them out";
const isForced = (choice: unknown): boolean => ![undefined, null, "none", "auto"].some((free) => free === choice);

const UNSUPPORTED: readonly { param: string; message: string; is(request: CompletionRequest): boolean }[] = [
  { param: "tools", message: OWN_TOOLS, is: ({ tools }) => (tools?.length ?? 0) > 0 },
  { param: "functions", message: OWN_TOOLS, is: ({ functions }) => (functions?.length ?? 0) > 0 },
  { param: "tool_choice", message: OWN_TOOLS, is: ({ tool_choice: choice }) => isForced(choice) },
  { param: "function_call", message: OWN_TOOLS, is: ({ function_call: call }) => isForced(call) },
  {
    param: "response_format",
    message: "the agent answers in text; JSON mode and schemas are not supported",
    is: ({ response_format: format }) => format !== undefined && format !== null && format.type !== "text",
  },
  { param: "n", message: "a request gets one answer", is: ({ n }) => n !== undefined && n !== null && n !== 1 },
];

function imageUrls(request: CompletionRequest): readonly string[] {
  const parts = request.messages.flatMap((item) => (Array.isArray(item.content) ? item.content : []));
  return parts.flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []));
}

const isDataImage = (url: string) => /^data:image\/[\w.+-]+;base64,/.test(url.slice(0, 100));

/** The agent that a model name or header requests: `openclaw`, `openclaw/<agentId>`, `openclaw:<agentId>`. */
export function requestedAgent(model: string, header: string | undefined): string | undefined {
  const [, name] = /^openclaw[/:](.+)$/.exec(model) ?? [];
  return header ?? (name === "default" ? undefined : name);
}

export const isOurModel = (model: string) => /^openclaw(?:$|[/:].)/.test(model);
