import { realpath } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { isInside } from "../../tools/files/real-path.ts";
import type { MediaStore } from "../../types/journal.ts";
import type { MediaKind } from "../../types/chat/message.ts";
import type { ReplyBlock } from "../../types/chat/reply.ts";
import { readRegular } from "../../utils/read-regular.ts";

/** Bytes of one file that an answer may bring. */
const MOST_BYTES = 50 * 1024 * 1024;

export interface AttachPorts {
  readonly media: MediaStore;
  /** Only files below it leave. */
  readonly workspace: string;
  /** Files and directories of the gateway's own, which never leave, wherever the workspace lies. */
  readonly closedPaths?: readonly string[] | undefined;
  /** Bytes of one file; never above 50 MB. */
  readonly mostBytes?: number | undefined;
}

/**
 * What `[[media:…]]` names, as blocks: a file of the workspace is sent, a web address stays a link, and what cannot be sent is
 * told in the answer. Never throws.
 */
export async function attach(
  refs: readonly string[],
  asVoice: boolean,
  ports: AttachPorts,
): Promise<readonly ReplyBlock[]> {
  return Promise.all(refs.map((ref) => attachOne(ref, asVoice, ports)));
}

async function attachOne(ref: string, asVoice: boolean, ports: AttachPorts): Promise<ReplyBlock> {
  if (/^https?:\/\//i.test(ref)) return { kind: "text", markdown: ref };
  try {
    const bytes = await readBelow(ports, ref.replace(/^file:\/\//, ""));
    const stored = await ports.media.put(bytes, { name: basename(ref) });
    const kind = kindOf(stored.mime, asVoice);
    const media = {
      kind,
      mime: stored.mime,
      name: basename(ref),
      bytes: stored.bytes,
      source: { at: "store", id: stored.id },
    } as const;
    return { kind: "media", media, ...(asVoice && { asVoice }) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "notice", markdown: `⚠️ ${basename(ref)} could not be attached: ${why}`, because: "error" };
  }
}

async function readBelow({ workspace, closedPaths = [], mostBytes }: AttachPorts, path: string): Promise<Uint8Array> {
  const root = await realpath(workspace);
  const file = await realpath(resolve(root, path)).catch(() => {
    throw new Error("there is no such file");
  });
  if (!isInside(file, root)) throw new Error("it lies outside the workspace");
  const closed = await Promise.all(closedPaths.map((one) => realpath(one).catch(() => one)));
  if (closed.some((one) => isInside(file, one))) throw new Error("it belongs to the gateway itself");
  return readRegular(file, Math.min(MOST_BYTES, mostBytes ?? MOST_BYTES));
}

/** What a file is to a chat. */
export function kindOf(mime: string, asVoice: boolean): MediaKind {
  const [family] = mime.split("/");
  if (family === "audio") return asVoice ? "voice" : "audio";
  return family === "image" || family === "video" ? family : "document";
}
