import { pipeline, type Readable } from "node:stream";
import zlib from "node:zlib";
import { FetchRefused } from "./safe-fetch.ts";

export interface Body {
  readonly bytes: Uint8Array;
  /** There was more than was read. */
  readonly isCut: boolean;
}

const PLAIN = new Set(["", "identity"]);

/** Reads a body, decompressed, until it has so many bytes. Rejects with `FetchRefused` when nobody can decompress it. */
export async function readBody(body: Readable, encoding: string | null, most: number): Promise<Body> {
  const name = (encoding ?? "").trim().toLowerCase();
  if (PLAIN.has(name)) return read(body, most);
  const decoder = decoderFor(name);
  if (!decoder) throw new FetchRefused("network", "the answer is compressed in an unknown way");
  // An error reaches the reader of the decoder, which `read` is.
  pipeline(body, limitedTo(most), decoder, () => undefined);
  return read(decoder, most);
}

function decoderFor(name: string): zlib.Gunzip | undefined {
  // What a cut answer has is better than nothing.
  if (name === "gzip" || name === "x-gzip") return zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH });
  if (name === "deflate") return zlib.createInflate({ finishFlush: zlib.constants.Z_SYNC_FLUSH });
  if (name === "br") return zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH });
  return undefined;
}

/** Nothing after so many bytes: compressed text that is longer than its limit is no text. */
const limitedTo = (most: number) =>
  async function* (parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let length = 0;
    for await (const part of parts) {
      length += part.byteLength;
      yield part;
      if (length > most) return;
    }
  };

/** Leaving the loop ends the stream, and with it the connection. */
async function read(parts: AsyncIterable<Uint8Array>, most: number): Promise<Body> {
  const kept: Uint8Array[] = [];
  let left = most;
  let isCut = false;
  for await (const part of parts) {
    if (part.byteLength > left) {
      kept.push(part.subarray(0, left));
      isCut = true;
      break;
    }
    kept.push(part);
    left -= part.byteLength;
  }
  return { bytes: new Uint8Array(Buffer.concat(kept)), isCut };
}
