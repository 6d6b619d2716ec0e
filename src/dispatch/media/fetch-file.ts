import { Stopped } from "../../harness/run/until-stopped.ts";
import { isDiskError } from "../../store/disk.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { MediaItem, Peer } from "../../types/chat/message.ts";
import { NotNow } from "../../types/not-now.ts";
import { backoff } from "../../utils/backoff.ts";
import { pause } from "../../utils/pause.ts";
import type { ChatPorts, DispatchPorts, StoragePorts } from "../ports.ts";
import type { DispatchSettings } from "../settings.ts";

/** The longest time for fetching a file, in milliseconds, including the wait for its account's connection. */
const FETCH_WITHIN_MS = 60_000;

const LINK_CHECK_MS = 100;
const PAUSES = { firstMs: 500, longestMs: 10_000 };

/** A file in the media store. */
export interface StoredFile {
  readonly bytes: Uint8Array;
  readonly path: string;
  readonly mime: string;
}

/** The result of fetching a file. `tries`: how often its platform or the store was asked. */
export type FileEnd = { readonly tries: number; readonly ms: number } & (
  | { readonly kind: "stored"; readonly file: StoredFile }
  | { readonly kind: "lost"; readonly why: string; readonly error?: unknown }
);

export interface FetchPorts extends Pick<DispatchPorts, "clock" | "log"> {
  readonly storage: Pick<StoragePorts, "media">;
  readonly chats: Pick<ChatPorts, "link" | "isConnecting">;
  /** The settings that say which files the chat accepts; all when unset. */
  settings?(): Pick<DispatchSettings, "chat">;
  /** Aborted when the file is no longer needed. */
  readonly stopping: AbortSignal;
}

type Try =
  | { readonly kind: "stored"; readonly file: StoredFile }
  | { readonly kind: "lost"; readonly why: string; readonly error?: unknown }
  | { readonly kind: "no link"; readonly comes: boolean }
  | { readonly kind: "later"; readonly why: string; readonly afterMs: number | undefined; readonly error: unknown };

/**
 * Fetches one file into the media store. Tries again after temporary problems: an account that is connecting, an
 * outage, a rate limit. Throws `Stopped` when the signal aborts, and disk errors.
 */
export async function fetchFile(item: MediaItem, from: Peer, ports: FetchPorts): Promise<FileEnd> {
  const begun = ports.clock.now();
  for (let tries = 0; ;) {
    const now = await tryOnce(item, from, ports);
    if (now.kind !== "no link") tries += 1;
    const ms = ports.clock.now() - begun;
    if (now.kind === "stored" || now.kind === "lost") return { ...now, tries, ms };
    const pauseMs = pauseAfter(now, tries);
    if (ms + pauseMs > FETCH_WITHIN_MS) return { ...givenUp(now, from), tries, ms };
    const about = { channel: from.channel, kind: item.kind, pauseMs };
    if (now.kind === "later") ports.log.info("media not fetched yet", { ...about, ...problemOf(now) });
    await pause(pauseMs, { clock: ports.clock, signal: ports.stopping });
    if (ports.stopping.aborted) throw new Stopped();
  }
}

async function tryOnce(item: MediaItem, from: Peer, ports: FetchPorts): Promise<Try> {
  try {
    return await ask(item, from, ports);
  } catch (error) {
    // The whole turn waits for the disk.
    if (isDiskError(error)) throw error;
    if (error instanceof OpenClawError && FOR_GOOD.has(error.code))
      return { kind: "lost", why: sentenceOf(error), error };
    if (error instanceof NotNow) return { kind: "later", why: error.message, afterMs: error.afterMs, error };
    return { kind: "later", why: "fetching it failed", afterMs: undefined, error };
  }
}

const sentenceOf = ({ message }: Error): string => message.replace(/\.$/, "");

const FOR_GOOD = new Set<string>(["MEDIA_UNAVAILABLE", "MEDIA_TOO_LARGE"]);

async function ask(item: MediaItem, from: Peer, ports: FetchPorts): Promise<Try> {
  const {
    storage: { media },
  } = ports;
  if (item.source.at === "store") {
    const bytes = await media.read(item.source.id);
    const mime = item.mime ?? "application/octet-stream";
    return { kind: "stored", file: { bytes, path: media.path(item.source.id), mime } };
  }
  const link = ports.chats.link(from);
  if (!link) return { kind: "no link", comes: ports.chats.isConnecting(from) };
  if (!link.download) return { kind: "lost", why: "its channel gives no files" };
  const got = await link.download(item);
  const name = got.name ?? item.name;
  const facts = { ...(got.mime && { mime: got.mime }), ...(name && { name }) };
  const mime = await media.typeOf(got.bytes, facts);
  if (!isTaken(mime, from, ports)) return { kind: "lost", why: `files of the type ${mime} are not taken here` };
  const kept = await media.put(got.bytes, facts);
  return { kind: "stored", file: { bytes: got.bytes, path: kept.path, mime: kept.mime } };
}

function isTaken(mime: string, from: Peer, { settings }: FetchPorts): boolean {
  const { allow, deny = [] } = settings?.().chat(from).mediaTypes ?? {};
  const isOne = (pattern: string) => isOfType(mime, pattern);
  return !deny.some(isOne) && (allow?.some(isOne) ?? true);
}

function pauseAfter(now: Try & { kind: "no link" | "later" }, tries: number): number {
  if (now.kind === "no link") return now.comes ? LINK_CHECK_MS : Number.POSITIVE_INFINITY;
  return Math.max(backoff(tries - 1, PAUSES), now.afterMs ?? 0);
}

function givenUp(now: Try & { kind: "no link" | "later" }, { channel, account }: Peer) {
  if (now.kind === "no link") return { kind: "lost" as const, why: `${channel}/${account} is not connected` };
  return { kind: "lost" as const, why: now.why, error: now.error };
}

/** The fields of a problem in the log; `NotNow` needs no further details. */
const problemOf = ({ why, error }: Try & { kind: "later" }) => (error instanceof NotNow ? { why } : { why, error });

/** Whether a MIME type is of such a kind: `image/png`, `image/*`, or with a `*` on both sides. Parameters and case do not count. */
function isOfType(mime: string, pattern: string): boolean {
  const [kind = "", form = ""] = partsOf(mime);
  const [wantedKind, wantedForm] = partsOf(pattern);
  return (wantedKind === "*" || wantedKind === kind) && (wantedForm === "*" || wantedForm === form);
}

const partsOf = (mime: string): readonly string[] => (mime.split(";", 1)[0] ?? "").trim().toLowerCase().split("/", 2);
