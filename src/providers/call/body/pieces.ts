/** The pieces of each body that `inPieces` has made, until it is sent. */
const made = new WeakMap<object, readonly Uint8Array[]>();

/** Memory that one body alone uses. */
const own = new WeakSet<ArrayBufferLike>();

/** Bytes for one body, which `free` frees. */
export function ownBytes(length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  own.add(bytes.buffer);
  return bytes;
}

/** A body without bytes, which stands for these pieces. Only `sendPlain` sends it. */
export function inPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const body = new Uint8Array(0);
  made.set(body, pieces);
  return body;
}

/** The pieces of a body that `inPieces` has made. Undefined for any other body, and for one that is freed. */
export const piecesOf = (body: unknown): readonly Uint8Array[] | undefined =>
  body instanceof Uint8Array ? made.get(body) : undefined;

/** The request with all bytes of its body in one piece, for a `fetch` that knows nothing of pieces. */
export function withWholeBody(init: RequestInit | undefined): RequestInit | undefined {
  const pieces = piecesOf(init?.body);
  return pieces ? { ...init, body: Buffer.concat(pieces) } : init;
}

/** Frees the memory of a body, once it is sent: the SDK holds the body until its stream has ended. */
export function free(body: unknown): void {
  if (!(body instanceof Uint8Array)) return;
  for (const bytes of made.get(body) ?? []) {
    if (own.delete(bytes.buffer) && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
  }
  made.delete(body);
}
