import type { Answers } from "openclaw/plugin-sdk/answers";
import { fields, nonEmpty, shortNameIn } from "./json.ts";

/** A file that is sent to the gateway; `data` is base64, `size` bytes. */
export interface PageFile {
  readonly name: string;
  /** Empty when the browser does not know it. */
  readonly mimeType: string;
  readonly size: number;
  readonly data: string;
  /** Length of a voice message. */
  readonly durationMs?: number | undefined;
}

/** What a file is to the person. */
export type FileKind = "image" | "audio" | "video" | "document";

/** A file of a message. Its bytes are on the page (base64), or the gateway has them at an address. */
export interface ShownFile {
  readonly name: string;
  readonly mimeType: string;
  readonly kind: FileKind;
  /** Bytes. */
  readonly size?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly source: { readonly at: "page"; readonly data: string } | { readonly at: "gateway"; readonly url: string };
}

/** Images that every browser draws and that contain no program. */
const DRAWN = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;

/** The kind of a file of this type. An image that the page does not draw, such as SVG, is a document. */
export function fileKind(mimeType: string): FileKind {
  const [family] = mimeType.split("/");
  if (family === "image") return DRAWN.test(mimeType) ? "image" : "document";
  return family === "audio" || family === "video" ? family : "document";
}

/** A file that is sent from this page, as it is shown. */
export const shownFile = ({ data, ...file }: PageFile): ShownFile => ({
  ...file,
  kind: fileKind(file.mimeType),
  source: { at: "page", data },
});

type ShownMessage = Answers["chat.history"]["messages"][number];
type Meta = NonNullable<ShownMessage["__openclaw"]>;

/** The files that were sent with a message and whose bytes it does not contain. */
export function sentWith(meta: Partial<Meta>): readonly ShownFile[] {
  const contained = new Set(meta.mediaImageLayout?.slots.map(({ factIndex }) => factIndex));
  return (meta.media ?? []).flatMap((item, at) =>
    contained.has(at)
      ? []
      : [
          fileAt(item.url, {
            kind: item.kind,
            name: item.fileName,
            mimeType: item.contentType,
            size: item.sizeBytes,
            durationMs: item.durationMs,
          }),
        ],
  );
}

/** A file of an answer; undefined for a part of another kind. */
export function fileIn(block: Record<string, unknown>): ShownFile | undefined {
  const file = fields(block["attachment"]);
  const url = nonEmpty(file["url"]);
  if (url === undefined) return undefined;
  const { kind, label: name, mimeType, sizeBytes: size } = file;
  return fileAt(url, { kind, name, mimeType, size });
}

function fileAt(url: string, told: Readonly<Record<string, unknown>>): ShownFile {
  const mimeType = nonEmpty(told["mimeType"]) ?? "application/octet-stream";
  const { size, durationMs } = told;
  const ofType = fileKind(mimeType);
  const isSound = told["kind"] === "audio" && ofType !== "document";
  return {
    name: shortNameIn(told["name"]) ?? `file.${url.split(".").at(-1) ?? ""}`,
    mimeType,
    kind: isSound ? "audio" : ofType,
    size: typeof size === "number" ? size : undefined,
    durationMs: typeof durationMs === "number" ? durationMs : undefined,
    source: { at: "gateway", url },
  };
}

/** The bytes of a file in base64, as an object that can be shown and saved. Of a document, the browser does not learn the type. */
export function blobOf(data: string, mimeType: string): Blob {
  const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  return new Blob([bytes], { type: fileKind(mimeType) === "document" ? "application/octet-stream" : mimeType });
}
