import { z } from "zod";
import { estimateTokens } from "../../sessions/transcript/tokens.ts";
import type { PromptContent, PromptMessage } from "../../types/answers/runs.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import { emptyUsage } from "../../types/run/usage.ts";

/** A message as people are shown it; an image is described by its type and size. */
export function showMessage(message: ChatMessage, entryId?: string): PromptMessage {
  const { role, content } = message;
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return {
    role,
    ...(entryId !== undefined && { entryId }),
    tokens: estimateTokens(message),
    content: parts.map(showPart),
    ...(message.role === "toolResult" && {
      toolName: message.toolName,
      toolCallId: message.toolCallId,
      isError: message.isError,
    }),
  };
}

type Part = Exclude<ChatMessage["content"], string>[number];

/** Base64 has four characters for three bytes. */
const bytesOf = (data: string): number => Math.floor((data.replace(/=+$/, "").length * 3) / 4);

function showPart(part: Part): PromptContent {
  if (part.type === "image") return { type: "image", mimeType: part.mimeType, bytes: bytesOf(part.data) };
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "thinking") return { type: "thinking", thinking: part.thinking };
  const { id, name, arguments: given } = part;
  return { type: "toolCall", id, name, arguments: given };
}

const words = z.object({ type: z.literal("text"), text: z.string() });
const image = z.object({ type: z.literal("image"), data: z.string(), mimeType: z.string() });
const seen = z.array(z.union([words, image]));
const said = z.union([
  words,
  z.object({ type: z.literal("thinking"), thinking: z.string() }),
  z.object({
    type: z.literal("toolCall"),
    id: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()),
  }),
]);
// Fields that are not shown may be missing.
const name = z.string().catch("");
const timestamp = z.number().catch(0);
const message = z.discriminatedUnion("role", [
  z.object({ role: z.literal("user"), content: z.union([z.string(), seen]), timestamp }),
  z.object({
    role: z.literal("assistant"),
    content: z.array(said),
    api: name,
    provider: name,
    model: name,
    usage: z.unknown().optional().transform(emptyUsage),
    stopReason: z.enum(["stop", "length", "toolUse", "error", "aborted"]).catch("stop"),
    timestamp,
  }),
  z.object({
    role: z.literal("toolResult"),
    toolCallId: name,
    toolName: name,
    content: seen,
    isError: z.boolean().catch(false),
    timestamp,
  }),
]);

const kept = z.object({ lists: z.array(z.string()) });
const keys = z.array(z.string());

/**
 * Messages that a context engine made, as `keepMessages` of the harness keeps them, or as one JSON, which older
 * versions wrote. Undefined when a part of them no longer exists.
 */
export async function engineMessages(
  text: string,
  get: (key: string) => Promise<string | undefined>,
): Promise<readonly ChatMessage[] | undefined> {
  const all = async (wanted: readonly string[]) => {
    const found = await Promise.all(wanted.map(get));
    return found.every((one) => one !== undefined) ? found.map((one): unknown => JSON.parse(one)) : undefined;
  };
  const given: unknown = JSON.parse(text);
  const { data } = kept.safeParse(given);
  if (!data) return z.array(message).safeParse(given).data;
  const lists = z.array(keys).safeParse(await all(data.lists)).data;
  return lists && z.array(message).safeParse(await all(lists.flat())).data;
}
