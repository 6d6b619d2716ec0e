import { TextDecoder } from "node:util";

/** Bytes in which a page names its encoding. */
const META_BYTES = 4096;

/**
 * Text of bytes: by its byte order mark, else by the header, else by what the page says, else UTF-8 where it is that, else Windows-1252,
 * as browsers do. Never throws.
 */
export function decoded(bytes: Uint8Array, charset: string | undefined): string {
  const label = markOf(bytes) ?? charset ?? metaOf(bytes);
  return label === undefined ? undeclared(bytes) : decoderOf(label).decode(bytes);
}

function undeclared(bytes: Uint8Array): string {
  try {
    // The last character may be cut.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    // Nobody knows this encoding; most texts are UTF-8.
    return new TextDecoder();
  }
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xff && second === 0xfe ? "utf-16le" : undefined;
}

function metaOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, META_BYTES)).toString("latin1");
  return /<(?:meta|\?xml)[^>]{0,300}?(?:charset|encoding)\s{0,9}=\s{0,9}["']?([\w-]{1,40})/i.exec(start)?.[1];
}
