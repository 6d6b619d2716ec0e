import { z } from "zod";
import { defineMethod, type Method } from "../../types/method.ts";
import type { TextContent } from "../../types/model.ts";
import type { SessionEntry, TranscriptEntry } from "../../types/session.ts";
import type { ServerPorts } from "../options.ts";
import { NOTICE } from "./chat.ts";
import { optional } from "./optional.ts";

const DEFAULT_LIMIT = 200;
/** An answer stays well below what a client takes in one frame. */
const MAX_BYTES = 8 * 1024 * 1024;

const historyParams = z.looseObject({
  sessionKey: z.string().min(1),
  limit: z.int().min(1).max(1000).optional(),
  maxChars: z.int().min(1).max(500_000).optional(),
});

type Shown = Readonly<Record<string, unknown>> & { readonly role: string };

/** Reading a conversation. */
export function historyMethods(ports: Pick<ServerPorts, "sessions" | "resolveSessionKey">): readonly Method[] {
  return [
    defineMethod({
      name: "chat.history",
      scope: "operator.read",
      params: historyParams,
      run: (params) => readHistory(params, ports),
    }),
  ];
}

async function readHistory(
  params: z.infer<typeof historyParams>,
  { sessions, resolveSessionKey }: Pick<ServerPorts, "sessions" | "resolveSessionKey">,
) {
  const key = resolveSessionKey(params.sessionKey);
  const entry = sessions.peek(key);
  if (entry === undefined) return { sessionKey: key, messages: [], hasMore: false, totalMessages: 0 };
  const { entries, hasMore } = await sessions.history(key, params.limit ?? DEFAULT_LIMIT);
  const shown = showEntries(entries, params.maxChars);
  const messages = newest(shown, MAX_BYTES);
  const isCut = hasMore || messages.length < shown.length;
  return {
    sessionKey: key,
    sessionId: entry.sessionId,
    messages,
    hasMore: isCut,
    ...(isCut ? {} : { totalMessages: messages.length }),
    sessionInfo: sessionInfo(key, entry),
    ...optional({ thinkingLevel: entry.thinkingLevel, verboseLevel: entry.verboseLevel }),
  };
}

function sessionInfo(key: string, entry: Readonly<SessionEntry>) {
  const { sessionId, updatedAt, label, thinkingLevel, totalTokens, contextTokens } = entry;
  const { providerOverride: modelProvider, modelOverride: model } = entry;
  return {
    key,
    sessionId,
    updatedAt,
    ...optional({ label, thinkingLevel, totalTokens, contextTokens, modelProvider, model }),
  };
}

/** Messages of transcript entries, each with its id and a number that grows along the transcript and never changes. */
function showEntries(entries: readonly TranscriptEntry[], maxChars: number | undefined): readonly Shown[] {
  let seq = 0;
  return entries.flatMap((entry) => {
    const message = showEntry(entry);
    if (message === undefined) return [];
    // The place in the file is not known when only its end was read; the time is.
    seq = Math.max(seq + 1, Date.parse(entry.timestamp) || 0);
    return [{ ...clip(message, maxChars), __openclaw: { id: entry.id, seq } }];
  });
}

function showEntry(entry: TranscriptEntry): Shown | undefined {
  if (entry.type === "message") return { ...entry.message };
  const text = noteOf(entry);
  if (text === undefined) return undefined;
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    timestamp: Date.parse(entry.timestamp) || 0,
    api: "openclaw",
    provider: "openclaw",
    model: "gateway-injected",
    stopReason: "stop",
  };
}

const noteData = z.object({ text: z.string() });

function noteOf(entry: TranscriptEntry): string | undefined {
  if (entry.type === "custom" && entry.customType === NOTICE) return noteData.safeParse(entry.data).data?.text;
  if (entry.type !== "custom_message" || !entry.display) return undefined;
  return typeof entry.content === "string" ? entry.content : entry.content.map((part) => part.text).join("\n");
}

function clip(message: Shown, maxChars: number | undefined): Shown {
  if (maxChars === undefined) return message;
  const { content } = message;
  if (typeof content === "string") return { ...message, content: cut(content, maxChars) };
  if (!Array.isArray(content)) return message;
  return {
    ...message,
    content: content.map((part: unknown) => (isText(part) ? { ...part, text: cut(part.text, maxChars) } : part)),
  };
}

const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const isText = (part: unknown): part is TextContent => textPart.safeParse(part).success;
const cut = (text: string, max: number) => (text.length <= max ? text : `${text.slice(0, max)}…`);

/** The newest messages that fit, at least one. */
function newest(messages: readonly Shown[], maxBytes: number): readonly Shown[] {
  let left = maxBytes;
  let from = messages.length;
  for (const message of messages.toReversed()) {
    left -= JSON.stringify(message).length;
    if (left < 0 && from < messages.length) break;
    from -= 1;
  }
  return messages.slice(from);
}
