import { z } from "zod";
import type { ChatPort } from "../../types/chat/chat.ts";
import { keyParam } from "../../types/key-field.ts";
import { defineMethod, type Method } from "../../types/method.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import {
  sessionAnswers,
  type SessionEntry,
  type ShownBlock,
  type ShownMessage,
  type TranscriptEntry,
} from "../../types/session.ts";
import type { ServerPorts } from "../options.ts";
import { joinAnswers } from "../../sessions/shown/joined-answers.ts";
import { noticeIn, type ShownNotice, fileLine, type NoticeFile } from "../../sessions/shown/notice.ts";
import { defined } from "../../utils/defined.ts";
import { shownText } from "../../sessions/shown/shown-text.ts";
import { mediaId } from "../../types/ids.ts";
import type { MediaStore } from "../../types/journal.ts";

const DEFAULT_LIMIT = 200;
/** Bytes well below the limit of a client's frame. */
const MAX_BYTES = 8 * 1024 * 1024;

const historyParams = z.looseObject({
  sessionKey: keyParam(),
  limit: z.int().min(1).max(1000).optional(),
  maxChars: z.int().min(1).max(500_000).optional(),
});

type HistoryPorts = Pick<ServerPorts, "chat" | "media" | "sessions">;

/** The method that reads a conversation. */
export function historyMethods(ports: HistoryPorts): readonly Method[] {
  return [
    defineMethod({
      name: "chat.history",
      scope: "operator.read",
      params: historyParams,
      result: sessionAnswers.history,
      run: (params) => readHistory(params, ports),
    }),
  ];
}

async function readHistory(params: z.infer<typeof historyParams>, ports: HistoryPorts) {
  const { chat, sessions } = ports;
  const { sessionKey: key } = params;
  const entry = sessions.peek(key);
  if (entry === undefined) return { sessionKey: key, messages: [], hasMore: false, totalMessages: 0 };
  const { entries, hasMore } = await sessions.history(key, params.limit ?? DEFAULT_LIMIT);
  const plain = joinAnswers(entries).map((entry) => withPlainAnswer(entry, chat));
  const images = await imagesIn(plain, ports.media);
  const shown = showEntries(plain, params.maxChars, { images, runOf: (id) => chat.runOf(id) });
  const messages = newest(shown, MAX_BYTES);
  const isCut = hasMore || messages.length < shown.length;
  return {
    sessionKey: key,
    sessionId: entry.sessionId,
    messages,
    hasMore: isCut,
    ...(isCut ? {} : { totalMessages: messages.length }),
    sessionInfo: sessionInfo(key, entry),
    ...defined({ thinkingLevel: entry.thinkingLevel, verboseLevel: entry.verboseLevel }),
  };
}

function sessionInfo(key: string, entry: Readonly<SessionEntry>) {
  const { sessionId, updatedAt, label, thinkingLevel, totalTokens, contextTokens } = entry;
  const { providerOverride: modelProvider, modelOverride: model } = entry;
  return {
    key,
    sessionId,
    updatedAt,
    ...defined({ label, thinkingLevel, totalTokens, contextTokens, modelProvider, model }),
  };
}

/** A message before it gets its number. `runId` is set when the transcript or the gateway's memory has it. */
interface UnnumberedMessage {
  readonly message: ShownMessage;
  readonly runId?: string | undefined;
  readonly sender?: string | undefined;
}

/** Data that is shown with the entries and is not in them. */
interface Known {
  readonly images: ReadonlyMap<string, string>;
  /** The run of a person's message. */
  readonly runOf: ChatPort["runOf"];
}

/** The messages of transcript entries, each with its id and a number that increases along the transcript and never changes. */
function showEntries(
  entries: readonly TranscriptEntry[],
  maxChars: number | undefined,
  known: Known,
): readonly ShownMessage[] {
  let seq = 0;
  return entries.flatMap((entry) =>
    showEntry(entry, known).map(({ message, runId, sender }, index) => {
      // Only the end of the file may have been read, so the time serves as the number.
      seq = Math.max(seq + 1, Date.parse(entry.timestamp) || 0);
      const id = index === 0 ? entry.id : `${entry.id}:${index}`;
      return { ...clip(message, maxChars), __openclaw: { id, seq, ...defined({ runId, sender }) } };
    }),
  );
}

/** Removes from an answer the parts that its readers did not see either. */
function withPlainAnswer(entry: TranscriptEntry, chat: Pick<ChatPort, "plain">): TranscriptEntry {
  if (entry.type !== "message" || entry.message.role !== "assistant") return entry;
  const { message } = entry;
  const content = message.content
    .map((part) => (part.type === "text" ? { ...part, text: chat.plain(part.text, message) } : part))
    .filter((part) => part.type !== "text" || part.text !== "");
  return { ...entry, message: { ...message, content } };
}

function showEntry(entry: TranscriptEntry, { images, runOf }: Known): readonly UnnumberedMessage[] {
  if (entry.type === "message" && entry.message.role === "user")
    return [{ ...showUser(entry.message), runId: runOf(entry.id) }];
  if (entry.type === "message") return [{ message: { ...entry.message } }];
  const notice = noticeIn(entry);
  if (notice) return showNotice(notice, entry.timestamp, images);
  if (entry.type !== "custom_message" || !entry.display) return [];
  const text = typeof entry.content === "string" ? entry.content : entry.content.map((part) => part.text).join("\n");
  return [{ message: injected([{ type: "text", text }], entry.timestamp) }];
}

/** The person's text, without the gateway's additions for the model. */
function showUser(message: Extract<ChatMessage, { role: "user" }>): UnnumberedMessage {
  if (typeof message.content === "string") {
    const { text, sender } = shownText(message.content);
    return { message: { ...message, content: text }, sender };
  }
  const first = message.content.findIndex((part) => part.type === "text");
  const part = message.content[first];
  if (part?.type !== "text") return { message: { ...message } };
  const { text, sender } = shownText(part.text);
  return { message: { ...message, content: message.content.with(first, { ...part, text }) }, sender };
}

/** A notice of the gateway, after the command that it answers, if any. */
function showNotice(
  notice: ShownNotice,
  timestamp: string,
  images: ReadonlyMap<string, string>,
): readonly UnnumberedMessage[] {
  const { said, runId, error } = notice;
  const failure = error === undefined ? {} : { stopReason: "error", errorMessage: error };
  const answer = { message: { ...injected(contentOf(notice, images), timestamp), ...failure }, runId };
  if (said === undefined) return [answer];
  const content = [{ type: "text", text: said }];
  return [{ message: { role: "user", content, timestamp: Date.parse(timestamp) || 0 }, runId }, answer];
}

function injected(content: readonly ShownBlock[], timestamp: string) {
  return {
    role: "assistant",
    content,
    timestamp: Date.parse(timestamp) || 0,
    api: "openclaw",
    provider: "openclaw",
    model: "gateway-injected",
    stopReason: "stop",
  };
}

function clip(message: ShownMessage, maxChars: number | undefined): ShownMessage {
  if (maxChars === undefined) return message;
  const { content } = message;
  if (typeof content === "string") return { ...message, content: cut(content, maxChars) };
  const parts = content.map((part) => (part.text === undefined ? part : { ...part, text: cut(part.text, maxChars) }));
  return { ...message, content: parts };
}

const cut = (text: string, max: number) => (text.length <= max ? text : `${text.slice(0, max)}…`);

/** The newest messages that fit, at least one. */
function newest(messages: readonly ShownMessage[], maxBytes: number): readonly ShownMessage[] {
  let left = maxBytes;
  let from = messages.length;
  for (const message of messages.toReversed()) {
    left -= JSON.stringify(message).length;
    if (left < 0 && from < messages.length) break;
    from -= 1;
  }
  return messages.slice(from);
}

/** Most bytes of an image in a response. */
const MOST_IMAGE_BYTES = 4 * 1024 * 1024;

/** The images of these notices as base64, by id. One that is gone or too large is left out; its name is shown instead. */
async function imagesIn(
  entries: readonly TranscriptEntry[],
  media: Pick<MediaStore, "read">,
): Promise<ReadonlyMap<string, string>> {
  const images = entries.flatMap((entry) => noticeIn(entry)?.media ?? []).filter(isImage);
  const read = images.map(async ({ source: { id } }) => [id, await dataOf(id, media)] as const);
  return new Map((await Promise.all(read)).flatMap(([id, data]) => (data === undefined ? [] : [[id, data] as const])));
}

const isImage = ({ kind, mime }: NoticeFile): boolean => kind === "image" && mime !== undefined;

async function dataOf(id: string, media: Pick<MediaStore, "read">): Promise<string | undefined> {
  try {
    const bytes = await media.read(mediaId(id));
    return bytes.length > MOST_IMAGE_BYTES ? undefined : Buffer.from(bytes).toString("base64");
  } catch {
    // Files are deleted after a time; the notice's text stays.
    return undefined;
  }
}

/** The content of a notice in the format that chat clients draw. */
function contentOf({ text, media = [] }: ShownNotice, images: ReadonlyMap<string, string>): readonly ShownBlock[] {
  const parts = text === "" ? [] : [{ type: "text", text }];
  return [...parts, ...media.map((file) => partOf(file, images.get(file.source.id)))];
}

function partOf({ mime, name, source }: NoticeFile, data: string | undefined): ShownBlock {
  if (data !== undefined) return { type: "image", mimeType: mime, data, ...(name !== undefined && { fileName: name }) };
  return { type: "text", text: fileLine(name, source.id) };
}
