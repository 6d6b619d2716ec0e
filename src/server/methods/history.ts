import { z } from "zod";
import type { ChatPort, InputReceipt, WaitingInput } from "../../types/chat/chat.ts";
import type { SessionKey } from "../../types/ids.ts";
import { keyParam } from "../../types/key-field.ts";
import { defineMethod, type Method } from "../../types/method.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import {
  sessionAnswers,
  shownMessage,
  type ShownBlock,
  type ShownMessage,
  type TranscriptEntry,
  type TranscriptUpdate,
} from "../../types/session.ts";
import type { ServerPorts } from "../options.ts";
import type { Hub } from "../transport/hub.ts";
import { requireAgent } from "./patch.ts";
import { showSession, showUnused } from "./session-row.ts";
import { agentOf } from "../../sessions/keys.ts";
import { activityOf } from "../../sessions/shown/activity.ts";
import { joinAnswers } from "../../sessions/shown/joined-answers.ts";
import { noticeIn, type ShownNotice, fileLine, type NoticeFile } from "../../sessions/shown/notice.ts";
import { defined } from "../../utils/defined.ts";
import { sentFilesIn } from "../../sessions/shown/sent-files.ts";
import { mediaUrl, type SentFiles } from "../../types/chat/sent-files.ts";
import { plainFileName } from "../../utils/text/file-name.ts";
import { shownText } from "../../sessions/shown/shown-text.ts";
import { mediaId } from "../../types/ids.ts";
import type { MediaStore } from "../../types/journal.ts";

const DEFAULT_LIMIT = 200;
/** Bytes well below the limit of a client's frame. */
const MAX_BYTES = 8 * 1024 * 1024;

export const historyParams = z.looseObject({
  sessionKey: keyParam(),
  agentId: z.string().min(1).optional(),
  limit: z.int().min(1).max(1000).optional(),
  maxChars: z.int().min(1).max(500_000).optional(),
  /** Bytes of all messages; at least one message comes. */
  maxBytes: z.int().min(1).max(MAX_BYTES).optional(),
  /** How many of the newest messages are left out. */
  offset: z.int().min(0).max(1_000_000).optional(),
  /** The page has this message. */
  messageId: z.string().min(1).max(256).optional(),
  /** Runs that the client has asked for, and does not know of. */
  inputRunIds: z.array(z.string().min(1).max(256)).max(50).optional(),
});
type HistoryParams = z.output<typeof historyParams>;

type HistoryPorts = Pick<ServerPorts, "chat" | "media" | "sessions" | "catalog">;

/** What clients have of the runs that are active. */
type LiveRuns = Pick<Hub, "runTexts">;

/** The method that reads a conversation. */
export function historyMethods(ports: HistoryPorts, hub: LiveRuns): readonly Method[] {
  return [
    defineMethod({
      name: "chat.history",
      scope: "operator.read",
      params: historyParams,
      result: sessionAnswers.history,
      run: (params) => chatHistory(params, ports, hub),
    }),
    defineMethod({
      name: "chat.message.get",
      scope: "operator.read",
      params: z.looseObject({
        sessionKey: keyParam(),
        agentId: z.string().min(1).optional(),
        messageId: z.string().min(1).max(256),
        maxChars: z.int().min(1).max(2_000_000).optional(),
      }),
      result: z.looseObject({
        ok: z.boolean(),
        message: shownMessage.optional(),
        unavailableReason: z.enum(["not_found"]).optional(),
      }),
      async run({ sessionKey: key, ...params }) {
        requireAgent(params, key, ports);
        const { messages } = await lastMessages(key, { ...params, limit: 1 }, ports);
        const message = messages.find((one) => idIn(one) === params.messageId);
        return message ? { ok: true, message } : { ok: false, unavailableReason: "not_found" as const };
      },
    }),
  ];
}

/** The answer of `chat.history`, and of `chat.startup`, which asks for nothing else. */
export async function chatHistory(params: HistoryParams, ports: HistoryPorts, hub: LiveRuns) {
  const { chat, sessions, catalog } = ports;
  const { sessionKey: key, inputRunIds, offset } = params;
  requireAgent(params, key, ports);
  const inputs = inputRunIds ? await chat.inputs.named(inputRunIds) : [];
  const waiting = await chat.inputs.waitingIn(key);
  const model = catalog.defaultModel();
  const common = {
    sessionKey: key,
    pendingInputs: { items: waiting.map(showWaiting), total: waiting.length },
    ...(inputRunIds && {
      inputReceipts: inputs,
      inputConsumptions: inputs.filter(({ state }) => state === "consumed"),
    }),
    defaults: {
      modelProvider: model?.provider ?? null,
      model: model?.id ?? null,
      contextTokens: model?.contextWindow ?? null,
    },
  };
  const entry = sessions.peek(key);
  const active = chat.active(key);
  if (!entry)
    return {
      ...common,
      messages: [],
      hasMore: false,
      totalMessages: 0,
      sessionInfo: showUnused(key, ports),
    };
  const { messages, hasMore, total } = await lastMessages(key, { ...params, inputs }, ports);
  const [run] = active;
  return {
    ...common,
    sessionId: entry.sessionId,
    ...withActivity(messages),
    hasMore,
    ...(hasMore && params.messageId === undefined && { nextOffset: (offset ?? 0) + messages.length }),
    sessionInfo: showSession({ key, entry }, active, ports),
    ...(run && { inFlightRun: { runId: run.runId, text: hub.runTexts.get(run.runId) ?? "" } }),
    ...defined({
      offset,
      totalMessages: total,
      thinkingLevel: entry.thinkingLevel,
      verboseLevel: entry.verboseLevel,
    }),
  };
}

function withActivity(messages: readonly ShownMessage[]) {
  const activity = activityOf(messages);
  return { messages, ...(activity.length > 0 && { activity }) };
}

/** Entries before a written one that are read, because its run is named by its turn. */
const ENTRIES_OF_A_TURN = 50;

/** What the followers of a session are told of an entry that was written. */
export async function writtenMessage({ key, entryId }: TranscriptUpdate, ports: HistoryPorts) {
  const { chat, sessions, catalog } = ports;
  const entry = sessions.peek(key);
  if (entry === undefined) return {};
  const active = chat.active(key);
  const about = {
    agentId: agentOf(key, catalog.defaultAgent),
    sessionId: entry.sessionId,
    updatedAt: entry.updatedAt,
    session: showSession({ key, entry }, active, ports),
  };
  if (entryId === undefined) return about;
  const { messages } = await lastMessages(key, { limit: ENTRIES_OF_A_TURN }, ports);
  const message = messages.find((one) => idIn(one) === entryId);
  return { ...about, ...(message && { message, messageSeq: message.__openclaw?.seq }) };
}

const showWaiting = ({ inboxId, runId, text, receivedAt }: WaitingInput) => ({
  id: String(inboxId),
  acceptedAt: receivedAt,
  state: "queued",
  runId,
  message: { role: "user", content: text, timestamp: receivedAt, __openclaw: { id: `pending:${inboxId}` } },
});

/** The part of a conversation that a client wants. */
interface PageWanted {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly messageId?: string | undefined;
  readonly maxChars?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly inputs?: readonly InputReceipt[];
}

interface Page {
  readonly messages: readonly ShownMessage[];
  readonly hasMore: boolean;
  /** All messages; undefined when the transcript was not read to its beginning. */
  readonly total?: number;
}

/**
 * The newest messages, or those around one. Reads as many entries as these messages need: entries that nobody is shown do
 * not count.
 */
export async function lastMessages(key: SessionKey, wanted: PageWanted, ports: HistoryPorts): Promise<Page> {
  const { limit = DEFAULT_LIMIT, offset = 0 } = wanted;
  for (let asked = limit + offset; ; asked *= 2) {
    const { entries, hasMore } = await ports.sessions.history(key, asked);
    const plain = joinAnswers(entries).map((entry) => withPlainAnswer(entry, ports.chat));
    const shown = await showPage({ key, entries: plain, hasOlder: hasMore }, wanted, ports);
    if (shown) return shown;
  }
}

/** The messages of transcript entries as clients see them, with files of notices as a line of text. */
export async function shownMessagesOf(
  key: SessionKey,
  entries: readonly TranscriptEntry[],
  { chat }: Pick<HistoryPorts, "chat">,
): Promise<readonly ShownMessage[]> {
  const runOf = await runsOf(key, entries, [], chat);
  const plain = joinAnswers(entries).map((entry) => withPlainAnswer(entry, chat));
  return showEntries(plain, undefined, { images: NO_IMAGES, runOf });
}

/** The newest entries of a transcript. */
interface ReadEntries {
  readonly key: SessionKey;
  readonly entries: readonly TranscriptEntry[];
  /** The transcript has older ones, which were not read. */
  readonly hasOlder: boolean;
}

/** The page that is wanted; undefined when older entries have to be read for it. */
async function showPage(
  { key, entries, hasOlder }: ReadEntries,
  { limit = DEFAULT_LIMIT, offset = 0, messageId, maxChars, maxBytes = MAX_BYTES, inputs = [] }: PageWanted,
  { chat, media }: HistoryPorts,
): Promise<Page | undefined> {
  const runOf = await runsOf(key, entries, inputs, chat);
  const all = showEntries(entries, maxChars, { images: NO_IMAGES, runOf });
  const wanted = messageId === undefined ? all.length - offset - limit : startAround(messageId, all, limit);
  if (hasOlder && (wanted === undefined || wanted < 0)) return undefined;
  if (wanted === undefined) return { messages: [], hasMore: false, total: all.length };
  const from = Math.max(0, wanted);
  const to = messageId === undefined ? Math.max(0, all.length - offset) : Math.min(all.length, from + limit);
  const ids = new Set(all.slice(from, to).map(entryIdOf));
  const images = await imagesIn(
    entries.filter(({ id }) => ids.has(id)),
    media,
  );
  const page = (images.size === 0 ? all : showEntries(entries, maxChars, { images, runOf })).slice(from, to);
  const messages = newest(page, maxBytes);
  const isCut = hasOlder || from > 0 || messages.length < page.length;
  return { messages, hasMore: isCut, ...(!hasOlder && { total: all.length }) };
}

const NO_IMAGES: ReadonlyMap<string, string> = new Map();

const idIn = ({ __openclaw }: ShownMessage) => __openclaw?.id ?? "";
const entryIdOf = (message: ShownMessage) => idIn(message).split(":")[0] ?? "";

/**
 * The start of a page of `limit` messages with the given one in its middle; less than 0 when the page needs older ones, undefined
 * when the message is not there.
 */
function startAround(messageId: string, all: readonly ShownMessage[], limit: number): number | undefined {
  const at = all.findIndex((message) => idIn(message) === messageId);
  if (at < 0) return undefined;
  return Math.min(at - Math.floor((limit - 1) / 2), all.length - limit);
}

/** The run of a person's message: as the client has named it, or as the gateway knows. */
async function runsOf(
  key: SessionKey,
  entries: readonly TranscriptEntry[],
  inputs: readonly InputReceipt[],
  chat: Pick<ChatPort, "runsOf">,
): Promise<Known["runOf"]> {
  const named = new Map(inputs.map(({ consumedByEventId, runId }) => [consumedByEventId, runId]));
  const turns = entries.filter((entry) => entry.type === "message" && entry.message.role === "user");
  const known = await chat.runsOf(
    key,
    turns.map(({ id }) => id),
  );
  return (id) => named.get(id) ?? known.get(id);
}

/** A message before it gets its number. `runId` is set when the transcript or the gateway's memory has it. */
interface UnnumberedMessage {
  readonly message: Omit<ShownMessage, "__openclaw">;
  readonly runId?: string | undefined;
  readonly sender?: string | undefined;
  /** The kind of the failure that the message reports. */
  readonly failure?: string | undefined;
  /** The files that a person sent with it. */
  readonly sent?: SentFiles | undefined;
}

/** Data that is shown with the entries and is not in them. */
interface Known {
  readonly images: ReadonlyMap<string, string>;
  /** The run of a person's message. */
  runOf(entryId: string): string | undefined;
}

/** The messages of transcript entries, each with its id and a number that increases along the transcript and never changes. */
function showEntries(
  entries: readonly TranscriptEntry[],
  maxChars: number | undefined,
  known: Known,
): readonly ShownMessage[] {
  let seq = 0;
  /** The run of the turn, which answers name too: clients replace what they have seen of it by the stored messages. */
  let turnRun: string | undefined;
  return entries.flatMap((entry) =>
    showEntry(entry, known).map(({ message, runId: own, sender, failure, sent }, index) => {
      if (message.role === "user") turnRun = own;
      const runId = own ?? turnRun;
      // Only the end of the file may have been read, so the time serves as the number.
      seq = Math.max(seq + 1, Date.parse(entry.timestamp) || 0);
      const id = index === 0 ? entry.id : `${entry.id}:${index}`;
      return { ...clip(message, maxChars), __openclaw: { id, seq, ...defined({ runId, sender, failure }), ...sent } };
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
  if (entry.type === "message" && entry.message.role === "user") {
    const runId = runOf(entry.id);
    const { message, ...about } = showUser(entry.message);
    // Clients compare it with the messages that they have sent.
    return [
      { message: { ...message, ...(runId !== undefined && { idempotencyKey: `${runId}:user` }) }, runId, ...about },
    ];
  }
  if (entry.type === "message") return [{ message: { ...entry.message } }];
  const notice = noticeIn(entry);
  if (notice) return showNotice(notice, entry.timestamp, images);
  if (entry.type !== "custom_message" || !entry.display) return [];
  const text = typeof entry.content === "string" ? entry.content : entry.content.map((part) => part.text).join("\n");
  return [{ message: injected([{ type: "text", text }], entry.timestamp) }];
}

/** The person's text, without the gateway's additions for the model, and the files that were sent with it. */
function showUser(user: Extract<ChatMessage, { role: "user" }>): UnnumberedMessage {
  const { __openclaw: _noted, ...message } = user;
  const sent = sentFilesIn(user);
  if (typeof message.content === "string") {
    const { text, sender } = shownText(message.content);
    return { message: { ...message, content: text }, sender, sent };
  }
  const content = withFileNames(message.content, sent);
  const first = content.findIndex((part) => part.type === "text");
  const part = message.content[first];
  if (part?.type !== "text") return { message: { ...message, content }, sent };
  const { text, sender } = shownText(part.text);
  return { message: { ...message, content: content.with(first, { ...part, text }) }, sender, sent };
}

/** The images of a message with the names that their files had. */
function withFileNames(parts: readonly ShownBlock[], { media = [], mediaImageLayout }: SentFiles = {}) {
  const names = (mediaImageLayout?.slots ?? []).map(({ factIndex = -1 }) => media[factIndex]?.fileName);
  return parts.map((part): ShownBlock => {
    const fileName = part.type === "image" ? names.shift() : undefined;
    return fileName === undefined ? part : { ...part, fileName };
  });
}

/** A notice of the gateway, after the command that it answers, if any. */
function showNotice(
  notice: ShownNotice,
  timestamp: string,
  images: ReadonlyMap<string, string>,
): readonly UnnumberedMessage[] {
  const { said, runId, error, failure } = notice;
  const failed = error === undefined ? {} : { stopReason: "error", errorMessage: error };
  const answer = { message: { ...injected(contentOf(notice, images), timestamp), ...failed }, runId, failure };
  if (said === undefined) return [answer];
  const content = [{ type: "text", text: said }];
  return [{ message: { role: "user", content, timestamp: Date.parse(timestamp) || 0 }, runId }, answer];
}

const injected = (content: readonly ShownBlock[], timestamp: string) => notWritten(content, Date.parse(timestamp) || 0);

/** A message that no model wrote, in the form of an answer. `timestamp`: milliseconds since 1970. */
export function notWritten(content: readonly ShownBlock[], timestamp: number) {
  return {
    role: "assistant",
    content,
    timestamp,
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

function partOf({ kind, mime, name, bytes, source }: NoticeFile, data: string | undefined): ShownBlock {
  if (data !== undefined) return { type: "image", mimeType: mime, data, ...(name !== undefined && { fileName: name }) };
  const attachment = {
    url: mediaUrl(source.id),
    kind: SHOWN_KINDS[kind] ?? "document",
    label: plainFileName(name ?? "") ?? "file",
    ...defined({ mimeType: mime, sizeBytes: bytes }),
    ...(kind === "voice" && { isVoiceNote: true }),
  };
  // For clients that show no files, the line names the file.
  return { type: "attachment", attachment, text: fileLine(name, source.id) };
}

/** The protocol's words for kinds of files; others are documents. */
const SHOWN_KINDS: Readonly<Record<string, string>> = {
  image: "image",
  audio: "audio",
  voice: "audio",
  video: "video",
};
