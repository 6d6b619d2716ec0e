import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isFields } from "../../../utils/fields.ts";
import { isInside, realOf } from "../../../utils/real-path.ts";
import { safeFetch } from "../../../utils/net/safe-fetch.ts";
import { mediaKindOf } from "../../../types/chat/media-kind.ts";
import { numberIn, objectOf, textIn, textsIn } from "../foreign.ts";
import { rejecting } from "../refused.ts";
import type { PluginScope } from "../scope.ts";

/** The most bytes of a file, where the plugin names no limit. */
const MOST_BYTES = 20 * 1_048_576;
const NO_TYPE = "application/octet-stream";

/** `runtime.media`: types of files, and files of the web, fetched as strangers' addresses are. */
export function runtimeMedia(scope: PluginScope): object {
  const { media } = scope.ports;
  const detectMime = async (given: unknown): Promise<string | undefined> => {
    const { buffer, headerMime, filePath } = objectOf(given, "detectMime");
    const claimed = typeof headerMime === "string" ? { mime: headerMime } : {};
    if (!(buffer instanceof Uint8Array)) return claimed.mime;
    const found = await media.typeOf(buffer, { ...claimed, ...(typeof filePath === "string" && { name: filePath }) });
    return found === NO_TYPE ? undefined : found;
  };
  return {
    ...rejecting(scope, "api.runtime.media"),
    detectMime,
    mediaKindFromMime: (mime: unknown) => kindOf(typeof mime === "string" ? mime : undefined),
    isVoiceCompatibleAudio: (given: unknown) =>
      /^audio\/(?:ogg|opus)\b/.test(textIn(objectOf(given, "isVoiceCompatibleAudio"), "contentType") ?? ""),
    getImageMetadata: async (buffer: unknown) => (buffer instanceof Uint8Array ? media.sizeOf(buffer) : null),
    loadWebMedia: async (address: unknown, given?: unknown) => {
      const roots = isFields(given) ? textsIn(given, "localRoots") : undefined;
      const { bytes, name, mime } = await load(scope, String(address), { maxBytes: most(given), roots: roots ?? [] });
      const contentType = await detectMime({ buffer: bytes, headerMime: mime, filePath: name });
      return { buffer: Buffer.from(bytes), contentType, kind: kindOf(contentType), fileName: name };
    },
  };
}

function most(given: unknown): number {
  const wanted = isFields(given) ? numberIn(given, "maxBytes") : numberIn({ given }, "given");
  return Math.min(wanted ?? MOST_BYTES, MOST_BYTES);
}

const kindOf = (mime: string | undefined): string | undefined => (mime === undefined ? undefined : mediaKindOf(mime));

interface Loaded {
  readonly bytes: Uint8Array;
  readonly name?: string | undefined;
  readonly mime?: string | undefined;
}

interface Limits {
  readonly maxBytes: number;
  /** More folders with files that may be read. */
  readonly roots: readonly string[];
}

/** Rejects for a file that is too large, or in none of the folders whose files may be sent. */
async function load(scope: PluginScope, address: string, { maxBytes, roots }: Limits): Promise<Loaded> {
  if (/^https?:/i.test(address)) return safeFetch(address, { maxBytes, signal: scope.signal });
  const path = await realOf(address.startsWith("file:") ? fileURLToPath(address) : address);
  const { stateDir, workspace } = scope.ports;
  const allowed = [workspace(), join(stateDir, "media"), tmpdir(), ...roots];
  const folders = await Promise.all(allowed.map(realOf));
  if (!folders.some((folder) => isInside(path, folder)))
    throw new Error(`${basename(path)} is in no folder whose files a plugin may load by its path`);
  const bytes = await readFile(path);
  if (bytes.byteLength > maxBytes) throw new Error(`the file has ${bytes.byteLength} bytes; the limit is ${maxBytes}`);
  return { bytes, name: basename(path) };
}
