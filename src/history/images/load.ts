import type { TranscriptPolicy } from "../../providers/quirks.ts";
import type { Log } from "../../types/log.ts";
import type { ChatMessage, ImageContent, TextContent, ToolResultMessage, UserMessage } from "../../types/run/model.ts";
import { mapSame, partsOf } from "../parts.ts";
import { hasImages, imagesOf } from "../passes/images.ts";
import { SizedCache } from "./cache.ts";
import { findImageFile, type ImageFile, type ImagePlaces, readImage } from "./files.ts";
import { fitImage, type ImageRules } from "./fit.ts";
import { findImagePaths } from "./paths.ts";
import { loadOnce } from "../../utils/share-calls.ts";
import { findResizer } from "./find-resizer.ts";
import type { Resize } from "./resize.ts";

export interface ImagePorts {
  readonly log: Log;
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
  readonly #log: Log;
  readonly #resizer: () => Promise<Resize | undefined>;
  readonly #made = new SizedCache<Shown>(KEPT, sizeOf);
  /** The files that each turn names. Searched once, so that no image is added to a turn that was already sent without it. */
  readonly #files = new WeakMap<UserMessage, readonly ImageFile[]>();
  readonly #fitted = new WeakMap<ImageContent, Map<string, ImageContent>>();
  readonly #shown = new WeakMap<Seeing, { readonly parts: readonly Shown[]; readonly message: Seeing }>();
  /** The version of its file that an image shows. */
  readonly #versions = new WeakMap<ImageContent, string>();
  /** Texts that already have their images in the same message. The passes move them to other turns. */
  readonly #searched = new WeakSet<TextContent>();

  constructor({ log, findResizer: find }: ImagePorts) {
    this.#log = log;
    this.#resizer = loadOnce(find ?? findResizer);
  }

  /**
   * The messages with the images of files that user turns name, each file once and at its place, and with images that
   * are too large made smaller. The given messages are not touched, and stay the same where nothing changes; asked
   * again, the same turn is the same object. It may be asked with what it gave, also after the passes. What cannot be
   * read is logged. Never rejects.
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

/** For the model, which would take the name of the file for the image. */
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
