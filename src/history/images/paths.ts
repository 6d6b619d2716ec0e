import { fileURLToPath } from "node:url";

const EXTENSIONS = "png|jpe?g|gif|webp|bmp|heic|heif|avif|tiff?";
// The patterns have limits of length, so that no text takes long.
const IS_IMAGE = new RegExp(`\\.(?:${EXTENSIONS})$`, "i");
/** `[media attached: …]`, `[media attached 1/2: …]` and `[Image: source: …]`, with their content. */
const NOTE = /\[(?:media attached(?: \d+\/\d+)?|image: source): *([^[\]\n]{1,4000})\]/gi;
/** A path or file address, alone or in quotes; in quotes it may contain spaces. */
const QUOTED = new RegExp(
  `(["'\`])((?:file://|media://|~/|\\.{1,2}/|/)[^"'\`\\n]{0,1000}?\\.(?:${EXTENSIONS}))\\1`,
  "gi",
);
const BARE = new RegExp(
  `(?<=^|[\\s(<=:,])(?:file://|media://|~/|\\.{1,2}/|/(?!/))[^\\s"'\`<>()[\\]|]{0,1000}?\\.(?:${EXTENSIONS})(?=$|[\\s"'\`<>)\\],;!?]|[.:](?:\\s|$))`,
  "gim",
);
/** The most files that one turn may name. */
const MOST = 20;

/** A file that a text mentions, as it is written there. `noted`: a note in the gateway's own form names it. */
export interface ImagePath {
  readonly path: string;
  readonly noted: boolean;
}

/** The image files that a text names, without repetition, in their order, at most 20. Web addresses are not included. */
export function findImagePaths(text: string): readonly ImagePath[] {
  if (!mayName(text)) return [];
  const found: (ImagePath & { readonly at: number })[] = [];
  const rest = text.replaceAll(NOTE, (note, inner: string, at: number) => {
    const path = notedPath(inner);
    if (path !== undefined) found.push({ path, noted: true, at });
    return " ".repeat(note.length);
  });
  const unquoted = rest.replaceAll(QUOTED, (quote, _mark, path: string, at: number) => {
    found.push({ path, noted: false, at });
    return " ".repeat(quote.length);
  });
  for (const { 0: path, index } of unquoted.matchAll(BARE)) found.push({ path, noted: false, at: index });
  return unique(found.toSorted((a, b) => a.at - b.at)).slice(0, MOST);
}

const mayName = (text: string): boolean => text.includes("/") || /\[(?:media|image)/i.test(text);

/** `path (image/png) | address`. The type and the address may be missing. */
function notedPath(inner: string): string | undefined {
  const [file = ""] = inner.split(" | ", 1);
  const [, path = "", mime = ""] = /^(.*?)(?: \(([a-z]+\/[^)\s]+)\))?$/i.exec(file.trim()) ?? [];
  const isImage = mime === "" ? IS_IMAGE.test(path) : /^image\//i.test(mime);
  return isImage && !/^https?:/i.test(path) ? path : undefined;
}

function unique(found: readonly ImagePath[]): ImagePath[] {
  const seen = new Map<string, ImagePath>();
  for (const { path, noted } of found) if (!seen.has(path)) seen.set(path, { path, noted });
  return [...seen.values()];
}

/** The indexes in a text at which paths may begin. */
export interface PathPlaces {
  readonly workspace: string;
  readonly home: string;
  /** The directory of received files, which texts name `media://<id>`. */
  readonly media: string;
}

/** The absolute path that a text means; the file may not exist. Undefined for a text that cannot be a path. */
export function absolutePath(written: string, { workspace, home, media }: PathPlaces): string | undefined {
  if (written.includes("\0")) return undefined;
  if (written.startsWith("~/")) return `${home}${written.slice(1)}`;
  const id = /^media:\/\/(?:inbound\/)?([^/\\]+)$/i.exec(written)?.[1];
  if (id !== undefined) return `${media}/${id}`;
  if (/^[a-z][a-z+.-]*:\/\//i.test(written)) return fromUrl(written);
  return written.startsWith("/") ? written : `${workspace}/${written}`;
}

function fromUrl(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    // Another scheme, another host or a broken escape: not a file of this machine.
    return undefined;
  }
}
