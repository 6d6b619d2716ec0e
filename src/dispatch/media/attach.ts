import { lstat, realpath } from "node:fs/promises";
import { basename, resolve } from "node:path";
import {
  holdsFile,
  isOwnOutput,
  hiddenFromGuests,
  isHiddenElsewhere,
  whyFileHidden,
} from "../../tools/host/guest-files.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { outputFolder, outputRoot } from "../../tools/host/output-folders.ts";
import type { SessionKey } from "../../types/ids.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import type { MediaStore } from "../../types/journal.ts";
import { mediaKindOf } from "../../types/chat/media-kind.ts";
import type { RefusedAttachment } from "../../types/run/run.ts";
import type { ReplyBlock } from "../../types/chat/reply.ts";
import { readRegular } from "../../utils/read-regular.ts";

/** The most bytes of one file of an answer. */
const MOST_BYTES = 50 * 1024 * 1024;
/** The most files and links of one answer, so that the chat stays readable. */
const MOST_FILES = 20;
/** The most files that are named to the chat when they are not attached. */
const MOST_NAMED = 3;
/** The most UTF-16 units of a file's name in a refusal. */
const MOST_NAME = 200;

export interface AttachPorts {
  readonly media: MediaStore;
  /** The directory of the files that may be sent. */
  readonly workspace: string;
  /** The session that sends: of the files with long results only its own are sent, and none when unset. */
  readonly sessionKey?: SessionKey | undefined;
  /** The gateway's own files and directories, which are never sent, wherever the workspace is. */
  readonly closedPaths: readonly string[];
  /** Workspaces of which a guest's turn sends only files that guests may read. Empty for an owner's turn. */
  readonly guestOf: readonly string[];
  /** The most bytes of one file; never above 50 MiB. */
  readonly mostBytes?: number | undefined;
  /** Called for each file that is not attached. */
  refused?(refusal: RefusedAttachment): void;
}

/**
 * Turns the names in `[[media:…]]` into blocks: a file of the workspace is attached, a web address stays a link, and
 * the files that cannot be sent become one notice. Each name counts once, and at most 20 are obeyed. Never rejects.
 */
export async function attach(
  refs: readonly string[],
  asVoice: boolean,
  ports: AttachPorts,
): Promise<readonly ReplyBlock[]> {
  const names = [...new Set(refs)];
  const tried = await Promise.all(names.slice(0, MOST_FILES).map((ref) => attachOne(ref, asVoice, ports)));
  const refused = tried.filter((one) => typeof one === "string");
  const left = Math.max(0, names.length - MOST_FILES);
  if (left > 0) ports.refused?.({ file: `${left} more`, why: TOO_MANY });
  return [...tried.filter((one) => typeof one !== "string"), ...noticeOf(refused, left)];
}

const TOO_MANY = `an answer brings at most ${MOST_FILES} files`;

/** One notice about all missing files: about the refused files, and about the `left` files that were too many. */
function noticeOf(refused: readonly string[], left: number): readonly ReplyBlock[] {
  if (refused.length + left === 0) return [];
  const more = Math.max(0, refused.length - MOST_NAMED) + left;
  const why = left > 0 ? `: ${TOO_MANY}` : "";
  const lines = [
    ...refused.slice(0, MOST_NAMED),
    ...(more > 0 ? [`⚠️ ${more} more could not be attached${why}.`] : []),
  ];
  return [{ kind: "notice", markdown: lines.join("\n\n"), because: "error" }];
}

/** Reports a file that is not attached. Returns the line for the chat. */
function refuse(ref: string, why: string, { refused }: Pick<AttachPorts, "refused">): string {
  refused?.({ file: shorten(ref.replaceAll(/[\p{Cc}\s]+/gu, " "), MOST_NAME), why });
  return `⚠️ ${shorten(basename(ref), MOST_NAME)} could not be attached: ${why}`;
}

/** The block of a file or a link; a line for the chat where there is none. */
async function attachOne(ref: string, asVoice: boolean, ports: AttachPorts): Promise<ReplyBlock | string> {
  if (/^https?:\/\//i.test(ref)) return { kind: "text", markdown: ref };
  try {
    const bytes = await readBelow(ports, ref.replace(/^file:\/\//, ""));
    const stored = await ports.media.put(bytes, { name: basename(ref) });
    return mediaBlock(stored, { name: basename(ref), asVoice });
  } catch (error) {
    return refuse(ref, error instanceof Error ? error.message : String(error), ports);
  }
}

async function readBelow(
  { workspace, closedPaths, guestOf, mostBytes, sessionKey }: AttachPorts,
  path: string,
): Promise<Uint8Array> {
  const root = await realpath(workspace);
  const file = await realpath(resolve(root, path)).catch(() => {
    throw new Error("there is no such file");
  });
  if (!isInside(file, root)) throw new Error("it is outside the workspace");
  const own = sessionKey === undefined ? undefined : await realOf(outputFolder(root, sessionKey));
  if (isInside(file, await realOf(outputRoot(root))) && (own === undefined || !isInside(file, own)))
    throw new Error("it is not a file of this conversation");
  const closed = await Promise.all(closedPaths.map((one) => realpath(one).catch(() => one)));
  if (closed.some((one) => isInside(file, one)) || (await isClosedElsewhere(file, { closed, guestOf })))
    throw new Error("it belongs to the gateway itself");
  const hidden = await hiddenFromGuests(file, guestOf);
  if (hidden !== undefined) throw new Error(`it ${whyFileHidden(hidden)}`);
  return readRegular(file, Math.min(MOST_BYTES, mostBytes ?? MOST_BYTES));
}

/**
 * Whether a file, under a second name (hard link), is one of the gateway's own or is closed to a guest, or whether the
 * gateway prints to the file.
 */
async function isClosedElsewhere(
  file: string,
  { closed, guestOf }: { readonly closed: readonly string[]; readonly guestOf: readonly string[] },
): Promise<boolean> {
  const facts = await lstat(file);
  if (await isOwnOutput(facts)) return true;
  if (facts.nlink === 1) return false;
  for (const one of closed) if (await holdsFile(one, facts)) return true;
  return isHiddenElsewhere(facts, guestOf);
}

/** A stored file as a block of a reply. */
export function mediaBlock(
  { id, mime, bytes }: Awaited<ReturnType<MediaStore["put"]>>,
  { name, asVoice }: { readonly name: string | undefined; readonly asVoice: boolean },
): ReplyBlock {
  const kind = mediaKindOf(mime, asVoice);
  const media = { kind, mime, bytes, source: { at: "store", id }, ...(name !== undefined && { name }) } as const;
  return { kind: "media", media, ...(asVoice && { asVoice }) };
}
