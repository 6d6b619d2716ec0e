import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { z } from "zod";
import { agentOf } from "../../sessions/keys.ts";
import { noticeIn } from "../../sessions/shown/notice.ts";
import { mediaId, runId, type SessionKey } from "../../types/ids.ts";
import { mediaIdIn } from "../../types/chat/sent-files.ts";
import { keyField, keyParam } from "../../types/key-field.ts";
import { type Answer, defineMethod, MethodError, type Method } from "../../types/method.ts";
import type { ShownBlock, ShownMessage, TranscriptEntry } from "../../types/session.ts";
import { defined } from "../../utils/defined.ts";
import { ifKept } from "../../store/media.ts";
import type { ServerPorts } from "../options.ts";
import { shownMessagesOf } from "./history.ts";
import { requireAgent } from "./patch.ts";

type Ports = Pick<ServerPorts, "chat" | "media" | "sessions" | "catalog">;

/** The newest entries of a transcript in which files are looked for. */
const MOST_ENTRIES = 20_000;
/** Most bytes of a file in an answer: with base64 it has to fit a frame. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Most bytes of an image that a list has with it. */
const MOST_IMAGE_BYTES = 4 * 1024 * 1024;
const MOST_IMAGES = 4;

const query = z.looseObject({
  sessionKey: keyParam().optional(),
  runId: z.string().min(1).optional(),
  taskId: z.string().min(1).optional(),
  agentId: z.string().min(1).optional(),
  /** Only of messages with this role. */
  messageRole: z.string().min(1).optional(),
});
type Query = z.output<typeof query>;

const listParams = query.extend({
  /** Images with their bytes, the newest first, in pages. */
  type: z.literal("image").optional(),
  limit: z.int().min(1).max(MOST_IMAGES).optional(),
  cursor: z.string().min(1).max(256).optional(),
});
const oneParams = query.extend({ artifactId: z.string().min(1) });

const artifact = z.looseObject({
  id: z.string(),
  /** `image`, `audio`, `video` or `file`. */
  type: z.string(),
  title: z.string(),
  mimeType: z.string().optional(),
  sizeBytes: z.number().optional(),
  sessionKey: keyField().optional(),
  runId: z.string().optional(),
  messageSeq: z.number().optional(),
  source: z.string().optional(),
  /** As a data URL; of a list of images. */
  image: z.looseObject({ url: z.string() }).optional(),
  /** `unsupported`: the file is gone, or too large for an answer. */
  download: z.looseObject({ mode: z.enum(["bytes", "unsupported"]) }),
});
type Shown = Answer<z.output<typeof artifact>>;

/** The files of conversations: what people sent, what tools read or made, and what answers brought. */
export const artifactMethods = (ports: Ports): readonly Method[] => [
  defineMethod({
    name: "artifacts.list",
    scope: "operator.read",
    params: listParams,
    result: z.looseObject({
      artifacts: z.array(artifact),
      nextCursor: z.string().optional(),
      /** An image is too large to be in the list. */
      omittedOversized: z.boolean().optional(),
    }),
    run: async (params) => {
      if (params.type === undefined && (params.limit !== undefined || params.cursor !== undefined))
        throw refused("artifact_query_unsupported", "limit and cursor require type image");
      const found = await findArtifacts(params, ports);
      if (params.type === "image") return imagePage(found, params);
      return { artifacts: await Promise.all(found.map(summaryOf)) };
    },
  }),
  defineMethod({
    name: "artifacts.get",
    scope: "operator.read",
    params: oneParams,
    result: z.looseObject({ artifact }),
    run: async (params) => ({ artifact: await summaryOf(await findOne(params, ports)) }),
  }),
  defineMethod({
    name: "artifacts.download",
    scope: "operator.read",
    params: oneParams,
    result: z.looseObject({ artifact, encoding: z.literal("base64"), data: z.string() }),
    run: async (params) => {
      const one = await findOne(params, ports);
      const shown = await summaryOf(one);
      const data = shown.download.mode === "bytes" ? await one.read() : undefined;
      if (data === undefined)
        throw refused("artifact_download_unsupported", "the file is gone, or too large for an answer", {
          artifactId: one.id,
        });
      return { artifact: shown, encoding: "base64" as const, data };
    },
  }),
];

/** A file of a conversation. */
interface Artifact extends Pick<Shown, "id" | "type" | "title" | "mimeType" | "sessionKey" | "runId" | "messageSeq"> {
  /** Bytes; undefined when the file is gone. */
  size(): Promise<number | undefined>;
  /** As base64; undefined when the file is gone. */
  read(): Promise<string | undefined>;
}

async function summaryOf({ size, read: _read, ...facts }: Artifact): Promise<Shown> {
  const sizeBytes = await size();
  const mode = sizeBytes === undefined || sizeBytes > MOST_BYTES ? ("unsupported" as const) : ("bytes" as const);
  return { ...facts, ...defined({ sizeBytes }), source: "session-transcript", download: { mode } };
}

async function findOne({ artifactId, ...of }: z.output<typeof oneParams>, ports: Ports): Promise<Artifact> {
  const found = (await findArtifacts(of, ports)).find(({ id }) => id === artifactId);
  if (found) return found;
  const details = { type: "artifact_not_found", artifactId };
  throw new MethodError("NOT_FOUND", "artifact not found", { details });
}

/** The files that a query means, the oldest first. */
async function findArtifacts(asked: Query, ports: Ports): Promise<readonly Artifact[]> {
  const key = sessionOf(asked, ports);
  requireAgent(asked, key, ports);
  if (!ports.sessions.peek(key)) return [];
  const { entries } = await ports.sessions.history(key, MOST_ENTRIES);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const found = (await shownMessagesOf(key, entries, ports)).flatMap((message) => {
    const { id = "", runId: ofRun } = message.__openclaw ?? {};
    const isMeant = (asked.runId ?? ofRun) === ofRun && (asked.messageRole ?? message.role) === message.role;
    return isMeant ? filesOf(key, message, byId.get(id.split(":")[0] ?? ""), ports) : [];
  });
  // A file without a name has that of its place.
  return found.map((one, at) => ({ ...one, title: one.title === "" ? `${one.type} ${at + 1}` : one.title }));
}

/** Throws `MethodError` for a query that names no session. */
function sessionOf(
  { sessionKey: key, runId: run, taskId: task, agentId }: Query,
  { chat, catalog }: Ports,
): SessionKey {
  if (key !== undefined) return key;
  if (run === undefined && task === undefined)
    throw refused("artifact_query_unsupported", "artifacts require one of sessionKey, runId, or taskId");
  const found = run === undefined ? undefined : chat.stream(runId(run))?.facts.sessionKey;
  const isOfAgent = agentId === undefined || (found !== undefined && agentOf(found, catalog.defaultAgent) === agentId);
  if (found !== undefined && isOfAgent) return found;
  const details = { type: "artifact_scope_not_found" };
  throw new MethodError("NOT_FOUND", "no session found for artifact query", { details });
}

/** The files of one message: images in it, and the files of a person's message and of a notice that the media store keeps. */
function filesOf(
  key: SessionKey,
  message: ShownMessage,
  entry: TranscriptEntry | undefined,
  { media }: Ports,
): readonly Artifact[] {
  const { id = "", seq, runId: run } = message.__openclaw ?? {};
  const about = { sessionKey: key, ...defined({ messageSeq: seq, runId: run }) };
  const idOf = (at: number) => artifactId(`${key}\0${id}\0${at}`);
  const blocks = typeof message.content === "string" ? [] : message.content;
  const images = blocks.flatMap((block, at) => (isImage(block) ? [{ ...about, id: idOf(at), ...imageOf(block) }] : []));
  // A command and its answer are two messages of one entry; the answer has the files.
  const notice = entry && message.role === "assistant" ? noticeIn(entry) : undefined;
  const kept = notice?.media?.map(({ source, ...file }) => ({ ...file, id: source.id })) ?? sentFilesOf(message);
  const stored = kept.map(({ id: stored, kind, name = "", mime }, at) => ({
    ...about,
    id: idOf(blocks.length + at),
    type: TYPES[kind ?? ""] ?? "file",
    title: name,
    ...defined({ mimeType: mime }),
    size: async () => (await ifKept(() => stat(media.path(mediaId(stored)))))?.size,
    read: async () => {
      const bytes = await ifKept(() => media.read(mediaId(stored)));
      return bytes && Buffer.from(bytes).toString("base64");
    },
  }));
  return [...images, ...stored];
}

/** The files of a person's message whose bytes the message does not contain. */
function sentFilesOf({ __openclaw }: ShownMessage) {
  const { media = [], mediaImageLayout } = __openclaw ?? {};
  const contained = new Set(mediaImageLayout?.slots.map(({ factIndex }) => factIndex));
  return media.flatMap(({ url, kind, fileName: name, contentType: mime }, at) => {
    const id = contained.has(at) ? undefined : mediaIdIn(url);
    return id === undefined ? [] : [{ id, ...defined({ kind, name, mime }) }];
  });
}

const isImage = (block: ShownBlock): block is ShownBlock & { data: string } =>
  block.type === "image" && block.data !== undefined;

const imageOf = ({ data, mimeType, fileName = "" }: ShownBlock & { data: string }) => ({
  type: "image",
  title: fileName,
  ...defined({ mimeType }),
  size: async () => Buffer.byteLength(data, "base64"),
  read: async () => data,
});

/** Our kinds of files in the protocol's words; others are files. */
const TYPES: Readonly<Record<string, string>> = { image: "image", audio: "audio", voice: "audio", video: "video" };

const artifactId = (place: string): string =>
  `artifact_${createHash("sha256").update(place).digest("base64url").slice(0, 18)}`;

/** A page of images with their bytes, the newest first. A cursor is the id of the last one of the page before. */
async function imagePage(found: readonly Artifact[], params: z.output<typeof listParams>) {
  const { cursor, limit = MOST_IMAGES } = params;
  const images = found.filter(({ type }) => type === "image").toReversed();
  const from = cursor === undefined ? 0 : images.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && from === 0)
    throw refused("artifact_cursor_invalid", "the cursor names no image of this conversation; begin without it");
  const page = images.slice(from, from + limit);
  const shown = await Promise.all(page.map(withImage));
  const last = from + limit < images.length ? page.at(-1) : undefined;
  const artifacts = shown.flatMap((one) => one ?? []);
  const isCut = artifacts.length < shown.length;
  return { artifacts, ...(last && { nextCursor: last.id }), ...(isCut && { omittedOversized: true }) };
}

async function withImage(one: Artifact): Promise<Shown | undefined> {
  const shown = await summaryOf(one);
  if (shown.sizeBytes === undefined || shown.sizeBytes > MOST_IMAGE_BYTES) return undefined;
  const data = await one.read();
  return data === undefined
    ? undefined
    : { ...shown, image: { url: `data:${one.mimeType ?? "image/png"};base64,${data}` } };
}

const refused = (type: string, message: string, more: object = {}): MethodError =>
  new MethodError("INVALID_REQUEST", message, { details: { type, ...more } });
