import { realpath, stat } from "node:fs/promises";
import { basename } from "node:path";
import type { TranscriptPolicy, ImageLimits } from "../../providers/quirks.ts";
import type { Log } from "../../types/log.ts";
import type { ChatMessage, ImageContent, TextContent, ToolResultMessage, UserMessage } from "../../types/run/model.ts";
import { mapSame, partsOf } from "../parts.ts";
import { hasImages, imagesOf } from "../passes/images.ts";
import { findImagePaths, absolutePath, type PathPlaces } from "./paths.ts";
import { loadOnce } from "../../utils/share-calls.ts";
import { type Resize, resizeWith, type Sharp } from "./resize.ts";
import { isInside } from "../../utils/real-path.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { isCutOff, measure, MOST_SIDE } from "../measure-image.ts";

export interface ImagePorts {
  readonly log: Log;
  /** Absolute path of the received files. */
  readonly mediaDir: string;
  /** Finds the resizer when it is first needed. The installed one when unset. */
  findResizer?(): Promise<Resize | undefined>;
}

export interface ImageView {
  readonly policy: Pick<TranscriptPolicy, "images" | "imageLimits">;
  /** Longest side in pixels. */
  readonly maxSide: number;
  readonly places: ImagePlaces;
}

type Shown = ImageContent | TextContent;
type Seeing = UserMessage | ToolResultMessage;

const NONE: readonly ImageFile[] = [];

/** Base64 characters that are kept for the next request. */
const KEPT = 64_000_000;
const sizeOf = (part: Shown): number => (part.type === "image" ? part.data.length : part.text.length) + 100;

/** Adds the images that user turns mention to the messages. One for the process, because it keeps the files that it read. */
export class ImageLoader {
  readonly mediaDir: string;
  readonly #log: Log;
  readonly #resizer: () => Promise<Resize | undefined>;
  readonly #made = new SizedCache<Shown>(KEPT, sizeOf);
  /** The files that each turn names. Searched once, so that no image is added to a turn that was already sent without it. */
  readonly #files = new WeakMap<UserMessage, readonly ImageFile[]>();
  readonly #fitted = new WeakMap<ImageContent, Map<string, ImageContent>>();
  readonly #shown = new WeakMap<Seeing, { readonly parts: readonly Shown[]; readonly message: Seeing }>();
  /** The version of the file that an image shows. */
  readonly #versions = new WeakMap<ImageContent, string>();
  /** Texts that already have their images in the same message. The passes move them to other turns. */
  readonly #searched = new WeakSet<TextContent>();

  constructor({ log, mediaDir, findResizer: find }: ImagePorts) {
    this.mediaDir = mediaDir;
    this.#log = log;
    this.#resizer = loadOnce(find ?? findResizer);
  }

  /**
   * The messages with the images of files that user turns name, each file once and at its place, and with images that
   * are too large made smaller. The given messages are not touched, and stay the same where nothing changes; asked
   * again, the same turn is the same object. `messages` may be an earlier result, also after the passes. Files that
   * cannot be read are logged. Never rejects.
   */
  async show(messages: readonly ChatMessage[], view: ImageView): Promise<readonly ChatMessage[]> {
    if (!view.policy.images) return messages;
    const turns = messages.filter((one) => one.role === "user" && !this.#files.has(one));
    await Promise.all(turns.map((turn) => this.#lookUp(turn, view.places)));
    const named = messages.map((one) => (one.role === "user" ? (this.#files.get(one) ?? NONE) : NONE));
    const files = choose(named, this.#versionsIn(messages), view.policy.imageLimits.count);
    const concerned = messages.flatMap((message, index) => {
      const own = files[index] ?? NONE;
      return message.role !== "assistant" && (own.length > 0 || hasImages(message)) ? [{ message, own }] : [];
    });
    if (concerned.length === 0) return messages;
    const made = await Promise.all(
      concerned.map(async ({ message, own }) => [message, await this.#seen(message, own, rulesOf(view))] as const),
    );
    const shown = new Map<ChatMessage, ChatMessage>(made);
    return mapSame(messages, (message) => shown.get(message) ?? message);
  }

  /** The image of these bytes as the model accepts it; undefined when it cannot be made small enough. Rejects when it is broken. */
  async fit(bytes: Uint8Array, view: Omit<ImageView, "places">): Promise<ImageContent | undefined> {
    return fitImage(bytes, rulesOf(view), await this.#resizer());
  }

  async #lookUp(message: ChatMessage, places: ImagePlaces): Promise<void> {
    if (message.role !== "user") return;
    const parts = partsOf(message);
    const paths = parts.flatMap((part) =>
      part.type === "text" && !this.#searched.has(part) ? findImagePaths(part.text) : [],
    );
    const own = new Set(parts.flatMap((part) => (part.type === "image" ? [bytesIn(part.data)] : [])));
    const found = await Promise.all(
      paths.map(async ({ path, noted }) => {
        const file = await this.#find(path, places);
        // The message already contains its files, as bytes.
        return file && !(noted && own.has(file.bytes)) ? [file] : [];
      }),
    );
    this.#files.set(message, found.flat());
  }

  #versionsIn(messages: readonly ChatMessage[]): Set<string> {
    const images = messages.flatMap((message) => (hasImages(message) ? imagesOf(message) : []));
    return new Set(images.flatMap((image) => this.#versions.get(image) ?? []));
  }

  async #find(path: string, places: ImagePlaces): Promise<ImageFile | undefined> {
    try {
      return await findImageFile(path, places);
    } catch (error) {
      this.#log.debug("an image that a message names is not shown", { path, error });
      return undefined;
    }
  }

  async #seen(message: Seeing, files: readonly ImageFile[], rules: ImageRules): Promise<Seeing> {
    const own = message.role === "user" ? partsOf(message) : message.content;
    const fitted = await Promise.all(own.map(async (part) => (part.type === "image" ? this.#fit(part, rules) : part)));
    const loaded = await Promise.all(files.map((file) => this.#load(file, rules)));
    // An engine may have copied a turn with its images.
    const fresh = loaded.filter((part) => !own.some((had) => isPart(part, had)));
    const parts: readonly Shown[] = [...fitted, ...fresh];
    if (isSame(own, parts)) return message;
    const known = this.#shown.get(message);
    if (known && isSame(known.parts, parts)) return known.message;
    const made = { ...message, content: [...parts] };
    for (const part of parts) if (part.type === "text") this.#searched.add(part);
    this.#shown.set(message, { parts, message: made });
    if (made.role === "user") this.#files.set(made, NONE);
    return made;
  }

  async #load(file: ImageFile, rules: ImageRules): Promise<Shown> {
    const key = `${file.version}|${keyOf(rules)}`;
    const known = this.#made.get(key);
    if (known) return known;
    try {
      const bytes = await readImage(file);
      if (!bytes) throw new Error("it is no image");
      const made = (await fitImage(bytes, rules, await this.#resizer())) ?? notShown(file, TOO_LARGE);
      this.#made.set(key, made);
      if (made.type === "image") this.#versions.set(made, file.version);
      return made;
    } catch (error) {
      this.#log.debug("an image that a message names is not shown", { path: file.path, error });
      const made = notShown(file, "cannot be read as an image");
      this.#made.set(key, made);
      return made;
    }
  }

  /** The passes handle an image that cannot be made smaller. */
  async #fit(image: ImageContent, rules: ImageRules): Promise<ImageContent> {
    if (this.#versions.has(image)) return image;
    const known = this.#fitted.get(image)?.get(keyOf(rules));
    if (known) return known;
    const bytes = Buffer.from(image.data, "base64");
    const made = await this.#tryFit(bytes, rules);
    const kept = made === undefined || made.data === image.data ? image : made;
    this.#fitted.set(image, new Map([...(this.#fitted.get(image) ?? []), [keyOf(rules), kept]]));
    return kept;
  }

  async #tryFit(bytes: Uint8Array, rules: ImageRules): Promise<ImageContent | undefined> {
    try {
      return await fitImage(bytes, rules, await this.#resizer());
    } catch (error) {
      this.#log.debug("an image cannot be made smaller", { error });
      return undefined;
    }
  }
}

const rulesOf = ({ policy, maxSide }: Omit<ImageView, "places">): ImageRules => ({
  limits: policy.imageLimits,
  maxSide,
});

const keyOf = ({ limits, maxSide }: ImageRules): string =>
  [maxSide, limits.each, limits.side, limits.types?.join()].join("|");

const bytesIn = (base64: string): number => Buffer.byteLength(base64, "base64");

const TOO_LARGE = "is too large or of a type that cannot be shown";

/** Text for the model, which would take the name of the file for the image. */
const notShown = ({ name }: ImageFile, why: string): TextContent => ({
  type: "text",
  text: `[image: ${name.replaceAll(/[[\]\p{Cc}]/gu, "_")} ${why}]`,
});

const isSame = (one: readonly Shown[], other: readonly Shown[]): boolean =>
  one.length === other.length && one.every((part, index) => isPart(part, other[index]));

const isPart = (part: Shown, other: Shown | undefined): boolean =>
  part === other ||
  (part.type === "text"
    ? other?.type === "text" && part.text === other.text
    : other?.type === "image" && part.data === other.data);

/**
 * Each file where it is named first. Of many the oldest are not even read, in steps, so that a request's beginning
 * does not change with every new one.
 */
function choose(
  named: readonly (readonly ImageFile[])[],
  seen: Set<string>,
  count: number,
): readonly (readonly ImageFile[])[] {
  const before = seen.size;
  const fresh = named.map((files) => files.filter(({ version }) => !seen.has(version) && seen.add(version)));
  const past = Math.max(0, Math.floor((seen.size - before) / count) - 1) * count;
  let index = 0;
  return fresh.map((files) => files.filter(() => index++ >= past));
}

/** The directories from which images may be read. All paths are absolute. */
interface ImagePlaces extends PathPlaces {
  /** Directories in addition to the workspace and the received files. */
  readonly readable?: readonly string[];
  /** The gateway's own files and directories, which no model may see. */
  readonly closed?: readonly string[];
  /** Whether the turn's people may not see a file, whose path has no links. */
  isHidden(path: string): Promise<boolean>;
}

/** A version of a file. */
interface ImageFile {
  /** Path without symbolic links. */
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
  /** Another value when the file was changed. */
  readonly version: string;
}

/** The most bytes of a file that is read. */
const MOST_BYTES = 50 * 1024 * 1024;

/** The file that a path in a text means. Throws with the reason when there is none or it must not be read. */
async function findImageFile(written: string, places: ImagePlaces): Promise<ImageFile> {
  const meant = absolutePath(written, places);
  if (meant === undefined) throw new Error("it is no path");
  const path = await realpath(meant);
  const open = [places.workspace, places.media, ...(places.readable ?? [])];
  if (!(await isBelow(path, open))) throw new Error("it lies outside the workspace");
  if (await isBelow(path, places.closed ?? [])) throw new Error("it belongs to the gateway itself");
  if (await places.isHidden(path)) throw new Error("it may have notes of private chats");
  const facts = await stat(path);
  // Opening a named pipe waits until a program writes to it.
  if (!facts.isFile()) throw new Error("it is not a regular file");
  const { size, mtimeMs } = facts;
  if (size > MOST_BYTES) throw new Error("it is too large");
  return { path, name: basename(path), bytes: size, version: `${path}|${mtimeMs}|${size}` };
}

async function isBelow(path: string, roots: readonly string[]): Promise<boolean> {
  // A directory that does not exist contains no file.
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
  return real.some((root) => root !== undefined && isInside(path, root));
}

/** Reads the bytes if they are an image, whatever the file's name. Rejects when the file cannot be read. */
async function readImage({ path }: ImageFile): Promise<Uint8Array | undefined> {
  const bytes = await readRegular(path, MOST_BYTES);
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(bytes);
  return found?.mime.startsWith("image/") === true ? bytes : undefined;
}

/** Values by key, up to a total size. The least recently used are removed first. */
class SizedCache<V> {
  readonly #limit: number;
  readonly #sizeOf: (value: V) => number;
  readonly #values = new Map<string, V>();
  #size = 0;

  constructor(limit: number, sizeOf: (value: V) => number) {
    this.#limit = limit;
    this.#sizeOf = sizeOf;
  }

  get(key: string): V | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#drop(key);
    this.#values.set(key, value);
    this.#size += this.#sizeOf(value);
    for (const oldest of this.#values.keys()) {
      if (this.#size <= this.#limit || this.#values.size === 1) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#size -= this.#sizeOf(value);
  }
}

/** A resizer that uses sharp, if it is installed beside the gateway. It is no dependency because its binaries have about 20 MB. */
async function findResizer(): Promise<Resize | undefined> {
  // A variable, so that neither the bundler nor the type checker looks for the package.
  const name: string = "sharp";
  const loaded: unknown = await import(name).catch(() => undefined);
  const made = typeof loaded === "object" && loaded !== null && "default" in loaded ? loaded.default : undefined;
  return isSharp(made) ? resizeWith(made) : undefined;
}

const isSharp = (made: unknown): made is Sharp => typeof made === "function";

/** The limits of an image in a request. */
interface ImageRules {
  readonly limits: ImageLimits;
  /** Pixels of the longest side. More are not worth their tokens. */
  readonly maxSide: number;
}

/**
 * The image of these bytes that the model accepts: unchanged, or made smaller if a resizer is there. Undefined when neither is
 * possible. Rejects when the bytes are broken.
 */
async function fitImage(
  bytes: Uint8Array,
  { limits, maxSide }: ImageRules,
  resize: Resize | undefined,
): Promise<ImageContent | undefined> {
  const found = measure(bytes);
  if (found && isCutOff(bytes, found)) throw new Error("its end is missing");
  const most = Math.floor(limits.each / 4) * 3;
  const side = found ? Math.max(found.width, found.height) : Number.POSITIVE_INFINITY;
  const isTaken = found !== undefined && isType(found.mimeType, limits) && bytes.byteLength <= most;
  const longest = Math.min(limits.side ?? MOST_SIDE, resize ? maxSide : Number.POSITIVE_INFINITY);
  if (isTaken && side <= longest) return content(bytes, found.mimeType);
  const made = await resize?.(bytes, { maxSide: Math.min(maxSide, limits.side ?? maxSide), maxBytes: most });
  return made && isType(made.mimeType, limits) ? content(made.bytes, made.mimeType) : undefined;
}

const isType = (mimeType: string, { types }: ImageLimits): boolean => types?.includes(mimeType) !== false;

const content = (bytes: Uint8Array, mimeType: string): ImageContent => ({
  type: "image",
  data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
  mimeType,
});
