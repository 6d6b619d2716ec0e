import fs from "node:fs/promises";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { fileNameOf } from "openclaw/plugin-sdk";
import type { MediaItem, OutboundFiles, Peer, SendOptions, SendResult } from "openclaw/plugin-sdk";
import { startsDaemon } from "../config.ts";
import { reasonOf } from "../failures.ts";
import type { Account } from "../account.ts";
import { quoted, target } from "./send.ts";
import type { SignalSender } from "./send.ts";

/** signal-cli's JSON parser, Jackson, limits strings to 20,000,000 characters; base64 needs four for three bytes. */
const MOST_INLINE_BYTES = 14_000_000;

/** Sends files: inside the call, or by path if one is too large and the gateway started signal-cli. Never rejects. */
export async function sendFile(
  account: Account,
  outgoing: SignalSender,
  to: Peer,
  { part, options }: { readonly part: OutboundFiles; readonly options: SendOptions },
): Promise<SendResult> {
  const { media, more = [], caption, asVoice } = part;
  const attachments: string[] = [];
  const temporaryFiles: string[] = [];
  try {
    for (const item of [media, ...more]) {
      const opened = await open(account, item);
      if (!("attachment" in opened)) return opened;
      attachments.push(opened.attachment);
      if (opened.file !== undefined) temporaryFiles.push(opened.file);
    }
    const voice = asVoice === true || media.kind === "voice";
    return await outgoing.send("send", {
      ...target(to),
      ...(caption && (await outgoing.textParams(to, caption))),
      attachments,
      ...(voice && { voiceNote: true }),
      ...quoted(account, to, options),
    });
  } finally {
    for (const file of temporaryFiles) await fs.rm(file, { force: true });
  }
}

type Opened =
  | { readonly attachment: string; readonly file?: string }
  | Extract<SendResult, { kind: "refused" | "retry" }>;

async function open(account: Account, item: MediaItem): Promise<Opened> {
  const bytes = await account.host.openMedia(item).catch((error: unknown) => reasonOf(error));
  if (typeof bytes === "string")
    return { kind: "refused", reason: `${item.name ?? "the file"} cannot be read: ${bytes}` };
  if (bytes.length <= MOST_INLINE_BYTES) return { attachment: dataUri(item, bytes) };
  if (!startsDaemon(account.config)) {
    const why = "a file above 14 MB reaches signal-cli only where the gateway starts it (channels.signal.autoStart)";
    return { kind: "refused", reason: why };
  }
  try {
    const file = path.join(await account.host.folder(), `${randomUUID()}-${nameOf(item)}`);
    await fs.writeFile(file, bytes, { mode: 0o600 });
    return { attachment: file, file };
  } catch (error) {
    return { kind: "retry", reason: `the file cannot be written for signal-cli: ${reasonOf(error)}` };
  }
}

/** A data URI (RFC 2397) with the `filename` parameter that signal-cli reads. */
const dataUri = (item: MediaItem, bytes: Uint8Array): string =>
  `data:${item.mime ?? "application/octet-stream"};filename=${nameOf(item)};base64,${Buffer.from(bytes).toString("base64")}`;

/** A file name without the characters that end a field of a data URI or a path. */
const nameOf = (item: MediaItem): string =>
  fileNameOf(item)
    .replaceAll(/[^\p{L}\p{N}._ ()-]/gu, "_")
    .slice(-100);
