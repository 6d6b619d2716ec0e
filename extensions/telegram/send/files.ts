import { InputFile } from "grammy";
import { fileNameOf } from "openclaw/plugin-sdk";
import type { MediaItem, SendResult } from "openclaw/plugin-sdk";
import type { Account } from "../account.ts";
import type { FormattedText } from "./send.ts";
import { maxFileBytes } from "./shapes.ts";

/** A file that can be sent. */
export interface Opened {
  readonly kind: "open";
  readonly item: MediaItem;
  readonly bytes: number;
  /** A new object for each attempt: grammY can read one only once. */
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
  const name = fileNameOf(item);
  try {
    const bytes = await host.openMedia(item);
    const most = maxFileBytes(config);
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

/** The files of one message, and the text below them. */
export interface FileMessage {
  readonly files: readonly Opened[];
  readonly text?: FormattedText | undefined;
}

/** A text as the fields of a call that sends a file. */
export const captionOf = (
  formatted: FormattedText | undefined,
): { readonly caption?: string; readonly parse_mode?: "HTML" } => {
  if (!formatted) return {};
  const { text: caption, ...mode } = formatted;
  return { caption, ...mode };
};
