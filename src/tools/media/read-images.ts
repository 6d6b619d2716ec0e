import type { ToolContext, ToolScene } from "../../types/run/tool.ts";
import { readSource, type Source, type SourcePorts } from "./source.ts";

const MEGABYTE = 1_048_576;
/** Most megabytes of all images of a call together. */
const MOST_OF_ALL_MB = 60;

interface ImageSource extends Source {
  readonly mime: string;
}

/** The images of both parameters, `image` and `images`, each once. */
export const refsIn = ({
  image,
  images = [],
}: {
  readonly image?: string | undefined;
  readonly images?: readonly string[] | undefined;
}): readonly string[] => [...new Set([...(image === undefined ? [] : [image]), ...images])];

/** Reads the images that a call names. Rejects with a text for the model when an image cannot be read, or is none. */
export async function readImages(
  { refs, mostMb }: { readonly refs: readonly string[]; readonly mostMb: number },
  { workspace, signal }: Pick<ToolContext, "workspace" | "signal">,
  { scene, ports }: { readonly scene: ToolScene; readonly ports: SourcePorts },
): Promise<readonly ImageSource[]> {
  const mayFetch = scene.names?.includes("web_fetch") === true;
  const place = { files: scene.files, workspace, mayFetch, maxBytes: mostMb * MEGABYTE, signal };
  const sources: ImageSource[] = [];
  let size = 0;
  for (const ref of refs) {
    const source = await readSource(ref, place, ports);
    size += source.bytes.byteLength;
    if (size > MOST_OF_ALL_MB * MEGABYTE) throw new Error(`All images together have more than ${MOST_OF_ALL_MB} MB.`);
    sources.push({ ...source, mime: await mimeOf(source) });
  }
  return sources;
}

async function mimeOf({ bytes, name }: Source): Promise<string> {
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(bytes);
  if (found?.mime.startsWith("image/") === true) return found.mime;
  throw new Error(`${name} is no image${found ? `: its content is ${found.mime}` : ""}.`);
}
