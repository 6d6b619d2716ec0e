import { isForClient } from "../../chats.ts";
import type { CommandContext } from "../kit/command.ts";
import type { StoredMediaItem } from "../../notices/replies.ts";

/** The most bytes of a file, and of a transcript that is written into a file: both are in memory meanwhile. */
export const MOST_BYTES = 8 * 1_048_576;

/** The most bytes of a file that answers the command; 0 where its chat takes none. */
export function mostFileBytes({ message, ports }: CommandContext): number {
  if (isForClient(message)) return MOST_BYTES;
  const to = message.options?.deliverTo ?? message.from;
  const { mostMediaBytes = MOST_BYTES } = ports.settings().chat(to);
  return Math.min(MOST_BYTES, mostMediaBytes, ports.chats.outbox.mostFileBytes(to) ?? MOST_BYTES);
}

/** Puts a file into the media store, where the conversation may read it. */
export async function storeFile(
  bytes: Uint8Array,
  { name, mime: claimed }: { readonly name: string; readonly mime: string },
  { key, ports }: CommandContext,
): Promise<StoredMediaItem> {
  const { id, mime } = await ports.storage.media.put(bytes, { name, mime: claimed });
  await ports.storage.journal.received.note([id], key);
  return { kind: "document", mime, name, bytes: bytes.length, source: { at: "store", id } };
}

/** A size such as `850 bytes`, `12 KiB` or `1.5 MiB`. */
export function fileSizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1_048_576) return `${Math.ceil(bytes / 1024)} KiB`;
  return bytes < 1_073_741_824 ? `${(bytes / 1_048_576).toFixed(1)} MiB` : `${(bytes / 1_073_741_824).toFixed(1)} GiB`;
}
