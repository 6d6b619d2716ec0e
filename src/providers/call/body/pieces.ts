/** The pieces of each body that `inPieces` has made, until it is sent. */
const made = new WeakMap<object, readonly Uint8Array[]>();

/** Bodies that are freed. */
const freed = new WeakSet<object>();

/** Memory that one body alone uses. */
const own = new WeakSet<ArrayBufferLike>();

/** Allocates bytes for one body. `free` frees them. */
export function ownBytes(length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  own.add(bytes.buffer);
  return bytes;
}

/** Makes an empty body for the SDK. `sendPlain` finds these pieces by it and sends them. */
export function inPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const body = new Uint8Array(0);
  made.set(body, pieces);
  return body;
}

/**
 * The pieces of a body that `inPieces` has made; undefined for any other body. Throws for a freed body, which would be
 * sent without a byte.
 */
export function piecesOf(body: unknown): readonly Uint8Array[] | undefined {
  if (!(body instanceof Uint8Array)) return undefined;
  if (freed.has(body)) throw new Error("the body of this request is freed: it can be sent only once");
  return made.get(body);
}

/** The request with all bytes of its body in one piece, for a `fetch` that knows nothing of pieces. */
export function withWholeBody(init: RequestInit | undefined): RequestInit | undefined {
  const pieces = piecesOf(init?.body);
  return pieces ? { ...init, body: Buffer.concat(pieces) } : init;
}

/**
 * Frees the memory of a body that is not sent again: the SDK holds the body until its stream has ended. What `inPieces` has not made
 * stays.
 */
export function free(body: unknown): void {
  const pieces = body instanceof Uint8Array ? made.get(body) : undefined;
  if (!(body instanceof Uint8Array) || !pieces) return;
  for (const { buffer } of pieces) if (own.delete(buffer) && buffer instanceof ArrayBuffer) buffer.transfer(0);
  made.delete(body);
  freed.add(body);
}
