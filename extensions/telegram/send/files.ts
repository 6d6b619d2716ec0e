import { InputFile } from "grammy";
import type { MediaItem, SendResult } from "openclaw/plugin-sdk";
import type { Account } from "../account.ts";
import type { Words } from "./send.ts";
import { defaultName, mostBytes } from "./shapes.ts";

/** A file that can be sent. */
export interface Opened {
  readonly kind: "open";
  readonly item: MediaItem;
  readonly bytes: number;
  /** A file can be read once, so that each try gets its own. */
  file(): InputFile | string;
}

/** Reads a file from the store. Never rejects. */
export async function openFile(
  { host, config }: Account,
  item: MediaItem,
): Promise<Opened | Extract<SendResult, { kind: "refused" }>> {
  if (item.source.at === "platform") {
    const { ref } = item.source;
    return { kind: "open", item, bytes: 0, file: () => ref };
  }
  const name = item.name ?? defaultName(item);
  try {
    const bytes = await host.openMedia(item);
    const most = mostBytes(config);
    if (bytes.length > most) {
      return {
        kind: "refused",
        reason: `${item.name ?? "the file"} is larger than the ${most / 1_048_576} MB that a bot may send`,
      };
    }
    return { kind: "open", item, bytes: bytes.length, file: () => new InputFile(bytes, name) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "refused", reason: `${item.name ?? "the file"} cannot be read: ${reason}` };
  }
}

/** Files of one message, and what is said below them. */
export interface Load {
  readonly files: readonly Opened[];
  readonly words?: Words | undefined;
}

/** Words as the fields of a call that sends a file. */
export const captionOf = (words: Words | undefined): { readonly caption?: string; readonly parse_mode?: "HTML" } => {
  if (!words) return {};
  const { text: caption, ...mode } = words;
  return { caption, ...mode };
};
