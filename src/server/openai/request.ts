import { z } from "zod";
import { problemsOf } from "../frames.ts";
import { badRequest, type ApiError } from "./errors.ts";

const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const imagePart = z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: z.string() }) });
const content = z.union([z.string(), z.array(z.discriminatedUnion("type", [textPart, imagePart]))]);
export type Content = z.infer<typeof content>;

const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
export type ToolCall = z.infer<typeof toolCall>;

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

// What the agent decides itself (temperature, tools, penalties …) is let through and has no effect.
const completionRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().min(1).max(256).nullish(),
});
export type CompletionRequest = z.infer<typeof completionRequest>;

export type Parsed =
  | { readonly kind: "ok"; readonly request: CompletionRequest }
  | { readonly kind: "bad"; readonly error: ApiError };

/** Never throws. */
export function parseCompletion(body: unknown): Parsed {
  const parsed = completionRequest.safeParse(body);
  if (!parsed.success) return { kind: "bad", error: badRequest(problemsOf(parsed.error)) };
  const request = parsed.data;
  if (request.messages.at(-1)?.role !== "user") {
    return { kind: "bad", error: badRequest("the last message must be the user's", "messages") };
  }
  const image = imageUrls(request).find((url) => !isDataImage(url));
  if (image === undefined) return { kind: "ok", request };
  const error = badRequest("images are taken as data URLs of base64 only; this gateway fetches no address", "messages");
  return { kind: "bad", error };
}

function imageUrls(request: CompletionRequest): readonly string[] {
  const parts = request.messages.flatMap((item) => (Array.isArray(item.content) ? item.content : []));
  return parts.flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []));
}

const isDataImage = (url: string) => /^data:image\/[\w.+-]+;base64,/.test(url.slice(0, 100));

/** The agent that a model name or header asks for: `openclaw`, `openclaw/<agentId>`, `openclaw:<agentId>`. */
export function agentAsked(model: string, header: string | undefined): string | undefined {
  const [, name] = /^openclaw[/:](.+)$/.exec(model) ?? [];
  return header ?? (name === "default" ? undefined : name);
}

export const isOurModel = (model: string) => /^openclaw(?:$|[/:].)/.test(model);
