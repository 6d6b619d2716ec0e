const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/**
 * The bytes of a JSON body up to the end of its object or list, also where the server leaves the connection open after it. It is closed
 * then. Rejects as reading the body does. Throws a `RangeError` when there are more than `most` bytes.
 */
export async function readJsonBytes(
  body: AsyncIterable<Uint8Array> | null,
  most = Number.POSITIVE_INFINITY,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const value = new Value();
  let size = 0;
  for await (const part of body ?? []) {
    size += part.byteLength;
    if (size > most) throw new RangeError(`more than ${most} bytes`);
    parts.push(part);
    if (value.endsIn(part)) break;
  }
  return Buffer.concat(parts);
}

/** Follows the brackets of a JSON value, without the brackets in its strings. */
class Value {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  endsIn(part: Uint8Array): boolean {
    for (const byte of part) {
      if (this.#isInString) this.#inString(byte);
      else if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#depth += 1;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#depth -= 1;
      else continue;
      if (this.#depth === 0 && !this.#isInString && byte !== QUOTE) return true;
    }
    return false;
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
  }
}
